#include "mirror/blocks.h"

#include <string.h>

void mirror_blocks_init(struct mirror_blocks *b, uint64_t size_bytes)
{
	*b = (struct mirror_blocks){.size_bytes = size_bytes};
}

uint64_t mirror_blocks_reach(const struct mirror_blocks *b, uint64_t at)
{
	for (unsigned i = 0; i < b->n_came; i++)
		if (at >= b->came[i].first && at < b->came[i].end)
			return b->came[i].end;
	return at;
}

/* Finds the requested block that contains a byte. @return NULL: none does */
static const struct mirror_run *blocks_asked_at(const struct mirror_blocks *b, uint64_t at)
{
	for (unsigned i = 0; i < MIRROR_BLOCKS_AT_ONCE; i++)
		if (at >= b->asked[i].first && at < b->asked[i].end)
			return &b->asked[i];
	return NULL;
}

bool mirror_blocks_is_asked(const struct mirror_blocks *b, uint64_t at)
{
	return blocks_asked_at(b, at) != NULL;
}

/* Returns the first byte from an offset on that neither arrived nor was requested. */
static uint64_t blocks_gap(const struct mirror_blocks *b, uint64_t at)
{
	for (;;) {
		const struct mirror_run *asked = blocks_asked_at(b, at);
		uint64_t next = asked ? asked->end : mirror_blocks_reach(b, at);
		if (next == at)
			return at;
		at = next;
	}
}

/* Makes the longest block from an offset on whose bytes neither arrived nor were requested. */
static struct mirror_run blocks_from(const struct mirror_blocks *b, uint64_t first, uint64_t block_bytes)
{
	uint64_t end = b->size_bytes - first > block_bytes ? first + block_bytes : b->size_bytes;
	for (unsigned i = 0; i < b->n_came; i++)
		if (b->came[i].first > first && b->came[i].first < end)
			end = b->came[i].first;
	for (unsigned i = 0; i < MIRROR_BLOCKS_AT_ONCE; i++)
		if (b->asked[i].end > b->asked[i].first && b->asked[i].first > first && b->asked[i].first < end)
			end = b->asked[i].first;
	return (struct mirror_run){first, end};
}

/* Returns the first byte past the front for which a client waits and that was not requested; the file's size: none. */
static uint64_t blocks_wanted(const struct mirror_blocks *b, uint64_t front, const uint64_t *wanted, size_t n_wanted)
{
	uint64_t nearest = b->size_bytes;
	for (size_t i = 0; i < n_wanted; i++)
		if (wanted[i] >= front && wanted[i] < nearest && blocks_gap(b, wanted[i]) == wanted[i])
			nearest = wanted[i];
	return nearest;
}

bool mirror_blocks_next(const struct mirror_blocks *b, uint64_t front, uint64_t ahead_bytes, uint64_t block_bytes,
			const uint64_t *wanted, size_t n_wanted, struct mirror_run *out)
{
	uint64_t in_order = blocks_gap(b, front), first = in_order;
	/* A block in order may leave a run of its own, too, so keep slots for those. */
	if (b->n_came + 2 * MIRROR_BLOCKS_AT_ONCE <= MIRROR_RUNS_MAX) {
		uint64_t at = blocks_wanted(b, front, wanted, n_wanted);
		first = at < b->size_bytes ? at : in_order;
	}
	if (first >= b->size_bytes || (first == in_order && first - front >= ahead_bytes))
		return false;
	*out = blocks_from(b, first, block_bytes);
	return true;
}

void mirror_blocks_ask(struct mirror_blocks *b, unsigned number, const struct mirror_run *block)
{
	b->asked[number] = *block;
}

/* Adds a run, and merges it with those that it touches. mirror_blocks_next() leaves room for it. */
static void blocks_add(struct mirror_blocks *b, struct mirror_run run)
{
	unsigned from = 0, to;
	while (from < b->n_came && b->came[from].end < run.first)
		from++;
	for (to = from; to < b->n_came && b->came[to].first <= run.end; to++) {
		run.first = b->came[to].first < run.first ? b->came[to].first : run.first;
		run.end = b->came[to].end > run.end ? b->came[to].end : run.end;
	}
	memmove(&b->came[from + 1], &b->came[to], (b->n_came - to) * sizeof(run));
	b->came[from] = run;
	b->n_came = b->n_came + 1 - (to - from);
}

void mirror_blocks_have(struct mirror_blocks *b, uint64_t end)
{
	if (end > 0)
		blocks_add(b, (struct mirror_run){0, end});
}

bool mirror_blocks_take(struct mirror_blocks *b, unsigned number, uint64_t n)
{
	struct mirror_run *block = &b->asked[number];
	blocks_add(b, (struct mirror_run){block->first, block->first + n});
	block->first += n;
	return block->first == block->end;
}
