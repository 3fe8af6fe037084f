/* Gathers the chunks of a shard that clients may ask about, and sends them in pieces. */
#include "index/postgres/put.h"

#include "base/sum.h"

enum { DEDUPE_PIECE = 10000 }; /* rows of one statement */

static const char DEDUPE_ADD[] =
	"INSERT INTO dedupe(prefix, scope, xorb, place, shard) SELECT k.prefix, $2, k.xorb, k.place::int, " CAIRN_PG_SHARD
	" FROM unnest($4::bigint[], $5::bigint[], $6::bigint[]) k(prefix, xorb, place) ON CONFLICT DO NOTHING";

enum cairn_status cairn_pg_put_send_dedupe(struct cairn_pg_put *p)
{
	int64_t n = 0;
	if (p->prefixes.n == 0 && p->prefixes.status == CAIRN_OK)
		return CAIRN_OK;
	enum cairn_status status =
		cairn_pg_run(&p->tx->pg, DEDUPE_ADD,
			     CAIRN_ARGS(CAIRN_PG_SHARD_ARGS(p), cairn_pg_int8s(&p->prefixes),
					cairn_pg_int8s(&p->prefix_xorbs), cairn_pg_int8s(&p->places)),
			     &n);
	cairn_add(&p->tx->counts.eligible, n);
	p->put->added = p->put->added || n > 0;
	cairn_pg_array_empty(&p->prefixes);
	cairn_pg_array_empty(&p->prefix_xorbs);
	cairn_pg_array_empty(&p->places);
	return status;
}

enum cairn_status cairn_pg_put_dedupe(struct cairn_pg_put *p, uint64_t prefix, int64_t xorb, uint32_t place)
{
	cairn_pg_add_int8(&p->prefixes, (int64_t)prefix);
	cairn_pg_add_int8(&p->prefix_xorbs, xorb);
	cairn_pg_add_int8(&p->places, place);
	return p->prefixes.n < DEDUPE_PIECE ? CAIRN_OK : cairn_pg_put_send_dedupe(p);
}
