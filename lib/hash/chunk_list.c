#include "hash/chunk_list.h"

#include "base/bytes.h"
#include "hash/merkle.h"

#include <stdlib.h>
#include <string.h>

static enum cairn_status list_grow(struct cairn_chunk_list *list)
{
	uint32_t cap = list->cap ? list->cap * 2 : 64;
	struct cairn_hash *hashes = realloc(list->hashes, cap * sizeof(*hashes));
	if (!hashes)
		return CAIRN_E_NOMEM;
	list->hashes = hashes;
	struct cairn_span *spans = realloc(list->spans, cap * sizeof(*spans));
	if (!spans)
		return CAIRN_E_NOMEM;
	list->spans = spans;
	list->cap = cap;
	return CAIRN_OK;
}

enum cairn_status cairn_chunk_list_add(struct cairn_chunk_list *list, const struct cairn_hash *hash,
				       struct cairn_span span)
{
	if (list->n == CAIRN_XORB_CHUNKS_MAX)
		return CAIRN_E_LIMIT;
	if (list->n == list->cap) {
		enum cairn_status status = list_grow(list);
		if (status != CAIRN_OK)
			return status;
	}
	list->hashes[list->n] = *hash;
	list->spans[list->n] = span;
	list->n++;
	return CAIRN_OK;
}

void cairn_chunk_list_fini(struct cairn_chunk_list *list)
{
	free(list->hashes);
	free(list->spans);
	*list = (struct cairn_chunk_list){0};
}

void cairn_chunk_list_root(const struct cairn_chunk_list *list, struct cairn_hash *out)
{
	struct cairn_merkle m;
	cairn_merkle_init(&m);
	for (uint32_t i = 0; i < list->n; i++)
		cairn_merkle_add(&m, &list->hashes[i], list->spans[i].unpacked_bytes);
	cairn_merkle_root(&m, out);
}

uint64_t cairn_spans_layout(const struct cairn_span *spans, uint32_t n)
{
	enum { AT_ONCE = 256, SPAN_BYTES = 8 };
	/* the hash of the spans before, and more spans */
	uint8_t message[CAIRN_HASH_BYTES + AT_ONCE * SPAN_BYTES] = {0};
	struct cairn_hash hash = {{0}};
	for (uint32_t at = 0; at < n; at += AT_ONCE) {
		uint32_t some = n - at < AT_ONCE ? n - at : AT_ONCE;
		uint8_t *to = message + CAIRN_HASH_BYTES;
		for (uint32_t i = at; i < at + some; i++, to += SPAN_BYTES) {
			cairn_put_u32le(to, spans[i].unpacked_bytes);
			cairn_put_u32le(to + 4, spans[i].end);
		}
		cairn_hash_body(&hash, message, (size_t)(to - message));
		memcpy(message, hash.b, sizeof(hash.b));
	}
	uint64_t layout = cairn_get_u64be(hash.b);
	return layout != 0 ? layout : 1;
}

bool cairn_chunk_list_same_chunks(const struct cairn_chunk_list *a, const struct cairn_chunk_list *b)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (a->spans[i].unpacked_bytes != b->spans[i].unpacked_bytes ||
		    !cairn_hash_equal(&a->hashes[i], &b->hashes[i]))
			return false;
	return true;
}

bool cairn_chunk_list_same_places(const struct cairn_chunk_list *a, const struct cairn_chunk_list *b)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (a->spans[i].unpacked_bytes != b->spans[i].unpacked_bytes || a->spans[i].end != b->spans[i].end)
			return false;
	return true;
}

uint64_t cairn_chunk_list_bytes(const struct cairn_chunk_list *list, uint32_t start, uint32_t end)
{
	uint64_t bytes = 0;
	for (uint32_t i = start; i < end; i++)
		bytes += list->spans[i].unpacked_bytes;
	return bytes;
}
