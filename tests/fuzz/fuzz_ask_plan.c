/* The answers of an upstream about a plan. The input is "CODE BYTES", where BYTES is the length of the file, and after
 * a line feed the body, which is parsed as each kind of answer. An accepted plan covers the requested range, and is not
 * longer than the file. */
#include "fuzz/fuzz.h"
#include "mirror/hub/ask_plan.h"

static void fuzz_cas(const struct mirror_call *call)
{
	struct mirror_cas cas;
	struct cairn_diag diag = {0};
	enum cairn_status status = mirror_read_cas(&cas, call, &diag);
	fuzz_must((status == CAIRN_OK) == !diag.rule);
	if (status == CAIRN_OK)
		fuzz_must(call->code == 200 && cas.url[0] && cas.token[0] && !strpbrk(cas.token, "\r\n "));
}

static void fuzz_plan(struct mirror_call *call, uint64_t file_bytes)
{
	CLEANUP(mirror_plan_fini) struct mirror_plan plan = {.file_bytes = file_bytes};
	struct cairn_diag diag = {0};
	uint64_t sum = 0;
	mirror_ask_plan(call, &plan);
	enum cairn_status status = mirror_read_plan(&plan, call, &diag);
	fuzz_must((status == CAIRN_OK) == !diag.rule);
	for (uint32_t i = 0; i < plan.n; i++) {
		const struct mirror_plan_term *term = &plan.terms[i];
		fuzz_must(term->first < term->past && term->bytes > 0);
		sum += term->bytes;
	}
	fuzz_must(sum == plan.bytes && sum <= file_bytes);
	if (status == CAIRN_OK)
		fuzz_must(sum >= call->range_end);
}

/* Tries a stretch: the end of the file, up to 1 MiB. */
static void fuzz_packed(struct mirror_call *call, uint64_t file_bytes)
{
	static struct mirror_packed packed;
	struct cairn_diag diag = {0};
	uint64_t sum = 0;
	mirror_ask_packed(call, file_bytes > (1 << 20) ? file_bytes - (1 << 20) : 0, file_bytes);
	enum cairn_status status = mirror_read_packed(&packed, call, &diag);
	fuzz_must((status == CAIRN_OK) == !diag.rule);
	for (uint32_t i = 0; status == CAIRN_OK && i < packed.n_terms; i++) {
		const struct mirror_packed_term *term = &packed.terms[i];
		fuzz_must(term->range < packed.n_ranges && term->at == sum && term->bytes > 0);
		const struct mirror_packed_range *range = &packed.ranges[term->range];
		fuzz_must(range->first <= term->first && term->first < term->past && term->past <= range->past);
		fuzz_must(range->url && range->at < range->end);
		sum += term->bytes;
	}
	if (status == CAIRN_OK)
		fuzz_must(sum >= packed.skip + packed.bytes && packed.packed_bytes > 0);
	mirror_packed_fini(&packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	const uint8_t *line_end = len > 0 ? memchr(bytes, '\n', len) : NULL;
	size_t line_len = line_end ? (size_t)(line_end - bytes) : len;
	CLEANUP(fuzz_textp) char *line = fuzz_text(bytes, line_len);
	struct mirror_call call = {.body = cairn_buf_init(MIRROR_PLAN_BYTES_MAX)};
	char *rest;
	call.code = (unsigned)strtoul(line, &rest, 10) % 1000;
	uint64_t file_bytes = strtoull(rest, NULL, 10) % (UINT64_C(1) << 40) + 1;
	if (line_len < len)
		cairn_buf_add(&call.body, bytes + line_len + 1, len - line_len - 1);
	fuzz_cas(&call);
	fuzz_plan(&call, file_bytes);
	fuzz_packed(&call, file_bytes);
	mirror_call_fini(&call);
	return 0;
}
