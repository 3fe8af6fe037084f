/* A data folder with a clock that the test moves, and uploads for it with real bytes. Every call that returns no status
 * fails the running Check test if it fails. */
#ifndef CAIRN_TESTS_SUPPORT_GC_FIXTURE_H
#define CAIRN_TESTS_SUPPORT_GC_FIXTURE_H

#include "cas/check/check.h"
#include "cas/keep/garbage.h"
#include "support/cas_fixture.h"
#include "support/made.h"

#include <pthread.h>

enum {
	GC_EPOCH_S = 5000,
	GC_GRACE_S = 10000, /* much longer than a test takes on a slow machine */
	GC_CHUNK_BYTES = 1500,
	GC_TERMS_MAX = 4,
};

struct gc_fixture {
	struct cas_fixture f;
	struct tempdir clock_dir;
	char *clock_path;
	pthread_mutex_t clock_lock;
	int64_t shift_s;
};

/** Makes a new folder, opened with the times above and a clock of its own. Call before starting any other thread. */
void gc_fixture_init(struct gc_fixture *g);
void gc_fixture_fini(struct gc_fixture *g);
/** Sets the times above, for cas_fixture_reopen(). */
void gc_fixture_times(struct cairn_cas_options *options);

/** Moves the clock forward. Any thread. */
void gc_pass(struct gc_fixture *g, int64_t seconds);

/** Collects. The collection must succeed. */
struct cairn_gc_report gc_collect(struct gc_fixture *g);
/** Moves the clock past the grace time and collects, twice, so that all unneeded xorbs are removed. @return the sums */
struct cairn_gc_report gc_collect_all(struct gc_fixture *g);

/** A xorb of random chunks, with its bytes. */
struct gc_xorb {
	struct made_xorb made;
	char text[CAIRN_HASH_TEXT_BYTES];
	struct vec_bytes body;
};
void gc_xorb_init(struct gc_xorb *x, uint64_t seed, uint32_t n_chunks);
void gc_xorb_fini(struct gc_xorb *x);
enum cairn_status gc_put_xorb(struct cairn_cas *cas, const struct gc_xorb *x, bool *inserted);

/** Describes a xorb. Its first chunk is eligible. */
void gc_describe(struct cairn_shard_writer *w, const struct made_xorb *x);

/** A file, and the shard that registers it and describes the xorbs of its terms. Their first chunks are eligible. */
struct gc_file {
	struct cairn_hash hash;
	uint32_t n_terms;
	struct made_term terms[GC_TERMS_MAX];
	struct vec_bytes shard;
};
void gc_file_init(struct gc_file *file, const struct made_term *terms, uint32_t n);
void gc_file_fini(struct gc_file *file);

/** Uploads x, and a file of all its chunks. */
void gc_put_whole(struct cairn_cas *cas, const struct gc_xorb *x, struct gc_file *file);

/** A folder with two files of one xorb each, so that tests can check that the other file is not affected. */
struct gc_stock {
	struct gc_fixture g;
	struct gc_xorb x, other;
	struct gc_file file, other_file;
};
void gc_stock_init(struct gc_stock *s);
void gc_stock_fini(struct gc_stock *s);

/** Plans a file, reads all of it from objects, and checks its hash. @return the status of planning */
enum cairn_status gc_read_back(struct cairn_cas *cas, const struct cairn_hash *file);

/** Checks the folder without repairing. @return the number of problems, which are printed on standard error */
uint64_t gc_problems(struct cairn_cas *cas);

#endif
