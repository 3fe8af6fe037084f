#include "server/ask/route_piece.h"

enum { PIECE_BYTES_MAX = 2 * 1024 * 1024 }; /* the HTTP library's pieces are far smaller */

bool route_hand_over(struct http_request *req, struct cairn_work *work, void (*run)(struct cairn_work *work))
{
	*work = (struct cairn_work){.run = run, .lane = CAIRN_LANE_HEAVY, .turn = http_turn(req)};
	return cairn_workers_submit(app_of(req)->workers, work) == CAIRN_OK;
}

static void piece_work(struct cairn_work *work)
{
	struct route_piece *p = (struct route_piece *)work;
	http_note_queued(p->req, work->queued_us);
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
	return CAIRN_OK; /* p may be a worker's by now */
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
