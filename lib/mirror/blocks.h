/* Records which bytes of a long file have arrived, and chooses the block to request next. Pure. */
#ifndef CAIRN_MIRROR_BLOCKS_H
#define CAIRN_MIRROR_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MIRROR_BLOCKS_AT_ONCE = 8, /* blocks of one file requested at the same time */
	MIRROR_RUNS_MAX = 64,
	MIRROR_BLOCK_BYTES_MIN = 1 << 20,
	MIRROR_BLOCK_BYTES_MAX = 32 << 20,
};

/** Bytes [first, end) of a file. */
struct mirror_run {
	uint64_t first, end;
};

/** The bytes of a file that have arrived, and those that were requested. Plain value; mirror_blocks_init(). */
struct mirror_blocks {
	uint64_t size_bytes;
	struct mirror_run came[MIRROR_RUNS_MAX]; /* in order, apart from each other */
	unsigned n_came;
	/* Requested blocks. `first` is the block's first byte that has not arrived. An empty block is a free slot. */
	struct mirror_run asked[MIRROR_BLOCKS_AT_ONCE];
};

void mirror_blocks_init(struct mirror_blocks *b, uint64_t size_bytes);
/** Records that the bytes before an offset are here. Call it before any block is requested. */
void mirror_blocks_have(struct mirror_blocks *b, uint64_t end);

/** Returns the end of the bytes that arrived without a gap from an offset on; the offset itself if none did. */
uint64_t mirror_blocks_reach(const struct mirror_blocks *b, uint64_t at);
/** Was the byte at an offset requested, without having arrived? */
bool mirror_blocks_is_asked(const struct mirror_blocks *b, uint64_t at);

/** Chooses a block of bytes that have neither arrived nor been requested. Prefers bytes for which a client waits, the
 * nearest to the front first. If there are none, takes the first bytes after the front.
 * @param front        bytes before it were taken into the store
 * @param ahead_bytes  a block for which no client waits begins at most this far past the front
 * @param block_bytes  most bytes of the block
 * @param wanted       offsets at which clients wait; offsets before the front do not count
 * @return false: there is no such block */
bool mirror_blocks_next(const struct mirror_blocks *b, uint64_t front, uint64_t ahead_bytes, uint64_t block_bytes,
			const uint64_t *wanted, size_t n_wanted, struct mirror_run *out);

/** Records that a block was requested. @param number  a free slot in `asked` */
void mirror_blocks_ask(struct mirror_blocks *b, unsigned number, const struct mirror_run *block);
/** Records that the next `n` bytes of a block have arrived; `n` is at most the number that was missing. @return true:
 * the block is whole, and its slot is free again */
bool mirror_blocks_take(struct mirror_blocks *b, unsigned number, uint64_t n);

#endif
