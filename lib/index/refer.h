/* Finds, for people, the files and chunk places that a hash names or that refer to it. */
#ifndef CAIRN_INDEX_REFER_H
#define CAIRN_INDEX_REFER_H

#include "index/operate.h"

/** Selects files. */
enum cairn_index_match {
	CAIRN_INDEX_MATCH_FILE,   /* the file with this hash */
	CAIRN_INDEX_MATCH_SHA256, /* files with this SHA-256 by their owner's claim */
	CAIRN_INDEX_MATCH_XORB,   /* files that need the xorb with this hash */
	CAIRN_INDEX_MATCHES,
};

/**
 * Visits the first matching files, as their owners have them, in the order of hashes and then owners. The search for an
 * owner's files that need a xorb takes time in proportion to this owner's files. The time reveals neither files of
 * others nor whether the xorb exists.
 * @param owner  NULL: all
 * @param name   a hash as struct cairn_hash has it, or a SHA-256
 * @param limit  at most CAIRN_INDEX_PAGE_MAX
 * @param[out] more  there are further files
 * @return CAIRN_OK, also if there are none; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_match(struct cairn_index *ix, const char *owner,
							enum cairn_index_match match,
							const uint8_t name[static CAIRN_HASH_BYTES], uint32_t limit,
							void (*visit)(void *ctx, const struct cairn_index_owned *file),
							void *ctx, bool *more);

/** A place of a chunk that clients may ask about. Borrowed during the call. */
struct cairn_index_place {
	struct cairn_hash xorb;
	uint32_t at; /* number of the chunk in the xorb */
	uint32_t unpacked_bytes;
	const char *scope; /* the dedupe scope in which it is offered; "" is the shared one */
};

/** Visits the first places of a chunk in all dedupe scopes; for the operator only. Reads the list of each xorb.
 * @param limit  at most CAIRN_INDEX_PAGE_MAX
 * @param[out] more  there are further places
 * @return as cairn_index_each_match() */
CAIRN_MUST_USE enum cairn_status cairn_index_each_place(struct cairn_index *ix, const struct cairn_hash *chunk,
							uint32_t limit,
							void (*visit)(void *ctx, const struct cairn_index_place *place),
							void *ctx, bool *more);

#endif
