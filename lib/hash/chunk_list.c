#include "hash/chunk_list.h"

#include "hash/merkle.h"

#include <stdlib.h>

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

uint64_t cairn_chunk_list_bytes(const struct cairn_chunk_list *list, uint32_t start, uint32_t end)
{
	uint64_t bytes = 0;
	for (uint32_t i = start; i < end; i++)
		bytes += list->spans[i].unpacked_bytes;
	return bytes;
}
