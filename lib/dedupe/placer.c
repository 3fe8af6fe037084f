#include "dedupe/placer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define PLACER_NONE UINT32_MAX

void cairn_placer_init(struct cairn_placer *p, const struct cairn_placer_ops *ops, void *ctx)
{
	memset(p, 0, sizeof(*p));
	p->ops = ops;
	p->ctx = ctx;
	p->open = PLACER_NONE;
}

void cairn_placer_fini(struct cairn_placer *p)
{
	for (size_t i = 0; i < p->n_xorbs; i++)
		cairn_chunk_list_fini(&p->xorbs[i].list);
	free(p->xorbs);
	free(p->terms);
	free(p->files);
	cairn_hash_map_fini(&p->places);
	memset(p, 0, sizeof(*p));
}

/* Makes room for one more element. */
static enum cairn_status placer_reserve(void **array, size_t *cap, size_t n, size_t elem_bytes)
{
	if (n < *cap)
		return CAIRN_OK;
	size_t more = *cap ? *cap * 2 : 16;
	void *grown = reallocarray(*array, more, elem_bytes);
	if (!grown)
		return CAIRN_E_NOMEM;
	*array = grown;
	*cap = more;
	return CAIRN_OK;
}

static enum cairn_status placer_add_xorb(struct cairn_placer *p, const struct cairn_hash *hash, uint32_t *out)
{
	void *array = p->xorbs;
	enum cairn_status status = placer_reserve(&array, &p->cap_xorbs, p->n_xorbs, sizeof(p->xorbs[0]));
	p->xorbs = array;
	if (status != CAIRN_OK || p->n_xorbs == PLACER_NONE)
		return status != CAIRN_OK ? status : CAIRN_E_LIMIT;
	*out = (uint32_t)p->n_xorbs;
	p->xorbs[p->n_xorbs++] = (struct cairn_placer_xorb){.hash = *hash};
	return CAIRN_OK;
}

enum cairn_status cairn_placer_learn_xorb(struct cairn_placer *p, const struct cairn_hash *xorb, uint32_t *out)
{
	return p->n_learned >= CAIRN_PLACER_LEARNED_MAX ? CAIRN_E_LIMIT : placer_add_xorb(p, xorb, out);
}

enum cairn_status cairn_placer_learn_chunk(struct cairn_placer *p, const struct cairn_hash *key, uint32_t xorb,
					   uint32_t chunk, const struct cairn_hash *keyed)
{
	size_t i = 0;
	if (!key && p->n_learned < CAIRN_PLACER_LEARNED_MAX) {
		p->n_learned++;
		return cairn_hash_map_add(&p->places, keyed, xorb, chunk);
	}
	while (key && i < p->n_keys && !cairn_hash_equal(&p->keys[i], key))
		i++;
	if (!key || i == CAIRN_PLACER_KEYS_MAX || p->n_learned >= CAIRN_PLACER_LEARNED_MAX)
		return CAIRN_E_LIMIT;
	if (i == p->n_keys)
		p->keys[p->n_keys++] = *key;
	p->n_learned++;
	return cairn_hash_map_add(&p->places, keyed, xorb, chunk);
}

void cairn_placer_forget(struct cairn_placer *p)
{
	cairn_placer_described(p);
	cairn_hash_map_fini(&p->places);
	p->n_keys = p->n_learned = 0;
}

void cairn_placer_described(struct cairn_placer *p)
{
	assert(p->open == PLACER_NONE);
	for (size_t i = 0; i < p->n_xorbs; i++)
		cairn_chunk_list_fini(&p->xorbs[i].list);
	p->list_chunks = 0;
	p->n_files = 0;
}

uint64_t cairn_placer_bytes(const struct cairn_placer *p)
{
	return p->places.cap * sizeof(p->places.slots[0]) + p->cap_xorbs * sizeof(p->xorbs[0]) +
	       p->cap_terms * sizeof(p->terms[0]) +
	       p->list_chunks * (sizeof(struct cairn_hash) + sizeof(struct cairn_span));
}

const struct cairn_hash_map_entry *cairn_placer_find(const struct cairn_placer *p, const struct cairn_hash *chunk)
{
	const struct cairn_hash_map_entry *at = cairn_hash_map_find(&p->places, chunk);
	for (size_t i = 0; i < p->n_keys && !at; i++) {
		struct cairn_hash keyed;
		cairn_hash_keyed(&keyed, &p->keys[i], chunk);
		at = cairn_hash_map_find(&p->places, &keyed);
	}
	return at;
}

enum cairn_status cairn_placer_end(struct cairn_placer *p, struct cairn_diag *diag)
{
	if (p->open == PLACER_NONE)
		return CAIRN_OK;
	struct cairn_placer_xorb *xorb = &p->xorbs[p->open];
	p->open = PLACER_NONE;
	p->open_bytes = 0;
	cairn_chunk_list_root(&xorb->list, &xorb->hash);
	return p->ops->close ? p->ops->close(p->ctx, &xorb->hash, &xorb->list, diag) : CAIRN_OK;
}

