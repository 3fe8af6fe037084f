#include "cas/serve/file_chunks.h"

#include "base/bytes.h"
#include "cas/internal.h"
#include "cas/list_cache.h"
#include "chunk/chunker.h"

#include <stdlib.h>

struct file_walk {
	struct cairn_index *index;
	uint64_t chunks_max;
	const struct cairn_file_chunks_sink *sink;
	struct cairn_file_chunks *out;
	struct cairn_diag *diag;
	struct cairn_list_cache lists;   /* by walk_key() */
	uint64_t n_worked;               /* chunks passed, plus chunks in the lists read */
	struct cairn_file_window *dirty; /* owned; ascending, with gaps between them */
	size_t n_dirty, at_dirty;        /* at_dirty: the first window that ends after the cursor */
	uint64_t cursor;
	struct cairn_subtree gap; /* the hashes between windows; owned */
	bool in_window;
	bool may_close;    /* the last chunk of the window lies after the range and has an ordinary length */
	bool term_touched; /* a window touches the term */
};

void cairn_file_chunks_fini(struct cairn_file_chunks *chunks)
{
	free(chunks->windows);
	free(chunks->kept);
	*chunks = (struct cairn_file_chunks){0};
}

static void walk_fini(struct file_walk *w)
{
	cairn_list_cache_fini(&w->lists);
	cairn_subtree_fini(&w->gap);
	free(w->dirty);
}

static int window_by_first(const void *pa, const void *pb)
{
	const struct cairn_file_window *a = pa, *b = pb;
	return a->first < b->first ? -1 : a->first > b->first;
}

/* Clips the ranges to the file, sorts and merges them. */
static enum cairn_status walk_set_dirty(struct file_walk *w, const struct cairn_byte_range *ranges, size_t n)
{
	uint64_t file_bytes = w->out->file_bytes;
	size_t n_in = 0, last = 0;
	w->dirty = calloc(n + 1, sizeof(*w->dirty));
	if (!w->dirty)
		return CAIRN_E_NOMEM;
	for (size_t i = 0; i < n; i++)
		if (cairn_byte_range_clip(&ranges[i], file_bytes, &w->dirty[n_in].first, &w->dirty[n_in].end))
			n_in++;
	if (n_in == 0)
		return CAIRN_E_USAGE;
	qsort(w->dirty, n_in, sizeof(*w->dirty), window_by_first);
	for (size_t i = 1; i < n_in; i++) {
		if (w->dirty[i].first > w->dirty[last].end)
			w->dirty[++last] = w->dirty[i];
		else if (w->dirty[i].end > w->dirty[last].end)
			w->dirty[last].end = w->dirty[i].end;
	}
	w->n_dirty = last + 1;
	return CAIRN_OK;
}

/* Was the chunk cut far from both the chunker's minimum and its maximum? */
static bool walk_is_ordinary(uint32_t bytes)
{
	return bytes >= 2 * CAIRN_CHUNK_CUT_BYTES_MIN && bytes < CAIRN_CHUNK_CUT_BYTES_MAX - CAIRN_CHUNK_CUT_BYTES_MIN;
}

static enum cairn_status walk_too_regular(struct file_walk *w)
{
	return cairn_fail(w->diag, CAIRN_E_LIMIT, "dirty.too_regular", CAIRN_NO_OFFSET,
			  "the file is too regular to be changed in parts; cut all of it into chunks again");
}

/* Ends the gap, and passes it to the sink. */
static enum cairn_status walk_end_gap(struct file_walk *w)
{
	enum cairn_status status = cairn_subtree_end(&w->gap);
	if (status == CAIRN_E_LIMIT)
		status = walk_too_regular(w);
	if (status == CAIRN_OK)
		w->sink->range(w->sink->ctx, w->gap.n_nodes > 0 ? &w->gap : NULL);
	cairn_subtree_fini(&w->gap);
	return status;
}

static enum cairn_status walk_open_window(struct file_walk *w)
{
	enum cairn_status status = walk_end_gap(w);
	w->out->windows[w->out->n_windows++].first = w->cursor;
	w->in_window = true;
	return status;
}

static enum cairn_status walk_chunk(struct file_walk *w, const struct cairn_hash *hash, uint32_t bytes)
{
	enum cairn_status status = CAIRN_OK;
	uint64_t end = w->cursor + bytes;
	while (w->at_dirty < w->n_dirty && w->dirty[w->at_dirty].end <= w->cursor)
		w->at_dirty++;
	bool dirty = w->at_dirty < w->n_dirty && w->dirty[w->at_dirty].first < end;
	bool closes = !dirty && w->may_close && walk_is_ordinary(bytes);
	if (dirty && !w->in_window)
		status = walk_open_window(w);
	if (w->in_window) {
		w->term_touched = true;
		w->out->windows[w->out->n_windows - 1].end = end;
		w->may_close = !dirty && !closes && walk_is_ordinary(bytes);
		w->in_window = !closes;
		if (closes)
			cairn_subtree_init(&w->gap, false, w->at_dirty == w->n_dirty);
	} else {
		status = cairn_subtree_add(&w->gap, hash, bytes);
		if (status == CAIRN_E_LIMIT)
			status = walk_too_regular(w);
	}
	w->cursor = end;
	w->out->n_chunks++;
	return status;
}

