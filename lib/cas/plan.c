#include "cas/plan.h"

#include <stdlib.h>
#include <string.h>

/* A term of the file that the range touches; sorted by xorb, and put back into the file's order at the end. */
struct plan_part {
	int64_t xorb_id;
	uint32_t place; /* in the file's order, from 0 */
	uint32_t start, end, unpacked_bytes;
};

struct plan_builder {
	struct cairn_plan *plan;
	struct cairn_index *index;
	struct plan_part *parts; /* owned */
	uint32_t n_parts;
	uint64_t skip_front; /* bytes of the first part before the range, to be cut in whole chunks */
	uint64_t skip_back;  /* bytes of the last part after the range, likewise */
};

void cairn_plan_fini(struct cairn_plan *plan)
{
	free(plan->terms);
	free(plan->ranges);
	free(plan->xorbs);
	plan->terms = NULL;
	plan->ranges = NULL;
	plan->xorbs = NULL;
	plan->n_terms = plan->n_ranges = plan->n_xorbs = 0;
}

bool cairn_byte_range_clip(const struct cairn_byte_range *range, uint64_t file_bytes, uint64_t *first, uint64_t *end)
{
	*first = 0;
	*end = file_bytes;
	switch (range->kind) {
	case CAIRN_RANGE_ALL:
		return true;
	case CAIRN_RANGE_FROM_TO:
		*first = range->first;
		if (range->last < file_bytes)
			*end = range->last + 1;
		return *first < *end;
	case CAIRN_RANGE_SUFFIX:
		if (range->suffix_bytes < file_bytes)
			*first = file_bytes - range->suffix_bytes;
		return *first < *end;
	}
	return false;
}

/* Keep the terms that [first, end) touches, and note how much of the outer two it leaves out. */
static enum cairn_status plan_pick_parts(struct plan_builder *b, const struct cairn_index_file *file, uint64_t first,
					 uint64_t end)
{
	b->parts = calloc(file->n_terms, sizeof(*b->parts));
	if (!b->parts)
		return CAIRN_E_NOMEM;
	uint64_t at = 0;
	for (uint32_t i = 0; i < file->n_terms && at < end; i++) {
		const struct cairn_index_term *t = &file->terms[i];
		uint64_t after = at + t->unpacked_bytes;
		if (after > first) {
			if (b->n_parts == 0)
				b->skip_front = first - at;
			b->skip_back = after > end ? after - end : 0;
			b->parts[b->n_parts] = (struct plan_part){.xorb_id = t->xorb_id,
								  .place = b->n_parts,
								  .start = t->start,
								  .end = t->end,
								  .unpacked_bytes = t->unpacked_bytes};
			b->n_parts++;
		}
		at = after;
	}
	return b->n_parts > 0 ? CAIRN_OK : CAIRN_E_CONFLICT;
}

static int plan_by_xorb(const void *pa, const void *pb)
{
	const struct plan_part *a = pa, *b = pb;
	if (a->xorb_id != b->xorb_id)
		return a->xorb_id < b->xorb_id ? -1 : 1;
	return a->place < b->place ? -1 : a->place > b->place;
}

static int plan_by_start(const void *pa, const void *pb)
{
	const struct cairn_plan_range *a = pa, *b = pb;
	return a->start < b->start ? -1 : a->start > b->start;
}

/* Leave out the whole chunks before and after the range. At least one chunk stays. */
static void plan_trim(struct plan_builder *b, struct plan_part *part, const struct cairn_span *spans)
{
	if (part->place == 0) {
		while (part->end - part->start > 1 && spans[part->start].unpacked_bytes <= b->skip_front) {
			b->skip_front -= spans[part->start].unpacked_bytes;
			part->unpacked_bytes -= spans[part->start].unpacked_bytes;
			part->start++;
		}
	}
	if (part->place == b->n_parts - 1) {
		while (part->end - part->start > 1 && spans[part->end - 1].unpacked_bytes <= b->skip_back) {
			part->end--;
			b->skip_back -= spans[part->end].unpacked_bytes;
			part->unpacked_bytes -= spans[part->end].unpacked_bytes;
		}
	}
}

/* Sort the ranges of one xorb, and merge those that touch. */
static uint32_t plan_merge(struct cairn_plan_range *ranges, uint32_t n)
{
	qsort(ranges, n, sizeof(*ranges), plan_by_start);
	uint32_t last = 0;
	for (uint32_t i = 1; i < n; i++) {
		if (ranges[i].start > ranges[last].end)
			ranges[++last] = ranges[i];
		else if (ranges[i].end > ranges[last].end)
			ranges[last].end = ranges[i].end;
	}
	return last + 1;
}

