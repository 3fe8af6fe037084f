/* Calls that the files of this room share. */
#ifndef CAIRN_CAS_PUT_PUT_WORK_H
#define CAIRN_CAS_PUT_PUT_WORK_H

#include "cas/internal.h"
#include "cas/put/put_xorb.h"

/** Calls cairn_store_put_write(), and records how long it took. */
CAIRN_MUST_USE enum cairn_status cas_put_write(struct cairn_cas *cas, struct cairn_store_put *put, const uint8_t *bytes,
					       size_t len);

/** Checks whether a xorb is stored, with a row and an object that agree. A retired xorb counts, too.
 * @param[out] row  zeroed if the xorb has no row
 * @param[in,out] list  as for cairn_index_xorb_and_list(); NULL: not needed
 * @return CAIRN_OK with *stored set; otherwise as index and store (cas.h). diag is set only if the index is busy */
CAIRN_MUST_USE enum cairn_status cas_look_up_xorb(struct cairn_cas *cas, const struct cairn_hash *hash,
						  struct cairn_index_xorb *row, struct cairn_chunk_list *list,
						  bool *stored, struct cairn_diag *diag);

/** Makes an upload of a xorb that this process made and wrote. Continue with cairn_xorb_upload_store().
 * @param who, list  borrowed until the upload is freed
 * @param put   owned from now on
 * @return NULL without memory */
struct cairn_xorb_upload *cas_xorb_upload_of_made(struct cairn_cas *cas, const struct cairn_cas_who *who,
						  const struct cairn_hash *hash, const struct cairn_chunk_list *list,
						  uint64_t bytes, struct cairn_store_put *put);

/** Does what cairn_xorb_upload_commit() does, and waits. @return as cairn_index_put_xorb() */
CAIRN_MUST_USE enum cairn_status cas_xorb_upload_register(struct cairn_xorb_upload *u, struct cairn_diag *diag);

#endif
