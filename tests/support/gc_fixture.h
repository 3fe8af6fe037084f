/* A data folder with a clock that the test moves, and uploads with real bytes to put into it. Every call ends the
 * running Check test when it fails, unless it hands a status out. */
#ifndef CAIRN_TESTS_SUPPORT_GC_FIXTURE_H
#define CAIRN_TESTS_SUPPORT_GC_FIXTURE_H

#include "cas/check.h"
#include "cas/garbage.h"
#include "support/cas_fixture.h"
#include "support/made.h"

#include <pthread.h>

enum {
	GC_EPOCH_S = 5000,
	GC_GRACE_S = 10000, /* long against what a slow machine needs for a test */
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

/** A new folder, opened with the times above, under a clock of its own. Before any other thread starts. */
void gc_fixture_init(struct gc_fixture *g);
/** For CLEANUP(). */
void gc_fixture_fini(struct gc_fixture *g);
/** The same times, for cas_fixture_reopen(). */
void gc_fixture_times(struct cairn_cas_options *options);

/** Let time pass. Any thread. */
void gc_pass(struct gc_fixture *g, int64_t seconds);

/** Collect; the collection must go well. */
struct cairn_gc_report gc_collect(struct gc_fixture *g);
/** Let the grace time pass and collect, twice: what nobody needs is gone. @return the sums */
struct cairn_gc_report gc_collect_all(struct gc_fixture *g);

/** A xorb of random chunks, with its bytes. */
struct gc_xorb {
	struct made_xorb made;
	char text[CAIRN_HASH_TEXT_BYTES];
	struct vec_bytes body;
};
void gc_xorb_init(struct gc_xorb *x, uint64_t seed, uint32_t n_chunks);
/** For CLEANUP(). */
void gc_xorb_fini(struct gc_xorb *x);
enum cairn_status gc_put_xorb(struct cairn_cas *cas, const struct gc_xorb *x, bool *inserted);

/** Describe it; its first chunk is eligible. */
void gc_describe(struct cairn_shard_writer *w, const struct made_xorb *x);

/** A file, and the shard that registers it: the xorbs of its terms are described, their first chunks eligible. */
struct gc_file {
	struct cairn_hash hash;
	uint32_t n_terms;
	struct made_term terms[GC_TERMS_MAX];
	struct vec_bytes shard;
};
void gc_file_init(struct gc_file *file, const struct made_term *terms, uint32_t n);
/** For CLEANUP(). */
void gc_file_fini(struct gc_file *file);

/** Upload x and a file of all of it. */
void gc_put_whole(struct cairn_cas *cas, const struct gc_xorb *x, struct gc_file *file);

/** A folder with two files, of a xorb each, so that there is always one that must not be touched. */
struct gc_stock {
	struct gc_fixture g;
	struct gc_xorb x, other;
	struct gc_file file, other_file;
};
void gc_stock_init(struct gc_stock *s);
/** For CLEANUP(). */
void gc_stock_fini(struct gc_stock *s);

/** Plan a file and read all of it from the objects: what comes must give its hash. @return what planning said */
enum cairn_status gc_read_back(struct cairn_cas *cas, const struct cairn_hash *file);

/** Check without repairing. @return problems found, told on standard error */
uint64_t gc_problems(struct cairn_cas *cas);

#endif
