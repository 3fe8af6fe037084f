/* Tokens for the store: GET /api/buckets/{namespace}/{name}/xet-read-token and …/xet-write-token, and the same for
 * repositories, with a revision at the end. */
#include "cas/service/keys.h"
#include "cas/service/repo.h"
#include "hub/stranger.h"
#include "server/ask/hub_reply.h"
#include "server/ask/hub_repo.h"
#include "server/ask/route_token.h"
#include "server/hub/hub_routes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct token_request {
	struct hub_repo repo;
	bool for_writing;
	bool for_proposal, is_new; /* is_new: for a pull request that is not yet open */
	const char *raw;           /* the revision in the address; borrowed from the request */
	char *token;               /* owned */
	int64_t expires_unix_s;
};

static void token_free(void *state)
{
	struct token_request *t = state;
	if (!t)
		return;
	free(t->token);
	hub_repo_fini(&t->repo);
	free(t);
}

/* Makes the claims for a repository that only the store knows. An operator's key may ask for it, as without a hub. */
static void token_take_unknown(struct token_request *t, struct cairn_token_claims *claims)
{
	struct hub_repo *r = &t->repo;
	struct hub_call *call = &r->call;
	struct cairn_key_holder holder = {0};
	char name[sizeof(claims->repo)];
	int n = snprintf(name, sizeof(name), "%ss/%s/%s", r->kind ? hub_kind_name(r->kind) : "", r->namespace, r->name);
	*claims = (struct cairn_token_claims){.scopes = CAIRN_TOKEN_READ | (t->for_writing ? CAIRN_TOKEN_WRITE : 0U)};
	if (r->kind == CAIRN_INDEX_BUCKET || n < 0 || (size_t)n >= sizeof(name) ||
	    !cairn_repo_full_name(claims->repo, sizeof(claims->repo), name) || strcmp(name, claims->repo) != 0)
		return;
	call->status = CAIRN_OK;
	call->diag = (struct cairn_diag){0};
	if (call->job.app->auth.keys)
		call->status = cairn_cas_check_key(call->job.app->cas, call->digest, claims->scopes, claims->repo,
						   &holder, &call->diag);
	if (call->status == CAIRN_E_CONFLICT) /* the key permits less than was asked for */
		call->status = CAIRN_E_DENIED;
	claims->api_key = holder.id;
	(void)snprintf(claims->subject, sizeof(claims->subject), "%.*s", (int)sizeof(claims->subject) - 1, holder.name);
}

/* May the asker get a token for a pull request? A stranger's files go to a bucket of the stranger's account. */
static bool token_may_propose(struct token_request *t)
{
	struct hub_call *call = &t->repo.call;
	if (!hub_repo_find_proposed(&t->repo, t->is_new ? NULL : t->raw))
		return false;
	const struct cairn_index_repo repo = t->repo.repo;
	if (hub_repo_is_stranger(&t->repo))
		call->status =
			cairn_hub_find_proposals(&call->job.app->hub, &call->asker, &repo, &t->repo.repo, &call->diag);
	return call->status == CAIRN_OK;
}

static bool token_find(struct token_request *t, struct cairn_token_claims *claims)
{
	struct hub_repo *r = &t->repo;
	struct hub_call *call = &r->call;
	bool found = t->for_proposal ? token_may_propose(t)
				     : hub_repo_find(r, t->for_writing ? CAIRN_HUB_WRITE : CAIRN_HUB_READ);
	if (found)
		cairn_hub_token_claims(&call->asker, &r->repo, t->for_writing, claims);
	else if (call->status == CAIRN_E_NOT_FOUND && call->asker.kind == CAIRN_HUB_OPERATOR)
		token_take_unknown(t, claims);
	return call->status == CAIRN_OK;
}

static void token_mint(struct hub_call *call)
{
	struct token_request *t = (struct token_request *)call;
	struct cairn_token_claims claims;
	if (token_find(t, &claims) && hub_repo_mint(&t->repo, &claims, &t->token))
		t->expires_unix_s = claims.expires_unix_s;
}

static void token_show(struct http_request *req, struct hub_call *call)
{
	const struct token_request *t = (const struct token_request *)call;
	route_reply_token(req, t->token, t->expires_unix_s, t->repo.base);
}

static void token_get(struct http_request *req, bool for_bucket, bool for_writing)
{
	struct token_request *t = for_bucket ? hub_repo_new(req, sizeof(*t), CAIRN_INDEX_BUCKET, token_mint, token_show)
					     : hub_repo_new_git(req, sizeof(*t), token_mint, token_show);
	if (!t)
		return;
	t->repo.namespace = http_path_arg(req, "namespace");
	t->repo.name = http_path_arg(req, "name");
	t->for_writing = for_writing;
	t->is_new = hub_query_is_true(http_query_arg(req, "create_pr"));
	t->raw = for_bucket ? NULL : http_path_arg(req, "revision");
	t->for_proposal = for_writing && !for_bucket;
	route_job_start(req);
}

static void token_get_read_of_bucket(struct http_request *req)
{
	token_get(req, true, false);
}

static void token_get_write_of_bucket(struct http_request *req)
{
	token_get(req, true, true);
}

/* Replies with a token for the repository, whatever the revision is: clients also send revisions that do not exist. */
static void token_get_read(struct http_request *req)
{
	token_get(req, false, false);
}

static void token_get_write(struct http_request *req)
{
	token_get(req, false, true);
}

const struct http_route ROUTES_TOKEN[] = {
	HUB_GET("/api/buckets/{namespace}/{name}/xet-read-token", "bucket-token", token_get_read_of_bucket, token_free),
	HUB_GET("/api/buckets/{namespace}/{name}/xet-write-token", "bucket-token", token_get_write_of_bucket,
		token_free),
	HUB_GET("/api/{type}/{namespace}/{name}/xet-read-token/{revision*}", "hub-token", token_get_read, token_free),
	HUB_GET("/api/{type}/{namespace}/{name}/xet-write-token/{revision*}", "hub-token", token_get_write, token_free),
	{0},
};