static enum cairn_status walk_read_list(struct file_walk *w, int64_t xorb_id, struct cairn_chunk_list *list)
{
	struct cairn_index_xorb xorb;
	enum cairn_status status = cairn_index_xorb_by_id(w->index, xorb_id, &xorb);
	return status == CAIRN_OK ? cairn_index_chunk_list_by_id(w->index, xorb_id, list) : status;
}

/* Returns the cache key of a xorb: its number, which terms have. Its hash would cost a row lookup each time. */
static struct cairn_hash walk_key(int64_t xorb_id)
{
	struct cairn_hash key = {{0}};
	cairn_put_u64le(key.b, (uint64_t)xorb_id);
	return key;
}

static enum cairn_status walk_count(struct file_walk *w, uint64_t n_chunks)
{
	w->n_worked += n_chunks;
	if (w->n_worked <= w->chunks_max)
		return CAIRN_OK;
	return cairn_fail(
		w->diag, CAIRN_E_LIMIT, "dirty.too_long", CAIRN_NO_OFFSET,
		"planning this change would go over more chunks than one request may (edit_chunks_max); cut all "
		"of the file into chunks again");
}

static enum cairn_status walk_find_list(struct file_walk *w, int64_t xorb_id, const struct cairn_chunk_list **out)
{
	const struct cairn_hash key = walk_key(xorb_id);
	*out = cairn_list_cache_find(&w->lists, &key, NULL);
	if (*out)
		return CAIRN_OK;
	CLEANUP(cairn_chunk_list_fini) struct cairn_chunk_list read = {0};
	enum cairn_status status = walk_read_list(w, xorb_id, &read);
	if (status == CAIRN_OK)
		status = walk_count(w, read.n);
	if (status == CAIRN_OK)
		status = cairn_list_cache_put(&w->lists, &key, xorb_id, &read, out);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_E_CONFLICT : status;
}

static enum cairn_status walk_term(struct file_walk *w, const struct cairn_index_term *term)
{
	const struct cairn_chunk_list *list;
	if (w->sink->go_on && !w->sink->go_on(w->sink->ctx))
		return CAIRN_E_BUSY;
	enum cairn_status status = walk_find_list(w, term->xorb_id, &list);
	if (status == CAIRN_OK && (term->start >= term->end || term->end > list->n))
		status = CAIRN_E_CONFLICT;
	w->term_touched = false;
	for (uint32_t i = term->start; i < term->end && status == CAIRN_OK; i++)
		status = walk_chunk(w, &list->hashes[i], list->spans[i].unpacked_bytes);
	if (status != CAIRN_OK || w->term_touched)
		return status;
	struct cairn_range_hasher hasher;
	cairn_range_hash_init(&hasher);
	cairn_range_hash_add(&hasher, &list->hashes[term->start], term->end - term->start);
	cairn_range_hash_end(&hasher, &w->out->kept[w->out->n_kept++]);
	return CAIRN_OK;
}

static uint64_t walk_chunks_of(const struct cairn_index_file *file)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < file->n_terms; i++)
		if (file->terms[i].start < file->terms[i].end)
			n += file->terms[i].end - file->terms[i].start;
	return n;
}

static enum cairn_status walk_file(struct file_walk *w, const struct cairn_index_file *file)
{
	w->out->windows = calloc(w->n_dirty, sizeof(*w->out->windows));
	w->out->kept = calloc(file->n_terms, sizeof(*w->out->kept));
	if (!w->out->windows || !w->out->kept)
		return CAIRN_E_NOMEM;
	cairn_subtree_init(&w->gap, true, false);
	enum cairn_status status = walk_count(w, walk_chunks_of(file));
	for (uint32_t i = 0; i < file->n_terms && status == CAIRN_OK; i++)
		status = walk_term(w, &file->terms[i]);
	if (status == CAIRN_OK && w->cursor != file->size_bytes)
		status = CAIRN_E_CONFLICT;
	return status == CAIRN_OK ? walk_end_gap(w) : status;
}

enum cairn_status cairn_cas_file_chunks(struct cairn_cas *cas, const char *viewer, const struct cairn_hash *hash,
					const struct cairn_byte_range *ranges, size_t n_ranges,
					const struct cairn_file_chunks_sink *sink, struct cairn_file_chunks *out,
					struct cairn_diag *diag)
{
	CLEANUP(cairn_index_file_fini) struct cairn_index_file file = {0};
	CLEANUP(walk_fini)
	struct file_walk w = {.index = cas->index,
			      .chunks_max = cairn_cas_options_of(cas)->edit_chunks_max,
			      .sink = sink,
			      .out = out,
			      .diag = diag};
	*out = (struct cairn_file_chunks){0};
	enum cairn_status status = cairn_index_file(w.index, hash, viewer, true, &file);
	if (status != CAIRN_OK)
		return status;
	out->file_bytes = file.size_bytes;
	status = walk_set_dirty(&w, ranges, n_ranges);
	if (status == CAIRN_OK)
		status = walk_file(&w, &file);
	if (status != CAIRN_OK) {
		cairn_file_chunks_fini(out);
		out->file_bytes = file.size_bytes;
	}
	return status;
}
