/* A bounded read cursor with a sticky error: many reads need one check at the end. All parsers use it. */
#ifndef CAIRN_BASE_CURSOR_H
#define CAIRN_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A cursor. Borrows the bytes, which must outlive it and all pointers it returns. After an error every read returns
 * NULL or 0. Not for two threads at once. */
struct cairn_cur {
	const uint8_t *start; /* start of all bytes, for cairn_cur_offset() */
	const uint8_t *p;     /* next byte */
	size_t left;          /* bytes from p on */
	bool bad;             /* a read went past the end, or a count did not fit */
};

/** Makes a cursor at the first of len bytes. */
struct cairn_cur cairn_cur_init(const uint8_t *bytes, size_t len);

/** Steps over n bytes. The only bounds check in the library. @return their start; NULL if there are fewer */
const uint8_t *cairn_cur_take(struct cairn_cur *c, size_t n);

/** Returns the offset of the next byte from the start. */
uint64_t cairn_cur_offset(const struct cairn_cur *c);

/** Reads a little-endian integer; 0 if bad. */
uint8_t cairn_cur_u8(struct cairn_cur *c);
uint32_t cairn_cur_u32le(struct cairn_cur *c);
uint64_t cairn_cur_u64le(struct cairn_cur *c);
/** Reads a big-endian integer; 0 if bad. */
uint32_t cairn_cur_u32be(struct cairn_cur *c);
uint64_t cairn_cur_u64be(struct cairn_cur *c);

/** Steps over n elements of elem_bytes (> 0) each.
 * @return their start (not NULL, also for n = 0); NULL and bad if not all are present. No code allocates memory by a
 *         count before this has proved that its elements are present. */
const uint8_t *cairn_cur_array(struct cairn_cur *c, size_t n, size_t elem_bytes);

#endif
