/* Answers what everybody may know about an account: GET /api/users/{name}/overview, GET
 * /api/organizations/{name}/overview and /members (source: huggingface_hub, HfApi.get_user_overview and others). */
#include "base/json.h"
#include "cas/service/public_id.h"
#include "hub/repo.h"
#include "server/hub/hub_routes.h"

struct overview_call {
	struct hub_call call;
	const char *name;                   /* borrowed from the request */
	enum cairn_index_account_kind kind; /* kind of the account to look for */
	struct cairn_json_out w;
};

static void overview_put_account(struct overview_call *o, const struct cairn_index_account *account)
{
	char id[CAIRN_PUBLIC_ID_TEXT_BYTES];
	bool is_user = account->kind == CAIRN_INDEX_USER;
	cairn_public_id(o->call.job.app->cas, CAIRN_PUBLIC_ACCOUNT, account->id, id);
	cairn_json_put_text(&o->w, "_id", id);
	cairn_json_put_text(&o->w, is_user ? "user" : "name", account->name);
	cairn_json_put_text(&o->w, "fullname", account->fullname[0] ? account->fullname : account->name);
	cairn_json_put_text(&o->w, "type", is_user ? "user" : "org");
}

static void overview_put_member(void *ctx, const struct cairn_index_account *account, enum cairn_index_role role)
{
	struct overview_call *o = ctx;
	(void)role;
	cairn_json_open_object(&o->w, NULL);
	overview_put_account(o, account);
	cairn_json_close(&o->w);
}

/* Finds the account. @return CAIRN_OK; CAIRN_E_NOT_FOUND: no account, or one of another kind (account.unknown); errors
 * of index and store */
static enum cairn_status overview_find(struct overview_call *o, struct cairn_index_account *out)
{
	struct hub_call *call = &o->call;
	if (call->asker.shut_out)
		return cairn_hub_no_account(&call->diag);
	enum cairn_status status = cairn_hub_see_account(&call->job.app->hub, &call->asker, o->name, out, &call->diag);
	return status == CAIRN_OK && out->kind != o->kind ? cairn_hub_no_account(&call->diag) : status;
}

/* Writes the organisations of a user, for this user alone: only members may see who belongs to an organisation. */
static void overview_put_organisations(struct overview_call *o, const struct cairn_index_account *user)
{
	struct hub_call *call = &o->call;
	cairn_json_open_array(&o->w, "orgs");
	if (call->asker.kind == CAIRN_HUB_ACCOUNT && call->asker.account.id == user->id)
		call->status = cairn_hub_each_organisation(&call->job.app->hub, user->id, overview_put_member, o);
	cairn_json_close(&o->w);
}

static void overview_run(struct hub_call *call)
{
	struct overview_call *o = (struct overview_call *)call;
	struct cairn_index_account account = {0};
	call->status = overview_find(o, &account);
	if (call->status != CAIRN_OK)
		return;
	o->w = cairn_json_out_init(&call->answer);
	cairn_json_open_object(&o->w, NULL);
	overview_put_account(o, &account);
	if (account.kind == CAIRN_INDEX_USER)
		overview_put_organisations(o, &account);
	cairn_json_close(&o->w);
}

static void overview_run_members(struct hub_call *call)
{
	struct overview_call *o = (struct overview_call *)call;
	const struct cairn_hub *hub = &call->job.app->hub;
	struct cairn_index_account account = {0};
	enum cairn_hub_access access;
	call->status = overview_find(o, &account);
	if (call->status == CAIRN_OK)
		call->status = cairn_hub_access_in(hub, &call->asker, account.id, &access);
	if (call->status != CAIRN_OK)
		return;
	if (access < CAIRN_HUB_READ) {
		call->status = cairn_fail(&call->diag, CAIRN_E_DENIED, "account.denied", CAIRN_NO_OFFSET,
					  "only the members of an organisation see who belongs to it");
		return;
	}
	o->w = cairn_json_out_init(&call->answer);
	cairn_json_open_array(&o->w, NULL);
	call->status = cairn_hub_each_member(hub, account.name, overview_put_member, o, &call->diag);
	cairn_json_close(&o->w);
}

static void overview_begin(struct http_request *req, enum cairn_index_account_kind kind,
			   void (*run)(struct hub_call *call))
{
	struct overview_call *o = hub_call_new(req, sizeof(*o), run, hub_call_show_json);
	if (!o)
		return;
	o->name = http_path_arg(req, "name");
	o->kind = kind;
	route_job_start(req);
}

static void overview_get_user(struct http_request *req)
{
	overview_begin(req, CAIRN_INDEX_USER, overview_run);
}

static void overview_get_organisation(struct http_request *req)
{
	overview_begin(req, CAIRN_INDEX_ORGANISATION, overview_run);
}

static void overview_get_members(struct http_request *req)
{
	overview_begin(req, CAIRN_INDEX_ORGANISATION, overview_run_members);
}

const struct http_route ROUTES_OVERVIEW[] = {
	HUB_GET("/api/users/{name}/overview", "overview", overview_get_user, hub_call_free),
	HUB_GET("/api/organizations/{name}/overview", "overview", overview_get_organisation, hub_call_free),
	HUB_GET("/api/organizations/{name}/members", "overview", overview_get_members, hub_call_free),
	{0},
};
