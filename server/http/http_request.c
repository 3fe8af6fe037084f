#include "server/http/http_request.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "server/http/cors.h"
#include "server/http/http_error.h"
#include "server/http/listen.h"
#include "server/log/log.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct http_request *http_request_new(struct http_conn *peer, const char *target)
{
	enum http_target_kind kind = http_target_judge(target);
	size_t len = strlen(target);
	size_t path_len = kind == HTTP_TARGET_PLAIN ? len : (size_t)(strchrnul(target, '?') - target);
	if (path_len > ROUTER_TAILED_BYTES_MAX)
		path_len = ROUTER_TAILED_BYTES_MAX + 1; /* enough for the router to see that it is too long */
	struct http_request *req = peer->spare ? peer->spare : malloc(sizeof(*req));
	if (!req)
		return NULL;
	peer->spare = NULL;
	memset(req, 0, offsetof(struct http_request, added_room));
	req->method[0] = req->session_id[0] = req->user_agent[0] = '\0';
	auth_clear(&req->identity);
	req->peer = peer;
	req->target = target;
	req->target_len = len;
	memcpy(req->path, target, path_len);
	req->path[path_len] = '\0';
	req->target_kind = kind;
	http_target_log(req->target_log, sizeof(req->target_log), target, len, kind);
	return req;
}

static bool request_is_own_room(const struct http_request *req, const struct http_added *added)
{
	return (const char *)added >= req->added_room && (const char *)added < req->added_room + HTTP_ADDED_ROOM_BYTES;
}

static struct http_added *request_new_added(struct http_request *req, size_t bytes)
{
	size_t whole =
		(bytes + alignof(struct http_added) - 1) / alignof(struct http_added) * alignof(struct http_added);
	if (whole > HTTP_ADDED_ROOM_BYTES - req->added_bytes)
		return malloc(bytes);
	req->added_bytes += whole;
	return (struct http_added *)(void *)(req->added_room + req->added_bytes - whole);
}

void http_ignore_body(struct http_request *req, const uint8_t *bytes, size_t len)
{
	(void)req, (void)bytes, (void)len;
}

void *http_app(const struct http_request *req)
{
	return req->server->options.app;
}

void http_request_free(struct http_request *req)
{
	while (req->added) {
		struct http_added *next = req->added->next;
		if (!request_is_own_room(req, req->added))
			free(req->added);
		req->added = next;
	}
	req->peer->spare = req;
}

/* Appends a header to those of the reply to come. @return false without memory */
static bool request_add(struct http_request *req, const char *name, const char *value)
{
	size_t name_len = strlen(name), value_len = strlen(value);
	struct http_added *added = request_new_added(req, sizeof(*added) + name_len + value_len + 2);
	if (!added)
		return false;
	memcpy(added->text, name, name_len + 1);
	memcpy(added->text + name_len + 1, value, value_len + 1);
	added->value = added->text + name_len + 1;
	added->next = NULL;
	struct http_added **tail = &req->added;
	while (*tail)
		tail = &(*tail)->next;
	*tail = added;
	return true;
}

const struct http_family *http_request_family(const struct http_request *req)
{
	const struct http_family *family = &req->server->options.family;
	return family->unknown && family->unknown(req->path) ? family : NULL;
}

bool http_request_has_added(const struct http_request *req, const char *name)
{
	for (const struct http_added *a = req->added; a; a = a->next) {
		if (strcasecmp(a->text, name) == 0)
			return true;
	}
	return false;
}

uint64_t http_request_body_left(const struct http_request *req)
{
	return req->body_len == UINT64_MAX ? UINT64_MAX : req->body_len - req->received;
}

void http_request_release(struct http_request *req)
{
	if (req->has_route_state && req->state && req->match.route->free)
		req->match.route->free(req->state);
	req->state = NULL;
	req->has_route_state = false;
}

static bool request_closes(const struct http_request *req)
{
	return req->close_after || atomic_load_explicit(&req->server->draining, memory_order_relaxed);
}

bool http_is_plain(const struct http_request *req)
{
	const struct cors *cors = req->server->options.cors;
	struct cors_header headers[CORS_HEADERS_MAX];
	return !req->has_client_id && !req->added && !request_closes(req) &&
	       (!cors || cors_reply(cors, req->origin, headers) == 0);
}

void http_request_headers(const struct http_request *req, const char *content_type,
			  void (*add)(void *ctx, const char *name, const char *value), void *ctx)
{
	const struct cors *cors = req->server->options.cors;
	struct cors_header headers[CORS_HEADERS_MAX];
	size_t n = cors ? cors_reply(cors, req->origin, headers) : 0;
	add(ctx, "X-Request-Id", req->id);
	if (content_type)
		add(ctx, "Content-Type", content_type);
	for (size_t i = 0; i < n; i++)
		add(ctx, headers[i].name, headers[i].value);
	for (const struct http_added *a = req->added; a; a = a->next)
		add(ctx, a->text, a->value);
	if (request_closes(req))
		add(ctx, "Connection", "close");
}

