#include "mirror/hub/ask_repo.h"

#include "base/json.h"

#include <string.h>

void mirror_ask_repo(struct mirror_call *call)
{
	call->body_bytes_max = MIRROR_REPO_BYTES_MAX;
	call->deadline_ms = MIRROR_REPO_MS;
}

static enum cairn_status ask_repo_no_hub(const char *what, struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_FORMAT, "mirror.answer", CAIRN_NO_OFFSET,
			  "the upstream does not answer as a hub does: %s", what);
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

static enum cairn_status ask_repo_read_json(struct mirror_repo *out, const struct cairn_buf *body,
					    struct cairn_diag *diag)
{
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	if (cairn_json_parse_some(&json, (const char *)body->bytes, body->len, MIRROR_REPO_VALUES_MAX) != CAIRN_OK)
		return ask_repo_no_hub("the description of a repository is not JSON", diag);
	if (!cairn_json_copy_of(json, "id", NULL, out->id, sizeof(out->id)) || !ask_repo_is_id(out->id))
		return ask_repo_no_hub("the description of a repository lacks its id", diag);
	if (!cairn_json_copy_of(json, "sha", NULL, out->sha, sizeof(out->sha)) || !ask_repo_is_sha(out->sha))
		return ask_repo_no_hub("the description of a repository lacks the id of its commit", diag);
	return CAIRN_OK;
}

/* Operators learn where a redirect leads: often it is the address that they should have set. */
static enum cairn_status ask_repo_redirected(const struct mirror_call *call, struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_FORMAT, "mirror.redirect", CAIRN_NO_OFFSET,
			  "the upstream answers %u and sends elsewhere, to \"%.120s\"; set mirror to the hub itself",
			  call->code, call->location);
}

enum cairn_status mirror_read_repo(struct mirror_repo *out, const struct mirror_call *call, struct cairn_diag *diag)
{
	*out = (struct mirror_repo){.id = ""};
	bool refused = call->code == 401 || call->code == 403 || call->code == 404;
	if (call->code == 200)
		return ask_repo_read_json(out, &call->body, diag);
	if (refused &&
	    (strcmp(call->error_code, "RepoNotFound") == 0 || strcmp(call->error_code, "RevisionNotFound") == 0))
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "mirror.unknown", CAIRN_NO_OFFSET,
				  "the upstream has no such repository");
	if (call->code == 401 || call->code == 403)
		return cairn_fail(diag, CAIRN_E_DENIED, "mirror.denied", CAIRN_NO_OFFSET, "the upstream answers %u",
				  call->code);
	if (call->code == 429 || (call->code >= 500 && call->code != 501))
		return cairn_fail(diag, CAIRN_E_BUSY, "mirror.busy", CAIRN_NO_OFFSET, "the upstream answers %u",
				  call->code);
	if (call->code >= 300 && call->code < 400)
		return ask_repo_redirected(call, diag);
	return cairn_fail(diag, CAIRN_E_FORMAT, "mirror.answer", CAIRN_NO_OFFSET,
			  "the upstream does not answer as a hub does: %u without X-Error-Code", call->code);
}
