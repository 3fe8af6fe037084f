/* Serves the files that pages load: GET /assets/{file} */
#include "server/page/page_assets.h"

#include "server/page/page_routes.h"

#include <string.h>

const struct page_asset *page_asset(const char *name)
{
	for (const struct page_asset *asset = PAGE_ASSETS; asset->name; asset++)
		if (strcmp(asset->name, name) == 0)
			return asset;
	return NULL;
}

static void assets_get(struct http_request *req)
{
	const struct page_asset *asset = page_asset(http_path_arg(req, "file"));
	if (!asset) {
		http_reply_error(req, 404, "route.unknown", "there is no such resource; check the path", NULL);
		return;
	}
	http_reply_header(req, "Cache-Control", "public, max-age=31536000, immutable");
	http_reply_header(req, "X-Content-Type-Options", "nosniff");
	http_reply_bytes(req, 200, asset->type, asset->bytes, asset->len, NULL, NULL);
}

const struct http_route ROUTES_PAGE_ASSETS[] = {
	{.method = "GET", .pattern = "/assets/{file}", .name = "page-asset", .done = assets_get},
	{0},
};
