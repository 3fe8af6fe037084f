/* Chunks on their way into xorbs: a thread that compresses them, while the next ones are read and hashed. */
#ifndef CAIRN_CLI_PACKER_H
#define CAIRN_CLI_PACKER_H

#include "cli/push/senders.h"

/** Used by one thread, and by the one that it starts. Takes 2 MiB beside the writers of the senders. */
struct packer;

/** @param senders  borrowed; no other may take writers of theirs. @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status packer_new(struct packer **out, struct senders *senders);

/** Who looks on while the thread that uses it waits. */
void packer_watch(struct packer *p, const struct watch *watch);

/** What is not packed yet is dropped. Before senders_freep(). For CLEANUP(). */
void packer_freep(struct packer **out);

/**
 * Add a chunk to the xorb being filled; waits while more is to be packed than is kept.
 * @param raw  len bytes, 1 to CAIRN_CHUNK_BYTES_MAX, which are copied
 * @return CAIRN_OK; how an earlier one failed, as cairn_xorb_writer_add() and senders_failure(); CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status packer_add(struct packer *p, const struct cairn_hash *chunk, const uint8_t *raw,
					    size_t len, struct cairn_diag *diag);

/** Have the xorb sent under this name; the next chunk begins another. @return as packer_add() */
CAIRN_MUST_USE enum cairn_status packer_close(struct packer *p, const struct cairn_hash *xorb, struct cairn_diag *diag);

/** Wait until all is packed, and what was closed is with the senders. @return as packer_add(): the first failure */
CAIRN_MUST_USE enum cairn_status packer_end(struct packer *p, struct cairn_diag *diag);

#endif
