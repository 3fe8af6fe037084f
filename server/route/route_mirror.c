/* GET /v1/mirror: tests whether the mirrored hub answers. */
#include "base/json.h"
#include "mirror/mirror.h"
#include "server/app.h"
#include "server/ask/route_args.h"
#include "server/ask/route_table.h"
#include "server/route/routes.h"

#include <stdlib.h>

enum { MIRROR_JSON_BYTES_MAX = 4096 };

/* A request that waits, without a thread, until the upstream has answered. */
struct mirror_request {
	struct cairn_mirror_look look;
	struct http_request *req;
};

static void mirror_put_line(struct cairn_json_out *w, const struct cairn_mirror_line *line)
{
	cairn_json_put_text(w, "state", line->up ? "up" : "down");
	cairn_json_put_u64(w, "asked", (uint64_t)line->asked_unix_s);
	cairn_json_put_u64(w, "took_ms", line->took_ms);
	cairn_json_put_u64(w, "answer", line->code);
	cairn_json_put_text(w, "rule", line->up ? NULL : line->diag.rule);
	cairn_json_put_text(w, "message", line->up || !line->diag.rule ? NULL : line->diag.text);
}

/* Replies with the result of the test. @param line  NULL: no hub is mirrored here */
static void mirror_reply(struct http_request *req, const struct cairn_mirror_line *line)
{
	const struct cairn_mirror *mirror = app_of(req)->mirror;
	CLEANUP(cairn_buf_fini) struct cairn_buf text = cairn_buf_init(MIRROR_JSON_BYTES_MAX);
	struct cairn_json_out w = cairn_json_out_init(&text);
	cairn_json_open_object(&w, NULL);
	cairn_json_put_text(&w, "upstream", mirror ? cairn_mirror_upstream(mirror) : NULL);
	if (line)
		mirror_put_line(&w, line);
	else
		cairn_json_put_text(&w, "state", "off");
	cairn_json_close(&w);
	cairn_buf_add(&text, "\n", 1);
	http_reply_header(req, "Cache-Control", "no-store");
	route_reply_made(req, CAIRN_OK, &text);
}

static void mirror_looked(struct cairn_mirror_look *look)
{
	http_resume(((struct mirror_request *)look)->req);
}

static void mirror_resumed(struct http_request *req)
{
	const struct mirror_request *m = http_state(req);
	mirror_reply(req, &m->look.line);
}

static void mirror_get(struct http_request *req)
{
	struct app *app = app_of(req);
	if (!app->mirror) {
		mirror_reply(req, NULL);
		return;
	}
	struct mirror_request *m = calloc(1, sizeof(*m));
	if (!m) {
		http_reply_status(req, CAIRN_E_NOMEM, NULL);
		return;
	}
	m->req = req;
	m->look.done = mirror_looked;
	http_set_state(req, m);
	if (http_suspend(req, mirror_resumed))
		cairn_mirror_look(app->mirror, &m->look);
}

const struct http_route ROUTES_MIRROR[] = {
	ROUTE_GET("/v1/mirror", "mirror", CAIRN_TOKEN_ADMIN, mirror_get, free),
	{0},
};
