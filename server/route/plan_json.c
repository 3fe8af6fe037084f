#include "server/route/plan_json.h"

#include "base/decimal.h"
#include "cas/object/fetch_grant.h"
#include "cas/serve/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- pieces ------------------------------------------------------------------------------------------------------- */

/* Write the pieces of a term. A plan has tens of thousands of terms, and printf takes ten times as long. Each function
 * writes at the given position and returns the position after it, so that a whole term is added at once. */
enum {
	PLAN_SPAN_TEXT_MAX = 24 + 2 * CAIRN_DECIMAL_TEXT_MAX,
	PLAN_TERM_TEXT_MAX = 64 + CAIRN_HASH_TEXT_BYTES + CAIRN_DECIMAL_TEXT_MAX + PLAN_SPAN_TEXT_MAX,
	PLAN_RANGE_TEXT_MAX = 64 + 2 * PLAN_SPAN_TEXT_MAX,
};

static inline char *plan_put_text(char *at, const char *text)
{
	size_t len = strlen(text);
	memcpy(at, text, len);
	return at + len;
}

static char *plan_put_hash(char *at, const struct cairn_hash *hash)
{
	cairn_hash_text(at, hash);
	return at + CAIRN_HASH_TEXT_BYTES - 1;
}

static char *plan_put_span(char *at, uint64_t start, uint64_t end)
{
	at = cairn_decimal_text(plan_put_text(at, "{\"start\":"), start);
	at = cairn_decimal_text(plan_put_text(at, ",\"end\":"), end);
	return plan_put_text(at, "}");
}

static void plan_add(struct cairn_spill *out, const char *piece, const char *end)
{
	cairn_buf_add(&out->buf, piece, (size_t)(end - piece));
}

static void plan_text(struct cairn_spill *out, const char *text)
{
	cairn_buf_add(&out->buf, text, strlen(text));
}

/* --- plans -------------------------------------------------------------------------------------------------------- */

static void plan_write_terms(struct cairn_spill *out, const struct cairn_plan *plan)
{
	char piece[PLAN_TERM_TEXT_MAX];
	plan_text(out, "[");
	for (uint32_t i = 0; i < plan->n_terms; i++) {
		const struct cairn_plan_term *t = &plan->terms[i];
		char *at = plan_put_text(piece, i ? ",{\"hash\":\"" : "{\"hash\":\"");
		at = plan_put_hash(at, &plan->xorbs[t->xorb].hash);
		at = cairn_decimal_text(plan_put_text(at, "\",\"unpacked_length\":"), t->unpacked_bytes);
		at = plan_put_span(plan_put_text(at, ",\"range\":"), t->start, t->end);
		plan_add(out, piece, plan_put_text(at, "}"));
		cairn_spill_check(out);
	}
	plan_text(out, "]");
}

/* Writes the store's own URL of a range. @return false: it has none, and the range is fetched from this server */
static bool plan_write_store_url(struct cairn_spill *out, const struct plan_urls *urls,
				 const struct cairn_plan_xorb *xorb, const struct cairn_plan_range *range)
{
	size_t before = out->buf.len;
	plan_text(out, "\"url\":\"");
	enum cairn_status status = cairn_fetch_add_store_address(urls->cas, &out->buf, xorb, range->first_byte,
								 range->end_byte - 1, urls->store_life_s);
	if (status == CAIRN_E_NOT_FOUND) {
		out->buf.len = before;
		return false;
	}
	plan_text(out, "\"");
	if (status != CAIRN_OK)
		out->status = status;
	return true;
}

static void plan_write_url(struct cairn_spill *out, const struct plan_urls *urls, const struct cairn_plan_xorb *xorb,
			   const struct cairn_plan_range *ranges, uint32_t n)
{
	char text[CAIRN_FETCH_RANGES_TEXT_MAX], signature[CAIRN_FETCH_SIGNATURE_TEXT_BYTES];
	char *end = text;
	if (urls->store_life_s > 0 && plan_write_store_url(out, urls, xorb, ranges))
		return;
	for (uint32_t i = 0; i < n; i++) {
		if (i > 0)
			*end++ = ',';
		end = cairn_decimal_text(end, ranges[i].first_byte);
		*end++ = '-';
		end = cairn_decimal_text(end, ranges[i].end_byte - 1);
	}
	*end = '\0';
	enum cairn_status status = cairn_fetch_sign(urls->cas, &xorb->hash, text, urls->expires_unix_s, signature);
	if (status != CAIRN_OK) {
		out->status = status;
		return;
	}
	char hash[CAIRN_HASH_TEXT_BYTES], expires[64 + CAIRN_DECIMAL_TEXT_MAX];
	plan_text(out, "\"url\":\"");
	plan_text(out, urls->base);
	plan_text(out, "/v1/fetch/");
	plan_add(out, hash, plan_put_hash(hash, &xorb->hash));
	plan_text(out, "?ranges=");
	plan_add(out, text, end);
	end = cairn_decimal_text(plan_put_text(expires, "&expires="), (uint64_t)urls->expires_unix_s);
	plan_add(out, expires, plan_put_text(end, "&signature="));
	plan_text(out, signature);
	plan_text(out, "\"");
}

