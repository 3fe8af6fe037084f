/* Arbitrary bytes as a Read Shard: opened, looked up and verified. An accepted one can be listed and searched. */
#include "archive/readshard/reader.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void fuzz_must(bool right)
{
	if (!right)
		abort();
}

/* Checks that an object lies within the bytes. */
static void fuzz_slot(const struct cairn_readshard_slot *slot, size_t len)
{
	fuzz_must(slot->at < slot->bytes_at && slot->bytes_at <= len && slot->bytes <= len - slot->bytes_at);
}

static void fuzz_find(const struct cairn_readshard *s, const uint8_t *bytes, size_t len)
{
	for (size_t at = 0; at + CAIRN_READSHARD_KEY_BYTES <= len; at += 40) {
		struct cairn_readshard_slot slot;
		enum cairn_status status = cairn_readshard_find(s, bytes + at, &slot, NULL);
		fuzz_must(cairn_readshard_slot_of(s, bytes + at) < cairn_readshard_n_slots(s));
		if (status == CAIRN_OK)
			fuzz_slot(&slot, len);
	}
}

static void fuzz_list(const struct cairn_readshard *s, uint32_t n_expected, size_t len)
{
	uint32_t *slots, n;
	fuzz_must(cairn_readshard_list(s, &slots, &n, NULL) == CAIRN_OK && n == n_expected);
	for (uint32_t i = 0; i < n; i++) {
		struct cairn_readshard_slot slot, found;
		fuzz_must(cairn_readshard_slot(s, slots[i], &slot, NULL) == CAIRN_OK && slot.is_live);
		fuzz_slot(&slot, len);
		fuzz_must(cairn_readshard_find(s, slot.key, &found, NULL) == CAIRN_OK && found.at == slot.at);
	}
	free(slots);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct cairn_readshard *s;
	struct cairn_readshard_summary sum;
	struct cairn_diag diag = {0};
	enum cairn_status status = cairn_readshard_open_bytes(&s, bytes, len, &diag);
	fuzz_must(status == CAIRN_E_NOMEM || (status == CAIRN_OK) == (diag.rule == NULL));
	fuzz_must(!diag.has_offset || diag.offset <= len);
	if (status != CAIRN_OK)
		return 0;
	fuzz_find(s, bytes, len);
	status = cairn_readshard_verify(s, &sum, &diag);
	fuzz_must(status == CAIRN_E_NOMEM || (status == CAIRN_OK) == (diag.rule == NULL));
	fuzz_must(!diag.has_offset || diag.offset <= len);
	if (status == CAIRN_OK)
		fuzz_list(s, sum.n_objects, len);
	cairn_readshard_free(s);
	return 0;
}
