#include "cli/pull/pull_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pull_plan_fini(struct pull_plan *plan)
{
	cairn_json_free(plan->json);
	free(plan->terms);
	free(plan->uses);
	free(plan->units);
	*plan = (struct pull_plan){0};
}

static enum cairn_status plan_wrong(struct cairn_diag *diag, const char *what)
{
	return cairn_fail(diag, CAIRN_E_MISMATCH, "plan.content", CAIRN_NO_OFFSET,
			  "the server's plan of the file cannot be used: %s", what);
}

static bool plan_number(const struct cairn_json *object, const char *name, uint64_t max, uint64_t *out)
{
	int64_t number = -1;
	if (!cairn_json_i64_of(object, name, &number) || number < 0 || (uint64_t)number > max)
		return false;
	*out = (uint64_t)number;
	return true;
}

/* Reads {"start":a,"end":b}: a range of at least one chunk. */
static bool plan_chunks(const struct cairn_json *range, uint32_t *start, uint32_t *end)
{
	uint64_t a, b;
	if (!plan_number(range, "start", UINT32_MAX, &a) || !plan_number(range, "end", UINT32_MAX, &b) || a >= b)
		return false;
	*start = (uint32_t)a;
	*end = (uint32_t)b;
	return true;
}

static enum cairn_status plan_read_term(struct pull_plan *plan, const struct cairn_json *json, struct cairn_diag *diag)
{
	struct pull_term *t = &plan->terms[plan->n_terms];
	const char *hash = cairn_json_text_of(json, "hash");
	if (!hash || cairn_hash_parse(&t->xorb, hash, strlen(hash)) != CAIRN_OK ||
	    !plan_number(json, "unpacked_length", UINT32_MAX, &t->bytes) ||
	    !plan_chunks(cairn_json_get(json, "range"), &t->start, &t->end))
		return plan_wrong(diag, "a term has no hash, unpacked_length or range");
	uint32_t n = t->end - t->start;
	if (t->bytes < n)
		return plan_wrong(diag, "a term has more chunks than bytes");
	if (n > PULL_PLAN_CHUNKS_MAX - plan->n_chunks)
		return cairn_fail(diag, CAIRN_E_LIMIT, "plan.chunks", CAIRN_NO_OFFSET,
				  "the plan has more than %d chunks for one window", PULL_PLAN_CHUNKS_MAX);
	t->at = t->next_at = plan->end;
	t->slot = plan->n_chunks;
	plan->n_chunks += n;
	plan->end += t->bytes;
	plan->n_terms++;
	return CAIRN_OK;
}

static enum cairn_status plan_read_terms(struct pull_plan *plan, uint64_t first, uint64_t end, uint64_t file_bytes,
					 struct cairn_diag *diag)
{
	const struct cairn_json *terms = cairn_json_get(plan->json, "terms");
	size_t n = cairn_json_count(terms);
	uint64_t skip = 0;
	if (!cairn_json_is_array(terms) || !plan_number(plan->json, "offset_into_first_range", first, &skip))
		return plan_wrong(diag, "it has no terms or offset_into_first_range");
	plan->terms = calloc(n + 1, sizeof(*plan->terms));
	if (!plan->terms)
		return CAIRN_E_NOMEM;
	plan->at = plan->end = first - skip;
	for (size_t i = 0; i < n; i++) {
		enum cairn_status status = plan_read_term(plan, cairn_json_at(terms, i), diag);
		if (status != CAIRN_OK)
			return status;
	}
	if (plan->end < end || plan->end > file_bytes) {
		(void)plan_wrong(diag, "its terms do not make the bytes that were asked for");
		cairn_diag_numbers(diag, end, plan->end);
		return CAIRN_E_MISMATCH;
	}
	return CAIRN_OK;
}

static int plan_by_xorb(const void *pa, const void *pb, void *ctx)
{
	const struct pull_term *terms = ctx, *a = &terms[*(const size_t *)pa], *b = &terms[*(const size_t *)pb];
	int order = memcmp(a->xorb.b, b->xorb.b, sizeof(a->xorb.b));
	if (order == 0)
		order = (a->start > b->start) - (a->start < b->start);
	return order != 0 ? order : (a > b) - (a < b);
}

static bool plan_add_unit(struct pull_plan *plan, const struct pull_unit *unit)
{
	if (plan->n_units == plan->cap_units) {
		size_t cap = plan->cap_units ? 2 * plan->cap_units : 64;
		struct pull_unit *more = realloc(plan->units, cap * sizeof(*more));
		if (!more)
			return false;
		plan->units = more;
		plan->cap_units = cap;
	}
	plan->units[plan->n_units++] = *unit;
	return true;
}

