/* Sends a body of known length from a slow source. A worker reads a block, the connection sends it, and only then the
 * next block is read. A slow source blocks no serving thread, a slow client blocks no worker, and memory is one block.
 * While the source has no bytes, the body has no block and no thread waits. Independent of the HTTP library. */
#ifndef CAIRN_SERVER_HTTP_PUMP_H
#define CAIRN_SERVER_HTTP_PUMP_H

#include "base/workers.h"
#include "server/http/http_stream.h"
#include "server/http/http_waits.h"

enum { HTTP_PUMP_BYTES = 256 * 1024 }; /* length of a block */

/** Owned by the connection's thread; while the connection is paused, by a worker or the source. */
struct http_pump;

struct http_pump_ops {
	struct http_stream_ops stream;  /* pause and wake the connection; wake() is the last access to the pump */
	void (*wait_begins)(void *ctx); /* called when the source has no bytes yet */
	void (*wait_ends)(void *ctx);   /* called once after each wait_begins(), before wake() */
	bool (*is_left)(void *ctx);     /* called while the body waits: has the client gone? */
};

/** Makes a pump. Copies `source`, and borrows what the other pointers name.
 * @param ctx      argument of `ops`
 * @param workers  read the blocks
 * @param waits    for a source that may have no bytes yet
 * @param turn     number of the sender, with which the workers take turns between senders
 * @return NULL without memory; then the source is released, too */
struct http_pump *http_pump_new(const struct http_pump_ops *ops, void *ctx, const struct http_source *source,
				struct cairn_workers *workers, struct http_waits *waits, uint64_t turn);

/** Takes up to `max` bytes of the body, from `pos` on. PAUSED: pause() was called; read again after wake(). FAILED: the
 * source failed, no worker takes the work, the client left during a wait, or the server is closing. */
enum http_stream_read http_pump_read(struct http_pump *p, uint64_t pos, uint8_t *out, size_t max, size_t *n_read);

/** Frees the pump and releases the source. Do not call it while the connection is paused. */
void http_pump_free(struct http_pump *p);

#endif
