#include "archive/readshard/reader.h"

#include <inttypes.h>
#include <stdlib.h>

/* Checks that a section begins where the one before it ends. */
static enum cairn_status verify_follows(struct cairn_diag *diag, uint64_t at, uint64_t expected, uint64_t actual,
					const char *what)
{
	if (expected == actual)
		return CAIRN_OK;
	enum cairn_status status = cairn_fail(diag, CAIRN_E_FORMAT, "readshard.gap", at,
					      "the %s does not begin where the section before it ends", what);
	cairn_diag_numbers(diag, expected, actual);
	return status;
}

static enum cairn_status verify_header(const struct cairn_readshard_header *h, struct cairn_diag *diag)
{
	enum cairn_status status =
		verify_follows(diag, CAIRN_READSHARD_INDEX_AT, h->objects_at + h->objects_bytes, h->index_at, "index");
	if (status == CAIRN_OK)
		status = verify_follows(diag, CAIRN_READSHARD_FUNCTION_AT, h->index_at + h->index_bytes, h->function_at,
					"hash function");
	return status;
}

/* Checks slots in the order of their objects: each is its key's slot, and objects do not overlap. */
static enum cairn_status verify_slots(const struct cairn_readshard *s, const uint32_t *slots, uint32_t n,
				      struct cairn_readshard_summary *sum, struct cairn_diag *diag)
{
	uint64_t end = cairn_readshard_header_of(s)->objects_at;
	for (uint32_t i = 0; i < n; i++) {
		struct cairn_readshard_slot slot;
		enum cairn_status status = cairn_readshard_slot(s, slots[i], &slot, diag);
		if (status != CAIRN_OK || !slot.is_live) {
			if (status == CAIRN_OK)
				continue; /* deleted in the meantime */
			return status;
		}
		uint32_t right = cairn_readshard_slot_of(s, slot.key);
		if (right != slots[i]) {
			status = cairn_fail(
				diag, CAIRN_E_FORMAT, "readshard.slot", cairn_readshard_slot_at(s, slots[i]),
				"the hash function looks for the key of slot %" PRIu32 " elsewhere", slots[i]);
			cairn_diag_numbers(diag, slots[i], right);
			return status;
		}
		status = cairn_readshard_check_behind(&slot, slots[i], &end, diag);
		if (status != CAIRN_OK)
			return status;
		sum->n_objects++;
		sum->bytes += slot.bytes;
	}
	return CAIRN_OK;
}

/* Checks the sums. Objects fill their section if none was deleted. There cannot be more objects than were written. */
static enum cairn_status verify_sums(const struct cairn_readshard_header *h, struct cairn_readshard_summary *sum,
				     struct cairn_diag *diag)
{
	enum cairn_status status;
	if (sum->n_objects > h->n_objects) {
		status = cairn_fail(diag, CAIRN_E_FORMAT, "readshard.count", CAIRN_READSHARD_COUNT_AT,
				    "there are more objects than the header says");
		cairn_diag_numbers(diag, h->n_objects, sum->n_objects);
		return status;
	}
	sum->n_deleted = h->n_objects - sum->n_objects;
	uint64_t filled = sum->bytes + (uint64_t)sum->n_objects * CAIRN_READSHARD_SIZE_BYTES;
	if (sum->n_deleted == 0 && filled != h->objects_bytes) {
		status = cairn_fail(diag, CAIRN_E_FORMAT, "readshard.sum", CAIRN_READSHARD_OBJECTS_BYTES_AT,
				    "all objects are there, and do not fill their section");
		cairn_diag_numbers(diag, h->objects_bytes, filled);
		return status;
	}
	return CAIRN_OK;
}

enum cairn_status cairn_readshard_verify(const struct cairn_readshard *s, struct cairn_readshard_summary *out,
					 struct cairn_diag *diag)
{
	const struct cairn_readshard_header *h = cairn_readshard_header_of(s);
	uint32_t *slots = NULL, n = 0;
	*out = (struct cairn_readshard_summary){0};
	out->trailing_bytes = cairn_readshard_len(s) - cairn_readshard_end(s);
	enum cairn_status status = verify_header(h, diag);
	if (status == CAIRN_OK)
		status = cairn_readshard_list(s, &slots, &n, diag);
	if (status == CAIRN_OK)
		status = verify_slots(s, slots, n, out, diag);
	if (status == CAIRN_OK)
		status = verify_sums(h, out, diag);
	free(slots);
	return status;
}
