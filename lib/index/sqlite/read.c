/* Lookups. A statement is its own snapshot, so a lookup of one row needs no transaction. */
#include "index/rows.h"
#include "index/sqlite/engine.h"

#include <stdlib.h>
#include <string.h>

bool cairn_sqlite_xorb_column(sqlite3_stmt *row, struct cairn_index_xorb *out)
{
	out->id = sqlite3_column_int64(row, 0);
	out->n_chunks = (uint32_t)sqlite3_column_int64(row, 2);
	out->unpacked_bytes = (uint64_t)sqlite3_column_int64(row, 3);
	out->stored_bytes = (uint64_t)sqlite3_column_int64(row, 4);
	out->retired = sqlite3_column_type(row, 5) != SQLITE_NULL;
	out->at_unix_s = sqlite3_column_int64(row, 6);
	out->withdrawn_unix_s = sqlite3_column_int64(row, 7);
	out->referenced = sqlite3_column_int64(row, 8) != 0;
	/* rows name no copies: one process writes, and its store knows the copy */
	out->copy = (struct cairn_copy_id){0};
	return cairn_sql_hash(row, 1, &out->hash);
}

static void read_free(struct cairn_span **spans)
{
	free(*spans);
}

static CAIRN_READS(READ_LAYOUT, "SELECT hash, stored, chunks, repacked FROM xorb WHERE id = ?1");

/* @param[out] trusted  the byte ranges in terms are right */
static enum cairn_status read_layout(struct cairn_reader *r, int64_t xorb_id, struct cairn_index_spans *out,
				     bool *trusted)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_read_stmt(r, &READ_LAYOUT);
	sqlite3_bind_int64(stmt, 1, xorb_id);
	enum cairn_status status = cairn_sql_find(stmt);
	if (status != CAIRN_OK)
		return status;
	*out = (struct cairn_index_spans){.stored_bytes = (uint64_t)sqlite3_column_int64(stmt, 1)};
	int64_t n_chunks = sqlite3_column_int64(stmt, 2);
	if (!cairn_sql_hash(stmt, 0, &out->xorb) || n_chunks < 1 || n_chunks > CAIRN_XORB_CHUNKS_MAX)
		return CAIRN_E_DAMAGED;
	out->n_chunks = (uint32_t)n_chunks;
	*trusted = out->stored_bytes > 0 && sqlite3_column_int64(stmt, 3) == 0;
	return CAIRN_OK;
}

static CAIRN_READS(READ_SPANS, "SELECT spans FROM list WHERE xorb = ?1");

/* @param spans  room for CAIRN_XORB_CHUNKS_MAX */
static enum cairn_status read_spans(struct cairn_reader *r, int64_t xorb_id, struct cairn_span *spans,
				    struct cairn_index_spans *out)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_read_stmt(r, &READ_SPANS);
	sqlite3_bind_int64(stmt, 1, xorb_id);
	enum cairn_status status = cairn_sql_find(stmt);
	if (status != CAIRN_OK)
		return status;
	size_t len;
	const uint8_t *bytes = cairn_sql_blob(stmt, 0, &len);
	out->spans = spans;
	return cairn_rows_spans(spans, out->n_chunks, bytes, len);
}

/* While a row of the reader is open, all reads see one snapshot. A transaction for each would cost as much as
 * reading. */
static enum cairn_status read_places(struct cairn_reader *r, const int64_t *xorb_ids, uint32_t n,
				     const uint32_t with_spans[static 2],
				     enum cairn_status (*visit)(void *ctx, const struct cairn_index_spans *places),
				     void *ctx)
{
	CLEANUP(read_free) struct cairn_span *spans = malloc(CAIRN_XORB_CHUNKS_MAX * sizeof(*spans));
	enum cairn_status status = spans ? CAIRN_OK : CAIRN_E_NOMEM;
	for (uint32_t i = 0; i < n && status == CAIRN_OK; i++) {
		struct cairn_index_spans places;
		bool trusted;
		status = read_layout(r, xorb_ids[i], &places, &trusted);
		if (status == CAIRN_OK && (!trusted || i == with_spans[0] || i == with_spans[1]))
			status = read_spans(r, xorb_ids[i], spans, &places);
		if (status == CAIRN_OK)
			status = visit(ctx, &places);
	}
	return status;
}

/* While its row is open, all statements see one snapshot. */
static CAIRN_READS(READ_STATE, "SELECT collection FROM state");

enum cairn_status cairn_sqlite_spans(struct cairn_index *ix, const int64_t *xorb_ids, uint32_t n,
				     const uint32_t with_spans[static 2],
				     enum cairn_status (*visit)(void *ctx, const struct cairn_index_spans *places),
				     void *ctx)
{
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *snapshot = cairn_read_stmt(r, &READ_STATE);
	status = cairn_sql_find(snapshot);
	return status == CAIRN_OK ? read_places(r, xorb_ids, n, with_spans, visit, ctx) : status;
}

enum cairn_status cairn_sqlite_file_columns(sqlite3_stmt *row, struct cairn_index_file *out)
{
	if (!cairn_sql_hash(row, 0, &out->hash))
		return CAIRN_E_DAMAGED;
	out->size_bytes = (uint64_t)sqlite3_column_int64(row, 1);
	return CAIRN_OK;
}

