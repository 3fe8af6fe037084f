#include "support/index_gc_fixture.h"

#include "base/clock.h"
#include "index/needs.h"

#include <check.h>

struct fx_shard gx_shard;
int64_t gx_now;

void gx_set_up(void)
{
	fx_set_up_two();
	fx_shard_init(&gx_shard, 1);
	fx_shard_xorb(&gx_shard, &fx_a, 1, 5);
	fx_shard_xorb(&gx_shard, &fx_b, 1, 6);
	fx_shard_file(&gx_shard, 1, &fx_a, 0, 20);
	fx_shard_file(&gx_shard, 2, &fx_b, 0, 30);
	gx_now = cairn_clock_unix_s();
}

void gx_put(void)
{
	enum cairn_status status = fx_shard_put(fx_index, &gx_shard);
	ck_assert_msg(status == CAIRN_OK, "%s", gx_shard.diag.text);
}

bool gx_known(void)
{
	const struct fx_shard *s = &gx_shard;
	bool yes;
	struct cairn_index_registered registered;
	ck_assert_int_eq(fx_shard_known(fx_index, &s->body, s->scope, s->owner, &yes, &registered), CAIRN_OK);
	return yes;
}

struct cairn_index_xorb gx_row_of(const struct fx_xorb *x)
{
	struct cairn_index_xorb row;
	ck_assert_int_eq(cairn_index_xorb(fx_index, &x->hash, &row), CAIRN_OK);
	return row;
}

bool gx_agree(void)
{
	bool yes;
	ck_assert_int_eq(cairn_index_needs_agree(fx_index, &yes), CAIRN_OK);
	return yes;
}
