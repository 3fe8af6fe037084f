#include "support/store_fixture.h"

#include <check.h>
#include <string.h>

void store_fixture_fini(struct store_fixture *f)
{
	cairn_store_freep(&f->store);
	tempdir_fini(&f->dir);
}

struct cairn_hash store_hash_of(const char *name)
{
	struct cairn_hash hash;
	cairn_hash_chunk(&hash, name, strlen(name));
	return hash;
}

enum cairn_status store_put(struct cairn_store *s, const char *name, const char *bytes, bool *existed)
{
	struct cairn_store_put *p = NULL;
	struct cairn_hash hash = store_hash_of(name);
	enum cairn_status status = cairn_store_put_begin(s, &p);
	if (status != CAIRN_OK)
		return status;
	size_t half = strlen(bytes) / 2;
	enum cairn_status a = cairn_store_put_write(p, (const uint8_t *)bytes, half);
	enum cairn_status b = cairn_store_put_write(p, (const uint8_t *)bytes + half, strlen(bytes) - half);
	status = cairn_store_put_commit(p, &hash, existed);
	if (status == CAIRN_OK)
		ck_assert(a == CAIRN_OK && b == CAIRN_OK);
	return status;
}

void store_put_new(struct cairn_store *s, const char *name, const char *bytes)
{
	bool existed = true;
	ck_assert_int_eq(store_put(s, name, bytes, &existed), CAIRN_OK);
	ck_assert(!existed);
}

void store_object_is(struct cairn_store *s, const char *name, const char *want)
{
	struct cairn_hash hash = store_hash_of(name);
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *o = NULL;
	ck_assert_int_eq(cairn_store_get(s, &hash, &o), CAIRN_OK);
	ck_assert_uint_eq(cairn_store_object_bytes(o), strlen(want));
	uint8_t got[64] = {0};
	ck_assert_int_eq(cairn_store_object_read(o, 0, got, strlen(want)), CAIRN_OK);
	ck_assert_mem_eq(got, want, strlen(want));
}

static enum cairn_status add_object(void *ctx, const struct cairn_hash *hash, uint64_t bytes)
{
	(void)hash;
	*(uint64_t *)ctx += 1000 + bytes;
	return CAIRN_OK;
}

uint64_t store_sum(struct cairn_store *s)
{
	uint64_t sum = 0;
	ck_assert_int_eq(cairn_store_each(s, add_object, &sum), CAIRN_OK);
	return sum;
}
