/* The bytes of Git LFS objects: PUT and GET /lfs/{repo}/{sha256}, at addresses signed by the answer to a batch. */
#include "base/clock.h"
#include "hub/lfs.h"
#include "server/ask/hub_reply.h"
#include "server/ask/range_header.h"
#include "server/ask/route_args.h"
#include "server/ask/route_job.h"
#include "server/ask/route_piece.h"
#include "server/hub/hub_routes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Checks the signature of the address, and counts the request for the account or key for which it was signed. @return
 * false: the signature permits nothing, or the account or key exceeds its rate; an error was replied */
static bool object_check(struct http_request *req, bool upload, struct cairn_hub_lfs_grant *out)
{
	struct cairn_diag diag = {0};
	const struct cairn_hub_lfs_address address = {
		.upload = upload,
		.repo = http_path_arg(req, "repo"),
		.sha256 = http_path_arg(req, "sha256"),
		.size = http_query_arg(req, "size"),
		.expires = http_query_arg(req, "exp"),
		.alone = http_query_arg(req, "alone"),
		.by = http_query_arg(req, "by"),
		.signature = http_query_arg(req, "sig"),
	};
	enum cairn_status status = cairn_hub_lfs_check(&app_of(req)->hub, &address, cairn_clock_unix_s(), out, &diag);
	if (status != CAIRN_OK)
		http_reply_status(req, status, &diag);
	return status == CAIRN_OK && http_count_for(req, out->account, out->key);
}

/* State of an upload. The connection's thread copies the body into the ingest's window. When the window is full, a
 * worker processes it. So only one thread has the state at a time. */
struct object_put {
	struct cairn_work work;
	struct http_request *req;
	struct cairn_hub_ingest *ingest; /* owned */
	struct route_piece piece;        /* its status and diag also hold the final result */
};

static void object_put_free(void *state)
{
	struct object_put *o = state;
	if (!o)
		return;
	cairn_hub_ingest_free(o->ingest);
	route_piece_fini(&o->piece);
	free(o);
}

static void object_reply_failure(struct http_request *req, enum cairn_status status, const struct cairn_diag *diag)
{
	const char *text = diag->text[0] ? diag->text : "the object cannot be taken";
	if (status == CAIRN_E_MISMATCH || status == CAIRN_E_LIMIT)
		hub_reply_error(req, 422, NULL, diag->rule ? diag->rule : "mismatch", text);
	else if (status == CAIRN_E_DENIED && diag->rule && strncmp(diag->rule, "quota.", 6) == 0)
		hub_reply_error(req, 403, NULL, diag->rule, text);
	else if (status == CAIRN_E_DENIED)
		hub_reply_error(req, 404, NULL, diag->rule ? diag->rule : "repo.gone", text);
	else
		http_reply_status(req, status, diag);
}

/* Copies bytes into the window. @return how many bytes fitted */
static size_t object_fill(struct object_put *o, const uint8_t *bytes, size_t len)
{
	size_t room;
	uint8_t *at = cairn_hub_ingest_room(o->ingest, &room);
	size_t n = len < room ? len : room;
	memcpy(at, bytes, n);
	cairn_hub_ingest_put(o->ingest, n);
	return n;
}

static bool object_fills(const struct object_put *o, size_t len)
{
	size_t room;
	(void)cairn_hub_ingest_room(o->ingest, &room);
	return len >= room;
}

static enum cairn_status object_take(void *ctx, const uint8_t *bytes, size_t len, struct cairn_diag *diag)
{
	struct object_put *o = ctx;
	bool fills = object_fills(o, len);
	size_t n = object_fill(o, bytes, len);
	enum cairn_status status = fills ? cairn_hub_ingest_work(o->ingest, diag) : CAIRN_OK;
	if (status == CAIRN_OK)
		(void)object_fill(o, bytes + n, len - n); /* the window is empty after processing, so a piece fits */
	return status;
}