/* All parts of one xorb: n of them from parts on. */
static enum cairn_status plan_add_xorb(struct plan_builder *b, struct plan_part *parts, uint32_t n)
{
	struct cairn_plan *plan = b->plan;
	struct cairn_index_xorb xorb;
	struct cairn_span *spans;
	enum cairn_status status = cairn_index_spans(b->index, parts[0].xorb_id, &xorb, &spans);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_E_CONFLICT : status;
	struct cairn_plan_range *ranges = plan->ranges + plan->n_ranges;
	for (uint32_t i = 0; i < n && status == CAIRN_OK; i++) {
		if (parts[i].end > xorb.n_chunks || xorb.stored_bytes == 0)
			status = CAIRN_E_CONFLICT;
		else
			plan_trim(b, &parts[i], spans);
		ranges[i] = (struct cairn_plan_range){.start = parts[i].start, .end = parts[i].end};
		plan->terms[parts[i].place] = (struct cairn_plan_term){.xorb = plan->n_xorbs,
								       .start = parts[i].start,
								       .end = parts[i].end,
								       .unpacked_bytes = parts[i].unpacked_bytes};
	}
	if (status == CAIRN_OK) {
		uint32_t n_ranges = plan_merge(ranges, n);
		for (uint32_t i = 0; i < n_ranges; i++) {
			ranges[i].first_byte = ranges[i].start ? spans[ranges[i].start - 1].end : 0;
			ranges[i].end_byte = spans[ranges[i].end - 1].end;
		}
		plan->xorbs[plan->n_xorbs++] = (struct cairn_plan_xorb){
			.hash = xorb.hash, .first_range = plan->n_ranges, .n_ranges = n_ranges};
		plan->n_ranges += n_ranges;
	}
	free(spans);
	return status;
}

static uint32_t plan_same_xorb(const struct plan_part *parts, uint32_t n_left)
{
	uint32_t n = 1;
	while (n < n_left && parts[n].xorb_id == parts[0].xorb_id)
		n++;
	return n;
}

static enum cairn_status plan_build(struct plan_builder *b)
{
	struct cairn_plan *plan = b->plan;
	uint32_t n_xorbs = 0;
	qsort(b->parts, b->n_parts, sizeof(*b->parts), plan_by_xorb);
	for (uint32_t i = 0; i < b->n_parts; i += plan_same_xorb(b->parts + i, b->n_parts - i))
		n_xorbs++;
	plan->n_terms = b->n_parts;
	plan->terms = calloc(b->n_parts, sizeof(*plan->terms));
	plan->ranges = calloc(b->n_parts, sizeof(*plan->ranges));
	plan->xorbs = calloc(n_xorbs, sizeof(*plan->xorbs));
	if (!plan->terms || !plan->ranges || !plan->xorbs)
		return CAIRN_E_NOMEM;
	for (uint32_t i = 0; i < b->n_parts;) {
		uint32_t n = plan_same_xorb(b->parts + i, b->n_parts - i);
		enum cairn_status status = plan_add_xorb(b, b->parts + i, n);
		if (status != CAIRN_OK)
			return status;
		i += n;
	}
	plan->offset_into_first_range = b->skip_front;
	return CAIRN_OK;
}

enum cairn_status cairn_cas_plan(struct cairn_cas *cas, const char *viewer, const struct cairn_hash *hash,
				 const struct cairn_byte_range *range, struct cairn_plan *out)
{
	*out = (struct cairn_plan){0};
	CLEANUP(cairn_index_file_fini) struct cairn_index_file file = {0};
	enum cairn_status status = cairn_index_file(cairn_cas_index(cas), hash, viewer, true, &file);
	if (status != CAIRN_OK)
		return status;
	out->file_bytes = file.size_bytes;
	uint64_t first, end;
	if (file.size_bytes == 0)
		return CAIRN_OK;
	if (!cairn_byte_range_clip(range, file.size_bytes, &first, &end))
		return CAIRN_E_LIMIT;
	struct plan_builder b = {.plan = out, .index = cairn_cas_index(cas)};
	status = plan_pick_parts(&b, &file, first, end);
	if (status == CAIRN_OK)
		status = plan_build(&b);
	free(b.parts);
	if (status != CAIRN_OK)
		cairn_plan_fini(out);
	return status;
}
