/* Arbitrary bytes as an upload to a store that knows no xorb: verified strictly, and with xorbs kept elsewhere. */
#include "fuzz/fuzz.h"
#include "verify/verify.h"

static enum cairn_status know_nothing(void *ctx, const struct cairn_hash *xorb, bool described,
				      const struct cairn_chunk_list **list, int64_t *id)
{
	(void)described;
	(void)id;
	(void)ctx;
	(void)xorb;
	(void)list;
	return CAIRN_E_NOT_FOUND;
}

/* Verifies the bytes. A refusal has a rule and an offset within the bytes. An accepted shard has neither, and its sums
 * are possible for so many bytes. */
static void fuzz_verify(const uint8_t *bytes, size_t len, bool strict, bool external)
{
	struct cairn_verify_options options = CAIRN_VERIFY_DEFAULTS;
	options.strict = strict;
	options.xorbs_external = external;
	struct cairn_verify_resolver resolver = {.chunk_list = know_nothing};
	struct cairn_verify_summary sum = {0};
	struct cairn_diag diag = {0};
	enum cairn_status status = cairn_verify_shard(bytes, len, &options, &resolver, &sum, &diag);
	fuzz_must(status == CAIRN_E_NOMEM || (status == CAIRN_OK) == (diag.rule == NULL));
	fuzz_must(!diag.has_offset || diag.offset <= len);
	fuzz_must(sum.n_files + sum.n_terms + sum.n_xorbs + sum.n_chunks <= len / CAIRN_SHARD_RECORD_BYTES);
	fuzz_must(status != CAIRN_OK || external || sum.n_xorbs + sum.n_terms == 0);
	fuzz_must(cairn_verify_shard(bytes, len, &options, &resolver, &sum, NULL) == status);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	fuzz_verify(bytes, len, false, false);
	fuzz_verify(bytes, len, true, false);
	fuzz_verify(bytes, len, false, true);
	return 0;
}
