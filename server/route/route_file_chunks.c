/* GET /v2/file-chunk-hashes/{hash} with X-Range-Dirty: returns what a client needs to change parts of a file. */
#include "cas/serve/file_chunks.h"
#include "server/ask/range_header.h"
#include "server/ask/route_args.h"
#include "server/ask/route_job.h"
#include "server/ask/route_spill.h"
#include "server/ask/route_table.h"
#include "server/route/routes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { EDIT_RANGES_MAX = 1024 };

/* State of a request. The answer is written during the walk over the file, so it is never in memory as a whole. */
struct edit_request {
	struct route_job job;
	struct cairn_hash file;
	size_t n_ranges;
	struct cairn_byte_range ranges[EDIT_RANGES_MAX];
	enum cairn_status status;
	struct cairn_diag diag;
	uint64_t file_bytes;
	bool any; /* at least one range has been written */
	struct cairn_spill out;
};

static void edit_free(void *state)
{
	struct edit_request *e = state;
	if (e)
		cairn_spill_fini(&e->out);
	free(e);
}

static void edit_write_nodes(struct cairn_spill *out, const struct cairn_subtree_nodes *nodes, bool *any)
{
	for (uint32_t i = 0; i < nodes->n; i++) {
		char hash[CAIRN_HASH_TEXT_BYTES];
		cairn_hash_text(hash, &nodes->at[i].hash);
		cairn_buf_printf(&out->buf, "%s{\"hash\":\"%s\",\"size\":%" PRIu64 "}", *any ? "," : "", hash,
				 nodes->at[i].bytes);
		*any = true;
		cairn_spill_check(out);
	}
}

/* Writes a subtree by the protocol: left sides from the lowest level up, then right sides from the highest down. */
static void edit_write_subtree(struct cairn_spill *out, const struct cairn_subtree *s)
{
	bool any = false;
	cairn_buf_printf(&out->buf, "{\"nodes\":[");
	for (unsigned i = 0; i < s->n_levels; i++)
		edit_write_nodes(out, &s->level[i].left, &any);
	for (unsigned i = s->n_levels; i-- > 0;)
		edit_write_nodes(out, &s->level[i].right, &any);
	cairn_buf_printf(&out->buf, "],\"levels\":[");
	for (unsigned i = 0; i < s->n_levels; i++)
		cairn_buf_printf(&out->buf, "%s[%" PRIu32 ",%" PRIu32 "]", i ? "," : "", s->level[i].left.n,
				 s->level[i].right.n);
	cairn_buf_printf(&out->buf, "],\"at_start\":%s,\"at_end\":%s}", s->at_start ? "true" : "false",
			 s->at_end ? "true" : "false");
}

static void edit_write_range(void *ctx, const struct cairn_subtree *range)
{
	struct edit_request *e = ctx;
	cairn_buf_printf(&e->out.buf, "%s", e->any ? "," : "{\"hashRanges\":[");
	e->any = true;
	if (range)
		edit_write_subtree(&e->out, range);
	else
		cairn_buf_printf(&e->out.buf, "null");
	cairn_spill_check(&e->out);
}

static void edit_write_rest(struct cairn_spill *out, const struct cairn_file_chunks *c)
{
	cairn_buf_printf(&out->buf, "],\"windows\":[");
	for (uint32_t i = 0; i < c->n_windows; i++) {
		cairn_buf_printf(&out->buf, "%s{\"dirtyByteRange\":[%" PRIu64 ",%" PRIu64 "]}", i ? "," : "",
				 c->windows[i].first, c->windows[i].end);
		cairn_spill_check(out);
	}
	cairn_buf_printf(&out->buf, "],\"gapVerification\":[");
	for (uint32_t i = 0; i < c->n_kept; i++) {
		char hash[CAIRN_HASH_TEXT_BYTES];
		cairn_hash_text(hash, &c->kept[i]);
		cairn_buf_printf(&out->buf, "%s\"%s\"", i ? "," : "", hash);
		cairn_spill_check(out);
	}
	cairn_buf_printf(&out->buf, "],\"totalChunks\":%" PRIu64 ",\"fileSize\":%" PRIu64 "}", c->n_chunks,
			 c->file_bytes);
}

static bool edit_go_on(void *ctx)
{
	const struct edit_request *e = ctx;
	return !route_job_is_idle(&e->job) && e->out.status == CAIRN_OK;
}

static void edit_run(struct route_job *job)
{
	struct edit_request *e = (struct edit_request *)job;
	const struct cairn_file_chunks_sink sink = {.ctx = e, .range = edit_write_range, .go_on = edit_go_on};
	CLEANUP(cairn_file_chunks_fini) struct cairn_file_chunks chunks = {0};
	e->status = cairn_cas_file_chunks(job->app->cas, route_job_viewer(job), &e->file, e->ranges, e->n_ranges, &sink,
					  &chunks, &e->diag);
	e->file_bytes = chunks.file_bytes;
	if (e->status == CAIRN_OK)
		edit_write_rest(&e->out, &chunks);
	cairn_spill_finish(&e->out);
	if (e->out.status != CAIRN_OK)
		e->status = e->out.status;
}

static void edit_reply(struct http_request *req, struct route_job *job)
{
	struct edit_request *e = (struct edit_request *)job;
	char text[160];
	if (e->status == CAIRN_OK) {
		http_reply_header(req, "Cache-Control", "private, no-store");
		route_reply_spill(req, &e->out, 200, "application/json");
	} else if (e->status == CAIRN_E_USAGE) {
		(void)snprintf(text, sizeof(text),
			       "no range of X-Range-Dirty lies in the file, which has %" PRIu64 " bytes",
			       e->file_bytes);
		http_reply_error(req, 400, "dirty.outside", text, NULL);
	} else if (e->out.status == CAIRN_E_LIMIT) {
		route_reply_over(req, &e->out, 501); /* 501, as below: clients then upload the whole file */
	} else if (e->out.status != CAIRN_OK) {
		route_reply_spill(req, &e->out, 200, "application/json");
	} else if (e->status == CAIRN_E_LIMIT) {
		/* After a 501 clients conclude that the server lacks this route, and read the whole file. */
		http_reply_error(req, 501, e->diag.rule, e->diag.text, &e->diag);
	} else {
		route_reply_no_file(req, e->status);
	}
}

static void edit_done(struct http_request *req)
{
	struct cairn_hash hash;
	if (!route_hash(req, &hash))
		return;
	struct edit_request *e = route_job_new(req, sizeof(*e), edit_run, edit_reply);
	if (!e)
		return;
	e->job.work.lane = CAIRN_LANE_HEAVY; /* reading every chunk of the file takes long */
	e->job.for_reply = true;
	e->file = hash;
	route_spill_init(&e->out, req);
	e->n_ranges = range_header_parse(e->ranges, EDIT_RANGES_MAX, http_header(req, "X-Range-Dirty"));
	if (e->n_ranges == 0)
		http_reply_error(req, 400, "dirty.header",
				 "name the ranges to be changed in X-Range-Dirty: bytes=first-last,first-last", NULL);
	else if (e->n_ranges > EDIT_RANGES_MAX)
		http_reply_error(req, 400, "dirty.many",
				 "X-Range-Dirty may name 1024 ranges; join those that are near each other", NULL);
	else
		route_job_start(req);
}

const struct http_route ROUTES_FILE_CHUNKS[] = {
	ROUTE_GET("/v2/file-chunk-hashes/{hash}", "file-chunk-hashes", CAIRN_TOKEN_READ, edit_done, edit_free),
	{0},
};
