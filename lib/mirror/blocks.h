/* Says which bytes of a long file have come, and which to ask for next. Pure. */
#ifndef CAIRN_MIRROR_BLOCKS_H
#define CAIRN_MIRROR_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MIRROR_BLOCKS_AT_ONCE = 8, /* of a file */
	MIRROR_RUNS_MAX = 64,
	MIRROR_BLOCK_BYTES_MIN = 1 << 20,
	MIRROR_BLOCK_BYTES_MAX = 32 << 20,
};

/** Bytes [first, end) of a file. */
struct mirror_run {
	uint64_t first, end;
};

/** A file on its way. Plain value; mirror_blocks_init(). */
struct mirror_blocks {
	uint64_t size_bytes;
	struct mirror_run came[MIRROR_RUNS_MAX]; /* in order, apart from each other */
	unsigned n_came;
	/* Blocks that were asked for: first is the first byte that has not come. An empty one is free. */
	struct mirror_run asked[MIRROR_BLOCKS_AT_ONCE];
};

void mirror_blocks_init(struct mirror_blocks *b, uint64_t size_bytes);

/** Returns where the bytes end that have come from an offset on, without a gap; the offset itself: none have. */
uint64_t mirror_blocks_reach(const struct mirror_blocks *b, uint64_t at);
/** Was the byte at an offset asked for, and has not come? */
bool mirror_blocks_is_asked(const struct mirror_blocks *b, uint64_t at);

/** Chooses a block: of the bytes that clients wait for, the nearest to the front; else the first ones behind the front.
 * @param front  bytes before it were taken  @param ahead_bytes  blocks in order begin no further before the front
 * @param block_bytes  of a block, at most
 * @param wanted  offsets at which clients wait; those before the front do not count
 * @return whether there is one to ask for; its bytes were not asked for, and have not come */
bool mirror_blocks_next(const struct mirror_blocks *b, uint64_t front, uint64_t ahead_bytes, uint64_t block_bytes,
			const uint64_t *wanted, size_t n_wanted, struct mirror_run *out);

/** Notes that a block is asked for. @param number  below MIRROR_BLOCKS_AT_ONCE; no block has it */
void mirror_blocks_ask(struct mirror_blocks *b, unsigned number, const struct mirror_run *block);
/** Notes that the next bytes of a block have come. @param n  at most what is left of it @return whether it is whole:
 * its number is free then */
bool mirror_blocks_take(struct mirror_blocks *b, unsigned number, uint64_t n);

#endif
