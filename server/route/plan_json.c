#include "server/route/plan_json.h"

#include "cas/fetch_grant.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- pieces: a plan has tens of thousands, and printf takes ten times as long for each -----------------------------
 */

static void plan_text(struct cairn_buf *b, const char *text)
{
	cairn_buf_add(b, text, strlen(text));
}

static void plan_hash(struct cairn_buf *b, const struct cairn_hash *hash)
{
	char text[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(text, hash);
	cairn_buf_add(b, text, sizeof(text) - 1);
}

static void plan_number(struct cairn_buf *b, uint64_t n)
{
	char digits[20];
	size_t at = sizeof(digits);
	do {
		digits[--at] = (char)('0' + n % 10);
		n /= 10;
	} while (n > 0);
	cairn_buf_add(b, digits + at, sizeof(digits) - at);
}

static void plan_span(struct cairn_buf *b, uint64_t start, uint64_t end)
{
	plan_text(b, "{\"start\":");
	plan_number(b, start);
	plan_text(b, ",\"end\":");
	plan_number(b, end);
	plan_text(b, "}");
}

/* --- plans -------------------------------------------------------------------------------------------------------- */

static void plan_write_terms(struct spill *out, const struct cairn_plan *plan)
{
	struct cairn_buf *b = &out->buf;
	plan_text(b, "[");
	for (uint32_t i = 0; i < plan->n_terms; i++) {
		const struct cairn_plan_term *t = &plan->terms[i];
		plan_text(b, i ? ",{\"hash\":\"" : "{\"hash\":\"");
		plan_hash(b, &plan->xorbs[t->xorb].hash);
		plan_text(b, "\",\"unpacked_length\":");
		plan_number(b, t->unpacked_bytes);
		plan_text(b, ",\"range\":");
		plan_span(b, t->start, t->end);
		plan_text(b, "}");
		spill_check(out);
	}
	plan_text(b, "]");
}

/* A signed URL for n ranges of a xorb. */
static void plan_write_url(struct spill *out, const struct plan_urls *urls, const struct cairn_plan_xorb *xorb,
			   const struct cairn_plan_range *ranges, uint32_t n)
{
	char text[CAIRN_FETCH_RANGES_TEXT_MAX], signature[CAIRN_FETCH_SIGNATURE_TEXT_BYTES],
		hash[CAIRN_HASH_TEXT_BYTES];
	size_t len = 0;
	for (uint32_t i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%" PRIu64 "-%" PRIu64, i ? "," : "",
					ranges[i].first_byte, ranges[i].end_byte - 1);
	enum cairn_status status = cairn_fetch_sign(urls->cas, &xorb->hash, text, urls->expires_unix_s, signature);
	if (status != CAIRN_OK) {
		out->status = status;
		return;
	}
	cairn_hash_text(hash, &xorb->hash);
	cairn_buf_printf(&out->buf, "\"url\":\"%s/v1/fetch/%s?ranges=%s&expires=%" PRId64 "&signature=%s\"", urls->base,
			 hash, text, urls->expires_unix_s, signature);
}

static void plan_write_v1_ranges(struct spill *out, const struct cairn_plan_xorb *xorb,
				 const struct cairn_plan_range *ranges, uint32_t n, const struct plan_urls *urls)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct cairn_plan_range *r = &ranges[i];
		plan_text(&out->buf, i ? ",{\"range\":" : "{\"range\":");
		plan_span(&out->buf, r->start, r->end);
		plan_text(&out->buf, ",");
		plan_write_url(out, urls, xorb, r, 1);
		plan_text(&out->buf, ",\"url_range\":");
		plan_span(&out->buf, r->first_byte, r->end_byte - 1);
		plan_text(&out->buf, "}");
		spill_check(out);
	}
}

