/* Chunk queries. The statement that finds the row stays open, so that all later ones see its snapshot without a
 * transaction. A miss thus takes one statement, and reads one page of the database index. */
#include "index/rows.h"
#include "index/sqlite/engine.h"

#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

/* Most rows of one scope whose lists are read. There are several rows if different chunks have the same first 8
 * bytes. */
enum { DEDUPE_TRIES_MAX = 8 };

struct dedupe_query {
	struct cairn_reader *r;
	const struct cairn_hash *chunk;
	bool withdrawn;      /* also finds withdrawn xorbs */
	int64_t own_scope;   /* the caller's scope; 0 until needed, and for the shared or an unknown scope */
	int64_t xorb, shard; /* of the matching row */
	struct cairn_chunk_list list;
	struct cairn_index_dedupe_xorb answer;
	uint32_t *eligible; /* room for CAIRN_XORB_CHUNKS_MAX */
};

static void dedupe_query_fini(struct dedupe_query *q)
{
	cairn_chunk_list_fini(&q->list);
	free(q->eligible);
}

static enum cairn_status dedupe_decode(struct dedupe_query *q, sqlite3_stmt *row, int spans_column)
{
	size_t spans_len, hashes_len;
	const uint8_t *spans = cairn_sql_blob(row, spans_column, &spans_len);
	const uint8_t *hashes = cairn_sql_blob(row, spans_column + 1, &hashes_len);
	return cairn_rows_list(&q->list, spans, spans_len, hashes, hashes_len);
}

static CAIRN_READS(READ_LIST_BY_ID, "SELECT l.spans, l.hashes FROM xorb x CROSS JOIN list l"
				    " WHERE x.id = ?1 AND (x.withdrawn IS NULL OR ?2) AND l.xorb = x.id");

/* Compares the whole hash at the row's place, because other chunks may have the same prefix. */
static enum cairn_status dedupe_try(struct dedupe_query *q, sqlite3_stmt *found, bool *proved)
{
	int64_t place = sqlite3_column_int64(found, 1);
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *list = cairn_read_stmt(q->r, &READ_LIST_BY_ID);
	sqlite3_bind_int64(list, 1, sqlite3_column_int64(found, 0));
	sqlite3_bind_int64(list, 2, q->withdrawn);
	bool row;
	enum cairn_status status = cairn_sql_step(list, &row);
	if (status != CAIRN_OK || !row)
		return status;
	size_t len;
	const uint8_t *hashes = cairn_sql_blob(list, 1, &len);
	if (place < 0 || (uint64_t)place >= len / CAIRN_HASH_BYTES ||
	    memcmp(hashes + (size_t)place * CAIRN_HASH_BYTES, q->chunk->b, CAIRN_HASH_BYTES) != 0)
		return CAIRN_OK;
	q->xorb = sqlite3_column_int64(found, 0);
	q->shard = sqlite3_column_int64(found, 2);
	*proved = true;
	return dedupe_decode(q, list, 0);
}

/* Tries the rows of one scope. */
static enum cairn_status dedupe_scan(struct dedupe_query *q, sqlite3_stmt *rows, bool *proved)
{
	sqlite3_bind_int64(rows, 1, (int64_t)cairn_get_u64le(q->chunk->b));
	for (unsigned tries = 0; tries < DEDUPE_TRIES_MAX && !*proved; tries++) {
		bool row;
		enum cairn_status status = cairn_sql_step(rows, &row);
		if (status == CAIRN_OK && row)
			status = dedupe_try(q, rows, proved);
		if (status != CAIRN_OK || !row)
			return status;
	}
	return CAIRN_OK;
}

static CAIRN_READS(READ_SCOPE, "SELECT id FROM scope WHERE name = ?1");

static enum cairn_status dedupe_resolve_scope(struct dedupe_query *q, const char *scope)
{
	if (scope[0] == '\0')
		return CAIRN_OK;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_read_stmt(q->r, &READ_SCOPE);
	cairn_sql_bind_text(stmt, 1, scope);
	bool row;
	enum cairn_status status = cairn_sql_step(stmt, &row);
	if (status == CAIRN_OK && row)
		q->own_scope = sqlite3_column_int64(stmt, 0);
	return status;
}

/* Reads no rows of other scopes. Otherwise the time of an answer would reveal whether there are any. */
static enum cairn_status dedupe_find(struct dedupe_query *q, sqlite3_stmt *shared, sqlite3_stmt *own, const char *scope)
{
	bool proved = false;
	enum cairn_status status = dedupe_scan(q, shared, &proved);
	if (status == CAIRN_OK && !proved)
		status = dedupe_resolve_scope(q, scope);
	if (status == CAIRN_OK && !proved && q->own_scope != 0) {
		sqlite3_bind_int64(own, 2, q->own_scope);
		status = dedupe_scan(q, own, &proved);
	}
	return status == CAIRN_OK && !proved ? CAIRN_E_NOT_FOUND : status;
}

static CAIRN_READS(READ_ELIGIBLE, "SELECT scope, place FROM dedupe WHERE xorb = ?1");

