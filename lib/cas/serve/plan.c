#include "cas/serve/plan.h"

#include "base/id_set.h"
#include "cas/internal.h"
#include "cas/object/mend.h"

#include <stdlib.h>
#include <string.h>

struct plan_builder {
	struct cairn_index_planner planner; /* first, so that a pointer to it is a pointer to the whole */
	struct cairn_cas *cas;
	const struct cairn_byte_range *range;
	struct cairn_plan *plan;
	const struct cairn_index_term *terms; /* borrowed: the terms of the plan, as in the index */
	struct cairn_id_set xorbs;            /* in the order of plan->xorbs */
	uint32_t *first;                      /* owned; where the terms of each xorb begin in order; n_xorbs + 1 */
	uint32_t *order;     /* owned; indexes of the plan's terms, grouped by xorb, in the order of the file */
	uint32_t n_done;     /* xorbs planned so far */
	uint64_t skip_front; /* bytes of the first term before the range; whole chunks are cut off */
	uint64_t skip_back;  /* bytes of the last term after the range; whole chunks are cut off */
};

static void plan_builder_fini(struct plan_builder *b)
{
	cairn_id_set_fini(&b->xorbs);
	free(b->first);
	free(b->order);
}

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

bool cairn_byte_range_find(const struct cairn_byte_range *range, uint64_t file_bytes, uint64_t *first, uint64_t *end)
{
	if (file_bytes > 0)
		return cairn_byte_range_clip(range, file_bytes, first, end);
	*first = *end = 0;
	return range->kind != CAIRN_RANGE_FROM_TO || range->first == 0;
}

/* Finds the n terms that [first, end) touches, from *from on. Records how many bytes of the outer two are outside. */
static uint32_t plan_find_terms(struct plan_builder *b, const struct cairn_index_file *file, uint64_t first,
				uint64_t end, uint32_t *from)
{
	uint64_t at = 0;
	uint32_t n = 0;
	for (uint32_t i = 0; i < file->n_terms && at < end; i++) {
		uint64_t after = at + file->terms[i].unpacked_bytes;
		if (after > first) {
			if (n++ == 0) {
				*from = i;
				b->skip_front = first - at;
			}
			b->skip_back = after > end ? after - end : 0;
		}
		at = after;
	}
	return n;
}

/* --- terms by xorb: numbered as they come, then placed by counting; sorting took a third of a plan ------------- */

static enum cairn_status plan_take_terms(struct plan_builder *b, uint32_t n)
{
	struct cairn_plan *plan = b->plan;
	const struct cairn_index_term *terms = b->terms;
	enum cairn_status status = cairn_id_set_init(&b->xorbs, n);
	if (status != CAIRN_OK)
		return status;
	plan->terms = malloc(n * sizeof(*plan->terms));
	if (!plan->terms)
		return CAIRN_E_NOMEM;
	for (uint32_t i = 0; i < n; i++) {
		bool again = i > 0 && terms[i].xorb_id == terms[i - 1].xorb_id;
		plan->terms[i] = (struct cairn_plan_term){
			.xorb = again ? plan->terms[i - 1].xorb : cairn_id_set_place(&b->xorbs, terms[i].xorb_id),
			.start = terms[i].start,
			.end = terms[i].end,
			.unpacked_bytes = terms[i].unpacked_bytes,
		};
	}
	plan->n_terms = n;
	plan->n_xorbs = b->xorbs.n;
	return CAIRN_OK;
}

static enum cairn_status plan_order_terms(struct plan_builder *b)
{
	const struct cairn_plan *plan = b->plan;
	b->first = calloc((size_t)plan->n_xorbs + 1, sizeof(*b->first));
	b->order = malloc(plan->n_terms * sizeof(*b->order));
	if (!b->first || !b->order)
		return CAIRN_E_NOMEM;
	for (uint32_t i = 0; i < plan->n_terms; i++)
		b->first[plan->terms[i].xorb]++;
	for (uint32_t x = 0, at = 0; x <= plan->n_xorbs; x++) {
		at += b->first[x];
		b->first[x] = at; /* the end of its terms: filled from the back */
	}
	for (uint32_t i = plan->n_terms; i-- > 0;)
		b->order[--b->first[plan->terms[i].xorb]] = i;
	return CAIRN_OK;
}

static int plan_by_start(const void *pa, const void *pb)
{
	const struct cairn_plan_range *a = pa, *b = pb;
	return a->start < b->start ? -1 : a->start > b->start;
}

