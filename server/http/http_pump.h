/* A body of known length whose bytes take a while to read: a worker reads a block of it, the connection sends that, and
 * only then the next one is read. So a slow source holds up no thread that serves others, a slow client holds up no
 * worker, and one block is all the memory that it takes. Knows no HTTP library. */
#ifndef CAIRN_SERVER_HTTP_PUMP_H
#define CAIRN_SERVER_HTTP_PUMP_H

#include "base/workers.h"
#include "server/http/http_stream.h"

#include <sys/types.h>

enum { HTTP_PUMP_BYTES = 256 * 1024 }; /* of a block */

/** Belongs to the connection's thread, and while that is paused to a worker. */
struct http_pump;

struct http_pump_source {
	ssize_t (*read)(void *ctx, uint64_t pos, uint8_t *out, size_t max); /* on a worker; as of http_reply_reader() */
	void (*release)(void *ctx); /* at the end; NULL: nothing is to be done */
	void *ctx;
	uint64_t bytes; /* of the body */
};

/**
 * @param ops      pause and wake the connection, as for a stream; wake() is the worker's last touch of the pump
 * @param ctx      of ops
 * @param workers  read the blocks, in turns by turn; borrowed
 * @return NULL without memory; the source is released then, too
 */
struct http_pump *http_pump_new(const struct http_stream_ops *ops, void *ctx, const struct http_pump_source *source,
				struct cairn_workers *workers, uint64_t turn);

/** Take up to max bytes of the body from pos on. PAUSED: pause() was called, read again after wake(). FAILED: the
 * source did, no worker takes the work, or the server is closing. */
enum http_stream_read http_pump_read(struct http_pump *p, uint64_t pos, uint8_t *out, size_t max, size_t *n_read);

/** Not while it is paused. Releases the source. */
void http_pump_free(struct http_pump *p);

#endif