static void read_bind_viewer(sqlite3_stmt *stmt, const char *viewer)
{
	if (viewer)
		cairn_sql_bind_text(stmt, 2, viewer);
	else
		sqlite3_bind_null(stmt, 2);
}

/* @param stmt  reset by the caller; until then the file's open row keeps the snapshot
 * @param n_terms_max  0: read no terms  @return CAIRN_E_BUSY: the file has more than n_terms_max terms */
static enum cairn_status read_file(sqlite3_stmt *stmt, const struct cairn_hash *hash, const char *viewer,
				   uint32_t n_terms_max, struct cairn_index_file *out)
{
	*out = (struct cairn_index_file){0};
	cairn_sql_bind_hash(stmt, 1, hash);
	read_bind_viewer(stmt, viewer);
	sqlite3_bind_int64(stmt, 3, (int64_t)n_terms_max * CAIRN_ROWS_TERM_BYTES);
	enum cairn_status status = cairn_sql_find(stmt);
	if (status == CAIRN_OK)
		status = cairn_sqlite_file_columns(stmt, out);
	if (status != CAIRN_OK)
		return status;
	int64_t terms_bytes = sqlite3_column_int64(stmt, 3);
	out->n_terms = (uint32_t)(terms_bytes / CAIRN_ROWS_TERM_BYTES);
	if (n_terms_max == 0)
		return CAIRN_OK;
	if (terms_bytes > (int64_t)n_terms_max * CAIRN_ROWS_TERM_BYTES)
		return CAIRN_E_BUSY; /* the number as in the statement: damaged terms may end within a term */
	size_t len;
	const uint8_t *terms = cairn_sql_blob(stmt, 2, &len);
	return cairn_rows_terms(&out->terms, &out->n_terms, terms, len, CAIRN_ROWS_TERM_BYTES);
}

/* May viewer ?2 read the file? Yes if that repository or the operator registered it, or a pull request of the
 * repository names it. NULL may read all files. */
#define READ_FILE_VISIBLE                                                                                               \
	"(?2 IS NULL OR EXISTS(SELECT 1 FROM file_owner o WHERE o.file = f.id AND o.scope = 0)"                         \
	" OR EXISTS(SELECT 1 FROM file_owner o WHERE o.file = f.id AND o.scope = (SELECT id FROM scope WHERE name = "   \
	"?2)) OR EXISTS(SELECT 1 FROM proposed p WHERE p.file = f.id AND p.scope = (SELECT id FROM scope WHERE name = " \
	"?2)))"

/* Does not read longer terms. */
static CAIRN_READS(READ_FILE, "SELECT f.hash, f.size, CASE WHEN length(f.terms) <= ?3 THEN f.terms END, length(f.terms)"
			      " FROM file f WHERE f.hash = ?1 AND " READ_FILE_VISIBLE);

enum cairn_status cairn_sqlite_file(struct cairn_index *ix, const struct cairn_hash *hash, const char *viewer,
				    bool with_terms, struct cairn_index_file *out)
{
	*out = (struct cairn_index_file){0};
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_read_stmt(r, &READ_FILE);
	return read_file(stmt, hash, viewer, with_terms ? UINT32_MAX : 0, out);
}

/* Uses one snapshot for both halves. Beginning and ending one takes a lock that all readers share: most of a small
 * plan's time when several processors read. */
enum cairn_status cairn_sqlite_plan(struct cairn_index *ix, const struct cairn_hash *hash, const char *viewer,
				    struct cairn_index_planner *planner, struct cairn_index_file *out)
{
	*out = (struct cairn_index_file){0};
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	const int64_t *ids = NULL;
	uint32_t n = 0, with_spans[2] = {UINT32_MAX, UINT32_MAX};
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_read_stmt(r, &READ_FILE);
	status = read_file(stmt, hash, viewer, planner->n_terms_max, out);
	if (status == CAIRN_OK)
		status = planner->choose(planner, out, &ids, &n, with_spans);
	return status == CAIRN_OK && n > 0 ? read_places(r, ids, n, with_spans, planner->visit, planner) : status;
}

static CAIRN_READS(READ_SHARD, "SELECT 1 FROM shard WHERE hash = ?1 AND scope = (SELECT id FROM scope WHERE name = ?2)"
			       " AND owner = (SELECT id FROM scope WHERE name = ?3)"
			       " AND collection = (SELECT collection FROM state)"
			       " AND (at > unixepoch() - 3600 OR ?3 NOT GLOB 'hub/*')");

enum cairn_status cairn_sqlite_look_up_shard(struct cairn_index *ix, struct cairn_index_shard_lookup *lookup)
{
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_read_stmt(r, &READ_SHARD);
	cairn_sql_bind_hash(stmt, 1, &lookup->body);
	cairn_sql_bind_text(stmt, 2, lookup->scope);
	cairn_sql_bind_text(stmt, 3, lookup->owner);
	return cairn_sql_step(stmt, &lookup->known);
}
