#include "mirror/hub/ask_repo.h"

#include "base/json.h"
#include "mirror/hub/ask_refused.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void mirror_ask_repo(struct mirror_call *call)
{
	call->body_bytes_max = MIRROR_REPO_BYTES_MAX;
	call->deadline_ms = MIRROR_REPO_MS;
}

static bool ask_repo_is_sha(const char *text)
{
	return strlen(text) == 40 && strspn(text, "0123456789abcdef") == 40;
}

static bool ask_repo_is_id(const char *text)
{
	const char *slash = strchr(text, '/');
	return text[0] && text[0] != '/' && (!slash || (slash[1] && !strchr(slash + 1, '/')));
}

/* Parses a time. @param text  such as "2022-03-02T23:29:04.000Z" @return 0: not a time */
static int64_t ask_repo_time(const char *text)
{
	struct tm tm = {0};
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	char *end = NULL;
	long ms = rest && rest[0] == '.' ? strtol(rest + 1, &end, 10) : 0;
	bool is_whole = !end || (end == rest + 4 && ms >= 0);
	return rest && is_whole ? (int64_t)timegm(&tm) * 1000 + ms : 0;
}

static enum cairn_status ask_repo_read_json(struct mirror_repo *out, const struct cairn_buf *body,
					    struct cairn_diag *diag)
{
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	if (cairn_json_parse_some(&json, (const char *)body->bytes, body->len, MIRROR_REPO_VALUES_MAX) != CAIRN_OK)
		return mirror_no_hub("the description of a repository is not JSON", diag);
	if (!cairn_json_copy_of(json, "id", NULL, out->id, sizeof(out->id)) || !ask_repo_is_id(out->id))
		return mirror_no_hub("the description of a repository lacks its id", diag);
	if (!cairn_json_copy_of(json, "sha", NULL, out->sha, sizeof(out->sha)) || !ask_repo_is_sha(out->sha))
		return mirror_no_hub("the description of a repository lacks the id of its commit", diag);
	char created[32] = "";
	(void)cairn_json_copy_of(json, "createdAt", "", created, sizeof(created));
	out->created_unix_ms = ask_repo_time(created);
	const struct cairn_json *gated = cairn_json_get(json, "gated"); /* false, "auto" or "manual" */
	(void)cairn_json_bool_of(json, "private", &out->is_private);
	(void)cairn_json_bool_of(json, "disabled", &out->is_disabled);
	if (!cairn_json_bool(gated, &out->is_gated))
		out->is_gated = gated && !cairn_json_is_null(gated);
	return CAIRN_OK;
}

enum cairn_status mirror_read_repo(struct mirror_repo *out, const struct mirror_call *call, struct cairn_diag *diag)
{
	*out = (struct mirror_repo){.id = ""};
	return call->code == 200 ? ask_repo_read_json(out, &call->body, diag) : mirror_read_refused(call, diag);
}

bool mirror_read_moved(const struct mirror_call *call, const char *type, char id[static MIRROR_ID_BYTES])
{
	char prefix[32];
	bool redirects = call->code == 301 || call->code == 302 || call->code == 307 || call->code == 308;
	const char *path = call->location, *scheme = strstr(path, "://");
	if (redirects && scheme)
		path = strchr(scheme + 3, '/');
	int n = snprintf(prefix, sizeof(prefix), "/api/%s/", type);
	if (!redirects || !path || strncmp(path, prefix, (size_t)n) != 0)
		return false;
	size_t account_len = strcspn(path + n, "/?#%");
	size_t name_len = path[(size_t)n + account_len] == '/' ? strcspn(path + n + account_len + 1, "/?#%") : 0;
	size_t len = account_len + 1 + name_len;
	if (account_len == 0 || name_len == 0 || len >= MIRROR_ID_BYTES)
		return false;
	/* After a name without an account, only /revision/ belongs to this call; other text is a path of another
	 * endpoint. */
	if (path[(size_t)n + len] == '/' && strncmp(path + n + len, "/revision/", 10) != 0)
		return false;
	memcpy(id, path + n, len);
	id[len] = '\0';
	return true;
}
