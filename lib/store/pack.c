#include "store/pack.h"

#include "store/backend.h"

#include <string.h>

bool cairn_store_is_pack_name(const char *name)
{
	static const char LEGAL[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	static const char SUFFIX[] = ".shard";
	size_t len = strlen(name), suffix = sizeof(SUFFIX) - 1;
	return name[0] != '.' && len > suffix && len <= CAIRN_STORE_PACK_NAME_MAX && strspn(name, LEGAL) == len &&
	       strcmp(name + len - suffix, SUFFIX) == 0;
}

enum cairn_status cairn_store_each_pack(struct cairn_store *s,
					void (*visit)(void *ctx, const struct cairn_store_pack *pack), void *ctx)
{
	const struct cairn_store_pack_tier *tier = s->backend->packs;
	return tier ? tier->each(s, visit, ctx) : CAIRN_OK;
}

enum cairn_status cairn_store_check_packs(struct cairn_store *s,
					  void (*visit)(void *ctx, const struct cairn_store_pack *pack), void *ctx)
{
	const struct cairn_store_pack_tier *tier = s->backend->packs;
	return tier ? tier->check(s, visit, ctx) : CAIRN_OK;
}

enum cairn_status cairn_store_tidy_packs(struct cairn_store *s)
{
	const struct cairn_store_pack_tier *tier = s->backend->packs;
	return tier ? tier->tidy(s) : CAIRN_OK;
}

enum cairn_status cairn_store_packing_begin(struct cairn_store *s, const char *name, struct cairn_store_packing **out,
					    struct cairn_diag *diag)
{
	const struct cairn_store_pack_tier *tier = s->backend->packs;
	*out = NULL;
	if (!tier)
		return cairn_fail(diag, CAIRN_E_USAGE, "pack.none", CAIRN_NO_OFFSET, "this store has no packs");
	if (!cairn_store_is_pack_name(name))
		return cairn_fail(
			diag, CAIRN_E_USAGE, "pack.name", CAIRN_NO_OFFSET,
			"a pack's name is of letters, digits, \"-\", \"_\" and \".\", ends in \".shard\" and has at "
			"most %d bytes",
			CAIRN_STORE_PACK_NAME_MAX);
	enum cairn_status status = tier->packing_begin(s, name, out, diag);
	if (status == CAIRN_OK)
		(*out)->tier = tier;
	return status;
}

bool cairn_store_packing_wants(const struct cairn_store_packing *p, const struct cairn_hash *hash, uint64_t bytes)
{
	return p->tier->packing_wants(p, hash, bytes);
}

enum cairn_status cairn_store_packing_add(struct cairn_store_packing *p, const struct cairn_hash *hash, uint64_t bytes,
					  bool *added)
{
	return p->tier->packing_add(p, hash, bytes, added);
}

enum cairn_status cairn_store_packing_commit(struct cairn_store_packing *p, struct cairn_diag *diag)
{
	return p->tier->packing_commit(p, diag);
}

enum cairn_status cairn_store_packing_each(struct cairn_store_packing *p,
					   enum cairn_status (*visit)(void *ctx, const struct cairn_hash *hash,
								      uint64_t bytes),
					   void *ctx)
{
	return p->tier->packing_each(p, visit, ctx);
}

enum cairn_status cairn_store_packing_drop(struct cairn_store_packing *p, const struct cairn_hash *hash)
{
	return p->tier->packing_drop(p, hash);
}

void cairn_store_packing_free(struct cairn_store_packing *p)
{
	if (p)
		p->tier->packing_free(p);
}

void cairn_store_packing_freep(struct cairn_store_packing **p)
{
	cairn_store_packing_free(*p);
	*p = NULL;
}
