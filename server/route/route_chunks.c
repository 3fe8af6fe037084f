/* GET /v1/chunks/{prefix}/{hash}: what a client may deduplicate against. */
#include "server/app.h"

#include "base/clock.h"
#include "server/route/route_args.h"

#include <stdio.h>
#include <string.h>

enum { CHUNKS_MAX_AGE_S = 3600 }; /* xorbs that come in later are to be found, too */

static void chunks_release(void *answer)
{
	cairn_answer_unref(answer);
}

static void chunks_set_caching(struct http_request *req, const struct cairn_answer *answer)
{
	int64_t left_s = answer->epoch_ends_unix_s - cairn_clock_unix_s();
	int64_t max_age_s = left_s < CHUNKS_MAX_AGE_S ? left_s : CHUNKS_MAX_AGE_S;
	char value[64];
	(void)snprintf(value, sizeof(value), "private, max-age=%lld", (long long)(max_age_s > 0 ? max_age_s : 0));
	http_reply_header(req, "Cache-Control", value);
	http_reply_header(req, "ETag", answer->etag);
}

static void chunks_get(struct http_request *req)
{
	struct cairn_hash chunk;
	if (!route_prefix(req, "default-merkledb") || !route_hash(req, &chunk))
		return;
	struct cairn_cas_who who = auth_who(http_identity(req));
	const struct cairn_answer *answer;
	enum cairn_status status = cairn_cas_query(app_of(req)->cas, &who, &chunk, &answer);
	if (status == CAIRN_E_NOT_FOUND) {
		http_reply_error(req, 404, "chunk.not_tracked", "no stored xorb offers this chunk for deduplication",
				 NULL);
		return;
	}
	if (status != CAIRN_OK) {
		http_reply_status(req, status, NULL);
		return;
	}
	chunks_set_caching(req, answer);
	const char *known = http_header(req, "If-None-Match");
	if (known && strstr(known, answer->etag)) {
		cairn_answer_unref(answer);
		http_reply_empty(req, 304, UINT64_MAX);
		return;
	}
	http_reply_bytes(req, 200, "application/octet-stream", answer->bytes, answer->len, chunks_release,
			 (void *)(uintptr_t)answer);
}

const struct http_route ROUTES_CHUNKS[] = {
	{.method = "GET",
	 .pattern = "/v1/chunks/{prefix}/{hash}",
	 .older = (const char *const[]){"/chunks/{prefix}/{hash}", "/chunk/{prefix}/{hash}", NULL},
	 .name = "chunks",
	 .scope = CAIRN_TOKEN_READ,
	 .done = chunks_get},
	{0},
};
