/* Fixtures for tests of the index: made-up xorbs and shards, and a receiver of dedupe answers. */
#ifndef CAIRN_TESTS_INDEX_FIXTURE_H
#define CAIRN_TESTS_INDEX_FIXTURE_H

#include "index/index.h"
#include "support/tempdir.h"

enum { FX_XORBS_MAX = 8, FX_FILES_MAX = 16, FX_TERMS_MAX = 16, FX_ELIGIBLE_MAX = 4, FX_ANSWER_MAX = 8 };

/** Makes a unique hash from kind and number. */
struct cairn_hash fx_hash(const char *kind, uint64_t number);

/** Selects the engine to test: that of the argument (a URL in which * stands for a folder); by default SQLite. */
void fx_use_engine(int argc, char **argv);

/** The URL of an index in a folder. */
struct fx_url {
	char text[512];
};
struct fx_url fx_url(const char *dir);

/** Makes or migrates an index and opens it. A failure fails the test. */
struct cairn_index *fx_open(const char *dir);
struct cairn_index *fx_open_with(const char *dir, const struct cairn_index_options *options);

struct fx_xorb {
	struct cairn_hash hash;
	struct cairn_chunk_list list;
};

/** Makes a xorb of n made-up chunks. */
struct fx_xorb fx_xorb_new(uint64_t number, uint32_t n);
void fx_xorb_fini(struct fx_xorb *x);
/** Registers the xorb as stored. @return true: it was added */
bool fx_xorb_put(struct cairn_index *ix, const struct fx_xorb *x);

/** For checked fixtures: makes an index in a new folder. */
extern struct tempdir fx_folder;
extern struct cairn_index *fx_index;
void fx_set_up(void);
/** The same, with two or three of these xorbs stored. They have 20, 30 and 40 chunks. */
extern struct fx_xorb fx_a, fx_b, fx_c;
void fx_set_up_two(void);
void fx_set_up_three(void);
/** Ends any of these fixtures. */
void fx_tear_down(void);

/** Chunks for cairn_index_spans(), which asks for the spans of the first xorb, too. */
extern const uint32_t FX_SPANS[2];
/** A visitor for cairn_index_spans(): the places must be those of the fx_xorb to which ctx points. */
enum cairn_status fx_spans_are(void *ctx, const struct cairn_index_spans *places);

struct fx_term {
	struct cairn_hash xorb;
	struct cairn_index_new_term term; /* its xorb is not set */
};

struct fx_file {
	struct cairn_index_new_file file;
	struct fx_term terms[FX_TERMS_MAX];
};

/** A shard to be registered. */
struct fx_shard {
	struct cairn_hash body;
	const char *scope, *owner;
	struct cairn_index_new_xorb xorbs[FX_XORBS_MAX]; /* the xorbs that it describes */
	struct cairn_index_eligible eligible[FX_XORBS_MAX][FX_ELIGIBLE_MAX];
	uint32_t n_xorbs;
	struct fx_file files[FX_FILES_MAX];
	uint32_t n_files;
	struct cairn_diag diag; /* of the last registration */
	bool added;
	struct fx_records { /* filled in by fx_shard_request() */
		struct cairn_index_new_shard shard;
		struct cairn_index_new_xorb xorbs[FX_XORBS_MAX + FX_FILES_MAX * FX_TERMS_MAX];
		struct cairn_index_eligible eligible[FX_XORBS_MAX * FX_ELIGIBLE_MAX];
		struct cairn_index_new_file files[FX_FILES_MAX];
		struct cairn_index_new_term terms[FX_FILES_MAX * FX_TERMS_MAX];
	} records;
};
/** Makes an empty shard, of the shared scope and the operator. */
void fx_shard_init(struct fx_shard *s, uint64_t number);

/** Is the shard known? Calls cairn_index_look_up_shard() without the xorbs that the shard names. */
enum cairn_status fx_shard_known(struct cairn_index *ix, const struct cairn_hash *body, const char *scope,
				 const char *owner, bool *known, struct cairn_index_registered *registered);
/** Describes a xorb with these chunks eligible: fx_shard_xorb(&s, &x, 2, 3, 9). */
void fx_shard_xorb(struct fx_shard *s, const struct fx_xorb *x, unsigned n_eligible, ...);
/** Adds a file of one term. fx_shard_term() adds more. */
struct fx_file *fx_shard_file(struct fx_shard *s, uint64_t number, const struct fx_xorb *x, uint32_t start,
			      uint32_t end);
void fx_shard_term(struct fx_file *file, const struct fx_xorb *x, uint32_t start, uint32_t end);
/** Adds a file whose xorb is missing, so the registration fails with CAIRN_E_CONFLICT. n_files-- removes the file. */
void fx_shard_fail(struct fx_shard *s);
/** Returns the request that registers the shard, for cairn_index_put_shard(). */
struct cairn_index_put_shard fx_shard_request(struct fx_shard *s);
/** Registers the shard and waits. */
enum cairn_status fx_shard_put(struct cairn_index *ix, struct fx_shard *s);

/** Stores xorb `number`, of four chunks, and uploads file `number`, of all four, under an owner.
 * @param[out] rule  of a refusal, else NULL; may be NULL  @return as cairn_index_put_shard() */
enum cairn_status fx_upload(struct cairn_index *ix, uint64_t number, const char *owner, const char **rule);

/** Registers a stored xorb of four chunks, and a shard with one file of all four. @return the file's hash */
struct cairn_hash fx_put_four_chunks(struct cairn_index *ix, const char *owner);

/** The answer to a chunk query. */
struct fx_answer {
	unsigned n, n_max; /* n_max 0: takes all xorbs of the answer */
	struct cairn_hash xorb[FX_ANSWER_MAX];
	uint32_t n_chunks[FX_ANSWER_MAX];
	uint32_t n_eligible[FX_ANSWER_MAX];
	uint32_t eligible[FX_ANSWER_MAX][FX_ELIGIBLE_MAX];
};
enum cairn_status fx_query(struct cairn_index *ix, const char *scope, const struct cairn_hash *chunk,
			   struct fx_answer *out);
void fx_assert_miss(struct cairn_index *ix, const char *scope, const struct cairn_hash *chunk);
/** Checks that a chunk query finds a xorb. @param xorb  must be the first one of the answer */
struct fx_answer fx_assert_hit(struct cairn_index *ix, const char *scope, const struct cairn_hash *chunk,
			       const struct fx_xorb *xorb);

/** Forgets a file. @return false: this owner had no such file */
bool fx_forget(struct cairn_index *ix, uint64_t file_number, const char *owner);

/** Does the file exist for this viewer? */
bool fx_sees(struct cairn_index *ix, const char *viewer, uint64_t file_number);

#endif
