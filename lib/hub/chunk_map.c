#include "hub/chunk_map.h"

#include "hub/reach.h"
#include "index/operate.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAP_STEPS_MAX = 4000000, /* chunks and terms compared in all */
};

/* A piece of the file: consecutive chunks of one xorb. */
struct map_piece {
	int64_t xorb_id;
	uint32_t start, end, first; /* first: index of its first chunk in the file */
};

struct map_run {
	const struct cairn_hub *hub;
	struct cairn_chunk_map *out;
	const struct cairn_hash *file;
	struct map_piece *pieces; /* owned; in the order of their xorbs' numbers */
	uint32_t n_pieces, files_left;
	uint64_t steps_left;
	struct cairn_hash found[CAIRN_MAP_FILES_MAX]; /* files of one repository */
	uint32_t n_found;
};

void cairn_chunk_map_fini(struct cairn_chunk_map *map)
{
	free(map->marks);
	*map = (struct cairn_chunk_map){0};
}

static void map_run_free(struct map_run **run)
{
	if (*run)
		free((*run)->pieces);
	free(*run);
}

static int map_order(const void *a, const void *b)
{
	const struct map_piece *x = a, *y = b;
	if (x->xorb_id != y->xorb_id)
		return x->xorb_id < y->xorb_id ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

static enum cairn_status map_cut(struct map_run *run, const struct cairn_index_file *file)
{
	uint64_t n_chunks = 0;
	for (uint32_t i = 0; i < file->n_terms; i++)
		n_chunks += (uint64_t)(file->terms[i].end - file->terms[i].start);
	if (n_chunks == 0 || n_chunks > CAIRN_MAP_CHUNKS_MAX)
		return CAIRN_OK;
	run->pieces = calloc(file->n_terms, sizeof(*run->pieces));
	run->out->marks = calloc(n_chunks, 1);
	if (!run->pieces || !run->out->marks)
		return CAIRN_E_NOMEM;
	for (uint32_t i = 0; i < file->n_terms; i++) {
		const struct cairn_index_term *term = &file->terms[i];
		run->pieces[i] = (struct map_piece){term->xorb_id, term->start, term->end, run->out->n_chunks};
		run->out->n_chunks += (uint32_t)(term->end - term->start);
	}
	run->n_pieces = file->n_terms;
	qsort(run->pieces, run->n_pieces, sizeof(*run->pieces), map_order);
	return CAIRN_OK;
}

static void map_sum(struct cairn_chunk_map *map, const struct cairn_index_file *file)
{
	uint32_t at = 0;
	for (uint32_t i = 0; i < file->n_terms && map->n_chunks > 0; i++) {
		const struct cairn_index_term *term = &file->terms[i];
		uint32_t n = (uint32_t)(term->end - term->start);
		for (uint32_t k = 0; k < n; k++)
			map->bytes[map->marks[at + k]] += term->unpacked_bytes / n + (k < term->unpacked_bytes % n);
		at += n;
	}
}

/* Finds the index of the xorb's first piece. */
static uint32_t map_find(const struct map_run *run, int64_t xorb_id)
{
	uint32_t low = 0, high = run->n_pieces;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (run->pieces[middle].xorb_id < xorb_id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool map_step(struct map_run *run)
{
	run->out->more = run->out->more || run->steps_left == 0;
	run->steps_left -= run->steps_left > 0;
	return !run->out->more;
}

static bool map_mark_term(struct map_run *run, const struct cairn_index_term *term, uint8_t mark)
{
	bool marked = false;
	for (uint32_t i = map_find(run, term->xorb_id);
	     i < run->n_pieces && run->pieces[i].xorb_id == term->xorb_id && map_step(run); i++) {
		const struct map_piece *piece = &run->pieces[i];
		uint32_t start = piece->start > term->start ? piece->start : term->start;
		uint32_t end = piece->end < term->end ? piece->end : term->end;
		for (uint32_t chunk = start; chunk < end && map_step(run); chunk++) {
			uint8_t *at = &run->out->marks[piece->first + chunk - piece->start];
			marked = marked || *at == CAIRN_MAP_ALONE;
			*at = *at == CAIRN_MAP_ALONE ? mark : *at;
		}
	}
	return marked;
}

static void map_take(void *ctx, const struct cairn_index_owned *file)
{
	struct map_run *run = ctx;
	if (run->n_found < run->files_left)
		run->found[run->n_found++] = file->hash;
}

/* Lists the files of one owner, a page at a time. */
static enum cairn_status map_list(struct map_run *run, const char *owner)
{
	struct cairn_index_owned_after after = {0};
	struct cairn_hash last;
	bool more = true;
	run->n_found = 0;
	while (more && run->n_found < run->files_left) {
		enum cairn_status status = cairn_index_each_owned(run->hub->index, owner, &after, CAIRN_INDEX_PAGE_MAX,
								  map_take, run, &more);
		if (status != CAIRN_OK || run->n_found == 0)
			return status;
		last = run->found[run->n_found - 1];
		after.hash = &last;
	}
	run->out->more = run->out->more || more;
	return CAIRN_OK;
}

static enum cairn_status map_compare(struct map_run *run, const char *owner, const struct cairn_hash *hash,
				     uint8_t mark, bool *marked)
{
	CLEANUP(cairn_index_file_fini) struct cairn_index_file file = {0};
	enum cairn_status status = cairn_index_file(run->hub->index, hash, owner, true, &file);
	if (status == CAIRN_E_NOT_FOUND) /* it was deleted meanwhile */
		return CAIRN_OK;
	for (uint32_t i = 0; status == CAIRN_OK && i < file.n_terms && map_step(run); i++)
		*marked = map_mark_term(run, &file.terms[i], mark) || *marked;
	return status;
}

/* @param is_same  the repository has the file itself, which is not compared with itself */
static enum cairn_status map_repo(struct map_run *run, const struct cairn_index_repo *repo, bool is_same)
{
	struct cairn_chunk_map *out = run->out;
	uint8_t mark = is_same ? CAIRN_MAP_SAME : (uint8_t)(CAIRN_MAP_OTHERS + out->n_others);
	char owner[CAIRN_INDEX_OWNER_BYTES];
	bool marked = false;
	if (repo->n_files > run->files_left) {
		out->more = true;
		return CAIRN_OK;
	}
	cairn_index_repo_owner(owner, repo->id);
	enum cairn_status status = map_list(run, owner);
	for (uint32_t i = 0; status == CAIRN_OK && i < run->n_found; i++) {
		if (is_same && cairn_hash_equal(&run->found[i], run->file))
			continue;
		out->n_files++;
		status = map_compare(run, owner, &run->found[i], mark, &marked);
	}
	run->files_left -= run->n_found;
	if (marked && !is_same && out->n_others < CAIRN_MAP_OTHERS_MAX)
		out->others[out->n_others++] = *repo;
	return status;
}

static enum cairn_status map_others(struct map_run *run, const struct cairn_hub_asker *asker,
				    const struct cairn_index_repo *self)
{
	CLEANUP(cairn_hub_reach_fini) struct cairn_hub_reach reach = {.hub = run->hub, .asker = asker};
	for (;;) {
		const struct cairn_index_repo *repo;
		bool may = false;
		enum cairn_status status = cairn_hub_reach_next(&reach, &repo);
		run->out->more = run->out->more || reach.more || (repo && run->files_left == 0);
		if (status != CAIRN_OK || !repo || run->files_left == 0 || run->steps_left == 0)
			return status;
		if (repo->id != self->id)
			status = cairn_hub_reach_may_read(&reach, repo, &may);
		if (status == CAIRN_OK && may)
			status = map_repo(run, repo, false);
		if (status != CAIRN_OK)
			return status;
	}
}

enum cairn_status cairn_hub_map_file(struct cairn_chunk_map *out, const struct cairn_hub *hub,
				     const struct cairn_hub_asker *asker, const struct cairn_index_repo *repo,
				     const struct cairn_hash *file)
{
	CLEANUP(cairn_index_file_fini) struct cairn_index_file self = {0};
	CLEANUP(map_run_free) struct map_run *run = calloc(1, sizeof(*run));
	char owner[CAIRN_INDEX_OWNER_BYTES];
	*out = (struct cairn_chunk_map){0};
	if (!run)
		return CAIRN_E_NOMEM;
	run->hub = hub;
	run->out = out;
	run->file = file;
	run->files_left = CAIRN_MAP_FILES_MAX;
	run->steps_left = MAP_STEPS_MAX;
	cairn_index_repo_owner(owner, repo->id);
	enum cairn_status status = cairn_index_file(hub->index, file, owner, true, &self);
	if (status == CAIRN_OK)
		status = map_cut(run, &self);
	if (status == CAIRN_OK && out->n_chunks > 0)
		status = map_repo(run, repo, true);
	if (status == CAIRN_OK && out->n_chunks > 0)
		status = map_others(run, asker, repo);
	if (status == CAIRN_OK)
		map_sum(out, &self);
	else
		cairn_chunk_map_fini(out);
	return status;
}
