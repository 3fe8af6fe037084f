#include "backup/bundle.h"

#include "base/bytes.h"
#include "base/cursor.h"
#include "xorb/format.h"

#include <string.h>

static const uint8_t BUNDLE_MAGIC[8] = {'C', 'A', 'I', 'R', 'N', 'X', 'B', '1'};

void cairn_bundle_entry(struct cairn_buf *entries, const struct cairn_hash *hash, uint64_t len)
{
	uint8_t bytes[8];
	cairn_put_u64be(bytes, len);
	cairn_buf_add(entries, hash->b, sizeof(hash->b));
	cairn_buf_add(entries, bytes, sizeof(bytes));
}

void cairn_bundle_end(struct cairn_buf *out, const struct cairn_buf *entries)
{
	uint8_t count[4];
	cairn_put_u32be(count, (uint32_t)(entries->len / CAIRN_BUNDLE_ENTRY_BYTES));
	cairn_buf_add(out, entries->bytes, entries->len);
	cairn_buf_add(out, count, sizeof(count));
	cairn_buf_add(out, BUNDLE_MAGIC, sizeof(BUNDLE_MAGIC));
}

static enum cairn_status bundle_refuse(struct cairn_diag *diag, uint64_t at)
{
	return cairn_fail(diag, CAIRN_E_FORMAT, "backup.bundle", at,
			  "this chunk of the backup is not a bundle of objects, or the lengths in its list do "
			  "not match the chunk");
}

static void bundle_next(struct cairn_cur *entries, struct cairn_bundle_object *o)
{
	memcpy(o->hash.b, cairn_cur_take(entries, sizeof(o->hash.b)), sizeof(o->hash.b));
	o->len = cairn_cur_u64be(entries);
}

enum cairn_status cairn_bundle_each(const uint8_t *bytes, uint64_t len,
				    enum cairn_status (*visit)(void *ctx, const struct cairn_bundle_object *object),
				    void *ctx, struct cairn_diag *diag)
{
	struct cairn_cur cur = cairn_cur_init(bytes, len);
	if (len < CAIRN_BUNDLE_END_BYTES)
		return bundle_refuse(diag, 0);
	(void)cairn_cur_take(&cur, len - CAIRN_BUNDLE_END_BYTES);
	uint64_t n = cairn_cur_u32be(&cur);
	if (memcmp(cairn_cur_take(&cur, sizeof(BUNDLE_MAGIC)), BUNDLE_MAGIC, sizeof(BUNDLE_MAGIC)) != 0 ||
	    n * CAIRN_BUNDLE_ENTRY_BYTES > len - CAIRN_BUNDLE_END_BYTES)
		return bundle_refuse(diag, len - CAIRN_BUNDLE_END_BYTES);
	uint64_t data_len = len - CAIRN_BUNDLE_END_BYTES - n * CAIRN_BUNDLE_ENTRY_BYTES, left = data_len;
	const struct cairn_cur entries = cairn_cur_init(bytes + data_len, n * CAIRN_BUNDLE_ENTRY_BYTES);
	struct cairn_bundle_object o;
	struct cairn_cur at = entries;
	for (uint64_t i = 0; i < n; i++) {
		bundle_next(&at, &o);
		if (o.len > left || o.len < CAIRN_XORB_CHUNK_HEADER_BYTES)
			return bundle_refuse(diag, data_len + i * CAIRN_BUNDLE_ENTRY_BYTES);
		left -= o.len;
	}
	if (left > 0)
		return bundle_refuse(diag, data_len);
	struct cairn_cur data = cairn_cur_init(bytes, data_len);
	at = entries;
	for (uint64_t i = 0; i < n; i++) {
		bundle_next(&at, &o);
		o.bytes = cairn_cur_take(&data, o.len);
		enum cairn_status status = visit(ctx, &o);
		if (status != CAIRN_OK)
			return status;
	}
	return CAIRN_OK;
}
