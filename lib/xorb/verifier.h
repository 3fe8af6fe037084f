/* Verifies a serialized xorb while it streams in. */
#ifndef CAIRN_XORB_VERIFIER_H
#define CAIRN_XORB_VERIFIER_H

#include "hash/chunk_list.h"
#include "xorb/format.h"

/** A xorb under verification. Holds one chunk at a time, never the whole body. Owned by one thread at a time. */
struct cairn_xorb_verifier;

struct cairn_xorb_verifier_options {
	uint64_t bytes_max;       /* limit of the serialized xorb without footer */
	uint32_t chunks_max;      /* at most CAIRN_XORB_CHUNKS_MAX */
	uint32_t chunk_bytes_max; /* limit of a chunk's raw length: CAIRN_CHUNK_BYTES_MAX for uploads */
};

/** Chunks by enum cairn_scheme; raw bytes in all. */
struct cairn_xorb_summary {
	struct cairn_hash root;    /* merkle root over the chunks: the xorb's hash */
	uint64_t chunk_data_bytes; /* serialized bytes without a footer: what is stored */
	uint64_t unpacked_bytes;
	uint32_t chunks_of_scheme[3];
	bool has_footer;
};

/** The limits of an upload: 64 MiB + headers, 8,192 chunks, 128 KiB a chunk. */
extern const struct cairn_xorb_verifier_options CAIRN_XORB_UPLOAD_OPTIONS;

/** @return NULL without memory. options are copied */
struct cairn_xorb_verifier *cairn_xorb_verifier_new(const struct cairn_xorb_verifier_options *options);
void cairn_xorb_verifier_free(struct cairn_xorb_verifier *v);
void cairn_xorb_verifier_freep(struct cairn_xorb_verifier **v);

/** Takes the next bytes of the body. Unpacks and hashes each chunk as soon as it is complete. After a failure every
 * further call returns the same status.
 * @param[out] n_data  how many of the bytes are chunks, which the caller stores; the rest belongs to a footer
 * @return CAIRN_OK
 *         CAIRN_E_FORMAT  a chunk header or its data; the footer
 *         CAIRN_E_LIMIT   too long, too many chunks, a chunk too large
 *         CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_xorb_verifier_feed(struct cairn_xorb_verifier *v, const uint8_t *bytes,
							  size_t len, size_t *n_data, struct cairn_diag *diag);

/** Ends the body. It must have at least one chunk and end with a whole one, or with a footer that agrees with the
 * chunks. The root must be the expected hash.
 * @param expected  the hash the uploader gave; NULL: any
 * @return CAIRN_OK; CAIRN_E_FORMAT truncated, empty, footer; CAIRN_E_MISMATCH hash of the chunks or of the footer */
CAIRN_MUST_USE enum cairn_status cairn_xorb_verifier_end(struct cairn_xorb_verifier *v,
							 const struct cairn_hash *expected,
							 struct cairn_xorb_summary *out, struct cairn_diag *diag);

/** Returns the chunks so far, with their places. Borrowed; complete after cairn_xorb_verifier_end(). */
const struct cairn_chunk_list *cairn_xorb_verifier_list(const struct cairn_xorb_verifier *v);

/** Moves the list out; the caller then owns it. */
struct cairn_chunk_list cairn_xorb_verifier_take_list(struct cairn_xorb_verifier *v);

#endif
