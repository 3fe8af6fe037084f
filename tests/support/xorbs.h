/* Xorbs for tests: runs the verifier over bytes, and builds serialized chunks by hand. */
#ifndef CAIRN_TESTS_SUPPORT_XORBS_H
#define CAIRN_TESTS_SUPPORT_XORBS_H

#include "base/buf.h"
#include "xorb/verifier.h"

/** A verifier's verdict on a body. */
struct xorb_verdict {
	enum cairn_status status;
	struct cairn_diag diag;
	struct cairn_xorb_summary summary; /* valid with CAIRN_OK */
	uint64_t n_data;                   /* sum of n_data over the feeds */
	struct cairn_chunk_list list;      /* owned */
};

/** Releases the list. For CLEANUP(). */
void xorb_verdict_fini(struct xorb_verdict *verdict);

/** Feeds a body to a verifier, in pieces of piece_bytes, and ends it. After a failure it makes one more call, which
 * must fail alike. @param options   NULL: CAIRN_XORB_UPLOAD_OPTIONS @param expected  NULL: any hash */
struct xorb_verdict xorb_verify(const uint8_t *bytes, size_t len, size_t piece_bytes,
				const struct cairn_xorb_verifier_options *options, const struct cairn_hash *expected);

/** Appends a chunk header and data, valid or not. */
void xorb_add_chunk(struct cairn_buf *out, uint32_t compressed_bytes, uint32_t unpacked_bytes, unsigned scheme,
		    const void *data, size_t data_len);

/** Appends the footer that matches the chunks. */
void xorb_add_footer(struct cairn_buf *out, const struct cairn_chunk_list *list);

#endif
