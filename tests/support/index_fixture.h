/* What tests of the index share: made-up xorbs and shards, and an ear for dedupe answers. */
#ifndef CAIRN_TESTS_INDEX_FIXTURE_H
#define CAIRN_TESTS_INDEX_FIXTURE_H

#include "index/index.h"

enum { FX_XORBS_MAX = 8, FX_FILES_MAX = 16, FX_TERMS_MAX = 16, FX_ELIGIBLE_MAX = 4, FX_ANSWER_MAX = 8 };

/** A hash that nothing else has: of kind and number. */
struct cairn_hash fx_hash(const char *kind, uint64_t number);

/** An opened index; fails the test otherwise. */
struct cairn_index *fx_open(const char *dir);

struct fx_xorb {
	struct cairn_hash hash;
	struct cairn_chunk_list list;
};

/** A xorb of n made-up chunks. */
struct fx_xorb fx_xorb_new(uint64_t number, uint32_t n);
void fx_xorb_fini(struct fx_xorb *x);
/** Register it as stored. @return whether it was added */
bool fx_xorb_put(struct cairn_index *ix, const struct fx_xorb *x);
/** Of cairn_index_spans(): the places must be those of the stored fx_xorb that ctx points to. */
enum cairn_status fx_spans_are(void *ctx, const struct cairn_index_spans *places);

struct fx_file {
	struct cairn_index_new_file file;
	struct cairn_index_new_term terms[FX_TERMS_MAX];
};

/** A shard to be registered. */
struct fx_shard {
	struct cairn_hash body;
	const char *scope, *owner;
	struct cairn_index_described xorbs[FX_XORBS_MAX];
	struct cairn_index_eligible eligible[FX_XORBS_MAX][FX_ELIGIBLE_MAX];
	uint32_t n_xorbs, at_xorb;
	struct fx_file files[FX_FILES_MAX];
	uint32_t n_files, at_file;
	enum cairn_status fails; /* what the source answers instead of its last file */
	unsigned n_rewinds;
	struct cairn_diag diag; /* of the last put */
	bool added;
};
/** Empty, of the shared scope and the operator. */
void fx_shard_init(struct fx_shard *s, uint64_t number);
/** Describe a xorb, with these places eligible: fx_shard_xorb(&s, &x, 2, 3, 9). */
void fx_shard_xorb(struct fx_shard *s, const struct fx_xorb *x, unsigned n_eligible, ...);
/** Add a file of one term; more with fx_shard_term(). */
struct fx_file *fx_shard_file(struct fx_shard *s, uint64_t number, const struct fx_xorb *x, uint32_t start,
			      uint32_t end);
void fx_shard_term(struct fx_file *file, const struct fx_xorb *x, uint32_t start, uint32_t end);
/** Fill in a write that registers it, for cairn_index_submit(). */
void fx_shard_write(struct fx_shard *s, struct cairn_index_write *write);
/** Register it and wait. */
enum cairn_status fx_shard_put(struct cairn_index *ix, struct fx_shard *s);

/** What a dedupe query answered. */
struct fx_answer {
	unsigned n, n_max; /* n_max 0: take them all */
	struct cairn_hash xorb[FX_ANSWER_MAX];
	uint32_t n_chunks[FX_ANSWER_MAX];
	uint32_t n_eligible[FX_ANSWER_MAX];
	uint32_t eligible[FX_ANSWER_MAX][FX_ELIGIBLE_MAX];
};
enum cairn_status fx_query(struct cairn_index *ix, const char *scope, const struct cairn_hash *chunk,
			   struct fx_answer *out);

/** Run statements on the index of a data folder, beside whoever has it open. */
void fx_sql(const char *dir, const char *statements);

/** Does the file exist for this viewer? */
bool fx_sees(struct cairn_index *ix, const char *viewer, uint64_t file_number);

#endif
