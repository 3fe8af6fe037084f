/* Unpacks ranges of xorbs as they arrive, and returns the bytes of a stretch of a file. Pure. */
#ifndef CAIRN_MIRROR_UNPACK_H
#define CAIRN_MIRROR_UNPACK_H

#include "hash/chunk_list.h"
#include "mirror/hub/ask_plan.h"
#include "xorb/codec.h"

enum {
	/* The longest chunk, with its header. */
	MIRROR_UNPACK_CHUNK_MAX =
		CAIRN_XORB_CHUNK_HEADER_BYTES + CAIRN_CHUNK_BYTES_MAX + CAIRN_CHUNK_BYTES_MAX / 255 + 64,
};

/** The caller sets the first group of members and zeroes the rest. */
struct mirror_unpack {
	const struct mirror_packed *packed; /* borrowed */
	struct cairn_codec *codec;          /* borrowed */
	/** Receives bytes of the stretch, in any order, each byte once. @param at  offset of the bytes in the stretch
	 * @return false: stop unpacking */
	bool (*write)(void *ctx, uint64_t at, const uint8_t *bytes, size_t len);
	void *ctx;

	uint32_t range, chunk;                  /* numbers of the range and the chunk that are arriving */
	uint64_t left;                          /* bytes of the range that have not arrived */
	uint32_t done[MIRROR_PACKED_TERMS_MAX]; /* bytes of each term that were unpacked */
	size_t n_held;
	uint8_t held[MIRROR_UNPACK_CHUNK_MAX]; /* the beginning of a chunk that has not arrived completely */
};

/** Begins a range. */
void mirror_unpack_begin(struct mirror_unpack *u, uint32_t range);
/** Takes the next bytes of the range.
 * @return CAIRN_OK; CAIRN_E_FORMAT not chunks, or not those of the plan; CAIRN_E_LIMIT a chunk is too long;
 *         CAIRN_E_BUSY write() has ended it; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status mirror_unpack_take(struct mirror_unpack *u, const uint8_t *bytes, size_t len);
/** Has all of the range arrived? */
bool mirror_unpack_is_whole(const struct mirror_unpack *u);
/** Returns how many bytes of the stretch, from its beginning on, were passed to write(). */
uint64_t mirror_unpack_reach(const struct mirror_unpack *u);

#endif
