#include "index/rows.h"

#include "hash/git_object.h"

#include "base/bytes.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cairn_rows_put_spans(uint8_t *out, const struct cairn_chunk_list *list)
{
	for (uint32_t i = 0; i < list->n; i++, out += CAIRN_ROWS_SPAN_BYTES) {
		cairn_put_u32le(out, list->spans[i].unpacked_bytes);
		cairn_put_u32le(out + 4, list->spans[i].end);
	}
}

_Static_assert(sizeof(struct cairn_span) == CAIRN_ROWS_SPAN_BYTES, "a row is an array of them");

enum cairn_status cairn_rows_spans(struct cairn_span *spans, uint32_t n, const uint8_t *bytes, size_t len)
{
	if (len != (size_t)n * CAIRN_ROWS_SPAN_BYTES)
		return CAIRN_E_DAMAGED;
	memcpy(spans, bytes, len);
	for (uint32_t i = 0; i < n; i++) /* changes nothing on little-endian processors */
		spans[i] = (struct cairn_span){le32toh(spans[i].unpacked_bytes), le32toh(spans[i].end)};
	return CAIRN_OK;
}

static enum cairn_status rows_make_room(struct cairn_chunk_list *list, uint32_t n)
{
	if (list->cap >= n)
		return CAIRN_OK;
	cairn_chunk_list_fini(list);
	list->hashes = malloc(n * sizeof(*list->hashes));
	list->spans = malloc(n * sizeof(*list->spans));
	if (!list->hashes || !list->spans) {
		cairn_chunk_list_fini(list);
		return CAIRN_E_NOMEM;
	}
	list->cap = n;
	return CAIRN_OK;
}

enum cairn_status cairn_rows_list(struct cairn_chunk_list *list, const uint8_t *spans, size_t spans_len,
				  const uint8_t *hashes, size_t hashes_len)
{
	size_t n = hashes_len / CAIRN_HASH_BYTES;
	if (n == 0 || n > CAIRN_XORB_CHUNKS_MAX || hashes_len != n * CAIRN_HASH_BYTES ||
	    spans_len != n * CAIRN_ROWS_SPAN_BYTES)
		return CAIRN_E_DAMAGED;
	enum cairn_status status = rows_make_room(list, (uint32_t)n);
	if (status == CAIRN_OK)
		status = cairn_rows_spans(list->spans, (uint32_t)n, spans, spans_len);
	if (status != CAIRN_OK)
		return status;
	memcpy(list->hashes, hashes, hashes_len);
	list->n = (uint32_t)n;
	return CAIRN_OK;
}

void cairn_rows_put_term(uint8_t out[static CAIRN_ROWS_TERM_BYTES], const struct cairn_index_term *term)
{
	cairn_put_u64le(out, (uint64_t)term->xorb_id);
	cairn_put_u16le(out + 8, term->start);
	cairn_put_u16le(out + 10, term->end);
	cairn_put_u32le(out + 12, term->unpacked_bytes);
	cairn_put_u32le(out + 16, term->first_byte);
	cairn_put_u32le(out + 20, term->end_byte);
}

void cairn_rows_put_new_term(uint8_t out[static CAIRN_ROWS_TERM_BYTES], const struct cairn_index_new_term *term,
			     int64_t xorb_id)
{
	const struct cairn_index_term row = {
		.xorb_id = xorb_id,
		.start = (uint16_t)term->start,
		.end = (uint16_t)term->end,
		.unpacked_bytes = term->unpacked_bytes,
		.first_byte = term->first_byte,
		.end_byte = term->end_byte,
	};
	cairn_rows_put_term(out, &row);
}

size_t cairn_rows_term_bytes(int64_t version)
{
	return version < 5 ? CAIRN_ROWS_TERM_BYTES_BEFORE_5 : CAIRN_ROWS_TERM_BYTES;
}

enum cairn_status cairn_rows_terms(struct cairn_index_term **terms, uint32_t *n, const uint8_t *bytes, size_t len,
				   size_t term_bytes)
{
	*terms = NULL;
	*n = 0;
	size_t count = len / term_bytes;
	if (len % term_bytes != 0 || count > UINT32_MAX)
		return CAIRN_E_DAMAGED;
	if (count == 0)
		return CAIRN_OK;
	struct cairn_index_term *out = malloc(count * sizeof(*out));
	if (!out)
		return CAIRN_E_NOMEM;
	for (size_t i = 0; i < count; i++, bytes += term_bytes) {
		bool has_offsets = term_bytes == CAIRN_ROWS_TERM_BYTES;
		out[i].xorb_id = (int64_t)cairn_get_u64le(bytes);
		out[i].start = cairn_get_u16le(bytes + 8);
		out[i].end = cairn_get_u16le(bytes + 10);
		out[i].unpacked_bytes = cairn_get_u32le(bytes + 12);
		out[i].first_byte = has_offsets ? cairn_get_u32le(bytes + 16) : 0;
		out[i].end_byte = has_offsets ? cairn_get_u32le(bytes + 20) : 0;
	}
	*terms = out;
	*n = (uint32_t)count;
	return CAIRN_OK;
}

enum cairn_status cairn_rows_inline(int64_t key, int64_t size_bytes, const uint8_t *bytes, size_t len)
{
	struct cairn_git_oid oid;
	enum cairn_status status = cairn_git_blob(&oid, len > 0 ? bytes : (const uint8_t *)"", len);
	if (status != CAIRN_OK)
		return status;
	return (int64_t)len == size_bytes && (int64_t)cairn_get_u64le(oid.b) == key ? CAIRN_OK : CAIRN_E_DAMAGED;
}

void cairn_rows_inline_text(char out[static CAIRN_ROWS_INLINE_TEXT_BYTES], int64_t content, const char *account,
			    const char *repo, const char *folder, const char *name)
{
	(void)snprintf(out, CAIRN_ROWS_INLINE_TEXT_BYTES,
		       "the bytes of content number %lld, of %.60s/%.60s the file %.120s%s%.120s, are not what was "
		       "committed",
		       (long long)content, account, repo, folder, folder[0] ? "/" : "", name);
}
