/* Uploads of xorbs: POST and HEAD /v1/xorbs/{prefix}/{hash}, POST /v1/xorb-grants/{prefix}/{hash}. */
#include "cas/put/put_xorb.h"
#include "server/ask/route_args.h"
#include "server/ask/route_job.h"
#include "server/ask/route_piece.h"
#include "server/ask/route_table.h"
#include "server/http/auth.h"
#include "server/route/routes.h"

#include <stdlib.h>

/* An upload; owned by the request. While the request is held or suspended, only a worker or the writer uses it. */
struct xorb_request {
	struct cairn_work work;
	struct http_request *req;
	struct cairn_xorb_upload *upload;
	struct route_piece piece;
	enum cairn_status status; /* valid when the whole body has arrived */
	bool verified;            /* the upload was verified, so status is that of storing it */
	bool was_inserted;
	struct cairn_diag diag;
};

enum { GRANT_BODY_BYTES_MAX = 64 * 1024, XORBS_SMALL_BYTES = 1024 * 1024 };

static void xorbs_reply_failure(struct http_request *req, enum cairn_status status, bool verified,
				const struct cairn_diag *diag)
{
	if (verified)
		http_reply_status(req, status == CAIRN_E_CONFLICT ? CAIRN_E_BUSY : status, diag);
	else if (status == CAIRN_E_LIMIT && cairn_diag_has(diag, "xorb.too_long"))
		http_reply_error(req, 413, diag->rule, diag->text, diag);
	else
		route_reply_refused(req, status, diag);
}

static uint64_t xorbs_body_max(void *app)
{
	return cairn_cas_xorb_body_max(((struct app *)app)->cas);
}

static void xorbs_free(void *state)
{
	struct xorb_request *x = state;
	if (!x)
		return;
	cairn_xorb_upload_free(x->upload);
	route_piece_fini(&x->piece);
	free(x);
}

static enum cairn_status xorbs_take(void *ctx, const uint8_t *bytes, size_t len, struct cairn_diag *diag)
{
	return cairn_xorb_upload_write(((struct xorb_request *)ctx)->upload, bytes, len, diag);
}

static void xorbs_post_head(struct http_request *req)
{
	struct cairn_hash hash;
	struct cairn_cas_who who = auth_cas_identity(http_identity(req));
	struct cairn_diag diag = {0};
	if (!route_prefix(req, NULL) || !route_xorbs_kept_here(req) || !route_hash(req, &hash))
		return;
	struct xorb_request *x = calloc(1, sizeof(*x));
	if (!x) {
		http_reply_status(req, CAIRN_E_NOMEM, NULL);
		return;
	}
	x->req = req;
	x->piece = (struct route_piece){.take = xorbs_take, .ctx = x};
	http_set_state(req, x);
	http_sender(req, &who.sender);
	enum cairn_status status =
		cairn_xorb_upload_begin(app_of(req)->cas, &who, &hash, http_content_length(req), &x->upload, &diag);
	if (status != CAIRN_OK)
		http_reply_status(req, status, &diag);
}

static void xorbs_post_body(struct http_request *req, const uint8_t *bytes, size_t len)
{
	struct xorb_request *x = http_state(req);
	bool waits = cairn_xorb_upload_waits(x->upload, len);
	enum cairn_status status = route_piece_take(&x->piece, req, bytes, len, waits);
	if (status != CAIRN_OK)
		xorbs_reply_failure(req, status, false, &x->piece.diag);
}

static void xorbs_take_back_work(struct cairn_work *work)
{
	struct xorb_request *x = (struct xorb_request *)work;
	cairn_xorb_upload_take_back(x->upload);
	http_resume(x->req);
}

/* Replies after the registration. Called by the index's writer, which must not wait for the store. */
static void xorbs_registered(void *ctx, enum cairn_status status, bool was_inserted, const struct cairn_diag *diag)
{
	struct xorb_request *x = ctx;
	x->status = status;
	x->was_inserted = was_inserted;
	if (diag)
		x->diag = *diag;
	x->work.run = xorbs_take_back_work;
	if (cairn_xorb_upload_is_left(x->upload) && cairn_workers_submit(app_of(x->req)->workers, &x->work) == CAIRN_OK)
		return;
	http_resume(x->req);
}

static void xorbs_store(struct xorb_request *x)
{
	enum cairn_status status = cairn_xorb_upload_store(x->upload, &x->diag);
	if (status == CAIRN_OK)
		status = cairn_xorb_upload_commit(x->upload, xorbs_registered, x);
	if (status == CAIRN_OK)
		return; /* x may be gone: xorbs_registered() owns it */
	x->status = status;
	http_resume(x->req);
}

static void xorbs_store_work(struct cairn_work *work)
{
	struct xorb_request *x = (struct xorb_request *)work;
	http_note_queued(x->req, work->queued_us);
	xorbs_store(x);
}

/* Stores small xorbs that arrive together as a group. They share flushes of the disk, and the worker goes on to verify
 * the next one. A single small xorb gains nothing from grouping, and a few large ones already keep the disk busy. */