static void object_end(struct cairn_work *work)
{
	struct object_put *o = (struct object_put *)work;
	http_note_queued(o->req, work->queued_us);
	route_explain_busy(o->req);
	o->piece.status = route_piece_check_wait(&o->piece, app_of(o->req), work->queued_us, &o->piece.diag);
	if (o->piece.status == CAIRN_OK)
		o->piece.status = cairn_hub_ingest_end(o->ingest, &o->piece.diag);
	http_resume(o->req);
}

static bool object_expects(struct http_request *req, const struct cairn_hub_lfs_grant *grant)
{
	uint64_t len = http_content_length(req);
	char text[160];
	/* without a length, the ingest compares the sizes */
	if (len == grant->size_bytes || len == UINT64_MAX)
		return true;
	(void)snprintf(text, sizeof(text),
		       "the object was announced with %" PRIu64 " bytes, but the body has %" PRIu64 "; push it again",
		       grant->size_bytes, len);
	hub_reply_error(req, 422, NULL, "ingest.size", text);
	return false;
}

static void object_put_head(struct http_request *req)
{
	struct cairn_hub_lfs_grant grant;
	struct cairn_diag diag = {0};
	struct cairn_hash sender;
	if (!route_xorbs_kept_here(req) || !object_check(req, true, &grant) || !object_expects(req, &grant))
		return;
	struct object_put *o = calloc(1, sizeof(*o));
	if (!o) {
		http_reply_status(req, CAIRN_E_NOMEM, NULL);
		return;
	}
	o->req = req;
	o->piece = (struct route_piece){.take = object_take, .ctx = o};
	http_set_state(req, o);
	http_sender(req, &sender);
	enum cairn_status status = cairn_hub_lfs_receive(&app_of(req)->hub, &grant, &sender, &o->ingest, &diag);
	if (status != CAIRN_OK)
		http_reply_status(req, status, &diag);
}

static void object_put_body(struct http_request *req, const uint8_t *bytes, size_t len)
{
	struct object_put *o = http_state(req);
	enum cairn_status status = route_piece_take(&o->piece, req, bytes, len, object_fills(o, len));
	if (status != CAIRN_OK)
		object_reply_failure(req, status, &o->piece.diag);
}

static void object_put_resumed(struct http_request *req)
{
	struct object_put *o = http_state(req);
	if (o->piece.status != CAIRN_OK)
		object_reply_failure(req, o->piece.status, &o->piece.diag);
	else
		http_reply_empty(req, 200, UINT64_MAX);
}

static void object_put_done(struct http_request *req)
{
	struct object_put *o = http_state(req);
	if (route_piece_end(&o->piece) != CAIRN_OK) {
		object_reply_failure(req, o->piece.status, &o->piece.diag);
		return;
	}
	if (!http_suspend(req, object_put_resumed) || route_hand_over(req, &o->work, object_end))
		return;
	o->piece.status = CAIRN_E_BUSY;
	http_resume(req);
}

struct object_get {
	struct route_job job;
	struct cairn_hub_lfs_grant grant;
	char etag[2 * CAIRN_SHA256_BYTES + 3]; /* the SHA-256 in quotes */
	bool has_range;
	struct cairn_byte_range range;
	struct cairn_file_extent extent;
	struct cairn_file_reader *reader; /* owned */
	enum cairn_status status;
	struct cairn_diag diag;
};

static void object_get_free(void *state)
{
	struct object_get *o = state;
	if (!o)
		return;
	cairn_file_reader_free(o->reader);
	free(o);
}

static void object_open(struct route_job *job)
{
	struct object_get *o = (struct object_get *)job;
	o->status = cairn_hub_lfs_open(&job->app->hub, o->grant.repo, o->grant.sha256, &o->range, &o->extent,
				       &o->reader, &o->diag);
}

static ssize_t object_read(void *ctx, uint64_t pos, uint8_t *out, size_t max)
{
	struct cairn_diag diag = {0};
	size_t n;
	(void)pos; /* reads are sequential, so pos is not needed */
	return cairn_file_reader_read(ctx, out, max, &n, &diag) == CAIRN_OK ? (ssize_t)n : -1;
}