/* Reads one range of a URL. Takes the terms within the range, which come next among the uses of its xorb. */
static enum cairn_status plan_read_range(struct pull_plan *plan, const struct cairn_json *range, struct pull_unit *unit,
					 size_t uses_end, struct cairn_diag *diag)
{
	const struct cairn_json *bytes = cairn_json_get(range, "bytes");
	if (!plan_chunks(cairn_json_get(range, "chunks"), &unit->start, &unit->end) ||
	    !plan_number(bytes, "start", INT64_MAX, &unit->range.first) ||
	    !plan_number(bytes, "end", INT64_MAX - 1, &unit->range.last) || unit->range.first > unit->range.last)
		return plan_wrong(diag, "a range of a xorb has no chunks or bytes");
	size_t at = unit->first_use + unit->n_uses;
	unit->first_use = at;
	while (at < uses_end && plan->terms[plan->uses[at]].start >= unit->start &&
	       plan->terms[plan->uses[at]].end <= unit->end)
		at++;
	unit->n_uses = at - unit->first_use;
	if (unit->n_uses == 0)
		return CAIRN_OK; /* no term needs the range, so it is not fetched */
	return plan_add_unit(plan, unit) ? CAIRN_OK : CAIRN_E_NOMEM;
}

static enum cairn_status plan_read_xorb(struct pull_plan *plan, size_t first_use, size_t uses_end,
					struct cairn_diag *diag)
{
	struct pull_unit unit = {.xorb = plan->terms[plan->uses[first_use]].xorb, .first_use = first_use};
	char hash[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(hash, &unit.xorb);
	const struct cairn_json *urls = cairn_json_get(cairn_json_get(plan->json, "xorbs"), hash);
	enum cairn_status status = CAIRN_OK;
	for (size_t u = 0; u < cairn_json_count(urls) && status == CAIRN_OK; u++) {
		const struct cairn_json *ranges = cairn_json_get(cairn_json_at(urls, u), "ranges");
		unit.range.url = cairn_json_text_of(cairn_json_at(urls, u), "url");
		if (!unit.range.url || cairn_json_count(ranges) == 0)
			return plan_wrong(diag, "a xorb has no url or ranges");
		for (size_t i = 0; i < cairn_json_count(ranges) && status == CAIRN_OK; i++)
			status = plan_read_range(plan, cairn_json_at(ranges, i), &unit, uses_end, diag);
	}
	if (status == CAIRN_OK && unit.first_use + unit.n_uses != uses_end)
		return plan_wrong(diag, "no range of a xorb holds all chunks of a term");
	return status;
}

static enum cairn_status plan_read_xorbs(struct pull_plan *plan, struct cairn_diag *diag)
{
	enum cairn_status status = CAIRN_OK;
	plan->uses = calloc(plan->n_terms + 1, sizeof(*plan->uses));
	if (!plan->uses)
		return CAIRN_E_NOMEM;
	for (size_t i = 0; i < plan->n_terms; i++)
		plan->uses[i] = i;
	qsort_r(plan->uses, plan->n_terms, sizeof(*plan->uses), plan_by_xorb, plan->terms);
	for (size_t i = 0, end; i < plan->n_terms && status == CAIRN_OK; i = end) {
		const struct cairn_hash *xorb = &plan->terms[plan->uses[i]].xorb;
		for (end = i + 1; end < plan->n_terms; end++)
			if (!cairn_hash_equal(xorb, &plan->terms[plan->uses[end]].xorb))
				break;
		status = plan_read_xorb(plan, i, end, diag);
	}
	return status;
}

enum cairn_status pull_plan_parse(struct pull_plan *out, const uint8_t *json, size_t len, uint64_t first, uint64_t end,
				  uint64_t file_bytes, struct cairn_diag *diag)
{
	*out = (struct pull_plan){0};
	if (cairn_json_parse_some(&out->json, (const char *)json, len, PULL_PLAN_VALUES_MAX) != CAIRN_OK)
		return plan_wrong(diag, "it is not JSON, or has too many values");
	enum cairn_status status = plan_read_terms(out, first, end, file_bytes, diag);
	if (status == CAIRN_OK)
		status = plan_read_xorbs(out, diag);
	if (status != CAIRN_OK)
		pull_plan_fini(out);
	return status;
}

enum cairn_status pull_plan_get(struct pull_plan *out, struct client *client, const struct cairn_hash *file,
				uint64_t first, uint64_t end, uint64_t file_bytes, struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf answer = cairn_buf_init(PULL_PLAN_BYTES_MAX);
	char text[CAIRN_HASH_TEXT_BYTES], path[128];
	*out = (struct pull_plan){0};
	cairn_hash_text(text, file);
	(void)snprintf(path, sizeof(path), "/v2/reconstructions/%s", text);
	enum cairn_status status = client_get_range(client, path, first, end - 1, &answer, diag);
	if (status != CAIRN_OK)
		return status;
	return pull_plan_parse(out, answer.bytes, answer.len, first, end, file_bytes, diag);
}
