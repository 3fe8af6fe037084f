#include "server/http/http_gate.h"

#include "server/http/cors.h"
#include "server/http/hosts.h"
#include "server/http/http_conn.h"
#include "server/http/http_server.h"
#include "server/http/proxies.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct gate {
	struct http_request *req;
	const struct http_head *head;
	struct http_gate_answer *answer;
};

static bool gate_refuse(const struct gate *g, unsigned code, const char *rule, const char *message)
{
	*g->answer = (struct http_gate_answer){.code = code, .rule = rule, .message = message};
	return false;
}

/* Refuses with a formatted message. */
static bool gate_refuse_by(const struct gate *g, unsigned code, const struct cairn_diag *diag)
{
	*g->answer = (struct http_gate_answer){.code = code, .rule = diag->rule, .diag = *diag};
	g->answer->message = g->answer->diag.text;
	return false;
}

/* Copies a text, and cuts it if it does not fit. */
static void gate_copy(char *out, size_t out_len, const char *text)
{
	size_t len = strnlen(text, out_len - 1);
	memcpy(out, text, len);
	out[len] = '\0';
}

/* Finds the client's address, for which the request counts if no key identifies the sender. */
static void gate_find_client(struct http_request *req, const char *forwarded_for)
{
	const struct proxies *proxies = req->server->options.proxies;
	uint8_t address[HTTP_CONN_KEY_BYTES];
	memcpy(req->client, req->peer->key, sizeof(req->client));
	req->has_client = req->peer->has_address;
	if (!proxies || !forwarded_for || !proxies_find_client(proxies, req->peer->address, forwarded_for, address))
		return;
	http_conn_key(req->client, address);
	http_conn_address(req->client_address, address);
	req->has_client = true;
}

static void gate_fill(struct http_request *req, const struct http_head *head, const char *method)
{
	/* The stock client sends X-Amzn-Trace-Id with each request, and logs it as well. */
	const char *id = http_id_is_sane(head->request_id) ? head->request_id : head->trace_id;
	http_request_set_id(req, id, req->server->id_prefix, http_thread_number(req->thread));
	req->origin = head->origin;
	req->host = head->host;
	req->authorization = head->authorization;
	req->if_match = head->if_match;
	req->if_none_match = head->if_none_match;
	req->cookies = head->cookies;
	gate_find_client(req, head->forwarded_for);
	gate_copy(req->method, sizeof(req->method), method);
	if (http_id_is_sane(head->session_id))
		gate_copy(req->session_id, sizeof(req->session_id), head->session_id);
	if (head->user_agent)
		gate_copy(req->user_agent, sizeof(req->user_agent), head->user_agent);
}

static bool gate_check_head(const struct gate *g, const char *version, size_t head_bytes)
{
	struct http_request *req = g->req;
	struct http_head_body body;
	struct http_refusal refusal = http_head_check(g->head, req->target_kind, version, head_bytes,
						      req->server->options.head_bytes_max, &body);
	req->body_len = body.len;
	req->expects_100 = body.expects_100;
	req->close_after = req->close_after || refusal.code != 0 || req->peer->over_limit;
	return refusal.code == 0 || gate_refuse(g, refusal.code, refusal.rule, refusal.message);
}

/* Refuses a request whose address has too many connections, unless it is a probe. All clients of a proxy and its probes
 * share one address, so without their probes the daemon would seem down. */
static bool gate_connections(const struct gate *g)
{
	if (!g->req->peer->over_limit || g->req->match.route->probe)
		return true;
	return gate_refuse(g, 429, "connections", "too many connections from this address; close some, then try again");
}

/* Is one more request of an address or a token within its rate? */
static bool gate_rate_allows(struct http_request *req, struct rate *rate, const void *who, size_t len)
{
	char seconds[24];
	uint64_t wait_ms = rate ? rate_take(rate, who, len, req->started_us) : 0;
	if (wait_ms == 0)
		return true;
	(void)snprintf(seconds, sizeof(seconds), "%" PRIu64, (wait_ms + 999) / 1000);
	http_reply_header(req, "Retry-After", seconds);
	return false;
}

static bool gate_address_rate(const struct gate *g)
{
	struct http_request *req = g->req;
	if (!req->has_client)
		return true;
	return gate_rate_allows(req, req->server->address_rate, req->client, sizeof(req->client)) ||
	       gate_refuse(g, 429, "rate.address",
			   "too many requests from this address; wait for as long as Retry-After says");
}

static const char GATE_TOKEN_RATE[] = "too many requests with this token, or with tokens and keys of its account; wait "
				      "for as long as Retry-After says";

