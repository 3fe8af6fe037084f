#include "mirror/rules.h"

#include "mirror/mirror.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

struct mirror_rule {
	const char *type; /* NULL: any */
	const char *pattern;
	bool allows;
};

static const char *const RULES_TYPES[] = {[CAIRN_INDEX_MODEL] = "models",
					  [CAIRN_INDEX_DATASET] = "datasets",
					  [CAIRN_INDEX_SPACE] = "spaces",
					  [CAIRN_INDEX_KERNEL] = "kernels"};
enum { RULES_TYPES_END = sizeof(RULES_TYPES) / sizeof(RULES_TYPES[0]) };

const char *cairn_mirror_type(enum cairn_index_repo_kind kind)
{
	return (unsigned)kind < RULES_TYPES_END ? RULES_TYPES[kind] : NULL;
}

void mirror_rules_fini(struct mirror_rules *rules)
{
	free(rules->all);
	*rules = (struct mirror_rules){0};
}

static enum cairn_status rules_refuse(struct cairn_diag *diag, unsigned line, const char *what)
{
	return cairn_fail(
		diag, CAIRN_E_USAGE, "mirror.rules", CAIRN_NO_OFFSET,
		"line %u: %s; a rule is \"allow PATTERN\" or \"deny PATTERN\", as in deny models:meta-llama/*", line,
		what);
}

/* Takes the next word of a line, and ends it by a zero. @return "": there is none */
static char *rules_word(char **at)
{
	char *word = *at + strspn(*at, " \t\r");
	char *end = word + strcspn(word, " \t\r");
	*at = *end ? end + 1 : end;
	*end = '\0';
	return word;
}

static bool rules_take_type(struct mirror_rule *rule, char *pattern)
{
	char *colon = strchr(pattern, ':');
	rule->pattern = colon ? colon + 1 : pattern;
	if (!colon)
		return true;
	*colon = '\0';
	for (unsigned kind = 0; kind < RULES_TYPES_END; kind++)
		if (RULES_TYPES[kind] && strcmp(pattern, RULES_TYPES[kind]) == 0)
			rule->type = RULES_TYPES[kind];
	return rule->type != NULL;
}

static enum cairn_status rules_take(struct mirror_rules *out, char *line, unsigned number, struct cairn_diag *diag)
{
	const char *verb = rules_word(&line);
	char *pattern = rules_word(&line);
	const char *more = rules_word(&line);
	struct mirror_rule rule = {.allows = strcmp(verb, "allow") == 0};
	if (!verb[0] || verb[0] == '#')
		return CAIRN_OK;
	if (!rule.allows && strcmp(verb, "deny") != 0)
		return rules_refuse(diag, number, "it begins with neither allow nor deny");
	if (!pattern[0])
		return rules_refuse(diag, number, "it has no pattern");
	if (more[0])
		return rules_refuse(diag, number,
				    "something follows its pattern (token= and gated= are not known yet)");
	if (!rules_take_type(&rule, pattern) || !rule.pattern[0])
		return rules_refuse(diag, number, "its pattern is for no kind of repository");
	if (out->n == MIRROR_RULES_MAX)
		return rules_refuse(diag, number, "there are more than 10000 rules");
	out->all[out->n++] = rule;
	return CAIRN_OK;
}

enum cairn_status mirror_rules_parse(struct mirror_rules *out, char *text, struct cairn_diag *diag)
{
	enum cairn_status status = CAIRN_OK;
	unsigned number = 0;
	*out = (struct mirror_rules){.all = calloc(MIRROR_RULES_MAX, sizeof(*out->all))};
	if (!out->all)
		return CAIRN_E_NOMEM;
	for (char *line = text, *next; line && status == CAIRN_OK; line = next) {
		char *end = strchr(line, '\n');
		next = end ? end + 1 : NULL;
		if (end)
			*end = '\0';
		status = rules_take(out, line, ++number, diag);
	}
	return status;
}

bool mirror_rules_allow(const struct mirror_rules *rules, const char *type, const char *name)
{
	for (size_t i = 0; i < rules->n; i++) {
		const struct mirror_rule *rule = &rules->all[i];
		if ((!rule->type || strcmp(rule->type, type) == 0) && fnmatch(rule->pattern, name, FNM_CASEFOLD) == 0)
			return rule->allows;
	}
	return !rules->all;
}
