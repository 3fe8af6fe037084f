/* Finds what a hash names, and what refers to it. */
#include "index/refer.h"

#include "base/bytes.h"
#include "index/rows.h"
#include "index/sqlite/engine.h"

#include <string.h>

static uint32_t refer_limit(uint32_t limit)
{
	return limit == 0 || limit > CAIRN_INDEX_PAGE_MAX ? CAIRN_INDEX_PAGE_MAX : limit;
}

static CAIRN_READS(READ_MATCH_FILE,
		   "SELECT f.hash, f.size, f.at, " CAIRN_OWNED_CLAIM ", ?1, o.proof FROM file f CROSS JOIN file_owner o"
		   " ON o.file = f.id WHERE f.hash = ?2 AND o.scope = " CAIRN_OWNER_ID " AND" CAIRN_OWNED_BEST
		   " LIMIT ?3");
static CAIRN_READS(
	READ_MATCH_SHA256,
	"SELECT f.hash, f.size, f.at, o.sha256, ?1, o.proof FROM file_owner o CROSS JOIN file f ON f.id = o.file"
	" WHERE o.scope = " CAIRN_OWNER_ID " AND o.sha256 = ?2 AND o.proof > 0 ORDER BY f.hash LIMIT ?3");
/* Looks up each of the owner's files under the xorb's number, even if there is none (-1): time must not * tell. */
static CAIRN_READS(READ_MATCH_XORB, CAIRN_OWNED
		   " AND EXISTS(SELECT 1 FROM reference r WHERE r.file = u.file"
		   " AND r.xorb = coalesce((SELECT id FROM xorb WHERE hash = ?2), -1)) ORDER BY f.hash LIMIT ?3");
static CAIRN_READS(READ_ANY_MATCH_FILE, CAIRN_OWNED_BY_ALL " AND f.hash = ?2 ORDER BY s.name LIMIT ?3");
static CAIRN_READS(READ_ANY_MATCH_SHA256,
		   "SELECT f.hash, f.size, f.at, o.sha256, s.name, o.proof, " CAIRN_SQLITE_SHOWN " FROM scope s"
		   " CROSS JOIN file_owner o INDEXED BY file_owner_claim ON o.scope = s.id CROSS JOIN file f"
		   " ON f.id = o.file WHERE o.sha256 = ?2 AND o.proof > 0 ORDER BY f.hash, s.name LIMIT ?3");
static CAIRN_READS(READ_ANY_MATCH_XORB, CAIRN_OWNED_BY_ALL " AND f.id IN (SELECT r.file FROM reference r"
							   " WHERE r.xorb = (SELECT id FROM xorb WHERE hash = ?2))"
							   " ORDER BY f.hash, s.name LIMIT ?3");

enum cairn_status cairn_sqlite_each_match(struct cairn_index *ix, const char *owner, enum cairn_index_match match,
					  const uint8_t name[static CAIRN_HASH_BYTES], uint32_t limit,
					  void (*visit)(void *ctx, const struct cairn_index_owned *file), void *ctx,
					  bool *more)
{
	static const struct cairn_statement *const OF_OWNER[CAIRN_INDEX_MATCHES] = {
		[CAIRN_INDEX_MATCH_FILE] = &READ_MATCH_FILE,
		[CAIRN_INDEX_MATCH_SHA256] = &READ_MATCH_SHA256,
		[CAIRN_INDEX_MATCH_XORB] = &READ_MATCH_XORB,
	};
	static const struct cairn_statement *const OF_ALL[CAIRN_INDEX_MATCHES] = {
		[CAIRN_INDEX_MATCH_FILE] = &READ_ANY_MATCH_FILE,
		[CAIRN_INDEX_MATCH_SHA256] = &READ_ANY_MATCH_SHA256,
		[CAIRN_INDEX_MATCH_XORB] = &READ_ANY_MATCH_XORB,
	};
	*more = false;
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_read_stmt(r, owner ? OF_OWNER[match] : OF_ALL[match]);
	if (owner)
		cairn_sql_bind_text(stmt, 1, owner);
	cairn_sql_bind_blob(stmt, 2, name, 32);
	return cairn_sqlite_visit_owned(stmt, refer_limit(limit), visit, ctx, more);
}

/* Is the chunk at the row's place? The prefix proves little. @param[out] out  except for the scope */
static enum cairn_status refer_prove(struct cairn_reader *r, sqlite3_stmt *found, const struct cairn_hash *chunk,
				     struct cairn_chunk_list *list, struct cairn_index_place *out, bool *proved)
{
	int64_t place = sqlite3_column_int64(found, 1);
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_read_stmt(r, &CAIRN_READ_LIST_BY_ID);
	sqlite3_bind_int64(stmt, 1, sqlite3_column_int64(found, 0));
	enum cairn_status status = cairn_sql_find(stmt);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_E_DAMAGED : status;
	size_t spans_len, hashes_len;
	const uint8_t *spans = cairn_sql_blob(stmt, 0, &spans_len);
	const uint8_t *hashes = cairn_sql_blob(stmt, 1, &hashes_len);
	status = cairn_rows_list(list, spans, spans_len, hashes, hashes_len);
	if (status != CAIRN_OK || place < 0 || place >= list->n || !cairn_hash_equal(&list->hashes[place], chunk))
		return status;
	out->at = (uint32_t)place;
	out->unpacked_bytes = list->spans[place].unpacked_bytes;
	*proved = true;
	return cairn_sql_hash(found, 2, &out->xorb) ? CAIRN_OK : CAIRN_E_DAMAGED;
}

static CAIRN_READS(READ_PLACES,
		   "SELECT d.xorb, d.place, x.hash, s.name FROM dedupe d CROSS JOIN xorb x ON x.id = d.xorb"
		   " CROSS JOIN scope s ON s.id = d.scope WHERE d.prefix = ?1 ORDER BY d.xorb, s.name");

enum cairn_status cairn_sqlite_each_place(struct cairn_index *ix, const struct cairn_hash *chunk, uint32_t limit,
					  void (*visit)(void *ctx, const struct cairn_index_place *place), void *ctx,
					  bool *more)
{
	*more = false;
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_chunk_list_fini) struct cairn_chunk_list list = {0};
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_read_stmt(r, &READ_PLACES);
	sqlite3_bind_int64(stmt, 1, (int64_t)cairn_get_u64le(chunk->b));
	for (uint32_t n = 0;;) {
		struct cairn_index_place place;
		bool row, proved = false;
		status = cairn_sql_step(stmt, &row);
		*more = row && n == refer_limit(limit);
		if (status != CAIRN_OK || !row || *more)
			return status;
		status = refer_prove(r, stmt, chunk, &list, &place, &proved);
		place.scope = (const char *)sqlite3_column_text(stmt, 3);
		if (status != CAIRN_OK || !place.scope)
			return status != CAIRN_OK ? status : CAIRN_E_NOMEM;
		if (proved) {
			visit(ctx, &place);
			n++;
		}
	}
}