static bool gate_token_rate(const struct gate *g)
{
	struct http_request *req = g->req;
	struct cairn_hash who;
	bool somebody = auth_is_somebody(&req->identity);
	if (!somebody && (!g->head->authorization || !req->match.route->scope))
		return true;
	if (somebody || !req->identity.by_token)
		auth_bearer(&req->identity, g->head->authorization, &who);
	else
		http_sender(req, &who);
	return gate_rate_allows(req, req->server->token_rate, who.b, sizeof(who.b)) ||
	       gate_refuse(g, 429, "rate.token", GATE_TOKEN_RATE);
}

bool http_count_for(struct http_request *req, int64_t account, int64_t key)
{
	struct cairn_hash who;
	req->identity.account = account;
	req->identity.api_key = key;
	if (!auth_is_somebody(&req->identity))
		return true;
	auth_bearer(&req->identity, NULL, &who);
	if (gate_rate_allows(req, req->server->token_rate, who.b, sizeof(who.b)))
		return true;
	http_reply_error(req, 429, "rate.token", GATE_TOKEN_RATE, NULL);
	return false;
}

/* Checks the Host header. HTTP/1.0 requests need none; no browser sends them. */
static bool gate_host(const struct gate *g)
{
	struct http_request *req = g->req;
	const struct hosts *hosts = req->server->options.hosts;
	if (!hosts || !g->head->host || hosts_allow(hosts, g->head->host))
		return true;
	struct cairn_diag diag = {0};
	(void)cairn_fail(&diag, CAIRN_E_DENIED, "host.unknown", CAIRN_NO_OFFSET,
			 "this server needs no tokens, so it answers only to localhost%s and to the host of "
			 "public_url; set public_url to the address in use, or require tokens (token_key)",
			 hosts->addresses ? ", an address" : ", 127.0.0.1, [::1]");
	cairn_diag_values(&diag, hosts->public_name[0] ? hosts->public_name : "localhost", g->head->host);
	return gate_refuse_by(g, 421, &diag);
}

/* Answers a preflight. Browsers send it, without a token, before a page may call. @return false: no preflight */
static bool gate_preflight(const struct gate *g, const char *methods)
{
	struct http_request *req = g->req;
	const struct cors *cors = req->server->options.cors;
	struct cors_header headers[CORS_HEADERS_MAX];
	if (!cors || strcmp(req->method, "OPTIONS") != 0)
		return false;
	size_t n = cors_preflight(cors, req->origin, g->head->preflight_method, methods, headers);
	for (size_t i = 0; i < n; i++)
		http_reply_header(req, headers[i].name, headers[i].value);
	if (n > 0)
		*g->answer = (struct http_gate_answer){.code = 204};
	return n > 0;
}

static const struct http_unknown *gate_unknown(const struct http_request *req)
{
	static const struct http_unknown PLAIN = {NULL, "route.unknown", "there is no such resource; check the path"};
	const struct http_family *family = http_request_family(req);
	return family ? family->unknown(req->path) : &PLAIN;
}

static bool gate_no_route(const struct gate *g)
{
	const struct http_unknown *unknown = gate_unknown(g->req);
	if (unknown->code)
		http_reply_header(g->req, "X-Error-Code", unknown->code);
	return gate_refuse(g, 404, unknown->rule, unknown->message);
}

/* Refuses a method that the resource does not take. If the path's family has an error code for unknown paths, replies
 * as for a missing resource. */
static bool gate_no_method(const struct gate *g, const char *allow)
{
	if (gate_preflight(g, allow))
		return false;
	if (gate_unknown(g->req)->code)
		return gate_no_route(g);
	http_reply_header(g->req, "Allow", allow);
	return gate_refuse(g, 405, "route.method", "this resource does not take this method; see the Allow header");
}

/* Finds the route. If HF_ENDPOINT ends with a slash, paths begin with two slashes. Only routes of the hub accept these:
 * a proxy may guard other routes by their paths. */
static enum router_result gate_find(struct http_request *req, char *allow, size_t allow_len)
{
	const struct http_route *const *routes = req->server->options.routes;
	bool plain = req->target_kind == HTTP_TARGET_PLAIN;
	enum router_result result = router_find(routes, req->method, req->path, plain, &req->match, allow, allow_len);
	if (result != ROUTER_NOT_FOUND || strncmp(req->path, "//", 2) != 0)
		return result;
	size_t slashes = strspn(req->path, "/");
	result = router_find(routes, req->method, req->path + slashes - 1, plain, &req->match, allow, allow_len);
	if (result == ROUTER_FOUND && req->match.route->errors == HTTP_ERRORS_HUB)
		return result;
	req->match.route = NULL;
	return ROUTER_NOT_FOUND;
}