static void plan_write_key(struct spill *out, const struct cairn_hash *hash, bool first)
{
	char text[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(text, hash);
	cairn_buf_printf(&out->buf, "%s\"%s\":[", first ? "" : ",", text);
}

void plan_write_v1(struct spill *out, const struct cairn_plan *plan, const struct plan_urls *urls)
{
	cairn_buf_printf(&out->buf,
			 "{\"offset_into_first_range\":%" PRIu64 ",\"terms\":", plan->offset_into_first_range);
	plan_write_terms(out, plan);
	cairn_buf_printf(&out->buf, ",\"fetch_info\":{");
	for (uint32_t i = 0; i < plan->n_xorbs; i++) {
		const struct cairn_plan_xorb *xorb = &plan->xorbs[i];
		plan_write_key(out, &xorb->hash, i == 0);
		plan_write_v1_ranges(out, xorb, plan->ranges + xorb->first_range, xorb->n_ranges, urls);
		cairn_buf_add(&out->buf, "]", 1);
	}
	cairn_buf_add(&out->buf, "}}", 2);
}

static void plan_write_v2_fetch(struct spill *out, const struct cairn_plan_xorb *xorb,
				const struct cairn_plan_range *ranges, uint32_t n, const struct plan_urls *urls)
{
	cairn_buf_add(&out->buf, "{", 1);
	plan_write_url(out, urls, xorb, ranges, n);
	cairn_buf_printf(&out->buf, ",\"ranges\":[");
	for (uint32_t i = 0; i < n; i++) {
		plan_text(&out->buf, i ? ",{\"chunks\":" : "{\"chunks\":");
		plan_span(&out->buf, ranges[i].start, ranges[i].end);
		plan_text(&out->buf, ",\"bytes\":");
		plan_span(&out->buf, ranges[i].first_byte, ranges[i].end_byte - 1);
		plan_text(&out->buf, "}");
	}
	cairn_buf_add(&out->buf, "]}", 2);
	spill_check(out);
}

void plan_write_v2(struct spill *out, const struct cairn_plan *plan, const struct plan_urls *urls)
{
	cairn_buf_printf(&out->buf,
			 "{\"offset_into_first_range\":%" PRIu64 ",\"terms\":", plan->offset_into_first_range);
	plan_write_terms(out, plan);
	cairn_buf_printf(&out->buf, ",\"xorbs\":{");
	for (uint32_t i = 0; i < plan->n_xorbs; i++) {
		const struct cairn_plan_xorb *xorb = &plan->xorbs[i];
		plan_write_key(out, &xorb->hash, i == 0);
		for (uint32_t done = 0; done < xorb->n_ranges;) {
			uint32_t n =
				xorb->n_ranges - done < urls->ranges_max ? xorb->n_ranges - done : urls->ranges_max;
			if (done > 0)
				cairn_buf_add(&out->buf, ",", 1);
			plan_write_v2_fetch(out, xorb, &plan->ranges[xorb->first_range + done], n, urls);
			done += n;
		}
		cairn_buf_add(&out->buf, "]", 1);
	}
	cairn_buf_add(&out->buf, "}}", 2);
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

/* What n files need of one xorb, as one file would. @param[out] out  has room for all of it  @return how many */
static uint32_t plan_join_ranges(struct cairn_plan_range *out, const struct plan_use *uses, size_t n)
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

/* A xorb that several files use comes up once, with the ranges of all of them. */
static void plan_write_uses(struct spill *out, const struct cairn_plan *plans, size_t n, const struct plan_urls *urls)
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
		plan_write_v1_ranges(out, uses[i].xorb, ranges, plan_join_ranges(ranges, &uses[i], same), urls);
		cairn_buf_add(&out->buf, "]", 1);
		i += same;
	}
	free(ranges);
	free(uses);
}

/* The batch form has no place for the offsets that ranges need, so they get one of their own, and only then. */
static void plan_write_offsets(struct spill *out, const struct cairn_hash *files, const struct cairn_plan *plans,
			       size_t n)
{
	cairn_buf_printf(&out->buf, ",\"offsets_into_first_range\":{");
	for (size_t i = 0; i < n; i++) {
		char hash[CAIRN_HASH_TEXT_BYTES];
		cairn_hash_text(hash, &files[i]);
		cairn_buf_printf(&out->buf, "%s\"%s\":%" PRIu64, i ? "," : "", hash, plans[i].offset_into_first_range);
	}
	cairn_buf_printf(&out->buf, "}");
}

void plan_write_batch(struct spill *out, const struct cairn_hash *files, const struct cairn_plan *plans, size_t n,
		      bool is_range, const struct plan_urls *urls)
{
	cairn_buf_printf(&out->buf, "{\"files\":{");
	for (size_t i = 0; i < n; i++) {
		char hash[CAIRN_HASH_TEXT_BYTES];
		cairn_hash_text(hash, &files[i]);
		cairn_buf_printf(&out->buf, "%s\"%s\":", i ? "," : "", hash);
		plan_write_terms(out, &plans[i]);
	}
	cairn_buf_printf(&out->buf, "}");
	if (is_range)
		plan_write_offsets(out, files, plans, n);
	cairn_buf_printf(&out->buf, ",\"fetch_info\":{");
	plan_write_uses(out, plans, n, urls);
	cairn_buf_add(&out->buf, "}}", 2);
}
