/* Makes a xorb of chunks that this process has cut. */
#ifndef CAIRN_CAS_PUT_MAKE_XORB_H
#define CAIRN_CAS_PUT_MAKE_XORB_H

#include "cas/cas.h"

/** A xorb made by this process of chunks that it cut and hashed. Compresses and writes each chunk when it is added.
 * Takes 1 MiB, and 40 bytes per chunk. For one worker at a time, because each call may wait for the disk. */
struct cairn_xorb_making;

/** Begins a xorb. @param who  its owner, borrowed until the xorb is freed, and its room (cairn_use_borrow()); bytes
 * beyond that are counted as they come @param[out] out  the caller's, cairn_xorb_making_free()
 * @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_xorb_making_begin(struct cairn_cas *cas, const struct cairn_cas_who *who,
							 struct cairn_xorb_making **out);
/** Returns the largest length of a xorb with so many bytes of content. */
uint64_t cairn_xorb_making_bytes_max(uint64_t content_bytes);
/** Appends a chunk. @param raw  as cairn_xorb_writer_add()
 *  @return as cairn_xorb_making_begin(), cairn_xorb_writer_add(); CAIRN_E_LIMIT it does not fit */
CAIRN_MUST_USE enum cairn_status cairn_xorb_making_add(struct cairn_xorb_making *m, const struct cairn_hash *chunk,
						       const uint8_t *raw, size_t len, struct cairn_diag *diag);
/** Stores and registers the xorb durably. @param hash  the hash of its chunks
 * @return as cairn_xorb_upload_store(), cairn_xorb_upload_commit() */
CAIRN_MUST_USE enum cairn_status cairn_xorb_making_end(struct cairn_xorb_making *m, const struct cairn_hash *hash,
						       struct cairn_diag *diag);
/** Frees it. If it was not stored, its bytes are removed. NULL is harmless. */
void cairn_xorb_making_free(struct cairn_xorb_making *m);

#endif
