/* Lines of the log on their way to the one thread that writes them: a bounded ring. Whoever logs puts a line in and
 * never waits, neither for that thread nor for others that put; when there is no room the line is dropped and counted.
 */
#ifndef CAIRN_SERVER_LOG_RING_H
#define CAIRN_SERVER_LOG_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LOG_RING_CELLS = 4096, /* a power of two: 2 MiB */
	LOG_CELL_BYTES = 512,
	LOG_CELL_TEXT_BYTES = LOG_CELL_BYTES - 4,
	LOG_LINE_BYTES_MAX = 16 * 1024,
};

/** A line begins in a cell of its own and goes on in those behind it. */
struct log_cell {
	_Atomic uint32_t len; /* in the first cell of a line that is whole: of the line; else 0 */
	uint8_t text[LOG_CELL_TEXT_BYTES];
};

/** Zeroed it is empty. Positions count cells, for ever. */
struct log_ring {
	alignas(64) _Atomic uint64_t reserved; /* up to here cells are somebody's */
	_Atomic uint64_t lines, dropped;
	alignas(64) _Atomic uint64_t taken; /* up to here they are free again */
	alignas(64) struct log_cell cells[LOG_RING_CELLS];
};

/** Put a line in, of 1 to LOG_LINE_BYTES_MAX bytes. Any thread.
 *  @return how many cells wait now, with those of this line; 0: there is no room, which was counted */
size_t log_ring_put(struct log_ring *r, const void *line, size_t len);

/** Length of the next line; 0: there is none, or it is not whole yet. One thread, which also calls log_ring_take(). */
size_t log_ring_next(const struct log_ring *r);

/** Copy the next line, of the length that log_ring_next() has just told, and free its cells. */
void log_ring_take(struct log_ring *r, void *out, size_t len);

#endif