static void plan_write_v1_ranges(struct cairn_spill *out, const struct cairn_plan_xorb *xorb,
				 const struct cairn_plan_range *ranges, uint32_t n, const struct plan_urls *urls)
{
	char piece[PLAN_RANGE_TEXT_MAX];
	for (uint32_t i = 0; i < n; i++) {
		const struct cairn_plan_range *r = &ranges[i];
		char *at = plan_put_span(plan_put_text(piece, i ? ",{\"range\":" : "{\"range\":"), r->start, r->end);
		plan_add(out, piece, plan_put_text(at, ","));
		plan_write_url(out, urls, xorb, r, 1);
		at = plan_put_span(plan_put_text(piece, ",\"url_range\":"), r->first_byte, r->end_byte - 1);
		plan_add(out, piece, plan_put_text(at, "}"));
		cairn_spill_check(out);
	}
}

static void plan_write_key(struct cairn_spill *out, const struct cairn_hash *hash, bool first)
{
	char text[CAIRN_HASH_TEXT_BYTES];
	plan_text(out, first ? "\"" : ",\"");
	plan_add(out, text, plan_put_hash(text, hash));
	plan_text(out, "\":[");
}

void plan_write_v1(struct cairn_spill *out, const struct cairn_plan *plan, const struct plan_urls *urls)
{
	cairn_buf_printf(&out->buf,
			 "{\"offset_into_first_range\":%" PRIu64 ",\"terms\":", plan->offset_into_first_range);
	plan_write_terms(out, plan);
	plan_text(out, ",\"fetch_info\":{");
	for (uint32_t i = 0; i < plan->n_xorbs; i++) {
		const struct cairn_plan_xorb *xorb = &plan->xorbs[i];
		plan_write_key(out, &xorb->hash, i == 0);
		plan_write_v1_ranges(out, xorb, plan->ranges + xorb->first_range, xorb->n_ranges, urls);
		plan_text(out, "]");
	}
	plan_text(out, "}}");
}

static void plan_write_v2_fetch(struct cairn_spill *out, const struct cairn_plan_xorb *xorb,
				const struct cairn_plan_range *ranges, uint32_t n, const struct plan_urls *urls)
{
	char piece[PLAN_RANGE_TEXT_MAX];
	plan_text(out, "{");
	plan_write_url(out, urls, xorb, ranges, n);
	plan_text(out, ",\"ranges\":[");
	for (uint32_t i = 0; i < n; i++) {
		char *at = plan_put_text(piece, i ? ",{\"chunks\":" : "{\"chunks\":");
		at = plan_put_span(at, ranges[i].start, ranges[i].end);
		at = plan_put_span(plan_put_text(at, ",\"bytes\":"), ranges[i].first_byte, ranges[i].end_byte - 1);
		plan_add(out, piece, plan_put_text(at, "}"));
	}
	plan_text(out, "]}");
	cairn_spill_check(out);
}

void plan_write_v2(struct cairn_spill *out, const struct cairn_plan *plan, const struct plan_urls *urls)
{
	cairn_buf_printf(&out->buf,
			 "{\"offset_into_first_range\":%" PRIu64 ",\"terms\":", plan->offset_into_first_range);
	plan_write_terms(out, plan);
	plan_text(out, ",\"xorbs\":{");
	for (uint32_t i = 0; i < plan->n_xorbs; i++) {
		const struct cairn_plan_xorb *xorb = &plan->xorbs[i];
		plan_write_key(out, &xorb->hash, i == 0);
		/* a URL of the store is for a single range */
		unsigned max = urls->store_life_s > 0 ? 1 : urls->ranges_max;
		for (uint32_t done = 0; done < xorb->n_ranges;) {
			uint32_t n = xorb->n_ranges - done < max ? xorb->n_ranges - done : max;
			if (done > 0)
				plan_text(out, ",");
			plan_write_v2_fetch(out, xorb, &plan->ranges[xorb->first_range + done], n, urls);
			done += n;
		}
		plan_text(out, "]");
	}
	plan_text(out, "}}");
}

