/* Shards made for a test: xorbs of chunks that exist by hash only, files over them, and a store that knows them. Knows
 * nothing of Check, so that the benchmark can use it; it ends the program when it runs out of memory. */
#ifndef CAIRN_TESTS_SUPPORT_MADE_H
#define CAIRN_TESTS_SUPPORT_MADE_H

#include "shard/writer.h"
#include "verify/verify.h"

struct made_xorb {
	struct cairn_hash hash;
	struct cairn_chunk_list list; /* owned */
};

struct made_term {
	const struct made_xorb *xorb;
	uint32_t start, end;
};

/** A xorb of n chunks whose hashes come from seed, each bytes_each long; the hash is right. */
void made_xorb_init(struct made_xorb *x, uint64_t seed, uint32_t n, uint32_t bytes_each);
/** For CLEANUP(). */
void made_xorb_fini(struct made_xorb *x);

/** Describe a xorb. */
void made_write_xorb(struct cairn_shard_writer *w, const struct made_xorb *x);

/** The hash of a file over terms. */
struct cairn_hash made_file_hash(const struct made_term *terms, uint32_t n);

/** A file over terms, with all its hashes right; flags as in the format, its SHA-256 a constant. */
void made_write_file(struct cairn_shard_writer *w, const struct made_term *terms, uint32_t n, uint32_t flags);

/** A store of n xorbs. */
struct made_store {
	const struct made_xorb *xorbs;
	size_t n;
	enum cairn_status failure; /* not CAIRN_OK: the answer to every question */
	unsigned n_asked, n_asked_described;
	bool places_only; /* of what is described it has no hashes at hand */
	struct cairn_chunk_list places;
};
struct cairn_verify_resolver made_resolver(struct made_store *store);

#endif
