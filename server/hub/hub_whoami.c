/* GET /api/whoami-v2: identifies the key's owner. The mirrored hub is asked about a token of its own. */
#include "base/json.h"
#include "cas/service/public_id.h"
#include "hub/quota.h"
#include "hub/repo.h"
#include "server/ask/hub_mirror.h"
#include "server/ask/hub_reply.h"
#include "server/hub/hub_routes.h"

#include <string.h>

struct whoami_answer {
	const struct cairn_cas *cas;
	struct cairn_json_out w;
};

static void whoami_id(struct whoami_answer *answer, int64_t id)
{
	char text[CAIRN_PUBLIC_ID_TEXT_BYTES];
	cairn_public_id(answer->cas, CAIRN_PUBLIC_ACCOUNT, id, text);
	cairn_json_put_text(&answer->w, "id", text);
}

static void whoami_organisation(void *ctx, const struct cairn_index_account *account, enum cairn_index_role role)
{
	struct whoami_answer *answer = ctx;
	struct cairn_json_out *w = &answer->w;
	cairn_json_open_object(w, NULL);
	cairn_json_put_text(w, "type", "org");
	whoami_id(answer, account->id);
	cairn_json_put_text(w, "name", account->name);
	cairn_json_put_text(w, "fullname", account->fullname[0] ? account->fullname : account->name);
	cairn_json_put_text(w, "roleInOrg", cairn_hub_role_name(role));
	cairn_json_put_text(w, "avatarUrl", ""); /* clients require this member, but accounts have no pictures */
	cairn_json_put_bool(w, "isEnterprise", false);
	cairn_json_close(w);
}

static void whoami_key(struct cairn_json_out *w, const struct cairn_hub_asker *asker)
{
	char when[HUB_TIME_BYTES];
	cairn_json_open_object(w, "auth");
	cairn_json_put_text(w, "type", "access_token");
	cairn_json_open_object(w, "accessToken");
	cairn_json_put_text(w, "displayName", asker->key != 0 ? asker->key_name : "none needed");
	cairn_json_put_text(w, "role", asker->scopes & CAIRN_TOKEN_WRITE ? "write" : "read");
	cairn_json_put_text(w, "createdAt", hub_time(when, asker->key_created_unix_s * 1000));
	cairn_json_close(w);
	cairn_json_close(w);
}

/* Writes how many bytes count for the account's quota, and the quota. Only askers who may add files get these. */
static void whoami_room(struct hub_call *call, struct cairn_json_out *w)
{
	const struct cairn_index_account *account = &call->asker.account;
	const struct cairn_hub *hub = &call->job.app->hub;
	enum cairn_hub_access access;
	struct cairn_index_room room;
	call->status = cairn_hub_access_in(hub, &call->asker, account->id, &access);
	if (call->status != CAIRN_OK || access < CAIRN_HUB_WRITE)
		return;
	call->status = cairn_hub_quota(hub, account->name, &room, &call->diag);
	cairn_json_put_u64(w, "usedStorage", room.stored_bytes);
	if (room.limit_bytes != CAIRN_INDEX_NO_QUOTA)
		cairn_json_put_u64(w, "storageQuota", room.limit_bytes);
	else
		cairn_json_put_text(w, "storageQuota", NULL);
}

/* Passes on what the mirrored hub says. */
static void whoami_foreign(struct hub_call *call)
{
	const char *answer = hub_mirror_owner(call);
	if (answer)
		cairn_buf_add(&call->answer, answer, strlen(answer));
}

static void whoami_run(struct hub_call *call)
{
	if (call->foreign[0]) {
		whoami_foreign(call);
		return;
	}
	const struct cairn_hub_asker *asker = &call->asker;
	const struct cairn_index_account *account = &asker->account;
	if (asker->kind == CAIRN_HUB_NOBODY) {
		call->status = cairn_fail(&call->diag, CAIRN_E_DENIED, "key.unknown", CAIRN_NO_OFFSET,
					  "send an API key in the Authorization header");
		return;
	}
	bool operator= asker->kind == CAIRN_HUB_OPERATOR;
	const char *name = operator? CAIRN_HUB_OPERATOR_NAME : account->name;
	struct whoami_answer answer = {.cas = call->job.app->cas, .w = cairn_json_out_init(&call->answer)};
	struct cairn_json_out *w = &answer.w;
	cairn_json_open_object(w, NULL);
	cairn_json_put_text(w, "type", account->kind == CAIRN_INDEX_ORGANISATION ? "org" : "user");
	whoami_id(&answer, account->id);
	cairn_json_put_text(w, "name", name);
	cairn_json_put_text(w, "fullname", account->fullname[0] ? account->fullname : name);
	cairn_json_put_text(w, "email", account->email[0] ? account->email : NULL);
	cairn_json_put_bool(w, "emailVerified", false);
	cairn_json_put_text(w, "avatarUrl", "");
	cairn_json_put_bool(w, "canPay", false);
	cairn_json_put_bool(w, "isPro", false);
	cairn_json_open_array(w, "orgs");
	if (!operator)
		call->status =
			cairn_hub_each_organisation(&call->job.app->hub, account->id, whoami_organisation, &answer);
	cairn_json_close(w);
	whoami_key(w, asker);
	if (!operator&& call->status == CAIRN_OK)
		whoami_room(call, w);
	cairn_json_close(w);
}

static void whoami_get(struct http_request *req)
{
	struct hub_repo *r = hub_repo_new(req, sizeof(*r), 0, whoami_run, hub_call_show_json); /* of no repository */
	if (!r)
		return;
	r->call.mirrors = true;
	route_job_start(req);
}

const struct http_route ROUTES_WHOAMI[] = {
	HUB_GET("/api/whoami-v2", "whoami", whoami_get, hub_repo_free),
	{0},
};
