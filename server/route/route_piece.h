/* A piece of a body that takes long to take in, since it is hashed, or a disk is slow. A worker takes it in, and the
 * connection is held meanwhile: the others of its thread wait neither for one nor for the other, and a client is slowed
 * down to what can be done with its bytes. */
#ifndef CAIRN_SERVER_ROUTE_PIECE_H
#define CAIRN_SERVER_ROUTE_PIECE_H

#include "server/app.h"

/** Part of a route's state; zeroed at first, but for take and ctx. The worker has all of the state alone while the
 * connection is held. */
struct route_piece {
	struct cairn_work work; /* first */
	struct http_request *req;
	/** Take bytes in. @return anything but CAIRN_OK: it is not called again */
	enum cairn_status (*take)(void *ctx, const uint8_t *bytes, size_t len, struct cairn_diag *diag);
	void *ctx;                /* of take */
	struct cairn_buf bytes;   /* that wait for the worker */
	enum cairn_status status; /* of what was taken in so far. CAIRN_E_BUSY also: no worker could */
	struct cairn_diag diag;
};

/**
 * From body(), last of all: take a piece in, by this call or by a worker.
 * @param waits  it is for a worker. A chunked body cannot be held, and is refused then (body.chunked)
 * @return anything but CAIRN_OK: status, which the route has to reply. What a worker has found is told with the next
 *         piece, or by route_piece_end()
 */
enum cairn_status route_piece_take(struct route_piece *p, struct http_request *req, const uint8_t *bytes, size_t len,
				   bool waits);

/** Give heavy work of a request that is held or suspended to a worker, which then has its state.
 *  @return false: none takes it now, and the request is still the caller's to resume */
bool route_hand_over(struct http_request *req, struct cairn_work *work, void (*run)(struct cairn_work *work));

/** From done(): all of the body was handed in, and memory for more of it is given back. @return status */
enum cairn_status route_piece_end(struct route_piece *p);

/** From free(). Harmless on a zeroed one. */
void route_piece_fini(struct route_piece *p);

#endif
