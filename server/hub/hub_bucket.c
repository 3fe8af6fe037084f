#include "server/hub/hub_bucket.h"

#include "server/hub/hub_reply.h"

#include <stdio.h>
#include <stdlib.h>

void *hub_bucket_new(struct http_request *req, size_t bytes, void (*run)(struct hub_call *call),
		     void (*show)(struct http_request *req, struct hub_call *call))
{
	struct hub_bucket *b = hub_call_new(req, bytes, run, show);
	if (b)
		http_base_url(req, b->base, sizeof(b->base));
	return b;
}

void hub_bucket_fini(struct hub_bucket *b)
{
	route_body_fini(&b->body);
	hub_call_fini(&b->call);
}

void hub_bucket_free(void *state)
{
	struct hub_bucket *b = state;
	if (!b)
		return;
	hub_bucket_fini(b);
	free(b);
}

bool hub_bucket_find(struct hub_bucket *b, enum cairn_hub_access need)
{
	struct hub_call *call = &b->call;
	call->status = cairn_hub_find_repo(call->job.app->cas, &call->asker, b->namespace, b->name, need, &b->repo,
					   &call->diag);
	return call->status == CAIRN_OK;
}

void hub_bucket_show(struct http_request *req, struct hub_call *call)
{
	const struct hub_bucket *b = (const struct hub_bucket *)call;
	hub_call_show_code(req, call, b->code ? b->code : 200, "application/json");
}

void hub_bucket_url(const struct hub_bucket *b, char *out, size_t size, const char *path, const char *rest)
{
	(void)snprintf(out, size, "%s%s%s/%s%s", b->base, path, b->repo.account_name, b->repo.name, rest);
}
