/* Holds the mirror's rules: reads the file of rules and the files of tokens, and finds the rule for a repository. */
#include "base/fd.h"
#include "base/sys.h"
#include "mirror/operate.h"
#include "mirror/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static enum cairn_status policy_refuse(struct cairn_diag *diag, const char *path, const char *why)
{
	return cairn_fail(diag, CAIRN_E_USAGE, "mirror.rules", CAIRN_NO_OFFSET, "cannot read %.120s: %s", path, why);
}

/* Reads a whole file. Treats a pipe as empty, because waiting for its bytes could take forever.
 * @param[out] text  max bytes, and a zero after the bytes read */
static enum cairn_status policy_read(const char *path, bool is_secret, char *text, size_t max, struct cairn_diag *diag)
{
	CLEANUP(cairn_fd_closep) int fd = cairn_sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	struct stat st;
	size_t len = 0;
	if (fd < 0 || cairn_sys_fstat(fd, &st) < 0)
		return policy_refuse(diag, path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return policy_refuse(diag, path, "it is not a file");
	if (is_secret && (st.st_mode & S_IRWXO) != 0)
		return cairn_fail(diag, CAIRN_E_USAGE, "mirror.rules", CAIRN_NO_OFFSET,
				  "the token in %.120s is open to everybody (mode %04o); forbid that with: "
				  "chmod o= %.120s",
				  path, (unsigned)st.st_mode & 07777, path);
	if (cairn_fd_read_upto(fd, text, max, &len) != CAIRN_OK)
		return policy_refuse(diag, path, strerror(errno));
	text[len] = '\0';
	if (len == max || strlen(text) < len)
		return cairn_fail(diag, CAIRN_E_USAGE, "mirror.rules", CAIRN_NO_OFFSET,
				  "%.120s has %zu bytes or more, or a zero byte", path, max);
	return CAIRN_OK;
}

/* Returns the path of a rule's token file, which the caller frees; NULL: no memory. */
static char *policy_token_path(const char *rules_path, const struct mirror_rule *rule)
{
	char *path;
	const char *slash = strrchr(rules_path, '/');
	int folder_len = rule->token_file[0] != '/' && slash ? (int)(slash - rules_path) + 1 : 0;
	return asprintf(&path, "%.*s%s", folder_len, rules_path, rule->token_file) < 0 ? NULL : path;
}

static void policy_freep(char **text)
{
	free(*text);
}

/* Reads a token, which must be one word, so that it fits into the header of a request. */
static enum cairn_status policy_read_token(const char *rules_path, struct mirror_rule *rule, struct cairn_diag *diag)
{
	char text[4096 + 1] = "";
	CLEANUP(policy_freep) char *path = policy_token_path(rules_path, rule);
	if (!path)
		return CAIRN_E_NOMEM;
	enum cairn_status status = policy_read(path, true, text, sizeof(text) - 1, diag);
	if (status == CAIRN_OK) {
		size_t len = strcspn(text, " \t\r\n");
		bool is_one = text[len + strspn(text + len, " \t\r\n")] == '\0';
		for (size_t i = 0; i < len; i++)
			is_one = is_one && text[i] > ' ' && text[i] <= '~';
		text[len] = '\0';
		if (len == 0 || len >= CAIRN_MIRROR_TOKEN_BYTES || !is_one)
			status = cairn_fail(diag, CAIRN_E_USAGE, "mirror.rules", CAIRN_NO_OFFSET,
					    "%.120s, which line %u names, has no token: one word of at most %d letters",
					    path, rule->line, CAIRN_MIRROR_TOKEN_BYTES - 1);
		else if (!(rule->token = strdup(text)))
			status = CAIRN_E_NOMEM;
	}
	explicit_bzero(text, sizeof(text));
	return status;
}

/* Reads the rules and their tokens. The caller frees both, also after a failure. */
static enum cairn_status policy_read_all(const char *path, char **text, struct mirror_rules *rules,
					 struct cairn_diag *diag)
{
	*rules = (struct mirror_rules){.n = 0};
	*text = malloc(MIRROR_RULES_BYTES_MAX + 1);
	if (!*text)
		return CAIRN_E_NOMEM;
	enum cairn_status status = policy_read(path, false, *text, MIRROR_RULES_BYTES_MAX, diag);
	if (status == CAIRN_OK)
		status = mirror_rules_parse(rules, *text, diag);
	for (size_t i = 0; i < rules->n && status == CAIRN_OK; i++)
		if (rules->all[i].token_file)
			status = policy_read_token(path, &rules->all[i], diag);
	return status;
}

enum cairn_status mirror_policy_read(struct mirror_policy *policy, struct cairn_diag *diag)
{
	struct mirror_rules rules;
	char *text;
	if (!policy->path)
		return CAIRN_OK;
	enum cairn_status status = policy_read_all(policy->path, &text, &rules, diag);
	if (status == CAIRN_OK) {
		pthread_rwlock_wrlock(&policy->lock);
		struct mirror_rules old = policy->rules;
		char *old_text = policy->text;
		policy->rules = rules;
		policy->text = text;
		pthread_rwlock_unlock(&policy->lock);
		rules = old;
		text = old_text;
	}
	mirror_rules_fini(&rules);
	free(text);
	return status;
}

enum cairn_status mirror_policy_init(struct mirror_policy *policy, const char *path)
{
	pthread_rwlock_init(&policy->lock, NULL);
	if (path && !(policy->path = strdup(path)))
		return CAIRN_E_NOMEM;
	return CAIRN_OK;
}

void mirror_policy_fini(struct mirror_policy *policy)
{
	mirror_rules_fini(&policy->rules);
	free(policy->text);
	free(policy->path);
	pthread_rwlock_destroy(&policy->lock);
}

/* The members of a rule that outlive its lock: all but the token. */
struct policy_ruling {
	unsigned line;
	enum mirror_gated gated;
	char org[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1];
	bool has_token;
};

/* Finds the rule for a repository.
 * @param[out] token  room for CAIRN_MIRROR_TOKEN_BYTES, unchanged if the rule has none; NULL: not needed
 * @return false: the rules exclude the repository */
static bool policy_find(struct cairn_mirror *m, enum cairn_index_repo_kind kind, const char *name,
			struct policy_ruling *out, char *token)
{
	struct mirror_policy *policy = &m->policy;
	const char *type = cairn_mirror_type(kind);
	*out = (struct policy_ruling){.line = 0};
	if (!type)
		return false;
	pthread_rwlock_rdlock(&policy->lock);
	const struct mirror_rule *rule = mirror_rules_find(&policy->rules, type, name);
	if (rule) {
		out->line = rule->line;
		out->gated = rule->gated;
		out->has_token = rule->token != NULL;
		(void)snprintf(out->org, sizeof(out->org), "%s", rule->org ? rule->org : "");
		if (token && rule->token)
			(void)snprintf(token, CAIRN_MIRROR_TOKEN_BYTES, "%s", rule->token);
	}
	pthread_rwlock_unlock(&policy->lock);
	return rule != NULL;
}

bool mirror_take_rule(struct cairn_mirror *m, struct cairn_mirror_want *want)
{
	struct policy_ruling ruling;
	bool found = policy_find(m, want->kind, want->name, &ruling, want->token);
	if (ruling.gated == MIRROR_GATED_NOBODY)
		want->sees = false;
	want->rule = ruling.has_token ? ruling.line : 0;
	return found;
}

/* --- for the server ----------------------------------------------------------------------------------------------- */

/* Is a repository disabled? If its state cannot be read, it counts as disabled. */
static bool policy_is_disabled(const struct cairn_mirror *m, const struct cairn_index_repo *repo)
{
	enum cairn_index_mirror_state state;
	int64_t looked;
	return repo->is_private && (cairn_index_mirror_state(m->hub->index, repo->id, &state, &looked) != CAIRN_OK ||
				    state == CAIRN_INDEX_MIRROR_DISABLED || state == CAIRN_INDEX_MIRROR_GONE);
}

bool cairn_mirror_lets_in(struct cairn_mirror *mirror, enum cairn_index_repo_kind kind, const char *name)
{
	struct policy_ruling ruling;
	return policy_find(mirror, kind, name, &ruling, NULL);
}

bool cairn_mirror_has_token(struct cairn_mirror *mirror, enum cairn_index_repo_kind kind, const char *name)
{
	struct policy_ruling ruling;
	return policy_find(mirror, kind, name, &ruling, NULL) && ruling.has_token;
}

void cairn_mirror_gate(struct cairn_mirror *mirror, const struct cairn_index_repo *repo, struct cairn_hub_gate *out)
{
	struct policy_ruling ruling;
	char name[CAIRN_INDEX_ALIAS_MAX + 1];
	(void)snprintf(name, sizeof(name), "%s/%s", repo->account_name, repo->name);
	(void)policy_find(mirror, repo->kind, name, &ruling,
			  NULL); /* without a rule, askers with a token still read files that were fetched before */
	out->is_shut = ruling.gated == MIRROR_GATED_NOBODY || policy_is_disabled(mirror, repo);
	memcpy(out->organisation, ruling.org, sizeof(out->organisation));
}

bool cairn_mirror_is_gone(struct cairn_mirror *mirror, int64_t repo)
{
	enum cairn_index_mirror_state state;
	int64_t looked;
	return cairn_index_mirror_state(mirror->hub->index, repo, &state, &looked) == CAIRN_OK &&
	       state == CAIRN_INDEX_MIRROR_GONE;
}

enum cairn_status cairn_mirror_reload(struct cairn_mirror *mirror, struct cairn_diag *diag)
{
	enum cairn_status status = mirror_policy_read(&mirror->policy, diag);
	if (status == CAIRN_OK)
		mirror_forget_all(mirror);
	return status;
}

void cairn_mirror_token_files_fini(struct cairn_mirror_token_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		free(files->path[i]);
	files->n = 0;
}

enum cairn_status cairn_mirror_token_files(const char *rules, struct cairn_mirror_token_files *out,
					   struct cairn_diag *diag)
{
	struct mirror_rules all;
	char *text;
	out->n = 0;
	if (!rules)
		return CAIRN_OK;
	enum cairn_status status = policy_read_all(rules, &text, &all, diag);
	for (size_t i = 0; i < all.n && status == CAIRN_OK; i++) {
		if (!all.all[i].token_file)
			continue;
		if ((out->path[out->n] = policy_token_path(rules, &all.all[i])))
			out->n++;
		else
			status = CAIRN_E_NOMEM;
	}
	mirror_rules_fini(&all);
	free(text);
	return status;
}
