/* Copies blocks of a long file from files in the store, instead of fetching them. */
#include "cas/serve/file_reader.h"
#include "mirror/stream.h"

#include <stdlib.h>

enum { COPY_PIECE_BYTES = 256 << 10 };

/* Records which files a run was copied from. Called with the lock. */
static void copy_note(struct mirror_known *k, const struct mirror_known_run *run)
{
	for (unsigned i = 0; i < k->n_used; i++)
		if (cairn_hash_equal(&k->used[i], &run->file))
			return;
	if (k->n_used < MIRROR_KNOWN_USED_MAX)
		k->used[k->n_used++] = run->file;
}

/* Finds the bytes to copy. @param[out] block  the rest of the slot's block @param[out] run  contains that block @return
 * false: the stream has ended, or the bytes are no longer known to be in the store */
static bool copy_find(struct mirror_slot *slot, struct mirror_run *block, struct mirror_known_run *run)
{
	struct mirror_stream *s = slot->s;
	pthread_mutex_lock(&s->m->lock);
	*block = s->blocks.asked[slot->number];
	const struct mirror_known_run *found = mirror_known_runs_cover(&s->known.runs, block->first, block->end);
	bool good = mirror_stream_goes(s) && found;
	if (good) {
		*run = *found;
		copy_note(&s->known, run);
	}
	pthread_mutex_unlock(&s->m->lock);
	return good;
}

/* @return false: the bytes cannot be read, or the stream has ended */
static bool copy_bytes(struct mirror_slot *slot, struct mirror_run block, struct cairn_file_reader *reader,
		       uint8_t *piece)
{
	while (block.first < block.end) {
		uint64_t left = block.end - block.first;
		size_t n;
		if (cairn_file_reader_read(reader, piece, left < COPY_PIECE_BYTES ? (size_t)left : COPY_PIECE_BYTES, &n,
					   NULL) != CAIRN_OK ||
		    n == 0 || !mirror_stream_take(slot, block.first, piece, n))
			return false;
		block.first += n;
		atomic_fetch_add(&slot->s->m->n_copied_bytes, n);
	}
	return true;
}

static bool copy_block(struct mirror_slot *slot, const struct mirror_run *block, const struct mirror_known_run *run)
{
	CLEANUP(cairn_file_reader_freep) struct cairn_file_reader *reader = NULL;
	struct cairn_cas *cas = slot->s->m->hub->cas;
	struct cairn_file_extent extent;
	uint64_t at = run->at + (block->first - run->first);
	const struct cairn_byte_range range = {
		.kind = CAIRN_RANGE_FROM_TO, .first = at, .last = at + (block->end - block->first) - 1};
	uint8_t *piece = malloc(COPY_PIECE_BYTES);
	bool good = piece &&
		    cairn_file_reader_open(cas, NULL, &run->file, &range, &extent, &reader, NULL) == CAIRN_OK &&
		    copy_bytes(slot, *block, reader, piece);
	free(piece);
	return good;
}

static void copy_run(struct cairn_work *work)
{
	struct mirror_slot *slot = (struct mirror_slot *)((char *)work - offsetof(struct mirror_slot, work));
	struct mirror_run block;
	struct mirror_known_run run;
	if (copy_find(slot, &block, &run) && !copy_block(slot, &block, &run)) {
		pthread_mutex_lock(&slot->s->m->lock);
		mirror_known_runs_drop(&slot->s->known.runs, block.first);
		pthread_mutex_unlock(&slot->s->m->lock);
	}
	slot->brought(slot);
}

bool mirror_copy_block(struct mirror_slot *slot)
{
	slot->work = (struct cairn_work){.run = copy_run, .lane = CAIRN_LANE_HEAVY, .turn = slot->s->what.sender};
	return cairn_workers_submit(slot->s->m->workers, &slot->work) == CAIRN_OK;
}