static bool gate_route(const struct gate *g)
{
	struct http_request *req = g->req;
	char allow[64];
	switch (gate_find(req, allow, sizeof(allow))) {
	case ROUTER_FOUND:
		return true;
	case ROUTER_NOT_FOUND:
		return gate_no_route(g);
	case ROUTER_WRONG_METHOD:
		return gate_no_method(g, allow);
	case ROUTER_UNKNOWN_METHOD:
		return gate_refuse(g, 501, "route.method_unknown", "no resource of this server takes this method");
	}
	return false;
}

/* Is it "scheme://host", ignoring case? @param host ends at its first slash; NULL: unknown */
static bool gate_is_origin(const char *origin, const char *scheme, size_t scheme_len, const char *host)
{
	size_t len = host ? strcspn(host, "/") : 0;
	return len > 0 && strncasecmp(origin, scheme, scheme_len) == 0 && strncmp(origin + scheme_len, "://", 3) == 0 &&
	       strlen(origin + scheme_len + 3) == len && strncasecmp(origin + scheme_len + 3, host, len) == 0;
}

/* Was the page loaded from this server? Its origin must be this server's scheme and the request's host. A proxy may use
 * another scheme with the browser: then public_url gives scheme and host. No other scheme counts for the host of
 * public_url, because a page loaded by HTTP may have been forged on the way. */
bool http_is_own_origin(const struct http_request *req)
{
	const char *own = req->server->options.tls_retrieve ? "https" : "http", *url = req->server->public_url;
	if (!req->origin)
		return false;
	if (!url)
		return gate_is_origin(req->origin, own, strlen(own), req->host);
	size_t scheme_len = strcspn(url, ":");
	const char *host = url + scheme_len + 3;
	if (gate_is_origin(req->origin, url, scheme_len, host) ||
	    gate_is_origin(req->origin, url, scheme_len, req->host))
		return true;
	size_t len = strcspn(host, "/");
	bool is_public = req->host && strlen(req->host) == len && strncasecmp(req->host, host, len) == 0;
	return !is_public && gate_is_origin(req->origin, own, strlen(own), req->host);
}

/* Refuses a write by a page whose origin may not call. A browser lets any page send simple writes, and only hides the
 * answer. Without tokens (on loopback) such a write could do harm. Other clients send no Origin. */
static bool gate_origin(const struct gate *g)
{
	struct http_request *req = g->req;
	const struct cors *cors = req->server->options.cors;
	if (!req->origin || !cors || http_method(req) != HTTP_OTHER || cors_allows(cors, req->origin) ||
	    http_is_own_origin(req))
		return true;
	gate_refuse(g, 403, "origin.unknown", "pages of this origin may not write here; name it in cors_origins");
	return false;
}

static bool gate_authorise(const struct gate *g)
{
	struct http_request *req = g->req;
	const struct http_server_options *o = &req->server->options;
	struct cairn_diag diag;
	unsigned code = 401;
	cairn_diag_clear(&diag);
	if (o->authorise(o->app, g->head->authorization, req->match.route->scope, &req->identity, &code, &diag)) {
		if (o->recognise && !g->head->authorization)
			o->recognise(o->app, req, &req->identity);
		return true;
	}
	(void)gate_refuse(g, code, code == 403 ? "token.scope" : "token",
			  code == 403 ? "the token does not permit this" : "send a valid bearer token");
	g->answer->diag = diag;
	return false;
}

static bool gate_check_length(const struct gate *g)
{
	struct http_request *req = g->req;
	const struct http_route *route = req->match.route;
	if (!route->body) {
		if (req->body_len == 0)
			return true;
		gate_refuse(g, 400, "http.body", "this resource takes no body; send the request without one");
		return false;
	}
	uint64_t limit = route->body_max_of ? route->body_max_of(req->server->options.app) : route->body_max;
	if (req->body_len == UINT64_MAX || req->body_len <= limit) {
		req->body_limit = limit;
		return true;
	}
	struct cairn_diag diag = {0};
	(void)cairn_fail(&diag, CAIRN_E_LIMIT, "http.body_bytes", CAIRN_NO_OFFSET,
			 "the body is larger than this server takes; send less at once");
	cairn_diag_numbers(&diag, limit, req->body_len);
	return gate_refuse_by(g, 413, &diag);
}

bool http_gate(struct http_request *req, const struct http_head *head, const char *method, const char *version,
	       size_t head_bytes, struct http_gate_answer *answer)
{
	const struct gate gate = {req, head, answer}, *g = &gate;
	gate_fill(req, head, method);
	return gate_check_head(g, version, head_bytes) && gate_address_rate(g) && gate_host(g) && gate_route(g) &&
	       gate_connections(g) && gate_origin(g) && gate_authorise(g) && gate_token_rate(g) && gate_check_length(g);
}
