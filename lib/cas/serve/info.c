#include "cas/serve/info.h"

#include "cas/internal.h"
#include "index/refer.h"

#include <stdlib.h>
#include <string.h>

struct info_use {
	int64_t xorb_id;
	uint32_t term; /* index of the first term that names the xorb */
};

static void info_free_uses(struct info_use **uses)
{
	free(*uses);
}

static int info_by_xorb(const void *a, const void *b)
{
	const struct info_use *x = a, *y = b;
	if (x->xorb_id != y->xorb_id)
		return x->xorb_id < y->xorb_id ? -1 : 1;
	return (x->term > y->term) - (x->term < y->term);
}

static int info_by_term(const void *a, const void *b)
{
	const struct info_use *x = a, *y = b;
	return (x->term > y->term) - (x->term < y->term);
}

/* Lists each xorb once, in the order of the file. The order of the numbers would reveal which xorbs are older. */
static uint32_t info_gather_uses(const struct cairn_index_file *file, struct info_use *uses)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < file->n_terms; i++)
		uses[i] = (struct info_use){.xorb_id = file->terms[i].xorb_id, .term = i};
	qsort(uses, file->n_terms, sizeof(*uses), info_by_xorb);
	for (uint32_t i = 0; i < file->n_terms; i++) {
		if (n == 0 || uses[n - 1].xorb_id != uses[i].xorb_id)
			uses[n++] = uses[i];
	}
	qsort(uses, n, sizeof(*uses), info_by_term);
	return n;
}

static void info_fill_xorb(struct cairn_info_xorb *out, const struct cairn_index_xorb *row)
{
	*out = (struct cairn_info_xorb){
		.hash = row->hash,
		.n_chunks = row->n_chunks,
		.unpacked_bytes = row->unpacked_bytes,
		.stored_bytes = row->stored_bytes,
		.at_unix_s = row->at_unix_s,
		.retired = row->retired,
		.withdrawn = row->withdrawn_unix_s != 0,
	};
}

static enum cairn_status info_visit_uses(struct cairn_cas *cas, const struct info_use *uses, uint32_t n,
					 void (*visit)(void *ctx, const struct cairn_info_xorb *xorb), void *ctx)
{
	for (uint32_t i = 0; i < n; i++) {
		struct cairn_index_xorb row;
		struct cairn_info_xorb xorb;
		enum cairn_status status = cairn_index_xorb_by_id(cas->index, uses[i].xorb_id, &row);
		if (status == CAIRN_E_NOT_FOUND)
			continue; /* the file was deleted and the xorb collected after the lookup */
		if (status != CAIRN_OK)
			return status;
		info_fill_xorb(&xorb, &row);
		visit(ctx, &xorb);
	}
	return CAIRN_OK;
}

enum cairn_status cairn_info_file(struct cairn_cas *cas, const struct cairn_info_asker *asker,
				  const struct cairn_hash *hash, struct cairn_info_file *out,
				  void (*visit)(void *ctx, const struct cairn_info_xorb *xorb), void *ctx)
{
	CLEANUP(cairn_index_file_fini) struct cairn_index_file file = {0};
	CLEANUP(info_free_uses) struct info_use *uses = NULL;
	enum cairn_status status = cairn_index_file(cas->index, hash, asker->who->viewer, true, &file);
	if (status != CAIRN_OK)
		return status;
	*out = (struct cairn_info_file){.size_bytes = file.size_bytes, .n_terms = file.n_terms};
	if (file.n_terms == 0)
		return CAIRN_OK;
	uses = malloc(file.n_terms * sizeof(*uses));
	if (!uses)
		return CAIRN_E_NOMEM;
	out->n_xorbs = info_gather_uses(&file, uses);
	return info_visit_uses(cas, uses, out->n_xorbs < asker->limit ? out->n_xorbs : asker->limit, visit, ctx);
}

