#include "server/ask/route_piece.h"

#include "cas/service/jobs.h"

enum {
	PIECE_BYTES_MAX = 2 * 1024 * 1024,   /* limit of one piece; the HTTP library's pieces are far shorter */
	PIECE_WAIT_US_MAX = 4 * 1000 * 1000, /* longest wait for a worker if an engine is remote */
};

enum cairn_status route_check_wait(const struct app *app, uint64_t queued_us, struct cairn_diag *diag)
{
	if (queued_us <= PIECE_WAIT_US_MAX || !cairn_cas_is_remote(app->cas))
		return CAIRN_OK;
	return cairn_fail(diag, CAIRN_E_BUSY, "workers.slow", CAIRN_NO_OFFSET,
			  "no worker was free for 4 s, since the object store or PostgreSQL answers slowly; try again "
			  "in a few seconds");
}

enum cairn_status route_piece_check_wait(const struct route_piece *p, const struct app *app, uint64_t queued_us,
					 struct cairn_diag *diag)
{
	return p->begun ? CAIRN_OK : route_check_wait(app, queued_us, diag);
}

bool route_hand_over(struct http_request *req, struct cairn_work *work, void (*run)(struct cairn_work *work))
{
	*work = (struct cairn_work){.run = run, .lane = CAIRN_LANE_HEAVY, .turn = http_turn(req)};
	return cairn_workers_submit(app_of(req)->workers, work) == CAIRN_OK;
}

void route_explain_busy(struct http_request *req)
{
	if (cairn_cas_asks_index(app_of(req)->cas))
		http_explain_busy(req, "index.silent",
				  "PostgreSQL did not answer a question in time; try again in a few seconds");
}

static void piece_work(struct cairn_work *work)
{
	struct route_piece *p = (struct route_piece *)work;
	http_note_queued(p->req, work->queued_us);
	route_explain_busy(p->req);
	p->status = route_piece_check_wait(p, app_of(p->req), work->queued_us, &p->diag);
	p->begun = true;
	if (p->status == CAIRN_OK)
		p->status = p->take(p->ctx, p->bytes.bytes, p->bytes.len, &p->diag);
	http_resume(p->req);
}

enum cairn_status route_piece_take(struct route_piece *p, struct http_request *req, const uint8_t *bytes, size_t len,
				   bool waits)
{
	if (p->status != CAIRN_OK)
		return p->status;
	if (!waits)
		return p->status = p->take(p->ctx, bytes, len, &p->diag);
	p->req = req;
	p->bytes.max = PIECE_BYTES_MAX;
	p->bytes.len = 0;
	cairn_buf_add(&p->bytes, bytes, len);
	if (p->bytes.status != CAIRN_OK)
		return p->status = p->bytes.status;
	if (http_hold_body(req) && !route_hand_over(req, &p->work, piece_work)) {
		p->status = CAIRN_E_BUSY;
		http_resume(req);
	}
	return CAIRN_OK; /* do not use p: it may belong to a worker by now */
}

enum cairn_status route_piece_end(struct route_piece *p)
{
	cairn_buf_fini(&p->bytes);
	return p->status;
}

void route_piece_fini(struct route_piece *p)
{
	cairn_buf_fini(&p->bytes);
}
