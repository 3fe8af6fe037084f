/* The hash function of a Read Shard: CHD_PH, "compress, hash and displace", as cmph writes it. Maps each key it was
 * built for to a slot of its own, and any other key to some slot. */
#ifndef CAIRN_ARCHIVE_READSHARD_CHD_H
#define CAIRN_ARCHIVE_READSHARD_CHD_H

#include "base/buf.h"
#include "base/cursor.h"

#include "archive/readshard/format.h"

enum { CAIRN_CHD_HEAD_BYTES = 31 }; /* bytes of a dump, up to the length of its variable part */

/** Returns the length that the head of a dump states. Only cairn_chd_parse() checks that it is a dump. */
uint64_t cairn_chd_dump_bytes(const uint8_t head[static CAIRN_CHD_HEAD_BYTES]);

/** A function in memory: 4 bytes per bucket (of about 4 keys), and packed displacements. Any thread. */
struct cairn_chd {
	uint32_t seed;
	uint32_t n_slots;   /* at least 2 */
	uint32_t n_buckets; /* at least 1 */
	uint32_t *starts;   /* n_buckets + 1: the first bit of each bucket's displacement; owned */
	uint8_t *bits;      /* owned; zeros at the end allow to read five bytes at any place */
};

/** Reads a dump of cmph. Checks every length against the others and the bytes present. Ignores the table for quick
 * selection and computes its own.
 * @param cur  at the dump; on return after the dump
 * @param[out] out  cairn_chd_fini() it
 * @return CAIRN_OK; CAIRN_E_FORMAT with the offset of the field from the cursor's start; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_chd_parse(struct cairn_chd *out, struct cairn_cur *cur, struct cairn_diag *diag);

/** Frees the function's memory; harmless on a zeroed function. */
void cairn_chd_fini(struct cairn_chd *chd);

/** Returns the slot of a key, below n_slots. */
uint32_t cairn_chd_search(const struct cairn_chd *chd, const uint8_t key[static CAIRN_READSHARD_KEY_BYTES]);

/** Computes the three hashes of a key (Jenkins 1996) for searching and building. */
struct cairn_chd_hashes {
	uint32_t bucket, first, step;
};
struct cairn_chd_hashes cairn_chd_hash(uint32_t seed, uint32_t n_slots, uint32_t n_buckets,
				       const uint8_t key[static CAIRN_READSHARD_KEY_BYTES]);

static inline uint32_t cairn_chd_slot(const struct cairn_chd_hashes *h, uint32_t displacement, uint32_t n_slots)
{
	return (uint32_t)((h->first + (uint64_t)h->step * (displacement % n_slots) + displacement / n_slots) % n_slots);
}

/** Keys to build a function for: key i is at keys + i * stride_bytes. Borrowed. */
struct cairn_chd_keys {
	const uint8_t *keys;
	size_t stride_bytes;
	uint32_t n; /* at most CAIRN_READSHARD_OBJECTS_MAX; 0 is legal */
};

/** Builds a function and appends its dump. The same keys in the same order always give the same bytes. Takes about 19
 * bytes of memory per key while it works.
 * @param[out] first, second  two equal keys, after CAIRN_E_CONFLICT
 * @return CAIRN_OK; CAIRN_E_CONFLICT two keys are equal; CAIRN_E_LIMIT too many keys, or no function was found (so
 *         improbable that it does not happen); CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_chd_build(struct cairn_buf *dump, const struct cairn_chd_keys *keys,
						 uint32_t *first, uint32_t *second);

#endif
