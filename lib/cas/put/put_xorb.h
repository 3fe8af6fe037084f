/* Receives a xorb: verifies it while it streams, stores it, and registers it. */
#ifndef CAIRN_CAS_PUT_PUT_XORB_H
#define CAIRN_CAS_PUT_PUT_XORB_H

#include "cas/cas.h"

/** A xorb that is being received, verified and written in pieces of half a MiB. For one thread at a time. */
struct cairn_xorb_upload;

/** Begins an upload. @param who  its sender and owner; the owner is borrowed until the upload is freed
 * @return CAIRN_OK; CAIRN_E_BUSY over a limit of bytes in flight; CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_xorb_upload_begin(struct cairn_cas *cas, const struct cairn_cas_who *who,
							 const struct cairn_hash *hash, uint64_t bytes_expected,
							 struct cairn_xorb_upload **out, struct cairn_diag *diag);
/** Adds bytes. @return as cairn_use_add(), and as cairn_xorb_verifier_feed() and cairn_store_put_write(), maybe for
 * bytes of an earlier call */
CAIRN_MUST_USE enum cairn_status cairn_xorb_upload_write(struct cairn_xorb_upload *u, const uint8_t *bytes, size_t len,
							 struct cairn_diag *diag);
/** Is a write of len bytes likely to wait, because the disk is slow now? */
bool cairn_xorb_upload_waits(const struct cairn_xorb_upload *u, size_t len);
/** Checks that the xorb is complete and has its hash. On a worker.
 * @param[out] bytes  number of bytes to store
 * @return as cairn_xorb_upload_write(), cairn_xorb_verifier_end() */
CAIRN_MUST_USE enum cairn_status cairn_xorb_upload_verify(struct cairn_xorb_upload *u, uint64_t *bytes,
							  struct cairn_diag *diag);
/** Makes the bytes of a verified xorb durable. Waits for the disk, and for uploads of the same hash: on a worker.
 *  @return as cairn_store_put_commit(), cairn_store_put_copy(); CAIRN_E_BUSY, CAIRN_E_CONFLICT it was stored or lost
 *          meanwhile, so the client must send it again; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_xorb_upload_store(struct cairn_xorb_upload *u, struct cairn_diag *diag);
/** Registers the xorb. done(ctx, status, was_inserted, diag) is called once, when the row is durable: by the index's
 * writer, or here if there is no row to write. Then u may be freed. @return CAIRN_OK; CAIRN_E_BUSY: done will not be
 * called. Without done the call waits, and returns as cairn_index_put_xorb() */
CAIRN_MUST_USE enum cairn_status cairn_xorb_upload_commit(
	struct cairn_xorb_upload *u,
	void (*done)(void *ctx, enum cairn_status status, bool was_inserted, const struct cairn_diag *diag), void *ctx);
/** Does no row name the stored object, because a frozen index or a quota has refused it? Not before done() is called.
 * Other uploads of the xorb then wait until cairn_xorb_upload_take_back() or cairn_xorb_upload_free(). */
bool cairn_xorb_upload_is_left(const struct cairn_xorb_upload *u);
/** Removes this object; if that fails now, a collection removes it later. Waits for the store: on a worker. */
void cairn_xorb_upload_take_back(struct cairn_xorb_upload *u);
/** Frees it. If it was not stored, its bytes are removed. NULL is harmless. */
void cairn_xorb_upload_free(struct cairn_xorb_upload *u);

/** Checks whether a verified xorb is stored, with its object, so that a client need not send it. A retired xorb counts
 * as not stored; uploading it ends its retirement.
 * @param[out] stored_bytes  size of its object
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_cas_xorb(struct cairn_cas *cas, const struct cairn_hash *hash,
						uint64_t *stored_bytes);

/** Returns the longest body of a xorb's upload: the xorb, and a footer, which is not stored. */
uint64_t cairn_cas_xorb_body_max(const struct cairn_cas *cas);

#endif
