#include "cas/serve/chunk_walk.h"

#include "cas/internal.h"

void cairn_chunk_walk_fini(struct cairn_chunk_walk *w)
{
	cairn_index_file_fini(&w->file);
	cairn_chunk_list_fini(&w->list);
	*w = (struct cairn_chunk_walk){0};
}

enum cairn_status cairn_chunk_walk_begin(struct cairn_chunk_walk *w, struct cairn_cas *cas,
					 const struct cairn_hash *file)
{
	cairn_chunk_walk_fini(w);
	w->cas = cas;
	enum cairn_status status = cairn_index_file(cas->index, file, NULL, true, &w->file);
	if (status == CAIRN_OK && w->file.n_terms > 0)
		w->chunk = w->file.terms[0].start;
	return status;
}

static void walk_enter(struct cairn_chunk_walk *w, uint32_t term)
{
	w->term = term;
	w->chunk = term < w->file.n_terms ? w->file.terms[term].start : 0;
}

static enum cairn_status walk_read_list(struct cairn_chunk_walk *w, const struct cairn_index_term *term)
{
	if (w->list_of == term->xorb_id)
		return CAIRN_OK;
	cairn_chunk_list_fini(&w->list);
	w->list_of = 0;
	enum cairn_status status = cairn_index_chunk_list_by_id(w->cas->index, term->xorb_id, &w->list);
	if (status == CAIRN_OK)
		w->list_of = term->xorb_id;
	return status == CAIRN_E_NOT_FOUND ? CAIRN_E_CONFLICT : status;
}

enum cairn_status cairn_chunk_walk_next(struct cairn_chunk_walk *w, uint32_t *len)
{
	*len = 0;
	if (w->term == w->file.n_terms)
		return CAIRN_OK;
	const struct cairn_index_term *term = &w->file.terms[w->term];
	enum cairn_status status = walk_read_list(w, term);
	if (status != CAIRN_OK)
		return status;
	if (w->chunk >= term->end || term->end > w->list.n)
		return CAIRN_E_CONFLICT;
	*len = w->list.spans[w->chunk++].unpacked_bytes;
	if (w->chunk == term->end)
		walk_enter(w, w->term + 1);
	return CAIRN_OK;
}

enum cairn_status cairn_chunk_walk_seek(struct cairn_chunk_walk *w, uint64_t at)
{
	uint64_t before = 0;
	uint32_t term = 0, len = 1;
	while (term < w->file.n_terms && before + w->file.terms[term].unpacked_bytes <= at)
		before += w->file.terms[term++].unpacked_bytes;
	walk_enter(w, term);
	enum cairn_status status = CAIRN_OK;
	while (before < at && len > 0 && status == CAIRN_OK) {
		status = cairn_chunk_walk_next(w, &len);
		before += len;
	}
	return status == CAIRN_OK && (before != at || len == 0) ? CAIRN_E_NOT_FOUND : status;
}
