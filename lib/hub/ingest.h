/* Makes a file of a plain body: cuts, looks up, packs and hashes the bytes as they arrive, and registers the file for a
 * repository with its SHA-256. */
#ifndef CAIRN_HUB_INGEST_H
#define CAIRN_HUB_INGEST_H

#include "hub/hub.h"

/** Longer files are refused. */
#define CAIRN_HUB_INGEST_BYTES_MAX (UINT64_C(1) << 40)

/** A body that is being received. Takes some 3 MiB of memory, and up to 64 MiB for large files, which count for the
 * sender's limit. For one thread at a time. */
struct cairn_hub_ingest;

/** The hash and size that the client announced. */
struct cairn_hub_ingest_file {
	uint8_t sha256[CAIRN_SHA256_BYTES]; /* in plain byte order */
	uint64_t size_bytes;
};

/** Begins to receive a file. @param who  scope, owner and sender; copied
 * @return CAIRN_OK: the most that it needs at one time is reserved; CAIRN_E_BUSY a limit of bytes in flight is reached;
 *         CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_hub_ingest_begin(const struct cairn_hub *hub, const struct cairn_cas_who *who,
							const struct cairn_hub_ingest_file *file,
							struct cairn_hub_ingest **out, struct cairn_diag *diag);

/** Returns the buffer for the next bytes. Cheap, for any thread. @param[out] len  its room; 0 only between two calls of
 * cairn_hub_ingest_put() */
uint8_t *cairn_hub_ingest_room(struct cairn_hub_ingest *in, size_t *len);
/** Announces that n bytes were written to the buffer. Cheap, for any thread. */
void cairn_hub_ingest_put(struct cairn_hub_ingest *in, size_t n);

/** Processes the bytes in the buffer, which makes room again. Waits for the disk and for the index's writer: on a
 * worker.
 * @return CAIRN_OK; CAIRN_E_MISMATCH more bytes than announced (ingest.size); CAIRN_E_LIMIT the file has too many terms
 *         (ingest.terms); as a write. After a failure only cairn_hub_ingest_free() may be called */
CAIRN_MUST_USE enum cairn_status cairn_hub_ingest_work(struct cairn_hub_ingest *in, struct cairn_diag *diag);

/** Processes the rest after the last byte, and registers the file. With CAIRN_OK the file is durable. On a worker.
 * @return as cairn_hub_ingest_work(); CAIRN_E_MISMATCH size or hash differ from those announced (ingest.size,
 *         ingest.sha256); CAIRN_E_DENIED the owner is a repository that was deleted (repo.gone). After a failure no
 *         file is registered, and a collection removes the stored bytes */
CAIRN_MUST_USE enum cairn_status cairn_hub_ingest_end(struct cairn_hub_ingest *in, struct cairn_diag *diag);

/** A part of the file, which is a file of its own. */
struct cairn_hub_ingest_part {
	struct cairn_hash file;
	uint64_t first, end; /* range of bytes; equal: there is no part */
};
/** Registers the file in parts from a byte on, at which a chunk begins. Call it before the first byte. Cheap. */
void cairn_hub_ingest_in_parts(struct cairn_hub_ingest *in, uint64_t from);
/** Registers the bytes processed since the last part, up to the end of the last chunk, as a file of the repository
 * without a SHA-256. With CAIRN_OK the part is durable. On a worker.
 * @return as cairn_hub_ingest_end(), but not CAIRN_E_MISMATCH */
CAIRN_MUST_USE enum cairn_status cairn_hub_ingest_part(struct cairn_hub_ingest *in, struct cairn_hub_ingest_part *out,
						       struct cairn_diag *diag);

/** NULL is harmless. */
void cairn_hub_ingest_free(struct cairn_hub_ingest *in);

#endif
