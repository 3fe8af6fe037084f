/* Walks over all xorbs and files, a page at a time, and computes totals. */
#include "index/operate.h"
#include "index/postgres/engine.h"
#include "index/rows.h"

#include <stdlib.h>

static const char WALK_XORBS[] = "SELECT " CAIRN_PG_XORB " FROM xorb x WHERE x.id > $1 ORDER BY x.id LIMIT $2";
static const char WALK_FILES[] = "SELECT hash, size, terms, id FROM file WHERE id > $1 ORDER BY id LIMIT $2";
static const char WALK_FILE_SIZES[] =
	"SELECT hash, size, octet_length(terms), id FROM file WHERE id > $1 ORDER BY id LIMIT $2";
static const char WALK_OWNED_FILES[] =
	"SELECT f.hash, f.size, f.terms, f.id, ARRAY(SELECT DISTINCT o.scope FROM file_owner o WHERE o.file = f.id"
	" ORDER BY o.scope) FROM file f WHERE f.id > $1 ORDER BY f.id LIMIT $2";
static const char WALK_FILE_BYTES[] = "SELECT count(*), coalesce(sum(size), 0)::bigint FROM file";
static const char WALK_RETIRED[] =
	"SELECT count(*), coalesce(sum(stored), 0)::bigint FROM xorb WHERE retired IS NOT NULL";
static const char WALK_UNREFERENCED[] = "SELECT count(*), coalesce(sum(stored), 0)::bigint FROM xorb x"
					" WHERE NOT EXISTS(SELECT 1 FROM reference r WHERE r.xorb = x.id)";

int cairn_pg_page(struct cairn_pg_args *args, uint32_t limit)
{
	int page = limit == 0 || limit > CAIRN_INDEX_PAGE_MAX ? CAIRN_INDEX_PAGE_MAX : (int)limit;
	cairn_pg_int8(args, page);
	return page;
}

enum cairn_status cairn_postgres_each_xorb(struct cairn_index *ix, int64_t from_id, uint32_t limit,
					   void (*visit)(void *ctx, const struct cairn_index_xorb *xorb), void *ctx,
					   int64_t *next_id)
{
	struct cairn_pg_args args = {0};
	struct cairn_index_xorb xorb = {.id = 0};
	*next_id = 0;
	cairn_pg_int8(&args, from_id);
	int page = cairn_pg_page(&args, limit);
	PG_READ(ix, reader, r, WALK_XORBS, &args);
	for (int i = 0; i < PQntuples(r); i++) {
		if (!cairn_pg_xorb_row(r, i, &xorb))
			return CAIRN_E_DAMAGED;
		visit(ctx, &xorb);
	}
	*next_id = PQntuples(r) == page ? xorb.id : 0;
	return CAIRN_OK;
}

enum cairn_status cairn_postgres_each_file(struct cairn_index *ix, int64_t from_id, uint32_t limit, bool with_terms,
					   void (*visit)(void *ctx, const struct cairn_index_file *file), void *ctx,
					   int64_t *next_id)
{
	struct cairn_pg_args args = {0};
	int64_t last = 0;
	*next_id = 0;
	cairn_pg_int8(&args, from_id);
	int page = cairn_pg_page(&args, limit);
	PG_READ(ix, reader, r, with_terms ? WALK_FILES : WALK_FILE_SIZES, &args);
	for (int i = 0; i < PQntuples(r); i++) {
		CLEANUP(cairn_index_file_fini) struct cairn_index_file file = {0};
		enum cairn_status status = cairn_pg_file_row(r, i, with_terms, &file);
		if (status != CAIRN_OK)
			return status;
		if (!with_terms)
			file.n_terms = (uint32_t)(cairn_pg_get_int8(r, i, 2) / CAIRN_ROWS_TERM_BYTES);
		last = file.id = cairn_pg_get_int8(r, i, 3);
		visit(ctx, &file);
	}
	*next_id = PQntuples(r) == page ? last : 0;
	return CAIRN_OK;
}

/* --- who has what ------------------------------------------------------------------------------------------------- */

enum cairn_status cairn_postgres_each_owned_file(struct cairn_index *ix, int64_t from_id,
						 cairn_index_visit_owned_file *visit, void *ctx, int64_t *next_id)
{
	struct cairn_pg_args args = {0};
	int64_t last = 0;
	*next_id = 0;
	cairn_pg_int8(&args, from_id);
	int page = cairn_pg_page(&args, 0);
	PG_READ(ix, reader, r, WALK_OWNED_FILES, &args);
	for (int i = 0; i < PQntuples(r); i++) {
		CLEANUP(cairn_index_file_fini) struct cairn_index_file file = {0};
		uint32_t n = 0;
		int64_t *owners = NULL;
		enum cairn_status status = cairn_pg_file_row(r, i, true, &file);
		if (status == CAIRN_OK)
			status = cairn_pg_get_int8s(r, i, 4, &owners, &n);
		if (status != CAIRN_OK)
			return status;
		last = file.id = cairn_pg_get_int8(r, i, 3);
		visit(ctx, &file, owners, n);
		free(owners);
	}
	*next_id = PQntuples(r) == page ? last : 0;
	return CAIRN_OK;
}

static enum cairn_status walk_sum(struct cairn_pg *pg, const char *sql, uint64_t *n, uint64_t *bytes)
{
	const PGresult *r;
	cairn_pg_scan(pg);
	enum cairn_status status = cairn_pg_ask(pg, sql, NULL, &r);
	if (status != CAIRN_OK)
		return status;
	*n = (uint64_t)cairn_pg_get_int8(r, 0, 0);
	*bytes = (uint64_t)cairn_pg_get_int8(r, 0, 1);
	return CAIRN_OK;
}

enum cairn_status cairn_postgres_totals(struct cairn_index *ix, struct cairn_index_totals *out)
{
	CLEANUP(cairn_pg_givep) struct cairn_pg_reader *reader = NULL;
	*out = (struct cairn_index_totals){0};
	enum cairn_status status = cairn_pg_take(&cairn_postgres(ix)->pool, &reader);
	if (status != CAIRN_OK)
		return status;
	struct cairn_pg *pg = &reader->pg;
	pg->silence_ms = CAIRN_PG_SCAN_MS;
	status = walk_sum(pg, WALK_FILE_BYTES, &out->n_files, &out->file_bytes);
	if (status == CAIRN_OK)
		status = walk_sum(pg, WALK_RETIRED, &out->n_retired, &out->retired_bytes);
	if (status == CAIRN_OK)
		status = walk_sum(pg, WALK_UNREFERENCED, &out->n_unreferenced, &out->unreferenced_bytes);
	pg->silence_ms = CAIRN_PG_SILENCE_MS;
	return status;
}
