#include "archive/readshard/reader.h"
#include "cli/inspect/inspect.h"

#include <stdlib.h>
#include <string.h>

bool inspect_is_readshard(const uint8_t *bytes, size_t len)
{
	return len >= CAIRN_READSHARD_NAME_BYTES &&
	       memcmp(bytes, CAIRN_READSHARD_NAME, CAIRN_READSHARD_NAME_BYTES) == 0;
}

static void inspect_readshard_header(struct report *r, const struct cairn_readshard_header *h)
{
	record_begin(r, 0, "header", 0);
	record_u64(r, "objects", h->n_objects);
	record_u64(r, "objects_offset", h->objects_at);
	record_u64(r, "objects_bytes", h->objects_bytes);
	record_u64(r, "index_offset", h->index_at);
	record_u64(r, "index_bytes", h->index_bytes);
	record_u64(r, "function_offset", h->function_at);
	record_end(r);
}

enum cairn_status inspect_readshard(struct report *r, const uint8_t *bytes, size_t len, struct cairn_diag *diag)
{
	CLEANUP(cairn_readshard_freep) struct cairn_readshard *s = NULL;
	struct cairn_readshard_summary sum;
	uint32_t *slots = NULL, n = 0;
	enum cairn_status status = cairn_readshard_open_bytes(&s, bytes, len, diag);
	if (status != CAIRN_OK)
		return status;
	inspect_readshard_header(r, cairn_readshard_header_of(s));
	status = cairn_readshard_list(s, &slots, &n, diag);
	for (uint32_t i = 0; i < n && status == CAIRN_OK; i++) {
		struct cairn_readshard_slot slot;
		status = cairn_readshard_slot(s, slots[i], &slot, diag);
		if (status != CAIRN_OK || !slot.is_live)
			continue;
		record_begin(r, 1, "object", slot.at);
		record_hex(r, "key", slot.key, CAIRN_READSHARD_KEY_BYTES);
		record_u64(r, "bytes", slot.bytes);
		record_u64(r, "slot", slots[i]);
		record_end(r);
	}
	free(slots);
	if (status == CAIRN_OK)
		status = cairn_readshard_verify(s, &sum, diag);
	if (status != CAIRN_OK)
		return status;
	record_begin(r, 0, "function", cairn_readshard_header_of(s)->function_at);
	record_u64(r, "slots", cairn_readshard_n_slots(s));
	record_u64(r, "bytes", cairn_readshard_end(s) - cairn_readshard_header_of(s)->function_at);
	record_u64(r, "deleted", sum.n_deleted);
	record_u64(r, "trailing_bytes", sum.trailing_bytes);
	record_end(r);
	return CAIRN_OK;
}
