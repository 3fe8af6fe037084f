/* Verifies an uploaded shard. Does no I/O: a resolver tells what the store knows. */
#ifndef CAIRN_VERIFY_VERIFY_H
#define CAIRN_VERIFY_VERIFY_H

#include "index/new_shard.h"
#include "shard/reader.h"

/** Answers the verifier's questions about xorbs outside the shard. Called only from the verifying thread. */
struct cairn_verify_resolver {
	void *ctx;
	/** Returns the chunks of a xorb whose bytes are stored (in an index of xorbs kept elsewhere: of a known xorb).
	 * @param described  the shard describes the xorb: it is not asked for again after its description is judged
	 * @param[out] list  borrowed, valid until the next call; for a described xorb it may lack hashes, and then the
	 *         description is hashed
	 * @param[out] id    the xorb's id in the index, for the records; 0 before the call
	 * @return CAIRN_OK; CAIRN_E_NOT_FOUND not stored; CAIRN_E_LIMIT the lists read so far exceed the limit of one
	 *         verification; CAIRN_E_IO, CAIRN_E_DAMAGED, CAIRN_E_FULL, CAIRN_E_BUSY, CAIRN_E_NOMEM from the index
	 */
	enum cairn_status (*chunk_list)(void *ctx, const struct cairn_hash *xorb, bool described,
					const struct cairn_chunk_list **list, int64_t *id);
};

/** The data that a verified shard registers. Owns its arrays: at most twice as many bytes as the shard has, three
 * times if xorbs are kept elsewhere. Zeroed is empty. */
struct cairn_verified {
	struct cairn_index_new_shard shard; /* borrows the arrays below */
	struct cairn_index_new_xorb *xorbs;
	struct cairn_index_eligible *eligible;
	struct cairn_index_new_file *files;
	struct cairn_index_new_term *terms;
	struct cairn_chunk_list *lists; /* n_lists of them: of described xorbs that are unknown */
	uint32_t n_lists;
	uint64_t bytes; /* of all arrays */
};
void cairn_verified_fini(struct cairn_verified *verified);

struct cairn_verify_options {
	bool strict;              /* refuse a footer and files without metadata */
	bool xorbs_external;      /* xorb bytes live elsewhere: a described xorb need not be known */
	bool footer_may_be_cut;   /* unless strict: the header may announce a footer where nothing follows */
	uint32_t files_max;       /* files in the shard */
	uint32_t terms_max;       /* terms in the shard */
	uint32_t xorbs_max;       /* xorbs that the shard describes */
	uint64_t term_chunks_max; /* chunks that all terms together run over: bounds the hashing. How often the resolver
				   * is asked is bounded by the terms alone */
	struct cairn_verified *records; /* zeroed; filled in if the shard is valid, then the caller's. NULL: none */
	/** Called from time to time with the entries (terms and chunks) verified so far, and all of them. NULL: no
	 * reports. @return false to stop (the verifier returns CAIRN_E_BUSY, verify.stopped) */
	bool (*progress)(void *ctx, uint64_t verified, uint64_t total);
	void *progress_ctx;
};

/** Documented defaults: not strict, xorbs stored here, 500,000 files, 1,000,000 terms, 16,384 xorbs and 33,554,432
 * chunks under terms. A stock client's shard of 64 MiB stays below all of them: a file with its term, verification and
 * metadata takes 192 bytes, a term with its verification 96; and clients fill xorbs to 64 MiB or 8,192 chunks, and send
 * a shard after at most 64 of them, so that even xorbs a hundredth full (85 chunks) fit. */
enum {
	CAIRN_VERIFY_FILES_MAX = 500 * 1000,
	CAIRN_VERIFY_TERMS_MAX = 1000 * 1000,
	CAIRN_VERIFY_XORBS_MAX = 16 * 1024,
	CAIRN_VERIFY_TERM_CHUNKS_MAX = 32 * 1024 * 1024,
};
extern const struct cairn_verify_options CAIRN_VERIFY_DEFAULTS;

struct cairn_verify_summary {
	uint64_t n_files, n_terms;  /* as in the shard, repeats counted */
	uint64_t n_xorbs, n_chunks; /* described by the shard */
	uint64_t file_bytes;        /* sum of the files' sizes */
	bool has_footer;
};

/** Verifies a whole shard. diag names the first offence, with its offset and the two values that disagree. In order:
 * header; sections, bookends, counts and what follows; each xorb's chunk list (offsets, sums, limits, merkle root) and
 * that the xorb is stored and equal to the stored one; each file's terms (range within the xorb, range hash, unpacked
 * bytes) and its file hash. For a stored xorb, a refusal reveals no value that the sender has not described. For a xorb
 * that the shard does not describe, it reveals nothing before a term's range hash is correct, not even the number of
 * chunks. A range past its end is reported as a wrong range hash, after as much work. Not judged: num_bytes_on_disk,
 * reserved fields, the SHA-256, and the order of files and xorbs. Memory: 32 bytes for each described xorb, a chunk
 * list of at most CAIRN_XORB_CHUNKS_MAX entries, a short one (of terms hashed together), and the resolver's; with
 * records, those, and meanwhile 4 bytes for each described chunk and 24 for each term. The resolver is asked once for
 * each described xorb, and for others whenever the terms change to another xorb: it should cache its latest lists.
 * docs/errors.md lists the rules that a diagnosis can name.
 *
 * @param options  NULL: CAIRN_VERIFY_DEFAULTS
 * @return CAIRN_OK
 *         CAIRN_E_FORMAT    malformed, or outside the bounds of the format (chunks and bytes of a xorb or a chunk)
 *         CAIRN_E_MISMATCH  a hash or a sum does not agree
 *         CAIRN_E_LIMIT     over a limit of the options, or of the resolver
 *         CAIRN_E_NOT_FOUND a xorb is neither described here (with its bytes stored) nor known
 *         CAIRN_E_CONFLICT  a description differs from the known xorb
 *         CAIRN_E_BUSY      progress said to stop; or the resolver is busy
 *         CAIRN_E_IO, CAIRN_E_DAMAGED, CAIRN_E_FULL  from the resolver
 *         CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_verify_shard(const uint8_t *bytes, size_t len,
						    const struct cairn_verify_options *options,
						    const struct cairn_verify_resolver *resolver,
						    struct cairn_verify_summary *out, struct cairn_diag *diag);

#endif
