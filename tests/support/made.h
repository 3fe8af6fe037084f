/* Made-up shards: xorbs of chunks that exist only by hash, files over them, and a store that knows them. The benchmark
 * uses them, too, so this does not depend on Check. It ends the program when it runs out of memory. */
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

/** Makes a xorb of n chunks of bytes_each bytes, with hashes derived from seed. The hash of the xorb is correct. */
void made_xorb_init(struct made_xorb *x, uint64_t seed, uint32_t n, uint32_t bytes_each);
void made_xorb_fini(struct made_xorb *x);

/** Describes a xorb. */
void made_write_xorb(struct cairn_shard_writer *w, const struct made_xorb *x);

/** Computes the hash of a file over terms. */
struct cairn_hash made_file_hash(const struct made_term *terms, uint32_t n);

/** Writes a file over terms, with correct hashes. flags are those of the format; the SHA-256 is a constant. */
void made_write_file(struct cairn_shard_writer *w, const struct made_term *terms, uint32_t n, uint32_t flags);

/** A store that has n xorbs. */
struct made_store {
	const struct made_xorb *xorbs;
	size_t n;
	enum cairn_status failure; /* CAIRN_OK, or the answer to every question */
	unsigned n_asked, n_asked_described;
	bool places_only; /* it has no chunk hashes of described xorbs */
	struct cairn_chunk_list places;
};
struct cairn_verify_resolver made_resolver(struct made_store *store);

#endif
