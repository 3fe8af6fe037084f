#include "mirror/hub/ask_plan.h"

#include "base/json.h"
#include "hash/chunk_list.h"
#include "mirror/hub/ask_refused.h"

#include <stdlib.h>
#include <string.h>

/* --- the service of plans ----------------------------------------------------------------------------------------- */

void mirror_ask_cas(struct mirror_call *call)
{
	call->body_bytes_max = MIRROR_CAS_BYTES_MAX;
	call->deadline_ms = MIRROR_CAS_MS;
}

/* May a text be a token? It becomes a part of a header. */
static bool ask_plan_is_token(const char *text)
{
	for (const char *at = text; *at; at++)
		if (*at <= 0x20 || *at >= 0x7f)
			return false;
	return text[0] != '\0';
}

enum cairn_status mirror_read_cas(struct mirror_cas *out, const struct mirror_call *call, struct cairn_diag *diag)
{
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	*out = (struct mirror_cas){.url = ""};
	if (call->code != 200)
		return mirror_read_refused(call, diag);
	if (cairn_json_parse_some(&json, (const char *)call->body.bytes, call->body.len, MIRROR_PLAN_VALUES_MAX) !=
		    CAIRN_OK ||
	    !cairn_json_copy_of(json, "accessToken", NULL, out->token, sizeof(out->token)) ||
	    !ask_plan_is_token(out->token))
		return mirror_no_hub("a token for reading the store is not as it should be", diag);
	size_t len = cairn_json_copy_of(json, "casUrl", NULL, out->url, sizeof(out->url)) ? strlen(out->url) : 0;
	if (len > 0 && out->url[len - 1] == '/')
		out->url[--len] = '\0';
	return len > 0 ? CAIRN_OK : mirror_no_hub("the address of the store is missing, or too long", diag);
}

/* --- terms -------------------------------------------------------------------------------------------------------- */

void mirror_plan_fini(struct mirror_plan *plan)
{
	free(plan->terms);
	*plan = (struct mirror_plan){.file_bytes = plan->file_bytes};
}

static enum cairn_status ask_plan_false(const char *how, struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_FORMAT, "mirror.plan", CAIRN_NO_OFFSET,
			  "the upstream's plan of a file %s; the file is fetched without it", how);
}

static enum cairn_status ask_plan_has_room(struct mirror_plan *plan, struct cairn_diag *diag)
{
	if (plan->n == MIRROR_PLAN_TERMS_MAX)
		return cairn_fail(diag, CAIRN_E_LIMIT, "mirror.plan", CAIRN_NO_OFFSET,
				  "the upstream's plan of a file has more than %d terms; the file is fetched without "
				  "it",
				  MIRROR_PLAN_TERMS_MAX);
	if (plan->n < plan->cap)
		return CAIRN_OK;
	uint32_t cap = plan->cap ? 2 * plan->cap : 64;
	struct mirror_plan_term *terms = realloc(plan->terms, cap * sizeof(*terms));
	if (!terms)
		return CAIRN_E_NOMEM;
	plan->terms = terms;
	plan->cap = cap;
	return CAIRN_OK;
}

enum cairn_status mirror_plan_add(struct mirror_plan *plan, const struct mirror_plan_term *term,
				  struct cairn_diag *diag)
{
	if (term->first >= term->past || term->past > CAIRN_XORB_CHUNKS_MAX || term->bytes == 0)
		return ask_plan_false("has a term without chunks", diag);
	if (term->bytes > plan->file_bytes - plan->bytes)
		return ask_plan_false("is longer than the file", diag);
	enum cairn_status status = ask_plan_has_room(plan, diag);
	if (status != CAIRN_OK)
		return status;
	plan->terms[plan->n++] = *term;
	plan->bytes += term->bytes;
	return CAIRN_OK;
}

/* --- plans -------------------------------------------------------------------------------------------------------- */

void mirror_ask_plan(struct mirror_call *call, const struct mirror_plan *plan)
{
	uint64_t left = plan->file_bytes - plan->bytes;
	call->body_bytes_max = MIRROR_PLAN_BYTES_MAX;
	call->deadline_ms = MIRROR_PLAN_MS;
	call->range_first = plan->bytes;
	call->range_end = plan->bytes + (left < MIRROR_PLAN_WINDOW ? left : MIRROR_PLAN_WINDOW);
}

static bool ask_plan_number(const struct cairn_json *object, const char *name, uint32_t *out)
{
	int64_t number;
	if (!cairn_json_i64_of(object, name, &number) || number < 0 || number > UINT32_MAX)
		return false;
	*out = (uint32_t)number;
	return true;
}

static bool ask_plan_span(const struct cairn_json *object, const char *name, uint32_t *start, uint32_t *end)
{
	const struct cairn_json *span = cairn_json_get(object, name);
	return ask_plan_number(span, "start", start) && ask_plan_number(span, "end", end);
}

