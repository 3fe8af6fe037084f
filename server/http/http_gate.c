#include "server/http/http_gate.h"

#include "server/http/cors.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void gate_refuse(struct http_request *req, unsigned code, const char *rule, const char *message)
{
	http_reply_error(req, code, rule, message, NULL);
}

/* What does not fit is cut off. */
static void gate_copy(char *out, size_t out_len, const char *text)
{
	size_t len = strnlen(text, out_len - 1);
	memcpy(out, text, len);
	out[len] = '\0';
}

static void gate_fill(struct http_request *req, const struct http_head *head, const char *method)
{
	struct http_server *server = req->server;
	http_request_set_id(req, head->request_id, server->id_prefix, atomic_fetch_add(&server->id_next, 1));
	req->origin = head->origin;
	gate_copy(req->method, sizeof(req->method), method);
	if (http_id_is_sane(head->session_id))
		gate_copy(req->session_id, sizeof(req->session_id), head->session_id);
	if (head->user_agent)
		gate_copy(req->user_agent, sizeof(req->user_agent), head->user_agent);
}

static bool gate_check_head(struct http_request *req, const struct http_head *head, const char *version,
			    size_t head_bytes)
{
	struct http_head_body body;
	struct http_refusal refusal = http_head_check(head, req->target_kind, version, head_bytes,
						      req->server->options.head_bytes_max, &body);
	req->body_len = body.len;
	req->expects_100 = body.expects_100;
	if (refusal.code == 0 && req->peer->over_limit)
		refusal = (struct http_refusal){429, "connections",
						"too many connections from this address; close some, then try again"};
	if (refusal.code == 0)
		return true;
	req->close_after = true;
	gate_refuse(req, refusal.code, refusal.rule, refusal.message);
	return false;
}

/* One more request from an address or with a token: is it within what these may send? */
static bool gate_rate(struct http_request *req, struct rate *rate, const void *who, size_t len, const char *rule,
		      const char *message)
{
	char seconds[24];
	uint64_t wait_ms = rate ? rate_take(rate, who, len, req->started_us) : 0;
	if (wait_ms == 0)
		return true;
	(void)snprintf(seconds, sizeof(seconds), "%" PRIu64, (wait_ms + 999) / 1000);
	http_reply_header(req, "Retry-After", seconds);
	gate_refuse(req, 429, rule, message);
	return false;
}

static bool gate_address_rate(struct http_request *req)
{
	return gate_rate(req, req->server->address_rate, req->peer->key, sizeof(req->peer->key), "rate.address",
			 "too many requests from this address; wait for as long as Retry-After says");
}

static bool gate_token_rate(struct http_request *req, const struct http_head *head)
{
	size_t len = 0;
	if (!req->match.route->scope || !head->authorization)
		return true;
	const char *token = auth_token_name(head->authorization, &len);
	return gate_rate(req, req->server->token_rate, token, len, "rate.token",
			 "too many requests with this token; wait for as long as Retry-After says");
}

/* Browsers ask before they let a page call, without its token. @return false: that is not it */
static bool gate_preflight(struct http_request *req, const char *methods)
{
	const struct cors *cors = req->server->options.cors;
	struct cors_header headers[CORS_HEADERS_MAX];
	if (!cors || strcmp(req->method, "OPTIONS") != 0)
		return false;
	size_t n =
		cors_preflight(cors, req->origin, http_header(req, "Access-Control-Request-Method"), methods, headers);
	for (size_t i = 0; i < n; i++)
		http_reply_header(req, headers[i].name, headers[i].value);
	if (n > 0)
		http_reply_empty(req, 204, UINT64_MAX);
	return n > 0;
}

static bool gate_route(struct http_request *req)
{
	char allow[64];
	switch (router_find(req->server->options.routes, req->method, req->path, &req->match, allow, sizeof(allow))) {
	case ROUTER_FOUND:
		return true;
	case ROUTER_NOT_FOUND:
		gate_refuse(req, 404, "route.unknown", "there is no such resource; check the path");
		return false;
	case ROUTER_WRONG_METHOD:
		if (gate_preflight(req, allow))
			return false;
		http_reply_header(req, "Allow", allow);
		gate_refuse(req, 405, "route.method", "this resource does not take this method; see the Allow header");
		return false;
	case ROUTER_UNKNOWN_METHOD:
		gate_refuse(req, 501, "route.method_unknown", "no resource of this server takes this method");
		return false;
	}
	return false;
}

/* A browser lets any page send plain writes, and only keeps the answer from it. Where no token is needed (on loopback)
 * that would be enough to do harm, so pages of origins that may not call are refused here. Other clients send no
 * Origin. */
static bool gate_origin(struct http_request *req)
{
	const struct cors *cors = req->server->options.cors;
	if (!req->origin || !cors || http_method(req) != HTTP_OTHER || cors_allows(cors, req->origin))
		return true;
	gate_refuse(req, 403, "origin.unknown", "pages of this origin may not write here; name it in cors_origins");
	return false;
}

static bool gate_authorise(struct http_request *req, const struct http_head *head)
{
	const struct http_server_options *o = &req->server->options;
	struct cairn_diag diag = {0};
	unsigned code = 401;
	if (o->authorise(o->app, head->authorization, req->match.route->scope, &req->identity, &code, &diag))
		return true;
	http_reply_error(req, code, code == 403 ? "token.scope" : "token",
			 code == 403 ? "the token does not permit this" : "send a valid bearer token", &diag);
	return false;
}

static bool gate_check_length(struct http_request *req)
{
	const struct http_route *route = req->match.route;
	if (!route->body_max) {
		if (req->body_len == 0)
			return true;
		gate_refuse(req, 400, "http.body", "this resource takes no body; send the request without one");
		return false;
	}
	uint64_t limit = route->body_max(req->server->options.app);
	if (req->body_len == UINT64_MAX || req->body_len <= limit) {
		req->body_limit = limit;
		return true;
	}
	struct cairn_diag diag = {0};
	(void)cairn_fail(&diag, CAIRN_E_LIMIT, "http.body_bytes", CAIRN_NO_OFFSET,
			 "the body is larger than this server takes; send less at once");
	cairn_diag_numbers(&diag, limit, req->body_len);
	http_reply_error(req, 413, diag.rule, diag.text, &diag);
	return false;
}

bool http_gate(struct http_request *req, const struct http_head *head, const char *method, const char *version,
	       size_t head_bytes)
{
	gate_fill(req, head, method);
	return gate_check_head(req, head, version, head_bytes) && gate_address_rate(req) && gate_route(req) &&
	       gate_origin(req) && gate_authorise(req, head) && gate_token_rate(req, head) && gate_check_length(req);
}
