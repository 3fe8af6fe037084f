/* Chunks on their way into xorbs: a thread that compresses them, while the next ones are read and hashed. */
#ifndef CAIRN_CLI_COMPRESSOR_H
#define CAIRN_CLI_COMPRESSOR_H

#include "cli/push/senders.h"

/** Used by one thread, and by the one that it starts. Takes 2 MiB beside the writers of the senders. */
struct compressor;

/** @param senders  borrowed; no other may take writers of theirs. @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status compressor_new(struct compressor **out, struct senders *senders);

/** Who looks on while the thread that uses it waits. */
void compressor_watch(struct compressor *p, const struct watch *watch);

/** What is not compressed yet is dropped. Before senders_freep(). For CLEANUP(). */
void compressor_freep(struct compressor **out);

/**
 * Add a chunk to the xorb being filled; waits while more is to be compressed than is kept.
 * @param raw  len bytes, 1 to CAIRN_CHUNK_BYTES_MAX, which are copied
 * @return CAIRN_OK; how an earlier one failed, as cairn_xorb_writer_add() and senders_failure(); CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status compressor_add(struct compressor *p, const struct cairn_hash *chunk,
						const uint8_t *raw, size_t len, struct cairn_diag *diag);

/** Have the xorb sent under this name; the next chunk begins another. @return as compressor_add() */
CAIRN_MUST_USE enum cairn_status compressor_close(struct compressor *p, const struct cairn_hash *xorb,
						  struct cairn_diag *diag);

/** Wait until all is compressed, and what was closed is with the senders. @return as compressor_add(): the first
 * failure */
CAIRN_MUST_USE enum cairn_status compressor_end(struct compressor *p, struct cairn_diag *diag);

#endif
