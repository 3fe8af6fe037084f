/* Receives the body of a request: in memory while it is short, then in a file without a name, so that long or slow
 * bodies do not fill the memory. The received bytes count for the sender's limit. */
#ifndef CAIRN_CAS_BODY_H
#define CAIRN_CAS_BODY_H

#include "base/buf.h"
#include "cas/budget.h"
#include "store/spool.h"

/** Bodies up to this size stay in memory, so that short requests that free space work while the disk is full. */
enum { CAIRN_BODY_MEMORY_BYTES = 128 * 1024 };

/** Zeroed: none. Owned by one thread at a time. */
struct cairn_body {
	const uint8_t *bytes; /* received bytes; if they are in a file, after cairn_body_read() */
	size_t len;
	struct cairn_cas *cas;
	struct cairn_use use; /* may be handed on with a copy of the bytes */
	struct cairn_buf memory;
	struct cairn_spool *spool; /* NULL: all of it is in memory */
};

/** @param sender  the sender whose bytes in flight it counts for
 * @param bytes_expected  its length, if known, so that a body without room is refused at once; UINT64_MAX: not known.
 *                        The caller bounds it
 * @return as cairn_use_begin() */
CAIRN_MUST_USE enum cairn_status cairn_body_begin(struct cairn_body *b, struct cairn_cas *cas,
						  const struct cairn_hash *sender, uint64_t bytes_expected,
						  struct cairn_diag *diag);

/** Appends bytes. @return CAIRN_OK; as cairn_use_add(); CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_NOMEM: the body is lost */
CAIRN_MUST_USE enum cairn_status cairn_body_write(struct cairn_body *b, const uint8_t *bytes, size_t len,
						  struct cairn_diag *diag);

/** Would a write of len bytes wait for a slow disk? Then do it on a worker. */
bool cairn_body_waits(const struct cairn_body *b, size_t len);

/** Reads a complete body that is in a file into memory; for the worker that is about to use it.
 *  @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_body_read(struct cairn_body *b);

/** Frees the memory that cairn_body_read() took, and the file. A body that never left memory stays. */
void cairn_body_drop(struct cairn_body *b);

/** Harmless when it was not begun. */
void cairn_body_fini(struct cairn_body *b);

/** Frees kept memory that no body has used since the last call: bodies of the hub and of shards. */
void cairn_body_trim_memory(void);

#endif
