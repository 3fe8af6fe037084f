#include "server/log/log_ring.h"

#include <assert.h>
#include <string.h>

static size_t ring_cells(size_t len)
{
	return (len + LOG_CELL_TEXT_BYTES - 1) / LOG_CELL_TEXT_BYTES;
}

static struct log_cell *ring_cell(struct log_ring *r, uint64_t at)
{
	return &r->cells[at % LOG_RING_CELLS];
}

/* Reserves cells for a line. @return the number of waiting cells; 0: no room */
static size_t ring_reserve(struct log_ring *r, size_t n, uint64_t *at)
{
	for (;;) {
		/* Loads taken first, so that reserved is never behind taken. */
		uint64_t taken = atomic_load_explicit(&r->taken, memory_order_acquire);
		*at = atomic_load(&r->reserved);
		if (*at + n - taken > LOG_RING_CELLS)
			return 0;
		if (atomic_compare_exchange_weak(&r->reserved, at, *at + n))
			return (size_t)(*at + n - taken);
	}
}

size_t log_ring_put(struct log_ring *r, const void *line, size_t len)
{
	const uint8_t *from = line;
	uint64_t at;
	assert(len > 0 && len <= LOG_LINE_BYTES_MAX);
	size_t waiting = ring_reserve(r, ring_cells(len), &at);
	atomic_fetch_add_explicit(&r->lines, 1, memory_order_relaxed);
	if (waiting == 0) {
		atomic_fetch_add_explicit(&r->dropped, 1, memory_order_relaxed);
		return 0;
	}
	for (size_t done = 0, i = 0; done < len; i++) {
		size_t n = len - done < LOG_CELL_TEXT_BYTES ? len - done : LOG_CELL_TEXT_BYTES;
		memcpy(ring_cell(r, at + i)->text, from + done, n);
		done += n;
	}
	atomic_store_explicit(&ring_cell(r, at)->len, (uint32_t)len, memory_order_release);
	return waiting;
}

size_t log_ring_next(const struct log_ring *r)
{
	uint64_t at = atomic_load_explicit(&r->taken, memory_order_relaxed);
	return atomic_load_explicit(&r->cells[at % LOG_RING_CELLS].len, memory_order_acquire);
}

void log_ring_take(struct log_ring *r, void *out, size_t len)
{
	uint64_t at = atomic_load_explicit(&r->taken, memory_order_relaxed);
	uint8_t *to = out;
	for (size_t done = 0, i = 0; done < len; i++) {
		size_t n = len - done < LOG_CELL_TEXT_BYTES ? len - done : LOG_CELL_TEXT_BYTES;
		memcpy(to + done, ring_cell(r, at + i)->text, n);
		done += n;
	}
	atomic_store_explicit(&ring_cell(r, at)->len, 0, memory_order_relaxed);
	atomic_store_explicit(&r->taken, at + ring_cells(len), memory_order_release);
}