/* Reads a term. @return false: it is malformed */
static bool ask_plan_term(struct mirror_plan_term *out, const struct cairn_json *term)
{
	const char *hash = cairn_json_text_of(term, "hash");
	out->packed = 0;
	return hash && cairn_hash_parse(&out->xorb, hash, strlen(hash)) == CAIRN_OK &&
	       ask_plan_number(term, "unpacked_length", &out->bytes) &&
	       ask_plan_span(term, "range", &out->first, &out->past);
}

/* Returns the term's share of a range that has its chunks; 0: the range has not. */
static uint32_t ask_plan_share(const struct mirror_plan_term *term, const struct cairn_json *range)
{
	uint32_t first, past, at, last;
	if (!ask_plan_span(range, "chunks", &first, &past) || !ask_plan_span(range, "bytes", &at, &last) ||
	    term->first < first || term->past > past || term->first >= term->past || last < at)
		return 0;
	uint64_t share = ((uint64_t)last - at + 1) * (term->past - term->first) / (past - first);
	return share > UINT32_MAX ? UINT32_MAX : (uint32_t)share;
}

/* Estimates how many bytes of its xorb contain the chunks of a term. @param steps  remaining steps */
static void ask_plan_estimate(struct mirror_plan_term *term, const struct cairn_json *fetches, uint32_t *steps)
{
	for (size_t i = 0; i < cairn_json_count(fetches) && term->packed == 0; i++) {
		const struct cairn_json *ranges = cairn_json_get(cairn_json_at(fetches, i), "ranges");
		for (size_t j = 0; j < cairn_json_count(ranges) && term->packed == 0 && *steps > 0; j++) {
			*steps -= 1;
			term->packed = ask_plan_share(term, cairn_json_at(ranges, j));
		}
	}
}

static enum cairn_status ask_plan_terms(struct mirror_plan *plan, const struct cairn_json *json,
					struct cairn_diag *diag)
{
	enum cairn_status status = CAIRN_OK;
	const struct cairn_json *terms = cairn_json_get(json, "terms"), *xorbs = cairn_json_get(json, "xorbs");
	uint32_t steps = MIRROR_PLAN_STEPS_MAX;
	size_t n = cairn_json_count(terms);
	for (size_t i = 0; i < n && status == CAIRN_OK; i++) {
		struct mirror_plan_term term;
		const struct cairn_json *said = cairn_json_at(terms, i);
		if (!ask_plan_term(&term, said))
			return mirror_no_hub("a term of a plan lacks its hash, length or range", diag);
		ask_plan_estimate(&term, cairn_json_get(xorbs, cairn_json_text_of(said, "hash")), &steps);
		status = mirror_plan_add(plan, &term, diag);
	}
	return status;
}

/* Parses the answer to a request for a plan. @param n_values_max  most values of its JSON */
static enum cairn_status ask_plan_parse(struct cairn_json **json, const struct mirror_call *call, size_t n_values_max,
					struct cairn_diag *diag)
{
	if (call->code != 200 && call->code != 206)
		return mirror_read_refused(call, diag);
	if (cairn_json_parse_some(json, (const char *)call->body.bytes, call->body.len, n_values_max) != CAIRN_OK)
		return mirror_no_hub("a plan is not JSON", diag);
	return CAIRN_OK;
}

enum cairn_status mirror_read_plan(struct mirror_plan *plan, const struct mirror_call *call, struct cairn_diag *diag)
{
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	int64_t offset;
	enum cairn_status status = ask_plan_parse(&json, call, MIRROR_PLAN_VALUES_MAX, diag);
	if (status != CAIRN_OK)
		return status;
	const struct cairn_json *terms = cairn_json_get(json, "terms");
	if (!cairn_json_is_array(terms) || !cairn_json_i64_of(json, "offset_into_first_range", &offset) || offset != 0)
		return mirror_no_hub("a plan has no terms, or does not begin where it should", diag);
	status = ask_plan_terms(plan, json, diag);
	if (status != CAIRN_OK || plan->bytes >= call->range_end)
		return status;
	return ask_plan_false("is shorter than the bytes that were asked for", diag);
}

/* --- ranges of xorbs ---------------------------------------------------------------------------------------------- */

void mirror_packed_fini(struct mirror_packed *packed)
{
	for (uint32_t i = 0; i < packed->n_ranges; i++)
		free(packed->ranges[i].url);
	packed->skip = packed->bytes = packed->packed_bytes = 0;
	packed->n_terms = packed->n_ranges = 0;
}

void mirror_ask_packed(struct mirror_call *call, uint64_t first, uint64_t end)
{
	call->body_bytes_max = MIRROR_PACKED_ANSWER_MAX;
	call->deadline_ms = MIRROR_PLAN_MS;
	call->range_first = first;
	call->range_end = end;
}