/* Drops whole chunks before and after the range. At least one chunk stays. */
static void plan_trim(struct plan_builder *b, uint32_t place, const struct cairn_span *spans)
{
	struct cairn_plan_term *term = &b->plan->terms[place];
	if (place == 0) {
		while (term->end - term->start > 1 && spans[term->start].unpacked_bytes <= b->skip_front) {
			b->skip_front -= spans[term->start].unpacked_bytes;
			term->unpacked_bytes -= spans[term->start].unpacked_bytes;
			term->start++;
		}
	}
	if (place == b->plan->n_terms - 1) {
		while (term->end - term->start > 1 && spans[term->end - 1].unpacked_bytes <= b->skip_back) {
			term->end--;
			b->skip_back -= spans[term->end].unpacked_bytes;
			term->unpacked_bytes -= spans[term->end].unpacked_bytes;
		}
	}
}

/* Sorts the ranges of a xorb and merges those that touch. Most files use a xorb front to back. */
static uint32_t plan_merge(struct cairn_plan_range *ranges, uint32_t n)
{
	bool ascending = true;
	for (uint32_t i = 1; i < n && ascending; i++)
		ascending = ranges[i - 1].start <= ranges[i].start;
	if (!ascending)
		qsort(ranges, n, sizeof(*ranges), plan_by_start);
	uint32_t last = 0;
	for (uint32_t i = 1; i < n; i++) {
		if (ranges[i].start > ranges[last].end) {
			ranges[++last] = ranges[i];
		} else if (ranges[i].end > ranges[last].end) {
			ranges[last].end = ranges[i].end;
			ranges[last].end_byte = ranges[i].end_byte;
		}
	}
	return last + 1;
}

/* Finds the range that a term needs of its xorb, by the places in the list or in the term itself.
 * @return false: neither is valid */
static bool plan_range(struct plan_builder *b, uint32_t place, const struct cairn_index_spans *places,
		       struct cairn_plan_range *out)
{
	const struct cairn_plan_term *term = &b->plan->terms[place];
	const struct cairn_index_term *kept = &b->terms[place];
	if (term->start >= term->end || term->end > places->n_chunks)
		return false;
	if (!places->spans) {
		*out = (struct cairn_plan_range){term->start, term->end, kept->first_byte, kept->end_byte};
		return kept->first_byte < kept->end_byte && kept->end_byte <= places->stored_bytes;
	}
	if (place == 0 || place == b->plan->n_terms - 1)
		plan_trim(b, place, places->spans);
	*out = (struct cairn_plan_range){
		.start = term->start,
		.end = term->end,
		.first_byte = term->start > 0 ? places->spans[term->start - 1].end : 0,
		.end_byte = places->spans[term->end - 1].end,
	};
	return true;
}

/* May a xorb be planned? A lost xorb may be damaged only in chunks that the file does not need, or be back in its pack.
 * Planning it is safe: a fetch returns only verified bytes. */
static bool plan_can_read(const struct plan_builder *b, const struct cairn_index_spans *places)
{
	bool there;
	if (places->stored_bytes > 0)
		return true;
	uint64_t bytes = places->spans ? places->spans[places->n_chunks - 1].end : 0;
	if (bytes == 0)
		return false;
	return cas_object_there(b->cas, &places->xorb, bytes, &there) == CAIRN_OK && there;
}

static enum cairn_status plan_add_xorb(void *ctx, const struct cairn_index_spans *places)
{
	struct plan_builder *b = ctx;
	struct cairn_plan *plan = b->plan;
	struct cairn_plan_xorb *xorb = &plan->xorbs[b->n_done];
	struct cairn_plan_range *ranges = plan->ranges + plan->n_ranges;
	const uint32_t *order = b->order + b->first[b->n_done];
	uint32_t n = b->first[b->n_done + 1] - b->first[b->n_done];
	if (!plan_can_read(b, places))
		return CAIRN_E_CONFLICT;
	for (uint32_t i = 0; i < n; i++)
		if (!plan_range(b, order[i], places, &ranges[i]))
			return CAIRN_E_CONFLICT;
	uint32_t n_ranges = plan_merge(ranges, n);
	*xorb = (struct cairn_plan_xorb){
		.hash = places->xorb,
		.first_range = plan->n_ranges,
		.n_ranges = n_ranges,
		.stored_bytes = places->stored_bytes,
		.copy = places->copy,
	};
	plan->n_ranges += n_ranges;
	b->n_done++;
	return CAIRN_OK;
}

