/* Repository names without an account ("gpt2"), which the mirrored hub gives to some repositories: GET
 * /api/{type}/{name} and what is below it, and [/{type}]/{name}/resolve/…. The answer redirects to the present name, as
 * that hub does. */
#include "server/hub/hub_unowned.h"

#include "base/percent.h"
#include "server/ask/hub_mirror.h"
#include "server/ask/hub_reply.h"
#include "server/hub/hub_routes.h"

#include <string.h>

enum {
	UNOWNED_LOCATION_BYTES_MAX = 16384,
	UNOWNED_BODY_BYTES_MAX = 8 << 20, /* longest body of a request that the client sends again to the new address */
};
#define UNOWNED_PLAIN CAIRN_PERCENT_PATH "%!$&'()*+,;=:@" /* keeps the escapes of the client */

static void unowned_add_argument(void *ctx, const char *name, const char *value)
{
	struct cairn_buf *to = ctx;
	bool is_first = !memchr(to->bytes, '?', to->len);
	cairn_buf_add(to, is_first ? "?" : "&", 1);
	cairn_percent_add(to, name, CAIRN_PERCENT_UNRESERVED);
	cairn_buf_add(to, "=", 1);
	cairn_percent_add(to, value, CAIRN_PERCENT_UNRESERVED);
}

/* Returns the address from behind the repository's name on. @param[out] tail  the value of the last {name*} */
static const char *unowned_end(const struct http_request *req, const char **tail)
{
	const char *pattern = http_pattern(req), *end = strstr(pattern, "{name}") + strlen("{name}");
	*tail = strstr(end, "{rest*}") ? http_path_arg(req, "rest") : "";
	return end;
}

/* Redirects. The address has neither a scheme nor a host, so it stays on this server. */
void hub_unowned_show(struct http_request *req, struct hub_call *call)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf to = cairn_buf_init(UNOWNED_LOCATION_BYTES_MAX);
	const struct hub_repo *r = (const struct hub_repo *)call;
	const char *host = strstr(r->base, "://"), *path = host ? strchr(host + 3, '/') : NULL;
	bool is_api = strncmp(http_pattern(req), "/api/", 5) == 0;
	cairn_buf_printf(&to, "%s%s%s", path ? path : "", is_api ? hub_kind_api(r->kind) : hub_kind_web(r->kind),
			 hub_mirror_target(call));
	if (r->namespace) { /* the last name is a call, and the one before it the repository */
		cairn_buf_printf(&to, "/%s", r->name);
	} else {
		const char *tail, *end = unowned_end(req, &tail);
		cairn_buf_printf(&to, "%.*s", (int)strcspn(end, "{"), end);
		cairn_percent_add(&to, tail, UNOWNED_PLAIN);
	}
	http_query_each_pair(req, unowned_add_argument, &to);
	cairn_buf_add(&to, "", 1);
	if (to.status != CAIRN_OK) {
		http_reply_status(req, to.status, NULL);
		return;
	}
	http_reply_header(req, "Location", (const char *)to.bytes);
	http_reply_header(req, "Cache-Control", "no-store");
	http_reply_empty(req, 307, UINT64_MAX);
}

bool hub_unowned_takes(struct hub_repo *r)
{
	static const char *const CALLS[] = {"refs", "auth-check"};
	for (size_t i = 0; i < sizeof(CALLS) / sizeof(CALLS[0]); i++) {
		if (!r->name || strcmp(r->name, CALLS[i]) != 0)
			continue;
		if (hub_mirror_find_call(r))
			r->call.show = hub_unowned_show;
		else if (r->call.status == CAIRN_OK)
			return false;
		return true;
	}
	return false;
}

static void unowned_find(struct hub_call *call)
{
	(void)hub_mirror_find_unowned((struct hub_repo *)call);
}

static enum cairn_index_repo_kind unowned_kind(const struct http_request *req)
{
	return strstr(http_pattern(req), "{type}") ? hub_kind_of_segment(http_path_arg(req, "type"))
						   : hub_kind_of_pattern(req);
}

static void unowned_get(struct http_request *req)
{
	enum cairn_index_repo_kind kind = unowned_kind(req);
	if (kind == 0) {
		http_reply_error(req, 404, HUB_NO_ROUTE.rule, HUB_NO_ROUTE.message, NULL);
		return;
	}
	struct hub_repo *r = hub_repo_new(req, sizeof(*r), kind, unowned_find, hub_unowned_show);
	if (!r)
		return;
	r->name = http_path_arg(req, "name");
	r->call.mirrors = true; /* the request only reads, even if it is a POST */
	route_job_start(req);
}

#define UNOWNED_GET(path) HUB_GET(path, "unowned", unowned_get, hub_repo_free)

const struct http_route ROUTES_UNOWNED[] = {
	UNOWNED_GET("/api/models/{name}"),
	UNOWNED_GET("/api/datasets/{name}"),
	UNOWNED_GET("/api/spaces/{name}"),
	UNOWNED_GET("/api/kernels/{name}"),
	UNOWNED_GET("/api/{type}/{name}/revision/{rest*}"),
	UNOWNED_GET("/api/{type}/{name}/tree/{rest*}"),
	UNOWNED_GET("/api/{type}/{name}/commits/{rest*}"),
	UNOWNED_GET("/api/{type}/{name}/safetensors-metadata/{rest*}"),
	UNOWNED_GET("/api/{type}/{name}/xet-read-token/{rest*}"),
	{.method = "POST",
	 .pattern = "/api/{type}/{name}/paths-info/{rest*}",
	 .name = "unowned",
	 .errors = HTTP_ERRORS_HUB,
	 .body_max = UNOWNED_BODY_BYTES_MAX,
	 .body = http_ignore_body,
	 .done = unowned_get,
	 .free = hub_repo_free},
	UNOWNED_GET("/datasets/{name}/resolve/{rest*}"),
	UNOWNED_GET("/spaces/{name}/resolve/{rest*}"),
	UNOWNED_GET("/kernels/{name}/resolve/{rest*}"),
	UNOWNED_GET("/{name}/resolve/{rest*}"),
	UNOWNED_GET("/datasets/{name}/raw/{rest*}"),
	UNOWNED_GET("/spaces/{name}/raw/{rest*}"),
	UNOWNED_GET("/kernels/{name}/raw/{rest*}"),
	UNOWNED_GET("/{name}/raw/{rest*}"),
	{0},
};
