/* A bounded ring of log lines for the one thread that writes them. A producer never waits, neither for the writer nor
 * for other producers. If the ring is full, the line is dropped and counted. */
#ifndef CAIRN_SERVER_LOG_RING_H
#define CAIRN_SERVER_LOG_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LOG_RING_CELLS = 4096, /* a power of two; the cells take 2 MiB */
	LOG_CELL_BYTES = 512,
	LOG_CELL_TEXT_BYTES = LOG_CELL_BYTES - 4,
	LOG_LINE_BYTES_MAX = 16 * 1024,
};

/** A line begins in a cell of its own and continues in the cells after it. */
struct log_cell {
	_Atomic uint32_t len; /* in the first cell of a complete line: the line's length; else 0 */
	uint8_t text[LOG_CELL_TEXT_BYTES];
};

/** A zeroed ring is empty. Positions count cells and never wrap. */
struct log_ring {
	alignas(64) _Atomic uint64_t reserved; /* cells before this position are reserved */
	_Atomic uint64_t lines, dropped;
	alignas(64) _Atomic uint64_t taken; /* cells before this position are free again */
	alignas(64) struct log_cell cells[LOG_RING_CELLS];
};

/** Adds a line of 1 to LOG_LINE_BYTES_MAX bytes. Any thread. @return the number of cells that wait now, including this
 * line's; 0: no room, the line was dropped and counted */
size_t log_ring_put(struct log_ring *r, const void *line, size_t len);

/** Returns the next line's length; 0: none, or not complete yet. Only for the thread that calls log_ring_take(). */
size_t log_ring_next(const struct log_ring *r);

/** Copies the next line, of the length that log_ring_next() just returned, and frees its cells. */
void log_ring_take(struct log_ring *r, void *out, size_t len);

#endif