/* --- many files at once ------------------------------------------------------------------------------------------- */

struct plan_use {
	const struct cairn_plan *plan;
	const struct cairn_plan_xorb *xorb;
};

static int plan_by_hash(const void *pa, const void *pb)
{
	const struct plan_use *a = pa, *b = pb;
	return memcmp(a->xorb->hash.b, b->xorb->hash.b, CAIRN_HASH_BYTES);
}

static int plan_by_start(const void *pa, const void *pb)
{
	const struct cairn_plan_range *a = pa, *b = pb;
	return a->start < b->start ? -1 : a->start > b->start;
}

/* Merges the ranges of one xorb that n files need. @param[out] out room for all @return the number of merged ranges */
static uint32_t plan_merge_ranges(struct cairn_plan_range *out, const struct plan_use *uses, size_t n)
{
	uint32_t n_all = 0, last = 0;
	for (size_t i = 0; i < n; i++) {
		const struct cairn_plan_xorb *xorb = uses[i].xorb;
		memcpy(out + n_all, uses[i].plan->ranges + xorb->first_range, xorb->n_ranges * sizeof(*out));
		n_all += xorb->n_ranges;
	}
	qsort(out, n_all, sizeof(*out), plan_by_start);
	for (uint32_t i = 1; i < n_all; i++) {
		if (out[i].start > out[last].end) {
			out[++last] = out[i];
		} else if (out[i].end > out[last].end) {
			out[last].end = out[i].end;
			out[last].end_byte = out[i].end_byte;
		}
	}
	return last + 1;
}

/* Writes a xorb once, with the ranges of all files that use it. */
static void plan_write_uses(struct cairn_spill *out, const struct cairn_plan *plans, size_t n,
			    const struct plan_urls *urls)
{
	size_t n_uses = 0, n_ranges = 0, at = 0;
	for (size_t i = 0; i < n; i++) {
		n_uses += plans[i].n_xorbs;
		n_ranges += plans[i].n_ranges;
	}
	struct plan_use *uses = calloc(n_uses + 1, sizeof(*uses));
	struct cairn_plan_range *ranges = calloc(n_ranges + 1, sizeof(*ranges));
	if (!uses || !ranges)
		out->status = CAIRN_E_NOMEM;
	for (size_t i = 0; i < n && out->status == CAIRN_OK; i++)
		for (uint32_t x = 0; x < plans[i].n_xorbs; x++)
			uses[at++] = (struct plan_use){&plans[i], &plans[i].xorbs[x]};
	if (at > 0)
		qsort(uses, at, sizeof(*uses), plan_by_hash);
	for (size_t i = 0; i < at;) {
		size_t same = 1;
		while (i + same < at && plan_by_hash(&uses[i], &uses[i + same]) == 0)
			same++;
		plan_write_key(out, &uses[i].xorb->hash, i == 0);
		plan_write_v1_ranges(out, uses[i].xorb, ranges, plan_merge_ranges(ranges, &uses[i], same), urls);
		plan_text(out, "]");
		i += same;
	}
	free(ranges);
	free(uses);
}

/* Writes the offsets of ranges, for which the batch form has no member: a batch of ranges gets a member of ours. */
static void plan_write_offsets(struct cairn_spill *out, const struct cairn_hash *files, const struct cairn_plan *plans,
			       size_t n)
{
	plan_text(out, ",\"offsets_into_first_range\":{");
	for (size_t i = 0; i < n; i++) {
		char hash[CAIRN_HASH_TEXT_BYTES];
		cairn_hash_text(hash, &files[i]);
		cairn_buf_printf(&out->buf, "%s\"%s\":%" PRIu64, i ? "," : "", hash, plans[i].offset_into_first_range);
	}
	plan_text(out, "}");
}

void plan_write_batch(struct cairn_spill *out, const struct cairn_hash *files, const struct cairn_plan *plans, size_t n,
		      bool is_range, const struct plan_urls *urls)
{
	plan_text(out, "{\"files\":{");
	for (size_t i = 0; i < n; i++) {
		char hash[CAIRN_HASH_TEXT_BYTES];
		cairn_hash_text(hash, &files[i]);
		cairn_buf_printf(&out->buf, "%s\"%s\":", i ? "," : "", hash);
		plan_write_terms(out, &plans[i]);
	}
	plan_text(out, "}");
	if (is_range)
		plan_write_offsets(out, files, plans, n);
	plan_text(out, ",\"fetch_info\":{");
	plan_write_uses(out, plans, n, urls);
	plan_text(out, "}}");
}
