/* The body of a request on its way in: in memory while it is short, in a file without a name when it grows, so that
 * memory does not grow with what is sent, however slowly it comes. What has come counts as the sender's. */
#ifndef CAIRN_CAS_BODY_H
#define CAIRN_CAS_BODY_H

#include "base/buf.h"
#include "cas/budget.h"
#include "store/spool.h"

/** So much stays in memory, also when the disk is full: what frees space is asked for by short bodies. */
enum { CAIRN_BODY_MEMORY_BYTES = 128 * 1024 };

/** Zeroed: none. Owned by one thread at a time. */
struct cairn_body {
	const uint8_t *bytes; /* what has come; of what is in a file after cairn_body_read() */
	size_t len;
	struct cairn_cas *cas;
	struct cairn_use use; /* may be handed on with a copy of the bytes */
	struct cairn_buf memory;
	struct cairn_spool *spool; /* NULL: all of it is in memory */
};

/**
 * @param sender  whose it is counted as
 * @param bytes_expected  how long it will be, if that is known: what there is no room for is refused at once;
 *                        UINT64_MAX: not known. Whoever hands it in bounds it
 * @return as cairn_use_begin()
 */
CAIRN_MUST_USE enum cairn_status cairn_body_begin(struct cairn_body *b, struct cairn_cas *cas,
						  const struct cairn_hash *sender, uint64_t bytes_expected,
						  struct cairn_diag *diag);

/** Append bytes. @return CAIRN_OK; as cairn_use_add(); CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_NOMEM: it is lost */
CAIRN_MUST_USE enum cairn_status cairn_body_write(struct cairn_body *b, const uint8_t *bytes, size_t len,
						  struct cairn_diag *diag);

/** Would writing so many bytes wait for a slow disk, so that it is for a worker? */
bool cairn_body_waits(const struct cairn_body *b, size_t len);

/** Reads a body that waits in a file into memory; for the worker that looks at it, when it does. All of it has come.
 *  @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_body_read(struct cairn_body *b);

/** Ends what cairn_body_read() has taken, and the file. A body that is in memory anyway stays. */
void cairn_body_drop(struct cairn_body *b);

/** Harmless when it was not begun. */
void cairn_body_fini(struct cairn_body *b);

#endif
