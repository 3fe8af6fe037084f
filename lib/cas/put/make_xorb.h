/* Makes a xorb of chunks that this process cut. */
#ifndef CAIRN_CAS_PUT_MAKE_XORB_H
#define CAIRN_CAS_PUT_MAKE_XORB_H

#include "cas/cas.h"

/** A xorb that this process makes of chunks that it cut and hashed. Compresses and writes each chunk when it is added.
 * Takes 1 MiB, and 40 bytes a chunk. For one worker at a time, because each call may wait for the disk. */
struct cairn_xorb_making;

/** Begins a xorb. @param who  its owner, borrowed until the xorb is freed, and its room (cairn_use_borrow()). More than
 *  that is counted as it comes @param[out] out  the caller's, cairn_xorb_making_free()
 *  @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_xorb_making_begin(struct cairn_cas *cas, const struct cairn_cas_who *who,
							 struct cairn_xorb_making **out);
/** Returns the most bytes that a xorb of so many bytes of content can have. */
uint64_t cairn_xorb_making_bytes_max(uint64_t content_bytes);
/** Appends a chunk. @param raw  as cairn_xorb_writer_add()
 *  @return as cairn_xorb_making_begin(), cairn_xorb_writer_add(); CAIRN_E_LIMIT it does not fit */
CAIRN_MUST_USE enum cairn_status cairn_xorb_making_add(struct cairn_xorb_making *m, const struct cairn_hash *chunk,
						       const uint8_t *raw, size_t len, struct cairn_diag *diag);
/** Stores and registers the xorb durably. @param hash  of its chunks
 *  @return as cairn_xorb_upload_store(), cairn_xorb_upload_commit() */
CAIRN_MUST_USE enum cairn_status cairn_xorb_making_end(struct cairn_xorb_making *m, const struct cairn_hash *hash,
						       struct cairn_diag *diag);
/** Frees it. If it was not stored, nothing is left behind. NULL is harmless. */
void cairn_xorb_making_free(struct cairn_xorb_making *m);

#endif
