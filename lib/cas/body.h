/* Receives the body of a request: in memory while it is short, then in a file without a name, so that long or slow
 * bodies do not fill the memory. Received bytes count for the sender's limit. */
#ifndef CAIRN_CAS_BODY_H
#define CAIRN_CAS_BODY_H

#include "base/buf.h"
#include "cas/budget.h"
#include "store/spool.h"

/** Bodies up to this size stay in memory, so that short requests that free space work on a full disk. */
enum { CAIRN_BODY_MEMORY_BYTES = 128 * 1024 };

/** A body. Zeroed: none. For one thread at a time. */
struct cairn_body {
	const uint8_t *bytes; /* the received bytes; if they are in a file, only after cairn_body_read() */
	size_t len;
	struct cairn_cas *cas;
	struct cairn_use use; /* may be handed on with a copy of the bytes */
	struct cairn_buf memory;
	struct cairn_spool *spool; /* NULL: all of it is in memory */
};

/** Begins a body. @param sender  the sender for whose bytes in flight it counts
 * @param bytes_expected  its length, limited by the caller: if there is no room, it is refused at once; UINT64_MAX:
 *                        unknown
 * @return as cairn_use_begin() */
CAIRN_MUST_USE enum cairn_status cairn_body_begin(struct cairn_body *b, struct cairn_cas *cas,
						  const struct cairn_hash *sender, uint64_t bytes_expected,
						  struct cairn_diag *diag);

/** Appends bytes. @return CAIRN_OK; as cairn_use_add(); CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_NOMEM: the body is lost */
CAIRN_MUST_USE enum cairn_status cairn_body_write(struct cairn_body *b, const uint8_t *bytes, size_t len,
						  struct cairn_diag *diag);

/** Would a write of len bytes wait for a slow disk? Then do it on a worker. */
bool cairn_body_waits(const struct cairn_body *b, size_t len);

/** Reads a complete body from its file into memory, for the worker that uses it next.
 * @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_body_read(struct cairn_body *b);

/** Frees the spool file and the bytes that cairn_body_read() loaded from it. If the body is only in memory, does
 * nothing; cairn_body_fini() frees it. */
void cairn_body_drop(struct cairn_body *b);

/** Harmless if the body was not begun. */
void cairn_body_fini(struct cairn_body *b);

/** Frees memory kept for reuse that no body of the hub or of a shard has used since the last call. */
void cairn_body_trim_memory(void);

#endif
