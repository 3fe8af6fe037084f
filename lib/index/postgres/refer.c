/* Finds what a hash names, and what refers to it. */
#include "index/refer.h"

#include "base/bytes.h"
#include "index/postgres/engine.h"

#define REFER_SCOPE "(SELECT id FROM scope WHERE name = $1)"
#define REFER_OF_ALL(files)                                                                                            \
	"SELECT f.hash, f.size, f.at, " CAIRN_PG_WORD ", s.name, o.proof, " CAIRN_POSTGRES_SHOWN                       \
	" FROM " files CAIRN_PG_OWNERS " WHERE $1::text IS NULL"
#define REFER_OF_ONE "SELECT f.hash, f.size, f.at, " CAIRN_PG_WORD ", $1::text, o.proof FROM "
/* Looks files up one by one, after the rows that name them: a join might read all files to get their order. */
#define REFER_FILES(column) " CROSS JOIN LATERAL (SELECT * FROM file WHERE id = " column " LIMIT 1) f"

static const char *const REFER_ONE[CAIRN_INDEX_MATCHES] = {
	[CAIRN_INDEX_MATCH_FILE] = REFER_OF_ONE "file f JOIN file_owner o ON o.file = f.id WHERE o.scope = " REFER_SCOPE
						" AND f.hash = $2 ORDER BY o.proof DESC, o.sha256 LIMIT least($3, 1)",
	[CAIRN_INDEX_MATCH_SHA256] = REFER_OF_ONE
	"file_owner o" REFER_FILES("o.file") " WHERE o.scope + 0 = " REFER_SCOPE
					     " AND o.sha256 = $2 AND o.proof > 0 ORDER BY f.hash LIMIT $3",
	/* Looks up each of the owner's files under the xorb's number, even if there is none (-1): time must not
	 * tell. */
	[CAIRN_INDEX_MATCH_XORB] = REFER_OF_ONE
	"(SELECT * FROM file_owner o WHERE o.scope + 0 = " REFER_SCOPE " AND " CAIRN_PG_BEST
	" AND (SELECT true FROM reference r WHERE r.file = o.file AND r.xorb ="
	" coalesce((SELECT id FROM xorb WHERE hash = $2), -1) LIMIT 1) IS NOT NULL OFFSET 0) o" REFER_FILES(
		"o.file") " ORDER BY f.hash LIMIT $3",
};
static const char *const REFER_ALL[CAIRN_INDEX_MATCHES] = {
	[CAIRN_INDEX_MATCH_FILE] = REFER_OF_ALL("file f") " AND f.hash = $2 ORDER BY s.name LIMIT $3",
	[CAIRN_INDEX_MATCH_SHA256] =
		"SELECT f.hash, f.size, f.at, o.sha256, s.name, o.proof, " CAIRN_POSTGRES_SHOWN
		" FROM file_owner o" REFER_FILES(
			"o.file") " CROSS JOIN LATERAL (SELECT * FROM scope WHERE id = o.scope LIMIT 1) s"
				  " WHERE $1::text IS NULL AND o.sha256 = $2 AND o.sha256 > '' AND o.proof > 0"
				  " ORDER BY f.hash, s.name"
				  " LIMIT $3",
	[CAIRN_INDEX_MATCH_XORB] = REFER_OF_ALL("reference r" REFER_FILES(
		"r.file")) " AND r.xorb = (SELECT id FROM xorb WHERE hash = $2) ORDER BY f.hash, s.name LIMIT $3",
};
/* The prefix proves little: the list has the whole hash. */
static const char REFER_PLACES[] =
	"SELECT x.hash, d.place, ('x' || encode(substring(l.spans FROM d.place * 8 + 1 FOR 4), 'hex'))::bit(32)::bigint,"
	" s.name FROM dedupe d JOIN xorb x ON x.id = d.xorb JOIN list l ON l.xorb = d.xorb CROSS JOIN LATERAL"
	" (SELECT name FROM scope WHERE id = d.scope LIMIT 1) s WHERE d.prefix = $1 AND substring(l.hashes FROM d.place * 32 + 1 FOR 32) = $2 ORDER BY d.xorb, s.name LIMIT $3";

enum cairn_status cairn_postgres_each_match(struct cairn_index *ix, const char *owner, enum cairn_index_match match,
					    const uint8_t name[static CAIRN_HASH_BYTES], uint32_t limit,
					    void (*visit)(void *ctx, const struct cairn_index_owned *file), void *ctx,
					    bool *more)
{
	struct cairn_pg_args args = {0};
	int page = limit == 0 || limit > CAIRN_INDEX_PAGE_MAX ? CAIRN_INDEX_PAGE_MAX : (int)limit;
	*more = false;
	cairn_pg_text(&args, owner);
	cairn_pg_bytes(&args, name, 32);
	cairn_pg_int8(&args, (int64_t)page + 1);
	PG_READ(ix, reader, r, owner ? REFER_ONE[match] : REFER_ALL[match], &args);
	return cairn_pg_visit_owned(r, page, visit, ctx, more);
}

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
