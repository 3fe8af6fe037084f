/* Processes a piece of a body on a worker, since hashing or a slow disk takes long. The connection is held meanwhile.
 * Other connections of its thread do not wait, and the client is slowed to the speed of processing. */
#ifndef CAIRN_SERVER_ROUTE_PIECE_H
#define CAIRN_SERVER_ROUTE_PIECE_H

#include "server/app.h"

/** Part of a route's state; zeroed at first, but for take and ctx. The worker has all of the state alone while the
 * connection is held. */
struct route_piece {
	struct cairn_work work; /* first */
	struct http_request *req;
	/** Processes bytes. @return anything but CAIRN_OK: take() is not called again */
	enum cairn_status (*take)(void *ctx, const uint8_t *bytes, size_t len, struct cairn_diag *diag);
	void *ctx;                /* for take() */
	struct cairn_buf bytes;   /* bytes that wait for the worker */
	enum cairn_status status; /* of the bytes so far. CAIRN_E_BUSY also: no worker was free */
	struct cairn_diag diag;
	bool begun; /* a worker has processed a piece: from then on no wait refuses the upload */
};

/** Processes a piece, in this call or on a worker. Call last in body().
 * @param waits  use a worker
 * @return anything but CAIRN_OK: a status that the route has to reply. A failure on a worker is returned with the next
 * piece, or by route_piece_end() */
enum cairn_status route_piece_take(struct route_piece *p, struct http_request *req, const uint8_t *bytes, size_t len,
				   bool waits);

/** Call where a worker begins work that is no upload. Beside a slow engine all workers are busy, and waits would add
 * up, so work that waited for 4 s is refused. @return CAIRN_OK; CAIRN_E_BUSY (workers.slow) */
CAIRN_MUST_USE enum cairn_status route_check_wait(const struct app *app, uint64_t queued_us, struct cairn_diag *diag);

/** Call where a worker begins to process an upload, as route_check_wait(). Refuses only an upload of which no worker
 * has processed a piece: the bytes before would have to be sent again. */
CAIRN_MUST_USE enum cairn_status route_piece_check_wait(const struct route_piece *p, const struct app *app,
							uint64_t queued_us, struct cairn_diag *diag);

/** Call where the work of a request begins: a wait that does not name itself is one for a remote index from then on,
 * since reads of the index return a status alone. */
void route_explain_busy(struct http_request *req);

/** Hands heavy work of a held or suspended request to a worker, which then owns the request's state.
 *  @return false: no worker takes it now; the caller must resume the request */
bool route_hand_over(struct http_request *req, struct cairn_work *work, void (*run)(struct cairn_work *work));

/** Call from done(), after the whole body: frees memory kept for more pieces. @return status */
enum cairn_status route_piece_end(struct route_piece *p);

/** Call from free(). Harmless if zeroed. */
void route_piece_fini(struct route_piece *p);

#endif
