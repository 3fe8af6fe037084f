/* Processes a piece of a body on a worker, since hashing or a slow disk takes long. The connection is held meanwhile.
 * Other connections of its thread do not wait, and the client is slowed to the speed of processing. */
#ifndef CAIRN_SERVER_ROUTE_PIECE_H
#define CAIRN_SERVER_ROUTE_PIECE_H

#include "server/app.h"

/** Part of a route's state. Zeroed, except take and ctx. While the connection is held, only the worker uses it. */
struct route_piece {
	struct cairn_work work; /* must be the first member */
	struct http_request *req;
	/** Processes bytes. @return anything but CAIRN_OK: take() is not called again */
	enum cairn_status (*take)(void *ctx, const uint8_t *bytes, size_t len, struct cairn_diag *diag);
	void *ctx;                /* passed to take() */
	struct cairn_buf bytes;   /* bytes that wait for the worker */
	enum cairn_status status; /* of the bytes so far; CAIRN_E_BUSY may also mean that no worker was free */
	struct cairn_diag diag;
	bool begun; /* a worker has processed a piece, so the upload is no longer refused for waiting */
};

/** Processes a piece, in this call or on a worker. Call last in body(). @param waits  use a worker @return anything but
 * CAIRN_OK: a status that the route has to reply. A failure on a worker is returned with the next piece, or by
 * route_piece_end() */
enum cairn_status route_piece_take(struct route_piece *p, struct http_request *req, const uint8_t *bytes, size_t len,
				   bool waits);

/** Refuses work that has waited for more than 4 s, because waits add up when a slow engine keeps all workers busy. Call
 * where a worker begins work that is not an upload. @return CAIRN_OK; CAIRN_E_BUSY (workers.slow) */
CAIRN_MUST_USE enum cairn_status route_check_wait(const struct app *app, uint64_t queued_us, struct cairn_diag *diag);

/** Does what route_check_wait() does, for an upload. Refuses it only before a worker has processed its first piece:
 * later, all its bytes would have to be sent again. Call where a worker begins to process the upload. */
CAIRN_MUST_USE enum cairn_status route_piece_check_wait(const struct route_piece *p, const struct app *app,
							uint64_t queued_us, struct cairn_diag *diag);

/** Makes a CAIRN_E_BUSY without a reason mean, from this call on, that the remote index is silent, because reads of the
 * index return a status alone. Call where the work of a request begins. */
void route_explain_busy(struct http_request *req);

/** Hands heavy work of a held or suspended request to a worker, which then owns the request's state.
 *  @return false: no worker takes it now; the caller must resume the request */
bool route_hand_over(struct http_request *req, struct cairn_work *work, void (*run)(struct cairn_work *work));

/** Ends the pieces: frees the memory kept for more of them. Call from done(), after the whole body. @return status */
enum cairn_status route_piece_end(struct route_piece *p);

/** Frees a piece; harmless if zeroed. Call from free(). */
void route_piece_fini(struct route_piece *p);

#endif
