/* Users, organisations and their members, for the operator: POST and GET /v1/accounts, POST /v1/accounts/{account},
 * POST and GET /v1/accounts/{account}/members. */
#include "base/json.h"
#include "hub/account.h"
#include "server/ask/route_body.h"
#include "server/ask/route_job.h"
#include "server/ask/route_spill.h"
#include "server/ask/route_table.h"
#include "server/hub/hub_routes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ACCOUNTS_BODY_BYTES_MAX = 4096 };

struct accounts_request {
	struct route_job job;
	struct route_body body;
	struct cairn_spill answer;
	enum cairn_status status;
	struct cairn_diag diag;
	const char *account; /* from the path; borrowed from the request */
	enum cairn_index_account_kind kind;
	enum cairn_index_role role;
	bool disabled;
	char name[CAIRN_INDEX_ACCOUNT_TEXT_MAX + 1], fullname[CAIRN_INDEX_ACCOUNT_TEXT_MAX + 1],
		email[CAIRN_INDEX_ACCOUNT_TEXT_MAX + 1];
};

static void accounts_free(void *state)
{
	struct accounts_request *a = state;
	if (!a)
		return;
	route_body_fini(&a->body);
	cairn_spill_fini(&a->answer);
	free(a);
}

static void accounts_reply(struct http_request *req, struct route_job *job)
{
	struct accounts_request *a = (struct accounts_request *)job;
	if (a->status == CAIRN_E_NOT_FOUND)
		http_reply_error(req, 404, "account.unknown", "there is no account of this name", &a->diag);
	else if (a->status != CAIRN_OK)
		http_reply_status(req, a->status, &a->diag);
	else
		route_reply_spill(req, &a->answer, 200, "application/json");
}

static struct accounts_request *accounts_new(struct http_request *req, void (*run)(struct route_job *job))
{
	struct accounts_request *a = route_job_new(req, sizeof(*a), run, accounts_reply);
	if (a)
		route_spill_init(&a->answer, req);
	return a;
}

static void accounts_body(struct http_request *req, const uint8_t *bytes, size_t len)
{
	struct accounts_request *a = http_state(req);
	route_body_add(req, &a->body, bytes, len);
}

static void accounts_begin(struct http_request *req, void (*run)(struct route_job *job))
{
	struct accounts_request *a = accounts_new(req, run);
	if (a)
		(void)route_body_begin(req, &a->body);
}

/* Starts the job if the body was understood; else replies an error. */
static void accounts_start(struct http_request *req, bool understood, const char *expected)
{
	if (understood)
		route_job_start(req);
	else
		http_reply_error(req, 400, "account.body", expected, NULL);
}

static void accounts_make(struct route_job *job)
{
	struct accounts_request *a = (struct accounts_request *)job;
	const struct cairn_hub_new_account account = {a->kind, a->name, a->fullname, a->email};
	int64_t id;
	a->status = cairn_hub_add_account(&job->app->hub, &account, &id, &a->diag);
	struct cairn_json_out w = cairn_json_out_init(&a->answer.buf);
	cairn_json_open_object(&w, NULL);
	cairn_json_put_u64(&w, "id", (uint64_t)id);
	cairn_json_put_text(&w, "name", a->name);
	cairn_json_close(&w);
	cairn_buf_add(&a->answer.buf, "\n", 1);
	cairn_spill_finish(&a->answer);
}

static void accounts_post_head(struct http_request *req)
{
	accounts_begin(req, accounts_make);
}

static void accounts_post_done(struct http_request *req)
{
	struct accounts_request *a = http_state(req);
	CLEANUP(cairn_json_freep) struct cairn_json *json = route_body_json(&a->body);
	const char *kind = cairn_json_text_of(json, "kind");
	bool user = kind && strcmp(kind, "user") == 0, organisation = kind && strcmp(kind, "organisation") == 0;
	a->kind = user ? CAIRN_INDEX_USER : CAIRN_INDEX_ORGANISATION;
	accounts_start(req,
		       (user || organisation) && cairn_json_copy_of(json, "name", NULL, a->name, sizeof(a->name)) &&
			       cairn_json_copy_of(json, "fullname", "", a->fullname, sizeof(a->fullname)) &&
			       cairn_json_copy_of(json, "email", "", a->email, sizeof(a->email)),
		       "send {\"kind\":\"user\" or \"organisation\",\"name\":TEXT,\"fullname\":TEXT,\"email\":TEXT}, "
		       "each TEXT of at most 255 bytes; the last two may be left out");
}

struct accounts_list {
	struct accounts_request *a;
	struct cairn_json_out w;
};

static void accounts_visit(void *ctx, const struct cairn_index_account *account)
{
	struct accounts_list *list = ctx;
	cairn_json_open_object(&list->w, NULL);
	cairn_json_put_u64(&list->w, "id", (uint64_t)account->id);
	cairn_json_put_text(&list->w, "kind", account->kind == CAIRN_INDEX_USER ? "user" : "organisation");
	cairn_json_put_text(&list->w, "name", account->name);
	cairn_json_put_text(&list->w, "fullname", account->fullname);
	cairn_json_put_text(&list->w, "email", account->email);
	cairn_json_put_u64(&list->w, "created", (uint64_t)account->created_unix_s);
	cairn_json_put_bool(&list->w, "disabled", account->disabled_unix_s != 0);
	if (account->room.limit_bytes != CAIRN_INDEX_NO_QUOTA)
		cairn_json_put_u64(&list->w, "quota_bytes", account->room.limit_bytes);
	cairn_json_put_u64(&list->w, "stored_bytes", account->room.stored_bytes);
	cairn_json_close(&list->w);
	cairn_spill_check(&list->a->answer);
}

