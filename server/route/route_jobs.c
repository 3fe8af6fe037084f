/* GET /v1/jobs: the long jobs and their progress. */
#include "server/ask/jobs.h"

#include "base/json.h"
#include "server/app.h"
#include "server/ask/route_args.h"
#include "server/ask/route_table.h"
#include "server/route/routes.h"

enum { JOBS_JSON_BYTES_MAX = 4096 };

static void jobs_put(struct cairn_json_out *w, const struct job *job)
{
	cairn_json_open_object(w, NULL);
	cairn_json_put_text(w, "name", job->name);
	cairn_json_put_bool(w, "running", job->running);
	if (job->running) {
		cairn_json_put_text(w, "daemon", job->daemon[0] ? job->daemon : NULL);
		cairn_json_put_text(w, "step", job->step);
		cairn_json_put_text(w, "unit", job->unit);
		cairn_json_put_u64(w, "started", (uint64_t)job->started_unix_s);
		cairn_json_put_u64(w, "done", job->done);
		cairn_json_put_u64(w, "total", job->total);
	}
	cairn_json_close(w);
}

static void jobs_get(struct http_request *req)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf text = cairn_buf_init(JOBS_JSON_BYTES_MAX);
	struct cairn_json_out w = cairn_json_out_init(&text);
	struct job jobs[JOBS];
	jobs_read(app_of(req), jobs);
	cairn_json_open_object(&w, NULL);
	cairn_json_open_array(&w, "jobs");
	for (size_t i = 0; i < JOBS; i++)
		jobs_put(&w, &jobs[i]);
	cairn_json_close(&w);
	cairn_json_close(&w);
	cairn_buf_add(&text, "\n", 1);
	http_reply_header(req, "Cache-Control", "no-store");
	route_reply_made(req, CAIRN_OK, &text);
}

const struct http_route ROUTES_JOBS[] = {
	ROUTE_GET("/v1/jobs", "jobs", CAIRN_TOKEN_ADMIN, jobs_get, NULL),
	{0},
};