static void object_release(void *reader)
{
	cairn_file_reader_free(reader);
}

static void object_reply_bytes(struct http_request *req, struct object_get *o)
{
	static const char TYPE[] = "application/octet-stream";
	const struct cairn_file_extent *e = &o->extent;
	unsigned code = o->has_range ? 206 : 200;
	char range[80];
	(void)snprintf(range, sizeof(range), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, e->first, e->end - 1,
		       e->file_bytes);
	http_reply_header(req, "ETag", o->etag);
	http_reply_header(req, "Accept-Ranges", "bytes");
	http_reply_header(req, "Cache-Control", "private, max-age=0");
	http_reply_header(req, "X-Content-Type-Options", "nosniff");
	if (http_has_etag(http_if_none_match(req), o->etag)) {
		http_reply_empty(req, 304, UINT64_MAX);
		return;
	}
	if (e->end == e->first) {
		http_reply_bytes(req, 200, TYPE, (const uint8_t *)"", 0, NULL, NULL);
		return;
	}
	if (o->has_range)
		http_reply_header(req, "Content-Range", range);
	if (http_method(req) == HTTP_HEAD) {
		http_reply_empty(req, code, e->end - e->first);
		return;
	}
	const struct http_source source = {
		.read = object_read, .release = object_release, .ctx = o->reader, .bytes = e->end - e->first};
	o->reader = NULL;
	http_reply_pumped(req, code, TYPE, &source, app_of(req)->workers);
}

static void object_reply_past_end(struct http_request *req, const struct object_get *o)
{
	char range[48];
	(void)snprintf(range, sizeof(range), "bytes */%" PRIu64, o->extent.file_bytes);
	http_reply_header(req, "Content-Range", range);
	hub_reply_error(req, 416, NULL, "range.past_end", "the range starts past the end of the object");
}

static void object_reply(struct http_request *req, struct route_job *job)
{
	struct object_get *o = (struct object_get *)job;
	if (o->status == CAIRN_OK && http_wants_other_etag(req, o->etag))
		http_reply_other_etag(req);
	else if (o->status == CAIRN_OK)
		object_reply_bytes(req, o);
	else if (o->status == CAIRN_E_LIMIT)
		object_reply_past_end(req, o);
	else if (o->status == CAIRN_E_NOT_FOUND)
		hub_reply_error(req, 404, NULL, "lfs.unknown", "the repository does not have this object");
	else
		http_reply_status(req, o->status, &o->diag);
}

static void object_get(struct http_request *req)
{
	struct cairn_hub_lfs_grant grant;
	if (!object_check(req, false, &grant))
		return;
	struct object_get *o = route_job_new(req, sizeof(*o), object_open, object_reply);
	if (!o)
		return;
	const char *if_range = http_header(req, "If-Range");
	o->job.for_reply = true;
	o->grant = grant;
	o->etag[0] = '"';
	cairn_hex_text(o->etag + 1, grant.sha256, sizeof(grant.sha256));
	memcpy(o->etag + 1 + 2 * sizeof(grant.sha256), "\"", 2);
	o->has_range = range_header_parse(&o->range, 1, http_header(req, "Range")) == 1 &&
		       (!if_range || strcmp(if_range, o->etag) == 0);
	if (!o->has_range)
		o->range = (struct cairn_byte_range){.kind = CAIRN_RANGE_ALL};
	route_job_start(req);
}

const struct http_route ROUTES_LFS_OBJECTS[] = {
	{.method = "PUT",
	 .pattern = "/lfs/{repo}/{sha256}",
	 .name = "lfs-object",
	 .errors = HTTP_ERRORS_LFS,
	 .body_max = CAIRN_HUB_INGEST_BYTES_MAX,
	 .head = object_put_head,
	 .body = object_put_body,
	 .done = object_put_done,
	 .free = object_put_free},
	{.method = "GET",
	 .pattern = "/lfs/{repo}/{sha256}",
	 .name = "lfs-object",
	 .errors = HTTP_ERRORS_LFS,
	 .done = object_get,
	 .free = object_get_free},
	{0},
};