/* @param n  number of terms of the plan, at least 1 */
static enum cairn_status plan_prepare(struct plan_builder *b, uint32_t n)
{
	struct cairn_plan *plan = b->plan;
	enum cairn_status status = plan_take_terms(b, n);
	if (status == CAIRN_OK)
		status = plan_order_terms(b);
	if (status != CAIRN_OK)
		return status;
	plan->ranges = malloc(n * sizeof(*plan->ranges));
	plan->xorbs = malloc(plan->n_xorbs * sizeof(*plan->xorbs));
	return plan->ranges && plan->xorbs ? CAIRN_OK : CAIRN_E_NOMEM;
}

/* Do the terms have as many bytes as the file's row? Otherwise clients would get a truncated file, without an error. */
static bool plan_size_is_right(const struct cairn_index_file *file)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < file->n_terms; i++)
		bytes += file->terms[i].unpacked_bytes;
	return bytes == file->size_bytes;
}

static enum cairn_status plan_choose(struct cairn_index_planner *planner, const struct cairn_index_file *file,
				     const int64_t **ids, uint32_t *n_ids, uint32_t with_spans[static 2])
{
	struct plan_builder *b = (struct plan_builder *)planner;
	uint64_t first, end;
	b->plan->file_bytes = file->size_bytes;
	if (!plan_size_is_right(file))
		return CAIRN_E_CONFLICT;
	if (!cairn_byte_range_find(b->range, file->size_bytes, &first, &end))
		return CAIRN_E_LIMIT;
	if (first == end)
		return CAIRN_OK;
	uint32_t from = 0, n = plan_find_terms(b, file, first, end, &from);
	b->terms = file->terms + from;
	enum cairn_status status = n > 0 ? plan_prepare(b, n) : CAIRN_E_CONFLICT;
	if (status != CAIRN_OK)
		return status;
	*ids = b->xorbs.ids;
	*n_ids = b->plan->n_xorbs;
	/* Single chunks matter only where the range begins or ends within a term. */
	if (b->skip_front > 0)
		with_spans[0] = b->plan->terms[0].xorb;
	if (b->skip_back > 0)
		with_spans[1] = b->plan->terms[n - 1].xorb;
	return CAIRN_OK;
}

static enum cairn_status plan_make(struct cairn_cas *cas, const char *viewer, const struct cairn_hash *hash,
				   const struct cairn_byte_range *range, uint32_t n_terms_max, struct cairn_plan *out)
{
	*out = (struct cairn_plan){0};
	CLEANUP(cairn_index_file_fini) struct cairn_index_file file = {0};
	CLEANUP(plan_builder_fini)
	struct plan_builder b = {.planner = {.n_terms_max = n_terms_max, .choose = plan_choose, .visit = plan_add_xorb},
				 .cas = cas,
				 .range = range,
				 .plan = out};
	enum cairn_status status = cairn_index_plan(cas->index, hash, viewer, &b.planner, &file);
	if (status == CAIRN_E_NOT_FOUND && out->n_terms > 0)
		status = CAIRN_E_CONFLICT; /* the file exists, but one of its xorbs does not */
	if (status == CAIRN_OK)
		out->offset_into_first_range = b.skip_front;
	else
		cairn_plan_fini(out);
	return status;
}

enum cairn_status cairn_cas_plan(struct cairn_cas *cas, const char *viewer, const struct cairn_hash *hash,
				 const struct cairn_byte_range *range, struct cairn_plan *out)
{
	return plan_make(cas, viewer, hash, range, UINT32_MAX, out);
}

enum cairn_status cairn_cas_plan_small(struct cairn_cas *cas, const char *viewer, const struct cairn_hash *hash,
				       struct cairn_plan *out)
{
	static const struct cairn_byte_range ALL = {.kind = CAIRN_RANGE_ALL};
	return plan_make(cas, viewer, hash, &ALL, CAIRN_PLAN_SMALL_TERMS, out);
}

enum cairn_status cairn_fetch_add_store_address(struct cairn_cas *cas, struct cairn_buf *out,
						const struct cairn_plan_xorb *xorb, uint64_t first, uint64_t last,
						uint64_t life_s)
{
	if (xorb->stored_bytes == 0)
		return CAIRN_E_NOT_FOUND;
	return cairn_store_add_address(cas->store, out, &xorb->hash, &xorb->copy, xorb->stored_bytes, first, last,
				       life_s);
}
