#include "mirror/rules.h"

#include "hub/name.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

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
	for (size_t i = 0; i < rules->n; i++) {
		if (rules->all[i].token)
			explicit_bzero(rules->all[i].token, strlen(rules->all[i].token));
		free(rules->all[i].token);
	}
	free(rules->all);
	*rules = (struct mirror_rules){0};
}

static enum cairn_status rules_refuse(struct cairn_diag *diag, unsigned line, const char *what)
{
	return cairn_fail(diag, CAIRN_E_USAGE, "mirror.rules", CAIRN_NO_OFFSET,
			  "line %u: %s; a rule is \"deny PATTERN\" or \"allow PATTERN [token=FILE] "
			  "[gated=asker|org:NAME|nobody]\", as in deny models:meta-llama/*",
			  line, what);
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

static bool rules_take_gated(struct mirror_rule *rule, const char *value)
{
	if (strncmp(value, "org:", 4) == 0) {
		rule->gated = MIRROR_GATED_ORG;
		rule->org = value + 4;
		return cairn_hub_name_is_good(rule->org);
	}
	rule->gated = strcmp(value, "nobody") == 0 ? MIRROR_GATED_NOBODY : MIRROR_GATED_ASKER;
	return rule->gated == MIRROR_GATED_NOBODY || strcmp(value, "asker") == 0;
}

/* Parses the words after a pattern. @return NULL; else the fault, for a message */
static const char *rules_take_words(struct mirror_rule *rule, char *line)
{
	static const char TOKEN[] = "token=", GATED[] = "gated=";
	bool has_gated = false;
	for (const char *word = rules_word(&line); word[0]; word = rules_word(&line)) {
		if (strncmp(word, TOKEN, sizeof(TOKEN) - 1) == 0 && !rule->token_file && word[sizeof(TOKEN) - 1]) {
			rule->token_file = word + sizeof(TOKEN) - 1;
		} else if (strncmp(word, GATED, sizeof(GATED) - 1) == 0 && !has_gated) {
			has_gated = true;
			if (!rules_take_gated(rule, word + sizeof(GATED) - 1))
				return "gated= is none of asker, org:NAME and nobody";
		} else {
			return "what follows its pattern is neither token=FILE nor gated=WHO, or is there twice";
		}
	}
	if (!rule->allows && (rule->token_file || has_gated))
		return "a rule that denies has neither token= nor gated=";
	if (rule->gated == MIRROR_GATED_ORG && !rule->token_file)
		return "gated=org:NAME needs a token=, whose holder the mirrored hub lets in";
	return NULL;
}

static enum cairn_status rules_add(struct mirror_rules *out, const struct mirror_rule *rule, struct cairn_diag *diag)
{
	if (out->n == MIRROR_RULES_MAX)
		return rules_refuse(diag, rule->line, "there are more than 10000 rules");
	if (rule->token_file && out->n_tokens == MIRROR_TOKENS_MAX)
		return rules_refuse(diag, rule->line, "there are more than 64 rules with a token");
	out->n_tokens += rule->token_file != NULL;
	out->all[out->n++] = *rule;
	return CAIRN_OK;
}

static enum cairn_status rules_take(struct mirror_rules *out, char *line, unsigned number, struct cairn_diag *diag)
{
	const char *verb = rules_word(&line);
	char *pattern = rules_word(&line);
	struct mirror_rule rule = {.allows = strcmp(verb, "allow") == 0, .line = number};
	if (!verb[0] || verb[0] == '#')
		return CAIRN_OK;
	if (!rule.allows && strcmp(verb, "deny") != 0)
		return rules_refuse(diag, number, "it begins with neither allow nor deny");
	if (!pattern[0])
		return rules_refuse(diag, number, "it has no pattern");
	if (!rules_take_type(&rule, pattern) || !rule.pattern[0])
		return rules_refuse(diag, number, "its pattern is for no kind of repository");
	const char *fault = rules_take_words(&rule, line);
	return fault ? rules_refuse(diag, number, fault) : rules_add(out, &rule, diag);
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

const struct mirror_rule *mirror_rules_find(const struct mirror_rules *rules, const char *type, const char *name)
{
	static const struct mirror_rule WITHOUT_FILE = {.pattern = "*", .allows = true};
	for (size_t i = 0; i < rules->n; i++) {
		const struct mirror_rule *rule = &rules->all[i];
		if ((!rule->type || strcmp(rule->type, type) == 0) && fnmatch(rule->pattern, name, FNM_CASEFOLD) == 0)
			return rule->allows ? rule : NULL;
	}
	return rules->all ? NULL : &WITHOUT_FILE;
}
