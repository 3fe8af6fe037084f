#include "support/made.h"

#include "base/bytes.h"
#include "hash/merkle.h"

#include <stdlib.h>

static void made_must(enum cairn_status status)
{
	if (status != CAIRN_OK)
		abort();
}

/* Returns a hash that is as evenly distributed as real ones. */
static struct cairn_hash made_chunk(uint64_t seed, uint64_t i)
{
	uint8_t name[16];
	cairn_put_u64le(name, seed);
	cairn_put_u64le(name + 8, i);
	struct cairn_hash hash;
	cairn_hash_chunk(&hash, name, sizeof(name));
	return hash;
}

void made_xorb_init(struct made_xorb *x, uint64_t seed, uint32_t n, uint32_t bytes_each)
{
	*x = (struct made_xorb){0};
	for (uint32_t i = 0; i < n; i++) {
		struct cairn_hash chunk = made_chunk(seed, i);
		made_must(cairn_chunk_list_add(&x->list, &chunk, (struct cairn_span){.unpacked_bytes = bytes_each}));
	}
	cairn_chunk_list_root(&x->list, &x->hash);
}

void made_xorb_fini(struct made_xorb *x)
{
	cairn_chunk_list_fini(&x->list);
}

void made_write_xorb(struct cairn_shard_writer *w, const struct made_xorb *x)
{
	cairn_shard_write_xorb(w, &x->hash, 0);
	for (uint32_t i = 0; i < x->list.n; i++)
		cairn_shard_write_chunk(w, &x->list.hashes[i], x->list.spans[i].unpacked_bytes, 0);
}

struct cairn_hash made_file_hash(const struct made_term *terms, uint32_t n)
{
	struct cairn_merkle merkle;
	cairn_merkle_init(&merkle);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = terms[i].start; k < terms[i].end; k++)
			cairn_merkle_add(&merkle, &terms[i].xorb->list.hashes[k],
					 terms[i].xorb->list.spans[k].unpacked_bytes);
	struct cairn_hash root, file;
	cairn_merkle_root(&merkle, &root);
	cairn_hash_file(&file, &root);
	return file;
}

void made_write_file(struct cairn_shard_writer *w, const struct made_term *terms, uint32_t n, uint32_t flags)
{
	struct cairn_hash file = made_file_hash(terms, n);
	cairn_shard_write_file(w, &file, flags);
	for (uint32_t i = 0; i < n; i++) {
		struct cairn_shard_term term = {
			.xorb = terms[i].xorb->hash,
			.unpacked_bytes =
				(uint32_t)cairn_chunk_list_bytes(&terms[i].xorb->list, terms[i].start, terms[i].end),
			.start = terms[i].start,
			.end = terms[i].end,
		};
		cairn_shard_write_term(w, &term);
	}
	for (uint32_t i = 0; i < n && (flags & CAIRN_SHARD_FILE_WITH_VERIFICATION); i++) {
		struct cairn_range_hasher hasher;
		struct cairn_hash range;
		cairn_range_hash_init(&hasher);
		cairn_range_hash_add(&hasher, terms[i].xorb->list.hashes + terms[i].start,
				     terms[i].end - terms[i].start);
		cairn_range_hash_end(&hasher, &range);
		cairn_shard_write_range_hash(w, &range);
	}
	uint8_t sha256[32]; /* differs for each file, and looks random */
	for (size_t i = 0; i < sizeof(sha256); i++)
		sha256[i] = (uint8_t)~file.b[i];
	if (flags & CAIRN_SHARD_FILE_WITH_METADATA)
		cairn_shard_write_sha256(w, sha256);
}

static enum cairn_status made_chunk_list(void *ctx, const struct cairn_hash *xorb, bool described,
					 const struct cairn_chunk_list **list, int64_t *id)
{
	struct made_store *store = ctx;
	store->n_asked++;
	store->n_asked_described += described;
	if (store->failure != CAIRN_OK)
		return store->failure;
	for (size_t i = 0; i < store->n; i++)
		if (cairn_hash_equal(&store->xorbs[i].hash, xorb)) {
			*list = &store->xorbs[i].list;
			store->places = **list;
			store->places.hashes = NULL;
			if (described && store->places_only)
				*list = &store->places;
			*id = (int64_t)i + 1;
			return CAIRN_OK;
		}
	return CAIRN_E_NOT_FOUND;
}

struct cairn_verify_resolver made_resolver(struct made_store *store)
{
	return (struct cairn_verify_resolver){.ctx = store, .chunk_list = made_chunk_list};
}
