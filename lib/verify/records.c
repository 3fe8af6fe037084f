/* Collects the data that a verified shard registers, during the passes. */
#include "verify/run.h"

#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

enum { RECORDS_GROW = 16 };

void cairn_verified_fini(struct cairn_verified *v)
{
	for (uint32_t i = 0; i < v->n_lists; i++)
		cairn_chunk_list_fini(&v->lists[i]);
	free(v->lists);
	free(v->xorbs);
	free(v->eligible);
	free(v->files);
	free(v->terms);
	*v = (struct cairn_verified){0};
}

enum cairn_status cairn_verify_record_counts(struct verify_run *run)
{
	struct cairn_verified *v = run->records;
	const struct cairn_verify_summary *sum = &run->sum;
	run->xorbs_cap = (uint32_t)sum->n_xorbs + RECORDS_GROW;
	v->xorbs = malloc(run->xorbs_cap * sizeof(*v->xorbs));
	v->files = malloc((sum->n_files + 1) * sizeof(*v->files));
	v->terms = malloc((sum->n_terms + 1) * sizeof(*v->terms));
	run->ends = calloc(sum->n_chunks + 1, sizeof(*run->ends));
	if (run->options->xorbs_external)
		v->lists = malloc((sum->n_xorbs + 1) * sizeof(*v->lists));
	bool made = v->xorbs && v->files && v->terms && run->ends && (v->lists || !run->options->xorbs_external);
	return made ? CAIRN_OK : CAIRN_E_NOMEM;
}

enum cairn_status cairn_verify_record_chunk(struct verify_run *run, const struct cairn_shard_chunk *chunk,
					    uint32_t place)
{
	if (!(chunk->flags & CAIRN_SHARD_CHUNK_ELIGIBLE) && !cairn_hash_is_eligible(&chunk->hash))
		return CAIRN_OK;
	if (run->n_eligible == run->eligible_cap) {
		uint32_t cap = run->eligible_cap ? run->eligible_cap * 2 : RECORDS_GROW;
		struct cairn_index_eligible *grown = realloc(run->records->eligible, cap * sizeof(*grown));
		if (!grown)
			return CAIRN_E_NOMEM;
		run->records->eligible = grown;
		run->eligible_cap = cap;
	}
	run->records->eligible[run->n_eligible++] =
		(struct cairn_index_eligible){.prefix = cairn_get_u64le(chunk->hash.b), .place = place};
	return CAIRN_OK;
}

/* Keeps the list of an unknown xorb. */
static enum cairn_status records_list(struct verify_run *run, const struct cairn_chunk_list **out)
{
	const struct cairn_chunk_list *from = &run->scratch;
	struct cairn_chunk_list *to = &run->records->lists[run->records->n_lists++];
	*to = (struct cairn_chunk_list){.n = from->n, .cap = from->n};
	to->hashes = malloc(from->n * sizeof(*to->hashes));
	to->spans = malloc(from->n * sizeof(*to->spans));
	if (!to->hashes || !to->spans)
		return CAIRN_E_NOMEM;
	memcpy(to->hashes, from->hashes, from->n * sizeof(*to->hashes));
	memcpy(to->spans, from->spans, from->n * sizeof(*to->spans));
	run->records->bytes += from->n * (sizeof(*to->hashes) + sizeof(*to->spans));
	*out = to;
	return CAIRN_OK;
}

enum cairn_status cairn_verify_record_xorb(struct verify_run *run, const struct cairn_hash *hash,
					   const struct cairn_chunk_list *known, int64_t id, struct verify_place *place)
{
	struct cairn_index_new_xorb *xorb = &run->records->xorbs[run->n_described];
	*xorb = (struct cairn_index_new_xorb){
		.hash = *hash,
		.id = id,
		.first_eligible = run->first_eligible,
		.n_eligible = run->n_eligible - run->first_eligible,
	};
	run->first_eligible = run->n_eligible;
	place->xorb = run->n_described++;
	place->first_end = run->n_ends;
	for (uint32_t i = 0; known && i < known->n; i++)
		run->ends[run->n_ends + i] = known->spans[i].end;
	run->n_ends += run->scratch.n;
	return known ? CAIRN_OK : records_list(run, &xorb->list);
}

