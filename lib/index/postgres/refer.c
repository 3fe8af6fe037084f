/* Finds the places of a chunk. */
#include "index/refer.h"

#include "base/bytes.h"
#include "index/postgres/engine.h"

/* The prefix proves little: the list has the whole hash. */
static const char REFER_PLACES[] =
	"SELECT x.hash, d.place, ('x' || encode(substring(l.spans FROM d.place * 8 + 1 FOR 4), 'hex'))::bit(32)::bigint,"
	" s.name FROM dedupe d JOIN xorb x ON x.id = d.xorb JOIN list l ON l.xorb = d.xorb CROSS JOIN LATERAL"
	" (SELECT name FROM scope WHERE id = d.scope LIMIT 1) s WHERE d.prefix = $1 AND substring(l.hashes FROM d.place * 32 + 1 FOR 32) = $2 ORDER BY d.xorb, s.name LIMIT $3";

enum cairn_status cairn_postgres_each_place(struct cairn_index *ix, const struct cairn_hash *chunk, uint32_t limit,
					    void (*visit)(void *ctx, const struct cairn_index_place *place), void *ctx,
					    bool *more)
{
	char scope[CAIRN_INDEX_SCOPE_TEXT_MAX + 1];
	struct cairn_pg_args args = {0};
	int page = limit == 0 || limit > CAIRN_INDEX_PAGE_MAX ? CAIRN_INDEX_PAGE_MAX : (int)limit;
	*more = false;
	cairn_pg_int8(&args, (int64_t)cairn_get_u64le(chunk->b));
	cairn_pg_hash(&args, chunk);
	cairn_pg_int8(&args, (int64_t)page + 1);
	PG_READ(ix, reader, r, REFER_PLACES, &args);
	for (int i = 0; i < PQntuples(r) && i < page; i++) {
		struct cairn_index_place place = {
			.at = (uint32_t)cairn_pg_get_int8(r, i, 1),
			.unpacked_bytes = __builtin_bswap32((uint32_t)cairn_pg_get_int8(r, i, 2)), /* kept LE */
			.scope = scope,
		};
		if (!cairn_pg_get_hash(r, i, 0, &place.xorb) || !cairn_pg_get_text(r, i, 3, scope, sizeof(scope)))
			return CAIRN_E_DAMAGED;
		visit(ctx, &place);
	}
	*more = PQntuples(r) > page;
	return CAIRN_OK;
}
