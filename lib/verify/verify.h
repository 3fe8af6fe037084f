/* What an uploaded shard must satisfy. No I/O: it asks a resolver for what the store knows. */
#ifndef CAIRN_VERIFY_VERIFY_H
#define CAIRN_VERIFY_VERIFY_H

#include "index/new_shard.h"
#include "shard/reader.h"

/** What the verifier asks about xorbs outside the shard. Calls come from the verifying thread only. */
struct cairn_verify_resolver {
	void *ctx;
	/**
	 * The chunks of a xorb whose bytes are stored (in an index of xorbs kept elsewhere: of a xorb that is known).
	 * @param described  by the shard: not asked for again when this description has been judged
	 * @param[out] list  borrowed, valid until the next call; of one that is described it may have no hashes: the
	 *                   description is hashed then
	 * @param[out] id    what the index knows it by, for the records; 0 before the call
	 * @return CAIRN_OK; CAIRN_E_NOT_FOUND it is not stored; CAIRN_E_LIMIT the lists that were read are more than
	 * one verification may ask for; CAIRN_E_IO, CAIRN_E_DAMAGED, CAIRN_E_FULL, CAIRN_E_BUSY, CAIRN_E_NOMEM of the
	 * index
	 */
	enum cairn_status (*chunk_list)(void *ctx, const struct cairn_hash *xorb, bool described,
					const struct cairn_chunk_list **list, int64_t *id);
};

/** What a verified shard registers. Owns its arrays: at most twice as many bytes as the shard has, three times where
 *  xorbs are kept elsewhere. Zeroed is empty. */
struct cairn_verified {
	struct cairn_index_new_shard shard; /* borrows what is below */
	struct cairn_index_new_xorb *xorbs;
	struct cairn_index_eligible *eligible;
	struct cairn_index_new_file *files;
	struct cairn_index_new_term *terms;
	struct cairn_chunk_list *lists; /* n_lists of them: of described xorbs that are not known */
	uint32_t n_lists;
	uint64_t bytes; /* of all arrays */
};
/** For CLEANUP(). */
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
	struct cairn_verified *records; /* zeroed; filled in when the shard is right, and then the caller's. NULL:
					 * nobody wants them */
	/** Called now and then with the entries (terms and chunks) verified so far and in all. NULL: nobody listens.
	 *  @return false to give up (the verifier answers CAIRN_E_BUSY, verify.stopped) */
	bool (*progress)(void *ctx, uint64_t verified, uint64_t total);
	void *progress_ctx;
};

/**
 * Documented defaults: not strict, xorbs stored here, 500,000 files, 1,000,000 terms, 16,384 xorbs and 33,554,432
 * chunks under terms. A stock client's shard of 64 MiB stays below all of them: a file with its term, verification and
 * metadata takes 192 bytes, a term with its verification 96; and clients fill xorbs to 64 MiB or 8,192 chunks, and send
 * a shard after at most 64 of them, so that even xorbs a hundredth full (85 chunks) fit.
 */
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

/**
 * Verify a whole shard. The first offence is named in diag with its offset and the two values that disagree.
 * In order: header; sections, bookends, counts and what follows; each xorb's chunk list (offsets, sums, limits, merkle
 * root) and that it is stored and equal to the stored one; each file's terms (range within the xorb, range hash,
 * unpacked bytes) and its file hash.
 * Of a stored xorb no value is told that the sender has not described; of one that the shard does not describe
 * nothing at all before the range hash of a term is found right, not even how many chunks it has: a range past its end
 * is told as a wrong range hash, after as much work.
 * num_bytes_on_disk, reserved fields, the SHA-256 and the order of files and xorbs are not judged.
 * Memory: 32 bytes a described xorb, one chunk list of at most CAIRN_XORB_CHUNKS_MAX entries, a short one (of the terms
 * that are looked at together), and the resolver's; with
 * records those, and 4 bytes a described chunk and 24 a term meanwhile. The
 * resolver is asked once for each described xorb, and for a xorb outside the shard whenever the terms come to another
 * one: it should keep the lists it read last.
 * docs/errors.md lists the rules that a diagnosis can name.
 *
 * @param options  NULL: CAIRN_VERIFY_DEFAULTS
 * @return CAIRN_OK
 *         CAIRN_E_FORMAT    malformed, or outside the bounds of the format (chunks and bytes of a xorb or a chunk)
 *         CAIRN_E_MISMATCH  a hash or a sum does not agree
 *         CAIRN_E_LIMIT     over a limit of the options, or of the resolver
 *         CAIRN_E_NOT_FOUND a xorb is neither described here (with its bytes stored) nor known
 *         CAIRN_E_CONFLICT  a description differs from what is known of that xorb
 *         CAIRN_E_BUSY      progress said to give up; or the resolver is busy
 *         CAIRN_E_IO, CAIRN_E_DAMAGED, CAIRN_E_FULL  of the resolver
 *         CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_verify_shard(const uint8_t *bytes, size_t len,
						    const struct cairn_verify_options *options,
						    const struct cairn_verify_resolver *resolver,
						    struct cairn_verify_summary *out, struct cairn_diag *diag);

#endif
