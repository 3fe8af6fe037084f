#include "hub/places.h"

#include <stdlib.h>

enum { PLACES_WORDS = CAIRN_XORB_CHUNKS_MAX / 64 };

/* A xorb with chunks of the files. */
struct places_xorb {
	int64_t id;
	uint64_t had[PLACES_WORDS]; /* a bit for each chunk that no longer counts */
};

/* Some chunks of a term. */
struct places_part {
	const struct cairn_index_term *term;
	const struct places_xorb *xorb;
	uint64_t bytes;
};

void cairn_places_init(struct cairn_places *places, struct cairn_index *index, const struct cairn_index_repo *repo)
{
	*places = (struct cairn_places){
		.index = index, .terms_left = CAIRN_PLACES_TERMS_MAX, .parts_left = CAIRN_PLACES_PARTS_MAX};
	cairn_index_repo_owner(places->owner, repo->id);
}

void cairn_places_fini(struct cairn_places *places)
{
	free(places->xorbs);
	places->xorbs = NULL;
}

/* Reads a file's terms; a deleted file counts as one without terms. */
static enum cairn_status places_read(struct cairn_places *places, const struct cairn_hash *hash,
				     struct cairn_index_file *out)
{
	enum cairn_status status = cairn_index_file(places->index, hash, places->owner, true, out);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	places->unknown = places->unknown || out->n_terms > places->terms_left;
	places->terms_left -= places->unknown ? 0 : out->n_terms;
	return CAIRN_OK;
}

static int places_by_id(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

struct places_ids {
	int64_t *all; /* owned */
	size_t n, room, sorted;
};

static void places_ids_fini(struct places_ids *ids)
{
	free(ids->all);
}

/* Sorts the numbers, and drops duplicates. */
static void places_sort_ids(struct places_ids *ids)
{
	size_t n = 0;
	if (ids->n > 0)
		qsort(ids->all, ids->n, sizeof(*ids->all), places_by_id);
	for (size_t i = 0; i < ids->n; i++)
		if (n == 0 || ids->all[n - 1] != ids->all[i])
			ids->all[n++] = ids->all[i];
	ids->n = ids->sorted = n;
}

/* Adds numbers. Sorts only when there are twice as many: most terms are of few xorbs. */
static enum cairn_status places_add_ids(struct places_ids *ids, const struct cairn_index_file *file)
{
	if (ids->n + file->n_terms > ids->room) {
		size_t room = 2 * (ids->n + file->n_terms);
		int64_t *grown = realloc(ids->all, room * sizeof(*grown));
		if (!grown)
			return CAIRN_E_NOMEM;
		ids->all = grown;
		ids->room = room;
	}
	for (uint32_t i = 0; i < file->n_terms; i++)
		ids->all[ids->n++] = file->terms[i].xorb_id;
	if (ids->n > 2 * ids->sorted)
		places_sort_ids(ids);
	return CAIRN_OK;
}

enum cairn_status cairn_places_of(struct cairn_places *places, const struct cairn_hash *files, uint32_t n)
{
	CLEANUP(places_ids_fini) struct places_ids ids = {0};
	for (uint32_t i = 0; i < n && !places->unknown; i++) {
		CLEANUP(cairn_index_file_fini) struct cairn_index_file file = {0};
		enum cairn_status status = places_read(places, &files[i], &file);
		if (status == CAIRN_OK)
			status = places_add_ids(&ids, &file);
		if (status != CAIRN_OK)
			return status;
		places->unknown = places->unknown || ids.sorted > CAIRN_PLACES_XORBS_MAX;
	}
	places_sort_ids(&ids);
	places->unknown = places->unknown || ids.n > CAIRN_PLACES_XORBS_MAX;
	if (places->unknown)
		return CAIRN_OK;
	places->xorbs = calloc(ids.n + 1, sizeof(*places->xorbs));
	if (!places->xorbs)
		return CAIRN_E_NOMEM;
	for (size_t i = 0; i < ids.n; i++)
		places->xorbs[places->n_xorbs++].id = ids.all[i];
	return CAIRN_OK;
}

static struct places_xorb *places_xorb_of(const struct cairn_places *places, const struct cairn_index_term *term)
{
	return bsearch(&term->xorb_id, places->xorbs, places->n_xorbs, sizeof(*places->xorbs), places_by_id);
}

static bool places_had(const struct places_xorb *xorb, uint32_t chunk)
{
	return xorb->had[chunk / 64] >> chunk % 64 & 1;
}

static void places_mark(struct places_xorb *xorb, const struct cairn_index_term *term)
{
	for (uint32_t chunk = term->start; chunk < term->end && chunk < CAIRN_XORB_CHUNKS_MAX; chunk++)
		xorb->had[chunk / 64] |= UINT64_C(1) << chunk % 64;
}

enum cairn_status cairn_places_pass(struct cairn_places *places, const struct cairn_hash *hash)
{
	CLEANUP(cairn_index_file_fini) struct cairn_index_file file = {0};
	if (places->unknown || places->n_xorbs == 0)
		return CAIRN_OK;
	enum cairn_status status = places_read(places, hash, &file);
	for (uint32_t i = 0; status == CAIRN_OK && i < file.n_terms; i++) {
		struct places_xorb *xorb = places_xorb_of(places, &file.terms[i]);
		if (xorb)
			places_mark(xorb, &file.terms[i]);
	}
	return status;
}

static enum cairn_status places_take_spans(void *ctx, const struct cairn_index_spans *spans)
{
	struct places_part *part = ctx;
	for (uint32_t chunk = part->term->start; chunk < part->term->end && chunk < spans->n_chunks; chunk++)
		if (spans->spans && !places_had(part->xorb, chunk))
			part->bytes += spans->spans[chunk].unpacked_bytes;
	return CAIRN_OK;
}

static enum cairn_status places_count_part(struct cairn_places *places, struct places_part *part)
{
	static const uint32_t FIRST[2] = {0, 0};
	places->unknown = places->unknown || places->parts_left == 0;
	if (places->unknown)
		return CAIRN_OK;
	places->parts_left--;
	enum cairn_status status =
		cairn_index_spans(places->index, &part->term->xorb_id, 1, FIRST, places_take_spans, part);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

static enum cairn_status places_count_term(struct cairn_places *places, const struct cairn_index_term *term,
					   uint64_t *bytes)
{
	struct places_xorb *xorb = places_xorb_of(places, term);
	struct places_part part = {term, xorb, 0};
	uint32_t n = 0;
	enum cairn_status status = CAIRN_OK;
	if (!xorb) /* the file was given other terms meanwhile */
		return CAIRN_OK;
	for (uint32_t chunk = term->start; chunk < term->end && chunk < CAIRN_XORB_CHUNKS_MAX; chunk++)
		n += !places_had(xorb, chunk);
	if (n == (uint32_t)(term->end - term->start))
		part.bytes = term->unpacked_bytes;
	else if (n > 0)
		status = places_count_part(places, &part);
	*bytes += part.bytes;
	places_mark(xorb, term);
	return status;
}

enum cairn_status cairn_places_count(struct cairn_places *places, const struct cairn_hash *hash, uint64_t *bytes)
{
	CLEANUP(cairn_index_file_fini) struct cairn_index_file file = {0};
	if (places->unknown)
		return CAIRN_OK;
	enum cairn_status status = places_read(places, hash, &file);
	for (uint32_t i = 0; status == CAIRN_OK && i < file.n_terms && !places->unknown; i++)
		status = places_count_term(places, &file.terms[i], bytes);
	return status;
}
