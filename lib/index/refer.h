/* Finds the files and places that a hash names or that refer to it, for people. */
#ifndef CAIRN_INDEX_REFER_H
#define CAIRN_INDEX_REFER_H

#include "index/operate.h"

/** Selects files. */
enum cairn_index_match {
	CAIRN_INDEX_MATCH_FILE,   /* the one with this hash */
	CAIRN_INDEX_MATCH_SHA256, /* those with this SHA-256 by their owner's claim */
	CAIRN_INDEX_MATCH_XORB,   /* those that need the xorb with this hash */
	CAIRN_INDEX_MATCHES,
};

/**
 * Visits the first matching files, as their owners have them, in the order of hashes and then owners. The search for an
 * owner's files that need a xorb takes time with the files of this owner. The time reveals neither files of others nor
 * whether the xorb exists.
 * @param owner  NULL: all
 * @param name   a hash as struct cairn_hash has it, or a SHA-256
 * @param limit  at most CAIRN_INDEX_PAGE_MAX
 * @param[out] more  there are further ones
 * @return CAIRN_OK, also when there are none; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_match(struct cairn_index *ix, const char *owner,
							enum cairn_index_match match,
							const uint8_t name[static CAIRN_HASH_BYTES], uint32_t limit,
							void (*visit)(void *ctx, const struct cairn_index_owned *file),
							void *ctx, bool *more);

/** A place of a chunk that clients may ask about. Borrowed for the time of the call. */
struct cairn_index_place {
	struct cairn_hash xorb;
	uint32_t at; /* its place among the chunks of the xorb */
	uint32_t unpacked_bytes;
	const char *scope; /* the dedupe scope in which it is offered; "" is the shared one */
};

/** Visits the first places of a chunk in all dedupe scopes; for the operator only. Reads the list of each xorb.
 * @param limit  at most CAIRN_INDEX_PAGE_MAX
 * @param[out] more  there are further ones
 * @return as cairn_index_each_match() */
CAIRN_MUST_USE enum cairn_status cairn_index_each_place(struct cairn_index *ix, const struct cairn_hash *chunk,
							uint32_t limit,
							void (*visit)(void *ctx, const struct cairn_index_place *place),
							void *ctx, bool *more);

#endif
