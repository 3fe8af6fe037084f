/* Sends a body of known length from a slow source. A worker reads a block, the connection sends the block, and only
 * then the next block is read. A slow source blocks no serving thread, a slow client blocks no worker, and memory is
 * one block. Independent of the HTTP library. */
#ifndef CAIRN_SERVER_HTTP_PUMP_H
#define CAIRN_SERVER_HTTP_PUMP_H

#include "base/workers.h"
#include "server/http/http_stream.h"

#include <sys/types.h>

enum { HTTP_PUMP_BYTES = 256 * 1024 }; /* of a block */

/** Owned by the connection's thread, and by a worker while the connection is paused. */
struct http_pump;

struct http_pump_source {
	ssize_t (*read)(void *ctx, uint64_t pos, uint8_t *out, size_t max); /* on a worker; like http_reply_reader() */
	void (*release)(void *ctx);                                         /* at the end; may be NULL */
	void *ctx;
	uint64_t bytes; /* of the body */
};

/** @param ops      pause and wake the connection, as for a stream; wake() is the worker's last touch of the pump
 * @param ctx      of ops
 * @param workers  read the blocks; they take turns between senders by turn; borrowed
 * @return NULL without memory; the source is released then, too
 */
struct http_pump *http_pump_new(const struct http_stream_ops *ops, void *ctx, const struct http_pump_source *source,
				struct cairn_workers *workers, uint64_t turn);

/** Takes up to max bytes of the body from pos on. PAUSED: pause() was called, read again after wake(). FAILED: the
 * source failed, no worker takes the work, or the server is closing. */
enum http_stream_read http_pump_read(struct http_pump *p, uint64_t pos, uint8_t *out, size_t max, size_t *n_read);

/** Frees the pump and releases the source. Not while paused. */
void http_pump_free(struct http_pump *p);

#endif