/* @return false: not a range, or it lacks chunks of the term */
static bool ask_packed_range(struct mirror_packed_range *out, const struct cairn_json *said,
			     const struct mirror_plan_term *term)
{
	uint32_t at, last;
	if (!ask_plan_span(said, "range", &out->first, &out->past) || !ask_plan_span(said, "url_range", &at, &last) ||
	    !cairn_json_text_of(said, "url") || last < at)
		return false;
	out->xorb = term->xorb;
	out->at = at;
	out->end = (uint64_t)last + 1;
	return out->first <= term->first && term->past <= out->past && out->past <= CAIRN_XORB_CHUNKS_MAX;
}

/* Finds the range of a term among those already used. @return n_ranges: none */
static uint32_t ask_packed_used(const struct mirror_packed *packed, const struct mirror_packed_range *range)
{
	uint32_t i = 0;
	while (i < packed->n_ranges &&
	       !(packed->ranges[i].first == range->first && packed->ranges[i].past == range->past &&
		 packed->ranges[i].at == range->at && cairn_hash_equal(&packed->ranges[i].xorb, &range->xorb)))
		i++;
	return i;
}

static enum cairn_status ask_packed_use(struct mirror_packed *packed, struct mirror_packed_range *range,
					const char *url, uint32_t *number, struct cairn_diag *diag)
{
	*number = ask_packed_used(packed, range);
	if (*number < packed->n_ranges)
		return CAIRN_OK;
	if (packed->n_ranges == MIRROR_PACKED_RANGES_MAX)
		return cairn_fail(diag, CAIRN_E_LIMIT, "mirror.plan", CAIRN_NO_OFFSET,
				  "a stretch of a file consists of more than %d ranges upstream",
				  MIRROR_PACKED_RANGES_MAX);
	range->url = strdup(url);
	if (!range->url)
		return CAIRN_E_NOMEM;
	packed->ranges[packed->n_ranges++] = *range;
	packed->packed_bytes += range->end - range->at;
	return CAIRN_OK;
}

static enum cairn_status ask_packed_term(struct mirror_packed *packed, const struct mirror_plan_term *term,
					 const struct cairn_json *ranges, uint64_t at, struct cairn_diag *diag)
{
	struct mirror_packed_term *out = &packed->terms[packed->n_terms++];
	*out = (struct mirror_packed_term){.first = term->first, .past = term->past, .bytes = term->bytes, .at = at};
	for (size_t i = 0; i < cairn_json_count(ranges); i++) {
		struct mirror_packed_range range;
		const struct cairn_json *said = cairn_json_at(ranges, i);
		if (ask_packed_range(&range, said, term))
			return ask_packed_use(packed, &range, cairn_json_text_of(said, "url"), &out->range, diag);
	}
	return ask_plan_false("has a term whose bytes are nowhere", diag);
}

/* Reads the terms. A stretch begins and ends within chunks, all bytes of which arrive. */
static enum cairn_status ask_packed_terms(struct mirror_packed *packed, struct mirror_plan *plan,
					  const struct cairn_json *json, struct cairn_diag *diag)
{
	const struct cairn_json *terms = cairn_json_get(json, "terms"), *info = cairn_json_get(json, "fetch_info");
	enum cairn_status status = CAIRN_OK;
	size_t n = cairn_json_count(terms);
	if (n > MIRROR_PACKED_TERMS_MAX)
		return ask_plan_false("has many terms for a stretch of it", diag);
	for (size_t i = 0; i < n && status == CAIRN_OK; i++) {
		struct mirror_plan_term term;
		const struct cairn_json *said = cairn_json_at(terms, i);
		uint64_t at = plan->bytes;
		if (!ask_plan_term(&term, said))
			return mirror_no_hub("a term of a plan lacks its hash, length or range", diag);
		status = mirror_plan_add(plan, &term, diag);
		if (status == CAIRN_OK)
			status = ask_packed_term(packed, &term, cairn_json_get(info, cairn_json_text_of(said, "hash")),
						 at, diag);
	}
	return status;
}

enum cairn_status mirror_read_packed(struct mirror_packed *out, const struct mirror_call *call, struct cairn_diag *diag)
{
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	int64_t skip;
	enum cairn_status status = ask_plan_parse(&json, call, MIRROR_PACKED_VALUES_MAX, diag);
	if (status != CAIRN_OK)
		return status;
	if (!cairn_json_i64_of(json, "offset_into_first_range", &skip) || skip < 0 || skip >= CAIRN_CHUNK_BYTES_MAX)
		return mirror_no_hub("a plan does not begin where it should", diag);
	out->skip = (uint64_t)skip;
	out->bytes = call->range_end - call->range_first;
	CLEANUP(mirror_plan_fini)
	struct mirror_plan plan = {.file_bytes = out->bytes + UINT64_C(2) * CAIRN_CHUNK_BYTES_MAX};
	status = ask_packed_terms(out, &plan, json, diag);
	if (status != CAIRN_OK || plan.bytes >= out->skip + out->bytes)
		return status;
	return ask_plan_false("is shorter than the bytes that were asked for", diag);
}