/* Lists the places of the eligible chunks that the caller may see, ascending. */
static enum cairn_status dedupe_eligible(struct dedupe_query *q)
{
	bool marked[CAIRN_XORB_CHUNKS_MAX] = {false};
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_read_stmt(q->r, &READ_ELIGIBLE);
	sqlite3_bind_int64(stmt, 1, q->answer.xorb.id);
	for (;;) {
		bool row;
		enum cairn_status status = cairn_sql_step(stmt, &row);
		if (status != CAIRN_OK)
			return status;
		if (!row)
			break;
		int64_t scope = sqlite3_column_int64(stmt, 0), place = sqlite3_column_int64(stmt, 1);
		if ((scope == 0 || scope == q->own_scope) && place >= 0 && place < q->list.n)
			marked[place] = true;
	}
	q->answer.n_eligible = 0;
	for (uint32_t i = 0; i < q->list.n; i++) {
		if (marked[i])
			q->eligible[q->answer.n_eligible++] = i;
	}
	return CAIRN_OK;
}

static CAIRN_READS(READ_XORB_BY_ID, "SELECT " CAIRN_SQLITE_XORB " FROM xorb x WHERE x.id = ?1");

static enum cairn_status dedupe_answer_first(struct dedupe_query *q)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_read_stmt(q->r, &READ_XORB_BY_ID);
	sqlite3_bind_int64(stmt, 1, q->xorb);
	bool row;
	enum cairn_status status = cairn_sql_step(stmt, &row);
	if (status != CAIRN_OK)
		return status;
	if (!row || !cairn_sqlite_xorb_column(stmt, &q->answer.xorb))
		return CAIRN_E_DAMAGED;
	return dedupe_eligible(q);
}

/* Skips damaged neighbours: the requested xorb is sound all the same.
 * @param[out] row  false: no further neighbour */
static enum cairn_status dedupe_answer_next(struct dedupe_query *q, sqlite3_stmt *neighbours, bool *row)
{
	enum cairn_status status;
	do {
		status = cairn_sql_step(neighbours, row);
		if (status != CAIRN_OK || !*row)
			return status;
		status = CAIRN_E_DAMAGED;
		if (cairn_sqlite_xorb_column(neighbours, &q->answer.xorb))
			status = dedupe_decode(q, neighbours, CAIRN_SQLITE_XORB_COLUMNS);
	} while (status == CAIRN_E_DAMAGED);
	return status == CAIRN_OK ? dedupe_eligible(q) : status;
}

static CAIRN_READS(READ_NEIGHBOURS, "SELECT " CAIRN_SQLITE_XORB ", l.spans, l.hashes FROM member m"
				    " CROSS JOIN xorb x ON x.id = m.xorb CROSS JOIN list l ON l.xorb = m.xorb"
				    " WHERE m.shard = ?1 AND m.xorb <> ?2 AND x.retired IS NULL"
				    " AND (x.withdrawn IS NULL OR ?3) ORDER BY m.xorb");

static enum cairn_status dedupe_answer(struct dedupe_query *q, const char *scope,
				       bool (*visit)(void *ctx, const struct cairn_index_dedupe_xorb *xorb), void *ctx)
{
	q->eligible = malloc(CAIRN_XORB_CHUNKS_MAX * sizeof(*q->eligible));
	if (!q->eligible)
		return CAIRN_E_NOMEM;
	q->answer.list = &q->list;
	q->answer.eligible = q->eligible;
	enum cairn_status status = q->own_scope == 0 ? dedupe_resolve_scope(q, scope) : CAIRN_OK;
	if (status == CAIRN_OK)
		status = dedupe_answer_first(q);
	if (status != CAIRN_OK || !visit(ctx, &q->answer))
		return status;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *neighbours = cairn_read_stmt(q->r, &READ_NEIGHBOURS);
	sqlite3_bind_int64(neighbours, 1, q->shard);
	sqlite3_bind_int64(neighbours, 2, q->xorb);
	sqlite3_bind_int64(neighbours, 3, q->withdrawn);
	for (bool row = true;;) {
		status = dedupe_answer_next(q, neighbours, &row);
		if (status != CAIRN_OK || !row || !visit(ctx, &q->answer))
			return status;
	}
}

bool cairn_sqlite_may_dedupe(struct cairn_index *ix, const char *scope, const struct cairn_hash *chunk)
{
	struct cairn_filter *f = &cairn_sqlite(ix)->tx.filter;
	uint64_t prefix = cairn_get_u64le(chunk->b);
	return cairn_filter_maybe(f, prefix) ||
	       (scope[0] != '\0' && cairn_filter_maybe(f, cairn_filter_key(prefix, scope)));
}

static CAIRN_READS(READ_PREFIX, "SELECT xorb, place, shard FROM dedupe WHERE prefix = ?1 AND scope = 0 ORDER BY xorb");
static CAIRN_READS(READ_PREFIX_SCOPE,
		   "SELECT xorb, place, shard FROM dedupe WHERE prefix = ?1 AND scope = ?2 ORDER BY xorb");

enum cairn_status cairn_sqlite_dedupe(struct cairn_index *ix, const char *scope, const struct cairn_hash *chunk,
				      bool withdrawn,
				      bool (*visit)(void *ctx, const struct cairn_index_dedupe_xorb *xorb), void *ctx)
{
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(dedupe_query_fini) struct dedupe_query q = {.r = r, .chunk = chunk, .withdrawn = withdrawn};
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *shared = cairn_read_stmt(r, &READ_PREFIX);
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *own = cairn_read_stmt(r, &READ_PREFIX_SCOPE);
	status = dedupe_find(&q, shared, own, scope);
	return status == CAIRN_OK ? dedupe_answer(&q, scope, visit, ctx) : status;
}
