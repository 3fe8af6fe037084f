/* Replies: turns routes' replies into the library's responses, and sends refusals in mid-body past the library. */
#include "server/http/http_reply.h"

#include "base/sys.h"
#include "server/http/errors.h"
#include "server/http/http_error.h"
#include "server/http/http_server.h"

#include <assert.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	HTTP_NOTHING_BLOCK_BYTES = 4096,
	HTTP_READER_BLOCK_BYTES = 256 * 1024,
	HTTP_LINGER_MS = 2000,
};

static void http_add_header(void *ctx, const char *name, const char *value)
{
	MHD_add_response_header(ctx, name, value);
}

void http_reply(struct http_request *req, unsigned code, const char *content_type, uint64_t len,
		struct MHD_Response *response)
{
	assert(req->code == 0);
	req->code = code;
	req->reply_bytes = len;
	req->response = response;
	if (!response)
		return; /* http_flush() now cuts the connection */
	http_request_headers(req, content_type, http_add_header, response);
}

void http_reply_json(struct http_request *req, unsigned code, const char *json)
{
	size_t len = strlen(json);
	/* The library's parameter is not const, because in other modes it frees the bytes. Here it copies them. */
	http_reply(req, code, "application/json", len,
		   MHD_create_response_from_buffer(len, (void *)(uintptr_t)json, MHD_RESPMEM_MUST_COPY));
}

