#include "server/ask/route_token.h"

#include "base/buf.h"

#include <inttypes.h>
#include <stdio.h>

void route_reply_token(struct http_request *req, const char *token, int64_t expires_unix_s, const char *base)
{
	char expires[32];
	(void)snprintf(expires, sizeof(expires), "%" PRId64, expires_unix_s);
	http_reply_header(req, "Cache-Control", "no-store");
	http_reply_header(req, "X-Xet-Access-Token", token);
	http_reply_header(req, "X-Xet-Token-Expiration", expires);
	http_reply_header(req, "X-Xet-Cas-Url", base);
	CLEANUP(cairn_buf_fini) struct cairn_buf json = cairn_buf_init(16384);
	cairn_buf_printf(&json, "{\"accessToken\":\"%s\",\"exp\":%s,\"casUrl\":\"%s\"}", token, expires, base);
	cairn_buf_add(&json, "", 1);
	if (json.status == CAIRN_OK)
		http_reply_json(req, 200, (const char *)json.bytes);
	else
		http_reply_status(req, json.status, NULL);
}
