/* Replies that are made once and sent to many requests. Making a reply with four headers costs more than the rest of a
 * chunk query that finds its answer (README.md, "Kept replies"). */
#include "server/http/http_reply.h"

#include <assert.h>
#include <microhttpd.h>
#include <stdlib.h>

struct http_kept {
	struct MHD_Response *response;
	unsigned code;
	size_t len;
};

static struct http_kept *kept_new(unsigned code, const uint8_t *bytes, size_t len)
{
	struct http_kept *kept = malloc(sizeof(*kept));
	void *buffer = (void *)(uintptr_t)bytes; /* the library does not write to it */
	struct MHD_Response *response = MHD_create_response_from_buffer(len, buffer, MHD_RESPMEM_PERSISTENT);
	if (kept && response) {
		*kept = (struct http_kept){response, code, len};
		return kept;
	}
	if (response)
		MHD_destroy_response(response);
	free(kept);
	return NULL;
}

struct http_kept *http_kept_new(const char *content_type, const uint8_t *bytes, size_t len)
{
	struct http_kept *kept = kept_new(200, bytes, len);
	if (!kept || http_kept_header(kept, "Content-Type", content_type))
		return kept;
	http_kept_free(kept);
	return NULL;
}

struct http_kept *http_kept_empty_new(unsigned code)
{
	return kept_new(code, NULL, 0);
}

bool http_kept_header(struct http_kept *kept, const char *name, const char *value)
{
	return MHD_add_response_header(kept->response, name, value) == MHD_YES;
}

void http_kept_free(struct http_kept *kept)
{
	if (!kept)
		return;
	MHD_destroy_response(kept->response);
	free(kept);
}

void http_reply_kept(struct http_request *req, const struct http_kept *kept, void (*release)(void *ctx), void *ctx)
{
	assert(req->code == 0);
	req->code = kept->code;
	req->reply_bytes = kept->len;
	req->response = kept->response;
	req->response_is_kept = true;
	req->reply_release = release;
	req->reply_ctx = ctx;
}

void http_reply_miss(struct http_request *req)
{
	if (http_is_plain(req))
		http_reply_kept(req, req->thread->miss, NULL, NULL);
	else
		http_reply_empty(req, 404, UINT64_MAX);
}
