/* Compresses chunks into xorbs in a thread, while the next chunks are read and hashed. */
#ifndef CAIRN_CLI_COMPRESSOR_H
#define CAIRN_CLI_COMPRESSOR_H

#include "cli/push/senders.h"

/** Used by one thread, and by the thread that it starts. Takes 2 MiB in addition to the senders' writers. */
struct compressor;

/** Makes a compressor. @param senders  borrowed; only this may take their writers. @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status compressor_new(struct compressor **out, struct senders *senders);

/** Sets the watch that is called while the using thread waits. */
void compressor_watch(struct compressor *p, const struct watch *watch);

/** Drops chunks that are not compressed yet. Call before senders_freep(). For CLEANUP(). */
void compressor_freep(struct compressor **out);

/** Adds a chunk to the current xorb; waits while the queue is full.
 * @param raw  len bytes, 1 to CAIRN_CHUNK_BYTES_MAX, which are copied
 * @return CAIRN_OK; the failure of an earlier chunk, as cairn_xorb_writer_add() and senders_failure(); CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status compressor_add(struct compressor *p, const struct cairn_hash *chunk,
						const uint8_t *raw, size_t len, struct cairn_diag *diag);

/** Sends the current xorb under this name; the next chunk begins another. @return as compressor_add() */
CAIRN_MUST_USE enum cairn_status compressor_close(struct compressor *p, const struct cairn_hash *xorb,
						  struct cairn_diag *diag);

/** Waits until all chunks are compressed and the senders have the xorbs. @return as compressor_add() */
CAIRN_MUST_USE enum cairn_status compressor_end(struct compressor *p, struct cairn_diag *diag);

#endif
