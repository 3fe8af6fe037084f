/* Internal to the verifier: the state that one run carries from pass to pass. */
#ifndef CAIRN_VERIFY_RUN_H
#define CAIRN_VERIFY_RUN_H

#include "base/id_set.h"
#include "verify/verify.h"

/** A described xorb: the prefix of its hash, for comparisons within the table, and where its block starts. */
struct verify_place {
	uint64_t prefix;
	uint64_t offset;
	size_t first_end; /* where the ends of its chunks begin, in the array of ends of the run */
	uint32_t xorb;    /* index in the records' xorbs */
};

enum { VERIFY_AHEAD_MAX = 16 }; /* terms; the widest vectors hash this many side by side */

/** A term of the current file that was hashed ahead: it covers few chunks of a xorb that this shard describes. */
struct verify_ahead {
	const struct verify_place *place; /* NULL: not hashed ahead */
	struct cairn_shard_xorb xorb;
	uint32_t first; /* of its chunks in ahead_chunks */
	struct cairn_hash range_hash;
};

/** A run. Owned by one thread. Its arrays are owned unless marked otherwise; cairn_verify_shard() releases them. */
struct verify_run {
	const uint8_t *bytes; /* the shard, borrowed */
	const struct cairn_verify_options *options;
	const struct cairn_verify_resolver *resolver;
	struct cairn_diag *diag;
	struct cairn_verify_summary sum;

	/* Where the later passes start. */
	struct cairn_shard_reader files_start, xorbs_start;

	struct verify_place *places; /* owned; the described xorbs, sorted by hash once all of them are verified */
	size_t n_places;
	struct cairn_chunk_list scratch; /* owned; chunks of the current xorb or term */

	struct verify_ahead ahead[VERIFY_AHEAD_MAX];
	struct cairn_chunk_list ahead_chunks; /* owned */

	/* The xorb of the last term: described here, or from the resolver. */
	bool has_last;
	struct cairn_hash last_hash;
	const struct verify_place *last_place;     /* of a described xorb */
	int64_t last_id;                           /* id from the resolver */
	const struct cairn_chunk_list *last_known; /* NULL: described here, in last_described */
	struct cairn_shard_xorb last_described;

	struct cairn_verified *records; /* the caller's, filled in during the passes; NULL: no records */
	uint32_t n_described, n_recorded_files, n_recorded_terms, n_eligible, eligible_cap, xorbs_cap;
	uint32_t first_eligible; /* of the current described xorb */
	uint32_t *ends;          /* owned; ends of described xorbs' chunks in their objects, one xorb after the other */
	size_t n_ends;
	struct cairn_id_set outside; /* xorbs that only terms name; in the records after the described ones */
	uint64_t first_chunk;        /* of the current file: first 8 bytes of the hash, LE */

	uint64_t term_chunks; /* chunks covered by the terms so far */
	uint64_t verified, total;
	uint64_t unreported; /* chunks hashed since the last progress report */
};

/** Verifies the xorbs: each description by itself, against the resolver, and against its repeats.
 * @return as cairn_verify_shard() */
CAIRN_MUST_USE enum cairn_status cairn_verify_xorbs(struct verify_run *run);

/** Verifies the files, after the xorbs: each term, then the file hash. @return as cairn_verify_shard() */
CAIRN_MUST_USE enum cairn_status cairn_verify_files(struct verify_run *run);

/** Hashes terms of a file that are described here ahead, from the i-th on. Reports no faults: they are found when the
 * term's turn comes. @return CAIRN_OK; CAIRN_E_NOMEM; CAIRN_E_LIMIT as cairn_chunk_list_add() */
CAIRN_MUST_USE enum cairn_status cairn_verify_hash_ahead(struct verify_run *run, const struct cairn_shard_file *file,
							 uint32_t i);

/** Appends chunks [start, end) of a described xorb to a list. @return as cairn_chunk_list_add() */
CAIRN_MUST_USE enum cairn_status cairn_verify_gather(struct cairn_chunk_list *list, const struct cairn_shard_xorb *xorb,
						     uint32_t start, uint32_t end);

/** Reports progress. @return CAIRN_OK; CAIRN_E_BUSY: stop */
CAIRN_MUST_USE enum cairn_status cairn_verify_report(struct verify_run *run);

/** Counts entries and chunks, and reports progress now and then. @return CAIRN_OK; CAIRN_E_BUSY */
CAIRN_MUST_USE enum cairn_status cairn_verify_advance(struct verify_run *run, uint64_t entries, uint64_t chunks);

/** Asks the resolver. @return its status; any failure but CAIRN_E_NOT_FOUND is diagnosed at offset */
CAIRN_MUST_USE enum cairn_status cairn_verify_ask(struct verify_run *run, const struct cairn_hash *xorb, bool described,
						  uint64_t offset, const struct cairn_chunk_list **list, int64_t *id);

/** Finds a described xorb by hash. @return its place; NULL: this shard does not describe it */
const struct verify_place *cairn_verify_find(const struct verify_run *run, const struct cairn_hash *hash,
					     struct cairn_shard_xorb *out);

/** Sorts the places by hash, in place and without recursion, because the sender chooses the hashes. */
void cairn_verify_sort_places(struct verify_run *run);

/** Returns the block at a place. */
struct cairn_shard_xorb cairn_verify_xorb_at(const struct verify_run *run, uint64_t offset);

/* Records, only if run->records is set. */

/** Allocates the records, after all is counted. @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_verify_record_counts(struct verify_run *run);
/** Records a chunk of the current described xorb. @return as cairn_verify_record_counts() */
CAIRN_MUST_USE enum cairn_status cairn_verify_record_chunk(struct verify_run *run,
							   const struct cairn_shard_chunk *chunk, uint32_t place);
/** Records the current described xorb, whose chunks are in the scratch list. @param known  from the resolver, or NULL
 * @param[out] place  gets its index and its first end @return as cairn_verify_record_counts() */
CAIRN_MUST_USE enum cairn_status cairn_verify_record_xorb(struct verify_run *run, const struct cairn_hash *hash,
							  const struct cairn_chunk_list *known, int64_t id,
							  struct verify_place *place);
/** Records a term of the current file over the current xorb. @return as cairn_verify_record_counts() */
CAIRN_MUST_USE enum cairn_status cairn_verify_record_term(struct verify_run *run, const struct cairn_shard_term *term);
/** Records the current file. */
void cairn_verify_record_file(struct verify_run *run, const struct cairn_shard_file *file);
/** Completes the records of a valid shard. */
void cairn_verify_records_end(struct verify_run *run);

/** Adds two hashes as the values of a diagnosis. */
void cairn_verify_diag_hashes(struct cairn_diag *diag, const struct cairn_hash *expected,
			      const struct cairn_hash *actual);

#endif