static void accounts_visit_member(void *ctx, const struct cairn_index_account *account, enum cairn_index_role role)
{
	struct accounts_list *list = ctx;
	cairn_json_open_object(&list->w, NULL);
	cairn_json_put_text(&list->w, "name", account->name);
	cairn_json_put_text(&list->w, "role", cairn_hub_role_name(role));
	cairn_json_close(&list->w);
	cairn_spill_check(&list->a->answer);
}

/* Lists all accounts, or the members of the organisation that the path names. */
static void accounts_list(struct route_job *job)
{
	struct accounts_request *a = (struct accounts_request *)job;
	struct accounts_list list = {.a = a, .w = cairn_json_out_init(&a->answer.buf)};
	cairn_json_open_object(&list.w, NULL);
	cairn_json_open_array(&list.w, a->account ? "members" : "accounts");
	if (a->account)
		a->status = cairn_hub_each_member(&job->app->hub, a->account, accounts_visit_member, &list, &a->diag);
	else
		a->status = cairn_hub_each_account(&job->app->hub, accounts_visit, &list);
	cairn_json_close(&list.w);
	cairn_json_close(&list.w);
	cairn_buf_add(&a->answer.buf, "\n", 1);
	cairn_spill_finish(&a->answer);
}

static void accounts_get(struct http_request *req)
{
	if (accounts_new(req, accounts_list))
		route_job_start(req);
}

static void accounts_get_members(struct http_request *req)
{
	struct accounts_request *a = accounts_new(req, accounts_list);
	if (!a)
		return;
	a->account = http_path_arg(req, "account");
	route_job_start(req);
}

static void accounts_put_changed(struct accounts_request *a, bool changed)
{
	cairn_buf_printf(&a->answer.buf, "{\"changed\":%s}\n", changed ? "true" : "false");
	cairn_spill_finish(&a->answer);
}

static void accounts_disable(struct route_job *job)
{
	struct accounts_request *a = (struct accounts_request *)job;
	bool changed;
	a->status = cairn_hub_disable_account(&job->app->hub, a->account, a->disabled, &changed, &a->diag);
	accounts_put_changed(a, changed);
}

static void accounts_disable_head(struct http_request *req)
{
	accounts_begin(req, accounts_disable);
}

static void accounts_disable_done(struct http_request *req)
{
	struct accounts_request *a = http_state(req);
	CLEANUP(cairn_json_freep) struct cairn_json *json = route_body_json(&a->body);
	a->account = http_path_arg(req, "account");
	accounts_start(req, cairn_json_bool_of(json, "disabled", &a->disabled),
		       "send {\"disabled\":true} or {\"disabled\":false}");
}

static void accounts_set_member(struct route_job *job)
{
	struct accounts_request *a = (struct accounts_request *)job;
	bool changed;
	a->status = cairn_hub_set_member(&job->app->hub, true, a->account, a->name, a->role, &changed, &a->diag);
	accounts_put_changed(a, changed);
}

static void accounts_member_head(struct http_request *req)
{
	accounts_begin(req, accounts_set_member);
}

static void accounts_member_done(struct http_request *req)
{
	struct accounts_request *a = http_state(req);
	CLEANUP(cairn_json_freep) struct cairn_json *json = route_body_json(&a->body);
	const char *role = cairn_json_text_of(json, "role");
	a->account = http_path_arg(req, "account");
	accounts_start(req,
		       role && cairn_hub_role_parse(role, &a->role) &&
			       cairn_json_copy_of(json, "user", NULL, a->name, sizeof(a->name)),
		       "send {\"user\":NAME,\"role\":\"read\", \"write\", \"admin\" or \"none\"}");
}

const struct http_route ROUTES_ACCOUNTS[] = {
	ROUTE_BODY_POST("/v1/accounts", "accounts", CAIRN_TOKEN_ADMIN, ACCOUNTS_BODY_BYTES_MAX, accounts_post_head,
			accounts_body, accounts_post_done, accounts_free),
	ROUTE_GET("/v1/accounts", "accounts", CAIRN_TOKEN_ADMIN, accounts_get, accounts_free),
	ROUTE_BODY_POST("/v1/accounts/{account}", "accounts", CAIRN_TOKEN_ADMIN, ACCOUNTS_BODY_BYTES_MAX,
			accounts_disable_head, accounts_body, accounts_disable_done, accounts_free),
	ROUTE_GET("/v1/accounts/{account}/members", "accounts", CAIRN_TOKEN_ADMIN, accounts_get_members, accounts_free),
	ROUTE_BODY_POST("/v1/accounts/{account}/members", "accounts", CAIRN_TOKEN_ADMIN, ACCOUNTS_BODY_BYTES_MAX,
			accounts_member_head, accounts_body, accounts_member_done, accounts_free),
	{0},
};
