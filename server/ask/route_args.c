#include "server/ask/route_args.h"

#include "server/app.h"

#include <string.h>

bool route_prefix(struct http_request *req, const char *other)
{
	const char *prefix = http_path_arg(req, "prefix");
	if (strcmp(prefix, "default") == 0 || (other && strcmp(prefix, other) == 0))
		return true;
	http_reply_error(req, 404, "prefix.unknown", "there is no such prefix; use \"default\"", NULL);
	return false;
}

bool route_xorbs_kept_here(struct http_request *req)
{
	if (!cairn_cas_options_of(app_of(req)->cas)->xorbs_external)
		return true;
	http_reply_error(req, 501, "xorbs.external",
			 "this server keeps an index only; send to the store whose xorbs it knows", NULL);
	return false;
}

bool route_hash(struct http_request *req, struct cairn_hash *out)
{
	const char *text = http_path_arg(req, "hash");
	if (cairn_hash_parse(out, text, strlen(text)) == CAIRN_OK)
		return true;
	struct cairn_diag diag = {0};
	(void)cairn_fail(&diag, CAIRN_E_FORMAT, "hash.text", CAIRN_NO_OFFSET, "a hash has 64 hexadecimal digits");
	cairn_diag_values(&diag, "64 hexadecimal digits", text);
	http_reply_error(req, 400, diag.rule, diag.text, &diag);
	return false;
}

bool route_limit(struct http_request *req, uint32_t by_default, uint32_t most, uint32_t *limit)
{
	uint64_t n = by_default;
	bool ok = http_query_number(req, "limit", 1, most, &n);
	*limit = (uint32_t)(ok ? n : 0);
	return ok;
}

void route_reply_made(struct http_request *req, enum cairn_status status, struct cairn_buf *json)
{
	if (status == CAIRN_OK)
		status = json->status;
	if (status == CAIRN_OK)
		http_reply_buf(req, 200, "application/json", json);
	else
		http_reply_status(req, status, NULL);
}

void route_reply_refused(struct http_request *req, enum cairn_status status, const struct cairn_diag *diag)
{
	switch (status) {
	case CAIRN_E_FORMAT:
	case CAIRN_E_LIMIT:
	case CAIRN_E_MISMATCH:
	case CAIRN_E_NOT_FOUND:
	case CAIRN_E_CONFLICT:
		http_reply_error(req, 400, "upload.refused", "the upload does not verify", diag);
		break;
	case CAIRN_OK:
	case CAIRN_E_NOMEM:
	case CAIRN_E_IO:
	case CAIRN_E_USAGE:
	case CAIRN_E_FULL:
	case CAIRN_E_BUSY:
	case CAIRN_E_DENIED:
	case CAIRN_E_DAMAGED:
		http_reply_status(req, status, diag);
		break;
	}
}

void route_reply_no_file(struct http_request *req, enum cairn_status status)
{
	if (status == CAIRN_E_NOT_FOUND) {
		http_reply_error(req, 404, "file.unknown", "no such file is registered here for you", NULL);
	} else if (status == CAIRN_E_CONFLICT) {
		/* Clients would retry a 500. Caches must not keep the error, since an upload heals it. */
		http_reply_header(req, "Cache-Control", "no-store");
		http_reply_error(req, 410, "file.damaged", "the store has lost bytes of this file; upload it again",
				 NULL);
	} else {
		http_reply_status(req, status, NULL);
	}
}