static void http_add_raw(void *ctx, const char *name, const char *value)
{
	cairn_buf_printf(ctx, "%s: %s\r\n", name, value);
}

void http_request_raw(const struct http_request *req, unsigned code, const struct cairn_buf *body,
		      struct cairn_buf *out)
{
	http_error_raw_status(out, code);
	http_request_headers(req, "application/json", http_add_raw, out);
	cairn_buf_printf(out, "Content-Length: %zu\r\n\r\n", body->len);
	cairn_buf_add(out, body->bytes, body->len);
}

void http_request_set_id(struct http_request *req, const char *from_client, uint32_t prefix, uint32_t number)
{
	req->has_client_id = http_id_is_sane(from_client);
	if (req->has_client_id) {
		memcpy(req->id, from_client, strlen(from_client) + 1);
		return;
	}
	uint8_t bytes[16] = {0}; /* 16 digits are written as fast as the 8 that are needed */
	char text[2 * sizeof(bytes) + 1];
	cairn_put_u64be(bytes, (uint64_t)prefix << 32 | number);
	cairn_hex_text(text, bytes, sizeof(bytes));
	memcpy(req->id, text, 16);
	req->id[16] = '\0';
}

const struct http_server *http_server_of(const struct http_request *req)
{
	return req->server;
}

void http_set_state(struct http_request *req, void *state)
{
	req->state = state;
}

void *http_state(const struct http_request *req)
{
	return req->state;
}

const char *http_pattern(const struct http_request *req)
{
	return req->match.route->pattern;
}

const char *http_path_arg(const struct http_request *req, const char *name)
{
	size_t len = strlen(name);
	for (unsigned i = 0; i < req->match.n_args; i++) {
		if (req->match.args[i].name_len == len && memcmp(req->match.args[i].name, name, len) == 0)
			return req->match.args[i].value;
	}
	assert(!"a name that the route's pattern has");
	return "";
}

enum http_method_kind http_method(const struct http_request *req)
{
	if (strcmp(req->method, "GET") == 0)
		return HTTP_GET;
	return strcmp(req->method, "HEAD") == 0 ? HTTP_HEAD : HTTP_OTHER;
}

const char *http_peer_address(const struct http_request *req)
{
	return req->peer->address;
}

const char *http_client_address(const struct http_request *req)
{
	return req->client_address[0] ? req->client_address : req->peer->address;
}

const char *http_if_none_match(const struct http_request *req)
{
	return req->if_none_match;
}

const char *http_cookies(const struct http_request *req)
{
	return req->cookies;
}

uint64_t http_content_length(const struct http_request *req)
{
	return req->body_len;
}

void http_base_url(const struct http_request *req, char *out, size_t out_len)
{
	char address[LISTEN_TEXT_BYTES] = "localhost";
	struct listen_address local;
	const char *host = req->host;
	if (req->server->public_url) {
		(void)snprintf(out, out_len, "%s", req->server->public_url);
		return;
	}
	/* HTTP/1.0 needs no Host header: use the address to which the client connected. */
	if (!host && listen_address_of(req->peer->fd, &local) == CAIRN_OK && local.addr.ss_family != AF_UNIX)
		listen_text(&local, address);
	(void)snprintf(out, out_len, "%s://%s", req->server->options.tls_retrieve ? "https" : "http",
		       host ? host : address);
}

void http_note_queued(struct http_request *req, uint64_t queued_us)
{
	req->queued = true;
	req->queued_us += queued_us;
}

void http_sender(const struct http_request *req, struct cairn_hash *out)
{
	static const uint8_t KIND[CAIRN_HASH_BYTES] = {'a'};
	if (auth_is_somebody(&req->identity))
		auth_sender(&req->identity, req->authorization, out);
	else
		cairn_hash_mac(out, KIND, req->client, sizeof(req->client));
}

uint64_t http_turn(const struct http_request *req)
{
	struct cairn_hash sender;
	http_sender(req, &sender);
	return cairn_get_u64le(sender.b);
}

const struct auth_identity *http_identity(const struct http_request *req)
{
	return &req->identity;
}

const char *http_request_id(const struct http_request *req)
{
	return req->id;
}

void http_reply_header(struct http_request *req, const char *name, const char *value)
{
	if (!request_add(req, name, value))
		req->close_after = true; /* tells the client that the server is out of memory */
}

bool http_client_gone(const struct http_request *req)
{
	struct pollfd p = {.fd = req->peer->fd, .events = POLLRDHUP};
	return cairn_sys_poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/* Logs errors that are the server's fault. A 503 enforces limits, so its level is below error. */
void http_request_log_failure(const struct http_request *req, unsigned code, const char *rule, const char *cause)
{
	LOG(code == 503 ? LOG_WARNING : LOG_ERROR, "request_failed", LOG_T("request_id", req->id),
	    LOG_T("route", req->match.route ? req->match.route->name : "none"), LOG_N("status", code),
	    LOG_T("rule", rule), LOG_T("cause", cause));
}
