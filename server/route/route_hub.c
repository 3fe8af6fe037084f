/* The token endpoints of a hub, for clients that use this server as their hub: GET
 * /api/{models|datasets|spaces}/{namespace}/{name}/xet-{read|write}-token/{revision}. The Authorization header has an
 * API key; the answer is a token for that repository. */
#include "base/clock.h"
#include "cas/service/keys.h"
#include "cas/service/repo.h"
#include "server/ask/route_job.h"
#include "server/ask/route_token.h"
#include "server/route/routes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hub_request {
	struct route_job job;
	struct cairn_token_claims claims; /* the requested claims; the subject comes from the key */
	uint8_t digest[CAIRN_SHA256_BYTES];
	enum cairn_status status;
	struct cairn_diag diag;
	char base[1024];
	char *token; /* owned */
};

static void hub_free(void *state)
{
	struct hub_request *h = state;
	if (!h)
		return;
	free(h->token);
	free(h);
}

/* Does the key permit the requested claims? */
static enum cairn_status hub_check_key(struct hub_request *h)
{
	struct cairn_key_holder holder;
	enum cairn_status status =
		cairn_cas_check_key(h->job.app->cas, h->digest, h->claims.scopes, h->claims.repo, &holder, &h->diag);
	if (status != CAIRN_OK)
		return status;
	h->claims.api_key = holder.id;
	(void)snprintf(h->claims.subject, sizeof(h->claims.subject), "%.*s", (int)sizeof(h->claims.subject) - 1,
		       holder.name);
	return CAIRN_OK;
}

static void hub_mint(struct route_job *job)
{
	struct hub_request *h = (struct hub_request *)job;
	int64_t now_unix_s = cairn_clock_unix_s();
	h->claims.expires_unix_s = now_unix_s + (int64_t)atomic_load(&job->app->live.token_ttl_s);
	if (!job->app->auth.keys) {
		h->token = strdup("none-needed"); /* any text will do, because tokens are not checked */
		h->status = h->token ? CAIRN_OK : CAIRN_E_NOMEM;
		return;
	}
	h->status = hub_check_key(h);
	if (h->status == CAIRN_OK)
		h->status = auth_mint(&job->app->auth, &h->claims, now_unix_s, &h->token, &h->diag);
}

static void hub_reply_no_repo(struct http_request *req, const struct hub_request *h)
{
	http_reply_header(req, "X-Error-Code", "RepoNotFound");
	http_reply_error(req, 404, "repo.unknown", "Repository not found", &h->diag);
}

static void hub_reply(struct http_request *req, struct route_job *job)
{
	const struct hub_request *h = (const struct hub_request *)job;
	if (h->status == CAIRN_OK)
		route_reply_token(req, h->token, h->claims.expires_unix_s, h->base);
	else if (h->status == CAIRN_E_DENIED)
		http_reply_error(req, 401, "key.unknown", "this API key is not known here", &h->diag);
	else if (h->status == CAIRN_E_NOT_FOUND)
		hub_reply_no_repo(req, h);
	else if (h->status == CAIRN_E_CONFLICT)
		http_reply_error(req, 403, "key.scope", "this API key does not allow that", &h->diag);
	else if (h->status == CAIRN_E_USAGE)
		http_reply_error(req, 500, "token.no_key",
				 "the server has no key that can sign tokens; give it a private one with token_key",
				 NULL);
	else
		http_reply_status(req, h->status, &h->diag);
}

/* Reads the API key of "Authorization: Bearer KEY". @return false: there is none; an error was replied */
static bool hub_take_key(struct http_request *req, struct hub_request *h)
{
	static const char SCHEME[] = "Bearer ";
	const char *header = http_header(req, "Authorization");
	if (!app_of(req)->auth.keys)
		return true;
	if (header && strncasecmp(header, SCHEME, sizeof(SCHEME) - 1) == 0 &&
	    cairn_key_digest(header + sizeof(SCHEME) - 1, h->digest) == CAIRN_OK)
		return true;
	http_reply_error(req, 401, "key.missing",
			 "send an API key, made with cairn key, as \"Authorization: Bearer KEY\"", NULL);
	return false;
}

static void hub_get(struct http_request *req, unsigned scopes)
{
	char repo[sizeof((struct cairn_token_claims){0}.repo)];
	int n = snprintf(repo, sizeof(repo), "%s/%s/%s", http_path_arg(req, "type"), http_path_arg(req, "namespace"),
			 http_path_arg(req, "name"));
	struct hub_request *h = route_job_new(req, sizeof(*h), hub_mint, hub_reply);
	if (!h)
		return;
	h->claims.scopes = scopes;
	if (n < 0 || (size_t)n >= sizeof(repo) || !cairn_repo_full_name(h->claims.repo, sizeof(h->claims.repo), repo) ||
	    strcmp(repo, h->claims.repo) != 0) {
		http_reply_error(req, 404, "repo.unknown",
				 "repositories are models, datasets or spaces, as namespace/name", NULL);
		return;
	}
	http_base_url(req, h->base, sizeof(h->base));
	if (hub_take_key(req, h))
		route_job_start(req);
}

static void hub_get_read(struct http_request *req)
{
	hub_get(req, CAIRN_TOKEN_READ);
}

static void hub_get_write(struct http_request *req)
{
	hub_get(req, CAIRN_TOKEN_READ | CAIRN_TOKEN_WRITE);
}

enum { HUB_LEFT_OUT_BYTES_MAX = 4096 }; /* longest body that is read and ignored */

static void hub_has_no_pages(struct http_request *req)
{
	http_reply_header(req, "X-Error-Code", "NotImplemented");
	http_reply_error(req, 501, "hub.left_out",
			 "This server has no pages, so nobody can confirm a sign-in with a browser: run hf auth login "
			 "--token with a key that its operator made",
			 NULL);
}

const struct http_route ROUTES_HUB[] = {
	{.method = "POST",
	 .pattern = "/oauth/device",
	 .name = "device",
	 .errors = HTTP_ERRORS_HUB,
	 .body_max = HUB_LEFT_OUT_BYTES_MAX,
	 .body = http_ignore_body,
	 .done = hub_has_no_pages},
	{.method = "POST",
	 .pattern = "/oauth/token",
	 .name = "device-token",
	 .errors = HTTP_ERRORS_LFS,
	 .body_max = HUB_LEFT_OUT_BYTES_MAX,
	 .body = http_ignore_body,
	 .done = hub_has_no_pages},
	{.method = "GET",
	 .pattern = "/api/{type}/{namespace}/{name}/xet-read-token/{revision%}",
	 .name = "hub-token",
	 .errors = HTTP_ERRORS_HUB,
	 .scope = 0,
	 .done = hub_get_read,
	 .free = hub_free},
	{.method = "GET",
	 .pattern = "/api/{type}/{namespace}/{name}/xet-write-token/{revision%}",
	 .name = "hub-token",
	 .errors = HTTP_ERRORS_HUB,
	 .scope = 0,
	 .done = hub_get_write,
	 .free = hub_free},
	{0},
};
