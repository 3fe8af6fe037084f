/* Walks over all xorbs and files, a page at a time, and computes totals. */
#include "index/operate.h"
#include "index/rows.h"
#include "index/sqlite/engine.h"

#include <stdlib.h>

uint32_t cairn_sqlite_page(sqlite3_stmt *stmt, int64_t from_id, uint32_t limit)
{
	uint32_t page = limit == 0 || limit > CAIRN_INDEX_PAGE_MAX ? CAIRN_INDEX_PAGE_MAX : limit;
	sqlite3_bind_int64(stmt, 1, from_id);
	sqlite3_bind_int64(stmt, 2, page);
	return page;
}

static CAIRN_READS(READ_EACH_XORB, "SELECT " CAIRN_XORB_COLUMNS " FROM xorb x WHERE x.id > ?1 ORDER BY x.id LIMIT ?2");

enum cairn_status cairn_sqlite_each_xorb(struct cairn_index *ix, int64_t from_id, uint32_t limit,
					 void (*visit)(void *ctx, const struct cairn_index_xorb *xorb), void *ctx,
					 int64_t *next_id)
{
	*next_id = 0;
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_read_stmt(r, &READ_EACH_XORB);
	uint32_t page = cairn_sqlite_page(stmt, from_id, limit);
	struct cairn_index_xorb xorb;
	for (uint32_t n = 0; n < page; n++) {
		bool row;
		status = cairn_sql_step(stmt, &row);
		if (status != CAIRN_OK || !row)
			return status;
		if (!cairn_sqlite_xorb_column(stmt, &xorb))
			return CAIRN_E_DAMAGED;
		visit(ctx, &xorb);
	}
	*next_id = xorb.id;
	return CAIRN_OK;
}

static enum cairn_status walk_file(sqlite3_stmt *stmt, bool with_terms, struct cairn_index_file *out)
{
	enum cairn_status status = cairn_sqlite_file_columns(stmt, out);
	if (status != CAIRN_OK)
		return status;
	out->n_terms = (uint32_t)(sqlite3_column_bytes(stmt, 2) / CAIRN_ROWS_TERM_BYTES);
	if (!with_terms)
		return CAIRN_OK;
	size_t len;
	const uint8_t *terms = cairn_sql_blob(stmt, 2, &len);
	return cairn_rows_terms(&out->terms, &out->n_terms, terms, len, CAIRN_ROWS_TERM_BYTES);
}

static CAIRN_READS(READ_EACH_FILE, "SELECT hash, size, terms, id FROM file WHERE id > ?1 ORDER BY id LIMIT ?2");

enum cairn_status cairn_sqlite_each_file(struct cairn_index *ix, int64_t from_id, uint32_t limit, bool with_terms,
					 void (*visit)(void *ctx, const struct cairn_index_file *file), void *ctx,
					 int64_t *next_id)
{
	*next_id = 0;
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_read_stmt(r, &READ_EACH_FILE);
	uint32_t page = cairn_sqlite_page(stmt, from_id, limit);
	int64_t last = 0;
	for (uint32_t n = 0; n < page; n++) {
		bool row;
		status = cairn_sql_step(stmt, &row);
		if (status != CAIRN_OK || !row)
			return status;
		CLEANUP(cairn_index_file_fini) struct cairn_index_file file = {0};
		status = walk_file(stmt, with_terms, &file);
		if (status != CAIRN_OK)
			return status;
		last = file.id = sqlite3_column_int64(stmt, 3);
		visit(ctx, &file);
	}
	*next_id = last;
	return CAIRN_OK;
}

/* --- who has what ------------------------------------------------------------------------------------------------- */

/* A growing list of the owners of a file. */
struct walk_owners {
	int64_t *all; /* owned */
	uint32_t n, cap;
};

static void walk_owners_fini(struct walk_owners *owners)
{
	free(owners->all);
}

static CAIRN_READS(READ_OWNERS, "SELECT DISTINCT scope FROM file_owner WHERE file = ?1 ORDER BY scope");

static enum cairn_status walk_owners_of(struct cairn_reader *r, int64_t file, struct walk_owners *out)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_read_stmt(r, &READ_OWNERS);
	sqlite3_bind_int64(stmt, 1, file);
	for (out->n = 0;; out->n++) {
		bool row;
		enum cairn_status status = cairn_sql_step(stmt, &row);
		if (status != CAIRN_OK || !row)
			return status;
		if (out->n == out->cap) {
			uint32_t cap = out->cap ? 2 * out->cap : 16;
			int64_t *grown = realloc(out->all, cap * sizeof(*grown));
			if (!grown)
				return CAIRN_E_NOMEM;
			out->all = grown;
			out->cap = cap;
		}
		out->all[out->n] = sqlite3_column_int64(stmt, 0);
	}
}

enum cairn_status cairn_sqlite_each_owned_file(struct cairn_index *ix, int64_t from_id,
					       cairn_index_visit_owned_file *visit, void *ctx, int64_t *next_id)
{
	*next_id = 0;
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(walk_owners_fini) struct walk_owners owners = {0};
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_read_stmt(r, &READ_EACH_FILE);
	uint32_t page = cairn_sqlite_page(stmt, from_id, 0);
	int64_t last = 0;
	for (uint32_t n = 0; n < page; n++) {
		bool row;
		status = cairn_sql_step(stmt, &row);
		if (status != CAIRN_OK || !row)
			return status;
		CLEANUP(cairn_index_file_fini) struct cairn_index_file file = {0};
		status = walk_file(stmt, true, &file);
		last = file.id = sqlite3_column_int64(stmt, 3);
		if (status == CAIRN_OK)
			status = walk_owners_of(r, last, &owners);
		if (status != CAIRN_OK)
			return status;
		visit(ctx, &file, owners.all, owners.n);
	}
	*next_id = last;
	return CAIRN_OK;
}

static enum cairn_status walk_sum(struct cairn_reader *r, const struct cairn_statement *which, uint64_t *n,
				  uint64_t *bytes)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_read_stmt(r, which);
	bool row;
	enum cairn_status status = cairn_sql_step(stmt, &row);
	if (status != CAIRN_OK)
		return status;
	*n = (uint64_t)sqlite3_column_int64(stmt, 0);
	*bytes = (uint64_t)sqlite3_column_int64(stmt, 1);
	return CAIRN_OK;
}

static CAIRN_READS(READ_RETIRED, "SELECT count(*), coalesce(sum(stored), 0) FROM xorb WHERE retired IS NOT NULL");
static CAIRN_READS(READ_UNREFERENCED, "SELECT count(*), coalesce(sum(stored), 0) FROM xorb x"
				      " WHERE NOT EXISTS(SELECT 1 FROM reference r WHERE r.xorb = x.id)");
static CAIRN_READS(READ_FILE_BYTES, "SELECT count(*), coalesce(sum(size), 0) FROM file");

enum cairn_status cairn_sqlite_totals(struct cairn_index *ix, struct cairn_index_totals *out)
{
	*out = (struct cairn_index_totals){0};
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	/* Uses three snapshots: each is as good as one, and a long one would keep the log from being restarted. */
	if (status == CAIRN_OK)
		status = walk_sum(r, &READ_FILE_BYTES, &out->n_files, &out->file_bytes);
	if (status == CAIRN_OK)
		status = walk_sum(r, &READ_RETIRED, &out->n_retired, &out->retired_bytes);
	if (status == CAIRN_OK)
		status = walk_sum(r, &READ_UNREFERENCED, &out->n_unreferenced, &out->unreferenced_bytes);
	return status;
}