static bool xorbs_store_in_group(struct xorb_request *x, uint64_t bytes)
{
	const struct app *app = app_of(x->req);
	bool alone = cairn_workers_pending(app->workers) <= 1 && cairn_workers_pending(app->disk_workers) == 0;
	if (alone || bytes > XORBS_SMALL_BYTES)
		return false;
	x->work.run = xorbs_store_work;
	return cairn_workers_submit(app->disk_workers, &x->work) == CAIRN_OK;
}

static void xorbs_post_work(struct cairn_work *work)
{
	struct xorb_request *x = (struct xorb_request *)work;
	uint64_t bytes = 0;
	http_note_queued(x->req, work->queued_us);
	route_explain_busy(x->req);
	x->status = route_piece_check_wait(&x->piece, app_of(x->req), work->queued_us, &x->diag);
	if (x->status == CAIRN_OK)
		x->status = cairn_xorb_upload_verify(x->upload, &bytes, &x->diag);
	x->verified = x->status == CAIRN_OK;
	if (!x->verified)
		http_resume(x->req);
	else if (!xorbs_store_in_group(x, bytes))
		xorbs_store(x);
}

static void xorbs_post_resumed(struct http_request *req)
{
	const struct xorb_request *x = http_state(req);
	if (x->status != CAIRN_OK)
		xorbs_reply_failure(req, x->status, x->verified, &x->diag);
	else
		http_reply_json(req, 200, x->was_inserted ? "{\"was_inserted\":true}" : "{\"was_inserted\":false}");
}

static void xorbs_post_done(struct http_request *req)
{
	struct xorb_request *x = http_state(req);
	if (route_piece_end(&x->piece) != CAIRN_OK) {
		xorbs_reply_failure(req, x->piece.status, false, &x->piece.diag);
		return;
	}
	if (!http_suspend(req, xorbs_post_resumed) || route_hand_over(req, &x->work, xorbs_post_work))
		return;
	x->status = CAIRN_E_BUSY;
	x->verified = true;
	http_resume(req);
}

struct xorb_lookup {
	struct route_job job;
	struct cairn_hash hash;
	enum cairn_status status;
	uint64_t stored_bytes;
};

static void xorbs_read_row(struct route_job *job)
{
	struct xorb_lookup *x = (struct xorb_lookup *)job;
	x->status = cairn_cas_xorb(job->app->cas, &x->hash, &x->stored_bytes);
}

/* Looks up the xorb of {hash}. */
static void xorbs_ask(struct http_request *req, void (*reply)(struct http_request *req, struct route_job *job))
{
	struct xorb_lookup x = {.job = {.run = xorbs_read_row, .reply = reply}};
	if (route_prefix(req, NULL) && route_xorbs_kept_here(req) && route_hash(req, &x.hash))
		route_ask(req, &x.job, sizeof(x));
}

static void xorbs_reply_head(struct http_request *req, struct route_job *job)
{
	const struct xorb_lookup *x = (const struct xorb_lookup *)job;
	if (x->status == CAIRN_OK)
		http_reply_empty(req, 200, x->stored_bytes);
	else
		http_reply_status(req, x->status, NULL);
}

static void xorbs_head(struct http_request *req)
{
	xorbs_ask(req, xorbs_reply_head);
}

/* Replies to a request for a direct upload. After a 200 the stock client skips the upload, so only a verified and
 * stored xorb gets one. Only after a 404 it posts the xorb. The body of the request, length and checksum for a direct
 * upload, is ignored: such an upload is never granted. */
static void grants_reply(struct http_request *req, struct route_job *job)
{
	const struct xorb_lookup *x = (const struct xorb_lookup *)job;
	if (x->status == CAIRN_OK)
		http_reply_json(req, 200, "{\"was_inserted\":false}");
	else if (x->status == CAIRN_E_NOT_FOUND)
		http_reply_error(req, 404, "xorb.not_stored", "post this xorb to /v1/xorbs", NULL);
	else
		http_reply_status(req, x->status, NULL);
}

static void grants_post(struct http_request *req)
{
	xorbs_ask(req, grants_reply);
}

const struct http_route ROUTES_XORBS[] = {
	{.method = "POST",
	 .pattern = "/v1/xorbs/{prefix}/{hash}",
	 .older = (const char *const[]){"/xorbs/{prefix}/{hash}", "/xorb/{prefix}/{hash}", NULL},
	 .name = "xorbs",
	 .scope = CAIRN_TOKEN_WRITE,
	 .body_max_of = xorbs_body_max,
	 .head = xorbs_post_head,
	 .body = xorbs_post_body,
	 .done = xorbs_post_done,
	 .free = xorbs_free},
	{.method = "HEAD",
	 .pattern = "/v1/xorbs/{prefix}/{hash}",
	 .older = (const char *const[]){"/xorbs/{prefix}/{hash}", "/xorb/{prefix}/{hash}", NULL},
	 .name = "xorbs",
	 .scope = CAIRN_TOKEN_READ,
	 .done = xorbs_head,
	 .free = free},
	ROUTE_BODY_POST("/v1/xorb-grants/{prefix}/{hash}", "xorb-grants", CAIRN_TOKEN_WRITE, GRANT_BODY_BYTES_MAX, NULL,
			http_ignore_body, grants_post, free),
	{0},
};