static enum cairn_status placer_add_chunk(struct cairn_placer *p, const struct cairn_hash *chunk, const uint8_t *raw,
					  size_t len, struct cairn_diag *diag)
{
	enum cairn_status status = CAIRN_OK;
	if (p->open != PLACER_NONE &&
	    (p->xorbs[p->open].list.n == CAIRN_XORB_CHUNKS_MAX || p->open_bytes + len > CAIRN_XORB_BYTES_MAX))
		status = cairn_placer_end(p, diag);
	if (status == CAIRN_OK && p->open == PLACER_NONE)
		status = placer_add_xorb(p, &(struct cairn_hash){{0}}, &p->open);
	if (status != CAIRN_OK)
		return status;
	struct cairn_chunk_list *list = &p->xorbs[p->open].list;
	/* Only the writer knows where the chunk ends in the serialized xorb. */
	status = cairn_chunk_list_add(list, chunk, (struct cairn_span){.unpacked_bytes = (uint32_t)len});
	if (status == CAIRN_OK)
		status = cairn_hash_map_add(&p->places, chunk, p->open, list->n - 1);
	if (status == CAIRN_OK && p->ops->add)
		status = p->ops->add(p->ctx, chunk, raw, len, diag);
	p->open_bytes += len;
	p->list_chunks++;
	p->file.new_bytes += len;
	return status;
}

void cairn_placer_file_begin(struct cairn_placer *p)
{
	p->file = (struct cairn_placer_file){.first_term = p->n_terms};
	p->part_term = p->n_terms;
	p->n_chunks = 0;
	p->last_query = 0;
}

static void placer_end_term(struct cairn_placer *p)
{
	if (p->n_terms > p->part_term)
		cairn_range_hash_end(&p->range, &p->terms[p->n_terms - 1].range);
}

static enum cairn_status placer_place(struct cairn_placer *p, uint32_t xorb, uint32_t chunk,
				      const struct cairn_hash *hash, size_t len)
{
	struct cairn_placer_term *last = p->n_terms > p->part_term ? &p->terms[p->n_terms - 1] : NULL;
	if (!last || last->xorb != xorb || last->end != chunk) {
		void *array = p->terms;
		placer_end_term(p);
		enum cairn_status status = placer_reserve(&array, &p->cap_terms, p->n_terms, sizeof(p->terms[0]));
		p->terms = array;
		if (status != CAIRN_OK)
			return status;
		assert(p->terms); /* the caller made room for one more term */
		last = &p->terms[p->n_terms++];
		*last = (struct cairn_placer_term){.xorb = xorb, .start = chunk, .end = chunk};
		cairn_range_hash_init(&p->range);
	}
	last->end++;
	last->bytes += (uint32_t)len;
	cairn_range_hash_add(&p->range, hash, 1);
	return CAIRN_OK;
}

/* Returns whether to ask the server about a chunk. The first chunk of a file is eligible whatever its hash. */
static bool placer_should_ask(const struct cairn_placer *p, const struct cairn_hash *chunk)
{
	if (!p->ops->query)
		return false;
	return p->n_chunks == 0 || p->ops->query_all ||
	       (cairn_hash_is_eligible(chunk) && p->n_chunks - p->last_query >= CAIRN_PLACER_QUERY_SPACING);
}

enum cairn_status cairn_placer_chunk(struct cairn_placer *p, const struct cairn_hash *chunk, const uint8_t *raw,
				     size_t len, struct cairn_diag *diag)
{
	enum cairn_status status = CAIRN_OK;
	const struct cairn_hash_map_entry *at = cairn_placer_find(p, chunk);
	if (!at && placer_should_ask(p, chunk)) {
		p->last_query = p->n_chunks;
		status = p->ops->query(p->ctx, p, chunk, diag);
		at = cairn_placer_find(p, chunk);
	}
	if (status == CAIRN_OK && !at) {
		status = placer_add_chunk(p, chunk, raw, len, diag);
		at = cairn_placer_find(p, chunk);
	}
	if (status == CAIRN_OK)
		status = placer_place(p, at->xorb, at->chunk, chunk, len);
	p->n_chunks++;
	p->file.bytes += len;
	return status;
}

static enum cairn_status placer_add_file(struct cairn_placer *p, struct cairn_placer_file *file)
{
	void *array = p->files;
	enum cairn_status status = placer_reserve(&array, &p->cap_files, p->n_files, sizeof(p->files[0]));
	p->files = array;
	if (status != CAIRN_OK)
		return status;
	placer_end_term(p);
	file->n_terms = p->n_terms - file->first_term;
	p->files[p->n_files++] = *file;
	return CAIRN_OK;
}

enum cairn_status cairn_placer_file_end(struct cairn_placer *p, const struct cairn_hash *file,
					const uint8_t sha256[static CAIRN_SHA256_BYTES])
{
	p->file.hash = *file;
	p->file.has_sha256 = true;
	memcpy(p->file.sha256, sha256, sizeof(p->file.sha256));
	return placer_add_file(p, &p->file);
}

enum cairn_status cairn_placer_part_end(struct cairn_placer *p, const struct cairn_hash *part)
{
	enum cairn_status status = CAIRN_OK;
	if (part)
		status = placer_add_file(p, &(struct cairn_placer_file){.hash = *part, .first_term = p->part_term});
	else
		placer_end_term(p);
	p->part_term = p->n_terms;
	return status;
}

void cairn_placer_file_drop(struct cairn_placer *p)
{
	p->n_terms = p->part_term = p->file.first_term;
}
