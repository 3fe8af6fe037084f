/* Receives a shard: gathers it, verifies all of it, and registers its files and xorbs. */
#ifndef CAIRN_CAS_PUT_PUT_SHARD_H
#define CAIRN_CAS_PUT_PUT_SHARD_H

#include "cas/cas.h"

/** A shard that is being received: spooled, verified on a worker, committed in a group. For one thread at a time. */
struct cairn_shard_upload;

/** Begins an upload. @param who  its strings are copied
 * @param footer_may_be_cut  as in struct cairn_verify_options
 * @return CAIRN_OK; CAIRN_E_BUSY over a limit of bytes in flight; CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_shard_upload_begin(struct cairn_cas *cas, const struct cairn_cas_who *who,
							  uint64_t bytes_expected, bool footer_may_be_cut,
							  struct cairn_shard_upload **out, struct cairn_diag *diag);
/** Adds bytes. @return CAIRN_OK; CAIRN_E_LIMIT past shard_bytes_max; as cairn_use_add(), cairn_spool_write() */
CAIRN_MUST_USE enum cairn_status cairn_shard_upload_write(struct cairn_shard_upload *u, const uint8_t *bytes,
							  size_t len, struct cairn_diag *diag);
/** Is a write likely to wait, because the disk is slow now? */
bool cairn_shard_upload_waits(const struct cairn_shard_upload *u);
/** Verifies the whole shard. Takes long: call it on a worker.
 * @param progress  as in struct cairn_verify_options; may be NULL
 * @return as cairn_verify_shard(), cairn_spool_read(); as index and store */
CAIRN_MUST_USE enum cairn_status cairn_shard_upload_verify(struct cairn_shard_upload *u,
							   bool (*progress)(void *ctx, uint64_t verified,
									    uint64_t total),
							   void *progress_ctx, struct cairn_diag *diag);
/** Returns the counts of cairn_shard_upload_verify(). */
const struct cairn_verify_summary *cairn_shard_upload_summary(const struct cairn_shard_upload *u);
/** Registers the shard. added is false if the index had all of it already ("result":0). @return as
 * cairn_xorb_upload_commit(); the status of the write as cairn_index_put_shard() */
CAIRN_MUST_USE enum cairn_status cairn_shard_upload_commit(struct cairn_shard_upload *u,
							   void (*done)(void *ctx, enum cairn_status status, bool added,
									const struct cairn_diag *diag),
							   void *ctx);
/** Returns why a commit that waited did not register the shard. */
const struct cairn_diag *cairn_shard_upload_diag(const struct cairn_shard_upload *u);
void cairn_shard_upload_free(struct cairn_shard_upload *u);

#endif