/* Sends bytes on the socket, past the library. Call on the request's thread, while nothing else is being sent. */
static bool http_send(const struct http_request *req, const struct cairn_buf *b)
{
	const struct http_server_options *o = &req->server->options;
	if (!o->tls_send)
		return cairn_sys_send(req->peer->fd, b->bytes, b->len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)b->len;
	return o->tls_send(MHD_get_connection_info(req->conn, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session,
			   b->bytes, b->len);
}

/* Notes a refusal within a long body, to be written past the library, because the library takes no reply before the end
 * of a body. The rest of the body is read and dropped. A client that reads while it sends stops at once; a client that
 * sends everything first finds the answer afterwards. (Closing with unread bytes resets the connection, and the client
 * might lose the answer.) A body over the limit is dropped only up to a point. @return false: the refusal is sent in
 * the usual way after the body */
static bool http_says_midway(struct http_request *req, unsigned code, const struct cairn_buf *body)
{
	bool over = req->received > req->body_limit;
	if (req->stage != HTTP_STAGE_BODY || req->complete ||
	    (!over && http_request_body_left(req) <= HTTP_DRAIN_BYTES_MAX))
		return false;
	req->close_after = true;
	req->raw = cairn_buf_init(2 * (size_t)HTTP_ERROR_BYTES_MAX);
	http_request_raw(req, code, body, &req->raw);
	int64_t until_ms = over ? http_now_ms() + HTTP_LINGER_MS : http_body_deadline_ms(req);
	if (req->raw.status != CAIRN_OK || !http_conn_enter(req->peer, HTTP_CONN_LINGER, until_ms)) {
		cairn_buf_fini(&req->raw);
		return false;
	}
	req->stage = HTTP_STAGE_LINGER;
	req->code = code;
	req->reply_bytes = body->len;
	req->linger_max = over ? req->received + HTTP_DRAIN_BYTES_MAX : req->body_limit;
	return true;
}

/* Sends the refusal of http_says_midway(), once the body is no longer held. */
void http_say_midway(struct http_request *req)
{
	bool over = req->received > req->body_limit;
	if (!http_send(req, &req->raw))
		req->linger_max = 0; /* sending failed; nothing more can be sent */
	else if (over && !req->server->options.tls_send)
		shutdown(req->peer->fd, SHUT_WR);
	cairn_buf_fini(&req->raw);
}

/* Replies an error to a person as a page, not in a format for programs. */
static bool http_reply_error_page(struct http_request *req, unsigned code, const char *message)
{
	const struct http_route *route = req->match.route;
	const char *accept = http_header(req, "Accept");
	return req->server->options.error_page && (!route || route->errors == HTTP_ERRORS_PAGE) && accept &&
	       strstr(accept, "text/html") && req->server->options.error_page(req, code, message);
}

static enum http_error_shape reply_shape(const struct http_request *req)
{
	const struct http_family *family = http_request_family(req);
	if (req->match.route)
		return req->match.route->errors;
	return family ? family->errors : HTTP_ERRORS_CAS;
}

void http_reply_error(struct http_request *req, unsigned code, const char *rule, const char *message,
		      const struct cairn_diag *diag)
{
	enum http_error_shape shape = reply_shape(req);
	struct cairn_buf body = cairn_buf_init(HTTP_ERROR_BYTES_MAX);
	if (code >= 500 && code != 501) /* a 501 is the client's fault, and not logged */
		http_request_log_failure(req, code, diag && diag->rule ? diag->rule : rule,
					 diag && diag->text[0] ? diag->text : message);
	http_error_body(&body, shape, rule, message, diag, req->id);
	if (body.status != CAIRN_OK) {
		cairn_buf_fini(&body);
		http_reply(req, code, NULL, 0, NULL);
		return;
	}
	if ((code == 429 || code == 503) && !http_request_has_added(req, "Retry-After"))
		http_reply_header(req, "Retry-After", "3");
	if (code == 401)
		http_reply_header(req, "WWW-Authenticate",
				  shape == HTTP_ERRORS_LFS ? "Basic realm=\"Cairn\"" : "Bearer");
	if (shape == HTTP_ERRORS_HUB) {
		char line[HTTP_ERROR_LINE_BYTES];
		http_error_line(line, diag && diag->text[0] ? diag->text : message);
		http_reply_header(req, "X-Error-Message", line);
	}
	if (http_says_midway(req, code, &body) || http_reply_error_page(req, code, message)) {
		cairn_buf_fini(&body);
		return;
	}
	struct MHD_Response *response = MHD_create_response_from_buffer(body.len, body.bytes, MHD_RESPMEM_MUST_FREE);
	http_reply(req, code, "application/json", body.len, response);
	if (!response)
		cairn_buf_fini(&body);
}

void http_reply_other_etag(struct http_request *req)
{
	http_reply_error(req, 412, "etag.other",
			 "the bytes have another ETag than If-Match names: fetch them from the beginning", NULL);
}

void http_explain_busy(struct http_request *req, const char *rule, const char *text)
{
	req->busy_rule = rule;
	req->busy_text = text;
}

void http_reply_status(struct http_request *req, enum cairn_status status, const struct cairn_diag *diag)
{
	struct cairn_diag busy = {0};
	if (status == CAIRN_E_BUSY && req->busy_rule && !(diag && diag->rule)) {
		(void)cairn_fail(&busy, status, req->busy_rule, CAIRN_NO_OFFSET, "%s", req->busy_text);
		diag = &busy;
	}
	bool upload = req->match.route && req->match.route->body;
	struct errors_reply e = errors_of_failure(status, diag ? diag->rule : NULL, upload);
	if (e.code == 410) /* an upload repairs the damage, so caches must not keep the error */
		http_reply_header(req, "Cache-Control", "no-store");
	http_reply_error(req, e.code, e.rule, e.message, diag);
}

/* Reads nothing: for replies to HEAD and for 304, which have a length but no bytes. */
static ssize_t http_read_nothing(void *cls, uint64_t pos, char *out, size_t max)
{
	(void)cls;
	(void)pos;
	(void)out;
	(void)max;
	return MHD_CONTENT_READER_END_WITH_ERROR;
}

void http_reply_empty(struct http_request *req, unsigned code, uint64_t content_length)
{
	struct MHD_Response *response;
	bool bodyless = code == 304 || http_method(req) == HTTP_HEAD;
	if (content_length != UINT64_MAX && bodyless) {
		response = MHD_create_response_from_callback(content_length, HTTP_NOTHING_BLOCK_BYTES,
							     http_read_nothing, NULL, NULL);
	} else {
		assert(content_length == UINT64_MAX || content_length == 0);
		response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	}
	http_reply(req, code, NULL, 0, response);
}

void http_reply_bytes(struct http_request *req, unsigned code, const char *content_type, const uint8_t *bytes,
		      size_t len, void (*release)(void *ctx), void *ctx)
{
	void *buffer = (void *)(uintptr_t)bytes; /* the library does not write to it */
	struct MHD_Response *response =
		release ? MHD_create_response_from_buffer_with_free_callback_cls(len, buffer, release, ctx)
			: MHD_create_response_from_buffer(len, buffer, MHD_RESPMEM_PERSISTENT);
	if (!response && release)
		release(ctx);
	http_reply(req, code, content_type, len, response);
}

void http_reply_buf(struct http_request *req, unsigned code, const char *content_type, struct cairn_buf *buf)
{
	struct cairn_buf taken = *buf;
	*buf = cairn_buf_init(taken.max);
	http_reply_bytes(req, code, content_type, taken.bytes, taken.len, free, taken.bytes);
}

struct http_reader {
	ssize_t (*read)(void *ctx, uint64_t pos, uint8_t *out, size_t max);
	void (*release)(void *ctx);
	void *ctx;
};

static ssize_t http_reader_read(void *cls, uint64_t pos, char *out, size_t max)
{
	const struct http_reader *r = cls;
	ssize_t n = r->read(r->ctx, pos, (uint8_t *)out, max);
	return n > 0 ? n : MHD_CONTENT_READER_END_WITH_ERROR; /* after a 0 the library would ask again, forever */
}

static void http_reader_free(void *cls)
{
	struct http_reader *r = cls;
	if (r->release)
		r->release(r->ctx);
	free(r);
}

void http_reply_reader(struct http_request *req, unsigned code, const char *content_type, uint64_t len,
		       ssize_t (*read)(void *ctx, uint64_t pos, uint8_t *out, size_t max), void (*release)(void *ctx),
		       void *ctx)
{
	struct MHD_Response *response = NULL;
	struct http_reader *r = calloc(1, sizeof(*r));
	if (r) {
		*r = (struct http_reader){read, release, ctx};
		size_t block = len < HTTP_READER_BLOCK_BYTES ? (size_t)len + 1 : HTTP_READER_BLOCK_BYTES;
		response = MHD_create_response_from_callback(len, block, http_reader_read, r, http_reader_free);
	}
	if (!response) {
		free(r);
		if (release)
			release(ctx);
	}
	http_reply(req, code, content_type, len, response);
}

/* A part of a file that cannot be sent without copying. */
struct http_part {
	int fd;
	uint64_t offset;
};

static ssize_t http_part_read(void *ctx, uint64_t pos, uint8_t *out, size_t max)
{
	const struct http_part *part = ctx;
	return cairn_sys_pread(part->fd, out, max, (off_t)(part->offset + pos));
}

static void http_part_free(void *ctx)
{
	struct http_part *part = ctx;
	close(part->fd);
	free(part);
}

void http_reply_file(struct http_request *req, unsigned code, const char *content_type, int fd, uint64_t offset,
		     uint64_t len)
{
	struct http_part *part = req->server->options.tls_retrieve ? malloc(sizeof(*part)) : NULL;
	if (part) { /* the library would read the file in blocks of 4 KiB, and encrypt each block separately */
		*part = (struct http_part){fd, offset};
		http_reply_reader(req, code, content_type, len, http_part_read, http_part_free, part);
		return;
	}
	struct MHD_Response *response = MHD_create_response_from_fd_at_offset64(len, fd, offset);
	if (!response)
		close(fd);
	http_reply(req, code, content_type, len, response);
}
