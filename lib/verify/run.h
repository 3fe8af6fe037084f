/* Internal to the verifier: what one run carries from pass to pass. */
#ifndef CAIRN_VERIFY_RUN_H
#define CAIRN_VERIFY_RUN_H

#include "base/id_set.h"
#include "verify/verify.h"

/** A described xorb: the first bytes of its hash, to compare without leaving the table, and where its block starts. */
struct verify_place {
	uint64_t prefix;
	uint64_t offset;
	size_t first_end; /* where its chunks' ends begin among the run's */
	uint32_t xorb;    /* place among the records' xorbs */
};

enum { VERIFY_AHEAD_MAX = 16 }; /* terms: as many as the widest vectors hash side by side */

/** A term of the file at hand that was looked at before its turn came: it runs over few chunks of a xorb that this
 *  shard describes. */
struct verify_ahead {
	const struct verify_place *place; /* NULL: it waits for its turn */
	struct cairn_shard_xorb xorb;
	uint32_t first; /* of its chunks among those of all that were looked at */
	struct cairn_hash range_hash;
};

/** One run. Owned by one thread. Its arrays are owned unless marked otherwise; cairn_verify_shard() releases them. */
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

	struct verify_ahead ahead[VERIFY_AHEAD_MAX];
	struct cairn_chunk_list ahead_chunks; /* owned */

	/* The xorb that the last term ran over: described here, or of the resolver. */
	bool has_last;
	struct cairn_hash last_hash;
	const struct verify_place *last_place;     /* of one that is described here */
	int64_t last_id;                           /* of the resolver's */
	const struct cairn_chunk_list *last_known; /* NULL: described here, in last_described */
	struct cairn_shard_xorb last_described;

	struct cairn_verified *records; /* the caller's, filled in as the passes go; NULL: nobody wants them */
	uint32_t n_described, n_recorded_files, n_recorded_terms, n_eligible, eligible_cap, xorbs_cap;
	uint32_t first_eligible; /* of the described xorb at hand */
	uint32_t *ends; /* owned; of the chunks of described xorbs in their objects, one xorb's behind the other's */
	size_t n_ends;
	struct cairn_id_set outside; /* xorbs that only terms name; behind the described ones among the records */
	uint64_t first_chunk;        /* of the file at hand: first 8 bytes of the hash, LE */

	uint64_t term_chunks; /* chunks that the terms so far run over */
	uint64_t verified, total;
	uint64_t unreported; /* chunks hashed since progress was last told */
};

/** Pass over the xorbs: each description by itself, against the resolver, and against its repeats.
 *  @return as cairn_verify_shard() */
CAIRN_MUST_USE enum cairn_status cairn_verify_xorbs(struct verify_run *run);

/** Pass over the files: each term, then the file hash. Needs the xorbs to be verified. @return likewise */
CAIRN_MUST_USE enum cairn_status cairn_verify_files(struct verify_run *run);

/** Look at terms of a file that are described here, from the i-th on. Judges nothing: what is wrong with one is found
 *  when its turn comes. @return CAIRN_OK; CAIRN_E_NOMEM; CAIRN_E_LIMIT as cairn_chunk_list_add() */
CAIRN_MUST_USE enum cairn_status cairn_verify_look_ahead(struct verify_run *run, const struct cairn_shard_file *file,
							 uint32_t i);

/** Add chunks [start, end) of a described xorb to a list. @return as cairn_chunk_list_add() */
CAIRN_MUST_USE enum cairn_status cairn_verify_gather(struct cairn_chunk_list *list, const struct cairn_shard_xorb *xorb,
						     uint32_t start, uint32_t end);

/** Tell how far it is. @return CAIRN_OK; CAIRN_E_BUSY: stop */
CAIRN_MUST_USE enum cairn_status cairn_verify_report(struct verify_run *run);

/** Count entries as verified and chunks as hashed, and report now and then. @return CAIRN_OK; CAIRN_E_BUSY */
CAIRN_MUST_USE enum cairn_status cairn_verify_advance(struct verify_run *run, uint64_t entries, uint64_t chunks);

/** Ask the resolver. @return what it answers; any failure but CAIRN_E_NOT_FOUND is diagnosed at offset */
CAIRN_MUST_USE enum cairn_status cairn_verify_ask(struct verify_run *run, const struct cairn_hash *xorb, bool described,
						  uint64_t offset, const struct cairn_chunk_list **list, int64_t *id);

/** The described xorb of that hash. @return where it is; NULL: this shard does not describe it */
const struct verify_place *cairn_verify_find(const struct verify_run *run, const struct cairn_hash *hash,
					     struct cairn_shard_xorb *out);

/** Sort the places by hash. In place and without recursion: the hashes of an upload are its sender's choice. */
void cairn_verify_sort_places(struct verify_run *run);

/** The block at a place. */
struct cairn_shard_xorb cairn_verify_xorb_at(const struct verify_run *run, uint64_t offset);

/* Records, when they are wanted. */

/** Once all is counted: make room. @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_verify_record_counts(struct verify_run *run);
/** A chunk of the described xorb at hand. @return likewise */
CAIRN_MUST_USE enum cairn_status cairn_verify_record_chunk(struct verify_run *run,
							   const struct cairn_shard_chunk *chunk, uint32_t place);
/** The described xorb at hand, whose chunks are in the scratch list. @param known  of the resolver, or NULL
 *  @param[out] place  gets its number and where its ends are @return likewise */
CAIRN_MUST_USE enum cairn_status cairn_verify_record_xorb(struct verify_run *run, const struct cairn_hash *hash,
							  const struct cairn_chunk_list *known, int64_t id,
							  struct verify_place *place);
/** A term of the file at hand, over the xorb at hand. @return likewise */
CAIRN_MUST_USE enum cairn_status cairn_verify_record_term(struct verify_run *run, const struct cairn_shard_term *term);
/** The file at hand. */
void cairn_verify_record_file(struct verify_run *run, const struct cairn_shard_file *file);
/** All is right. */
void cairn_verify_records_end(struct verify_run *run);

/** Add two hashes as the values of a diagnosis. */
void cairn_verify_diag_hashes(struct cairn_diag *diag, const struct cairn_hash *expected,
			      const struct cairn_hash *actual);

#endif
