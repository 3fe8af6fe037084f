/* Internal to the verifier: what one run carries from pass to pass. */
#ifndef CAIRN_VERIFY_RUN_H
#define CAIRN_VERIFY_RUN_H

#include "verify/verify.h"

/** A described xorb: the first bytes of its hash, to compare without leaving the table, and where its block starts. */
struct verify_place {
	uint64_t prefix;
	uint64_t offset;
};

struct verify_run {
	const uint8_t *bytes; /* the shard, borrowed */
	const struct cairn_verify_options *options;
	const struct cairn_verify_resolver *resolver;
	struct cairn_diag *diag;
	struct cairn_verify_summary sum;

	/* The passes after the first start from these. */
	struct cairn_shard_reader files_start, xorbs_start;

	struct verify_place *places; /* owned; the described xorbs, sorted by hash once all of them are verified */
	size_t n_places;
	struct cairn_chunk_list scratch; /* owned; chunks of the xorb or of the term at hand */

	/* The xorb that the last term ran over: described here, or of the resolver. */
	bool has_last;
	struct cairn_hash last_hash;
	const struct cairn_chunk_list *last_known; /* NULL: described here, in last_described */
	struct cairn_shard_xorb last_described;

	uint64_t term_chunks; /* chunks that the terms so far run over */
	uint64_t verified, total;
	uint64_t unreported; /* chunks hashed since progress was last told */
};

/** Pass over the xorbs: each description by itself, against the resolver, and against its repeats. */
CAIRN_MUST_USE enum cairn_status cairn_verify_xorbs(struct verify_run *run);

/** Pass over the files: each term, then the file hash. Needs the xorbs to be verified. */
CAIRN_MUST_USE enum cairn_status cairn_verify_files(struct verify_run *run);

/** Count entries as verified and chunks as hashed, and report now and then. @return CAIRN_OK; CAIRN_E_BUSY */
CAIRN_MUST_USE enum cairn_status cairn_verify_advance(struct verify_run *run, uint64_t entries, uint64_t chunks);

/** Ask the resolver. @return as the resolver does; a failure other than CAIRN_E_NOT_FOUND is diagnosed at offset */
CAIRN_MUST_USE enum cairn_status cairn_verify_ask(struct verify_run *run, const struct cairn_hash *xorb,
						  uint64_t offset, const struct cairn_chunk_list **list);

/** The described xorb of that hash. @return false: this shard does not describe it */
bool cairn_verify_find(const struct verify_run *run, const struct cairn_hash *hash, struct cairn_shard_xorb *out);

/** Sort the places by hash. In place and without recursion: the hashes of an upload are its sender's choice. */
void cairn_verify_sort_places(struct verify_run *run);

/** The block at a place. */
struct cairn_shard_xorb cairn_verify_xorb_at(const struct verify_run *run, uint64_t offset);

/** Add two hashes as the values of a diagnosis. */
void cairn_verify_diag_hashes(struct cairn_diag *diag, const struct cairn_hash *expected,
			      const struct cairn_hash *actual);

#endif