/* Records a xorb that only terms name. @param[out] place  its index in the records' xorbs */
static enum cairn_status records_outside(struct verify_run *run, uint32_t *place)
{
	if (run->outside.n == 0) {
		enum cairn_status status = cairn_id_set_init(&run->outside, (uint32_t)run->sum.n_terms);
		if (status != CAIRN_OK)
			return status;
	}
	uint32_t n_before = run->outside.n;
	*place = run->n_described + cairn_id_set_place(&run->outside, run->last_id);
	if (run->outside.n == n_before)
		return CAIRN_OK;
	if (*place == run->xorbs_cap) {
		uint32_t cap = run->xorbs_cap * 2;
		struct cairn_index_new_xorb *grown = realloc(run->records->xorbs, cap * sizeof(*grown));
		if (!grown)
			return CAIRN_E_NOMEM;
		run->records->xorbs = grown;
		run->xorbs_cap = cap;
	}
	run->records->xorbs[*place] = (struct cairn_index_new_xorb){.hash = run->last_hash, .id = run->last_id};
	return CAIRN_OK;
}

enum cairn_status cairn_verify_record_term(struct verify_run *run, const struct cairn_shard_term *term)
{
	struct cairn_index_new_term record = {
		.unpacked_bytes = term->unpacked_bytes, .start = term->start, .end = term->end};
	if (run->last_place) {
		const uint32_t *ends = run->ends + run->last_place->first_end;
		record.xorb = run->last_place->xorb;
		record.first_byte = term->start > 0 ? ends[term->start - 1] : 0;
		record.end_byte = ends[term->end - 1];
	} else {
		const struct cairn_span *spans = run->last_known->spans;
		enum cairn_status status = records_outside(run, &record.xorb);
		if (status != CAIRN_OK)
			return status;
		record.first_byte = term->start > 0 ? spans[term->start - 1].end : 0;
		record.end_byte = spans[term->end - 1].end;
	}
	run->records->terms[run->n_recorded_terms++] = record;
	return CAIRN_OK;
}

void cairn_verify_record_file(struct verify_run *run, const struct cairn_shard_file *file)
{
	/* The reference client writes zeros when it has not computed the digest. */
	static const uint8_t NONE[CAIRN_SHA256_BYTES];
	struct cairn_index_new_file *record = &run->records->files[run->n_recorded_files++];
	*record = (struct cairn_index_new_file){.hash = file->hash, .n_terms = file->n_terms};
	record->has_sha256 =
		cairn_shard_file_sha256(file, record->sha256) && memcmp(record->sha256, NONE, sizeof(NONE)) != 0;
	if (file->n_terms > 0)
		record->first_chunk = run->first_chunk;
	const struct cairn_index_new_term *terms = run->records->terms + run->n_recorded_terms - file->n_terms;
	for (uint32_t i = 0; i < file->n_terms; i++)
		record->size_bytes += terms[i].unpacked_bytes;
}

void cairn_verify_records_end(struct verify_run *run)
{
	struct cairn_verified *v = run->records;
	v->shard = (struct cairn_index_new_shard){
		.xorbs = v->xorbs,
		.n_xorbs = run->n_described + run->outside.n,
		.n_described = run->n_described,
		.n_files = run->n_recorded_files,
		.eligible = v->eligible,
		.files = v->files,
		.terms = v->terms,
	};
	v->bytes += run->xorbs_cap * sizeof(*v->xorbs) + run->eligible_cap * sizeof(*v->eligible) +
		    run->n_recorded_files * sizeof(*v->files) + run->n_recorded_terms * sizeof(*v->terms) +
		    v->n_lists * sizeof(*v->lists);
}
