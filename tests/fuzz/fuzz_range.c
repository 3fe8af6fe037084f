/* Range headers, and ranges of a signed address. Accepted ones are ordered, and the same after writing and reading. */
#include "cas/object/fetch_grant.h"
#include "fuzz/fuzz.h"
#include "server/ask/range_header.h"

#include <inttypes.h>

enum { FEW = 4, MANY = 1024 };

static void range_print(struct cairn_buf *out, const struct cairn_byte_range *r, bool more)
{
	if (r->kind == CAIRN_RANGE_SUFFIX)
		cairn_buf_printf(out, "-%" PRIu64, r->suffix_bytes);
	else if (r->last == UINT64_MAX)
		cairn_buf_printf(out, "%" PRIu64 "-", r->first);
	else
		cairn_buf_printf(out, "%" PRIu64 "-%" PRIu64, r->first, r->last);
	cairn_buf_add(out, more ? "," : "", 1); /* the last call also adds the zero at the end */
}

static bool range_same(const struct cairn_byte_range *a, const struct cairn_byte_range *b)
{
	if (a->kind != b->kind)
		return false;
	return a->kind == CAIRN_RANGE_SUFFIX ? a->suffix_bytes == b->suffix_bytes
					     : a->first == b->first && a->last == b->last;
}

static void range_header(const char *text)
{
	struct cairn_byte_range many[MANY], few[FEW], again[MANY];
	size_t n = range_header_parse(many, MANY, text), n_few = range_header_parse(few, FEW, text);
	fuzz_must(n <= MANY + 1 && n_few <= FEW + 1);
	if (n == 0 || n > MANY)
		return;
	fuzz_must(n_few == (n < FEW + 1 ? n : FEW + 1));
	CLEANUP(cairn_buf_fini) struct cairn_buf out = cairn_buf_init(MANY * 48);
	cairn_buf_printf(&out, "Bytes=");
	for (size_t i = 0; i < n; i++) {
		fuzz_must(many[i].kind == CAIRN_RANGE_SUFFIX || many[i].first <= many[i].last);
		fuzz_must(i >= n_few || i >= FEW || range_same(&many[i], &few[i]));
		range_print(&out, &many[i], i + 1 < n);
	}
	fuzz_must(out.status == CAIRN_OK && range_header_parse(again, MANY, (const char *)out.bytes) == n);
	for (size_t i = 0; i < n; i++)
		fuzz_must(range_same(&many[i], &again[i]));
}

static void range_signed(const char *text)
{
	struct cairn_fetch_range ranges[CAIRN_FETCH_RANGES_MAX];
	size_t n = cairn_fetch_ranges_parse(ranges, CAIRN_FETCH_RANGES_MAX, text);
	fuzz_must(n <= CAIRN_FETCH_RANGES_MAX);
	fuzz_must(n <= 1 || cairn_fetch_ranges_parse(ranges, n - 1, text) == 0);
	for (size_t i = 0; i < n; i++)
		fuzz_must(ranges[i].first <= ranges[i].last);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	CLEANUP(fuzz_textp) char *text = fuzz_text(bytes, len);
	range_header(text);
	range_signed(text);
	return 0;
}