static enum cairn_status info_each_match(struct cairn_cas *cas, const struct cairn_info_asker *asker,
					 enum cairn_index_match match, const uint8_t name[static CAIRN_HASH_BYTES],
					 void (*visit)(void *ctx, const struct cairn_cas_owned *file), void *ctx,
					 bool *more)
{
	struct cas_owned_walk walk = {visit, ctx};
	return cairn_index_each_match(cas->index, asker->all ? NULL : asker->who->owner, match, name, asker->limit,
				      cas_visit_owned, &walk, more);
}

enum cairn_status cairn_info_owners(struct cairn_cas *cas, const struct cairn_info_asker *asker,
				    const struct cairn_hash *hash,
				    void (*visit)(void *ctx, const struct cairn_cas_owned *file), void *ctx, bool *more)
{
	return info_each_match(cas, asker, CAIRN_INDEX_MATCH_FILE, hash->b, visit, ctx, more);
}

enum cairn_status cairn_info_needed_by(struct cairn_cas *cas, const struct cairn_info_asker *asker,
				       const struct cairn_hash *xorb,
				       void (*visit)(void *ctx, const struct cairn_cas_owned *file), void *ctx,
				       bool *more)
{
	return info_each_match(cas, asker, CAIRN_INDEX_MATCH_XORB, xorb->b, visit, ctx, more);
}

enum cairn_status cairn_info_sha256(struct cairn_cas *cas, const struct cairn_info_asker *asker,
				    const uint8_t sha256[static CAIRN_SHA256_BYTES],
				    void (*visit)(void *ctx, const struct cairn_cas_owned *file), void *ctx, bool *more)
{
	if (asker->all)
		return info_each_match(cas, asker, CAIRN_INDEX_MATCH_SHA256, sha256, visit, ctx, more);
	struct cairn_cas_file meant;
	*more = false;
	enum cairn_status status = cairn_cas_file_by_sha256(cas, asker->who, sha256, &meant);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	struct cairn_cas_owned file = {.hash = meant.hash,
				       .size_bytes = meant.size_bytes,
				       .has_sha256 = true,
				       .sha256_is_proved = meant.sha256_is_proved};
	memcpy(file.sha256, sha256, sizeof(file.sha256));
	visit(ctx, &file);
	return CAIRN_OK;
}

enum cairn_status cairn_info_xorb(struct cairn_cas *cas, const struct cairn_hash *hash, struct cairn_info_xorb *out)
{
	struct cairn_index_xorb row;
	enum cairn_status status = cairn_index_xorb(cas->index, hash, &row);
	if (status == CAIRN_OK)
		info_fill_xorb(out, &row);
	return status;
}

struct info_places {
	const struct cairn_hash *chunk;
	void (*visit)(void *ctx, const struct cairn_info_place *place);
	void *ctx;
};

static void info_visit_place(void *ctx, const struct cairn_index_place *row)
{
	const struct info_places *places = ctx;
	const struct cairn_info_place place = {
		.xorb = row->xorb, .at = row->at, .unpacked_bytes = row->unpacked_bytes, .scope = row->scope};
	places->visit(places->ctx, &place);
}

/* Visits a xorb of an answer. The first contains the chunk; those after it are its neighbours. */
static bool info_visit_answer(void *ctx, const struct cairn_index_dedupe_xorb *x)
{
	const struct info_places *places = ctx;
	for (uint32_t i = 0; i < x->list->n; i++) {
		if (!cairn_hash_equal(&x->list->hashes[i], places->chunk))
			continue;
		const struct cairn_info_place place = {
			.xorb = x->xorb.hash, .at = i, .unpacked_bytes = x->list->spans[i].unpacked_bytes};
		places->visit(places->ctx, &place);
		break;
	}
	return false;
}

enum cairn_status cairn_info_places(struct cairn_cas *cas, const struct cairn_info_asker *asker,
				    const struct cairn_hash *chunk,
				    void (*visit)(void *ctx, const struct cairn_info_place *place), void *ctx,
				    bool *more)
{
	struct info_places places = {chunk, visit, ctx};
	*more = false;
	if (asker->all)
		return cairn_index_each_place(cas->index, chunk, asker->limit, info_visit_place, &places, more);
	enum cairn_status status =
		cairn_index_dedupe(cas->index, asker->who->scope, chunk, false, info_visit_answer, &places);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}
