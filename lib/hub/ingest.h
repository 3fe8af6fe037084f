/* A plain body that becomes a file: cut, looked up, packed and hashed while it comes, and registered under a repository
 * with the SHA-256 that it was found to have. */
#ifndef CAIRN_HUB_INGEST_H
#define CAIRN_HUB_INGEST_H

#include "cas/cas.h"

/** Longer files are refused. */
#define CAIRN_HUB_INGEST_BYTES_MAX (UINT64_C(1) << 40)

/** A body on its way in. Takes some 3 MiB, and up to 64 MiB for large files, which counts as the sender's. One thread
 * at a time. */
struct cairn_hub_ingest;

/** What the body is said to be. */
struct cairn_hub_ingest_file {
	uint8_t sha256[CAIRN_SHA256_BYTES]; /* plain byte order */
	uint64_t size_bytes;
};

/** @param who  scope, owner and sender; copied
 *  @return CAIRN_OK; CAIRN_E_BUSY over a limit of bytes under way; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_hub_ingest_begin(struct cairn_cas *cas, const struct cairn_cas_who *who,
							const struct cairn_hub_ingest_file *file,
							struct cairn_hub_ingest **out, struct cairn_diag *diag);

/** Where the next bytes belong. Cheap, for any thread. @param[out] len  room; 0 only between two calls of
 * cairn_hub_ingest_put() */
uint8_t *cairn_hub_ingest_room(struct cairn_hub_ingest *in, size_t *len);
/** So many bytes were put there. Likewise. */
void cairn_hub_ingest_put(struct cairn_hub_ingest *in, size_t n);

/** Work off what was put, so that there is room again. Waits for the disk and for the index's writer: on a worker.
 *  @return CAIRN_OK; CAIRN_E_MISMATCH more bytes than the file has (ingest.size); CAIRN_E_LIMIT a file in too many
 *          pieces (ingest.terms); as a write. After a failure it can only be
 *          freed */
CAIRN_MUST_USE enum cairn_status cairn_hub_ingest_work(struct cairn_hub_ingest *in, struct cairn_diag *diag);

/**
 * All has come: work off the rest, and register the file. With CAIRN_OK it is durable. On a worker.
 * @return as cairn_hub_ingest_work(); CAIRN_E_MISMATCH the bytes are not what they were said to be (ingest.size,
 *         ingest.sha256); CAIRN_E_DENIED the owner is a repository that is not there any more (repo.gone). Then no file
 *         is registered, and what was stored for it goes with a collection
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_ingest_end(struct cairn_hub_ingest *in, struct cairn_diag *diag);

/** NULL is harmless. */
void cairn_hub_ingest_free(struct cairn_hub_ingest *in);

#endif
