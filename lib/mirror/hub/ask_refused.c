#include "mirror/hub/ask_refused.h"

#include <string.h>

/* The message names the target of the redirect: often the operator should have set that address. */
static enum cairn_status refused_redirected(const struct mirror_call *call, struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_FORMAT, "mirror.redirect", CAIRN_NO_OFFSET,
			  "the upstream answers %u and redirects to \"%.120s\"; set mirror to the hub itself",
			  call->code, call->location);
}

enum cairn_status mirror_no_hub(const char *what, struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_FORMAT, "mirror.answer", CAIRN_NO_OFFSET,
			  "the upstream does not answer as a hub does: %s", what);
}

enum cairn_status mirror_read_refused(const struct mirror_call *call, struct cairn_diag *diag)
{
	bool refused = call->code == 401 || call->code == 403 || call->code == 404;
	if (refused &&
	    (strcmp(call->error_code, "RepoNotFound") == 0 || strcmp(call->error_code, "RevisionNotFound") == 0))
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "mirror.unknown", CAIRN_NO_OFFSET,
				  "the upstream has no such repository or revision");
	if (call->code == 401 || call->code == 403)
		return cairn_fail(diag, CAIRN_E_DENIED, "mirror.denied", CAIRN_NO_OFFSET, "the upstream answers %u",
				  call->code);
	if (call->code == 429 || (call->code >= 500 && call->code != 501))
		return cairn_fail(diag, CAIRN_E_BUSY, "mirror.busy", CAIRN_NO_OFFSET, "the upstream answers %u",
				  call->code);
	if (call->code >= 300 && call->code < 400)
		return refused_redirected(call, diag);
	return cairn_fail(diag, CAIRN_E_FORMAT, "mirror.answer", CAIRN_NO_OFFSET,
			  "the upstream does not answer as a hub does: %u without X-Error-Code", call->code);
}

enum cairn_status mirror_wrong_bytes(const char *path, struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_MISMATCH, "mirror.wrong", CAIRN_NO_OFFSET,
			  "the upstream sent other bytes for \"%.120s\" than its tree says", path);
}

enum cairn_status mirror_wrong_copy(const char *path, struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_MISMATCH, "mirror.plan", CAIRN_NO_OFFSET,
			  "\"%.120s\", made by the upstream's plan, is not the file that its tree says; the next fetch "
			  "takes all bytes of it as they are",
			  path);
}
