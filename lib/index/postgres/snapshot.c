/* Reads an index as it was at one moment, in a read-only transaction, some rows at a time. */
#include "index/postgres/engine.h"
#include "index/postgres/migrate.h"

#include <stdlib.h>

enum { SNAPSHOT_XORBS_PAGE = 32, SNAPSHOT_FILES_PAGE = 256 }; /* rows of a page: a list may have 320 KiB */

static const char SNAPSHOT_BEGIN[] = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
static const char SNAPSHOT_XORBS[] =
	"SELECT " CAIRN_POSTGRES_XORB ", l.spans, l.hashes FROM xorb x JOIN list l ON l.xorb = x.id"
	" WHERE x.id > $1 ORDER BY x.id LIMIT $2";
static const char SNAPSHOT_FILES[] =
	"SELECT hash, size, terms, id, at, coalesce((SELECT p.sha256 FROM proof p WHERE p.file = f.id),"
	" (SELECT o.sha256 FROM file_owner o WHERE o.file = f.id AND o.sha256 > '' ORDER BY o.scope, o.sha256 LIMIT 1)) FROM file f WHERE id > $1 ORDER BY id LIMIT $2";
static const char SNAPSHOT_XORB_HASH[] = "SELECT hash FROM xorb WHERE id = $1";
/* Does not read the sequences, which are not part of the snapshot. */
static const char SNAPSHOT_EXTENT[] =
	"SELECT coalesce((SELECT max(id) FROM xorb), 0), coalesce((SELECT max(id) FROM file), 0),"
	" coalesce((SELECT sum(chunks)::bigint FROM xorb WHERE id > $1), 0)";

struct postgres_snapshot {
	struct cairn_index_snapshot snapshot; /* first */
	struct cairn_pg_place place;
	struct cairn_pg pg;
};

static struct cairn_pg *snapshot_pg(struct cairn_index_snapshot *snapshot)
{
	return &((struct postgres_snapshot *)snapshot)->pg;
}

static enum cairn_status snapshot_fail(struct cairn_pg *pg, struct cairn_diag *diag)
{
	return cairn_pg_fail(pg, diag, "cannot read the index");
}

static enum cairn_status snapshot_begin(struct cairn_pg *pg, struct cairn_diag *diag)
{
	int version;
	if (cairn_pg_open(pg) != CAIRN_OK)
		return cairn_pg_fail(pg, diag, "cannot open the index");
	pg->silence_ms = CAIRN_PG_SCAN_MS;
	enum cairn_status status = cairn_pg_judge(pg, &version, diag);
	if (status == CAIRN_OK && version == 0)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "index.foreign", CAIRN_NO_OFFSET,
				  "there is no index in the schema \"%s\"", pg->place->schema);
	if (status == CAIRN_OK && cairn_pg_run(pg, SNAPSHOT_BEGIN, NULL, NULL) != CAIRN_OK)
		return snapshot_fail(pg, diag);
	return status;
}

void cairn_postgres_snapshot_free(struct cairn_index_snapshot *snapshot)
{
	struct postgres_snapshot *s = (struct postgres_snapshot *)snapshot;
	cairn_pg_close(&s->pg);
	cairn_pg_place_fini(&s->place);
	free(s);
}

enum cairn_status cairn_postgres_snapshot_open(struct cairn_index_snapshot **out, const char *where,
					       struct cairn_diag *diag)
{
	struct postgres_snapshot *s = calloc(1, sizeof(*s));
	if (!s)
		return CAIRN_E_NOMEM;
	s->pg = (struct cairn_pg){.place = &s->place, .reads_only = true};
	enum cairn_status status = cairn_pg_place(&s->place, where, diag);
	if (status == CAIRN_OK)
		status = snapshot_begin(&s->pg, diag);
	if (status == CAIRN_OK)
		*out = &s->snapshot;
	else
		cairn_postgres_snapshot_free(&s->snapshot);
	return status;
}

enum cairn_status cairn_postgres_snapshot_extent(struct cairn_index_snapshot *snapshot, int64_t after_xorb,
						 struct cairn_index_extent *out, struct cairn_diag *diag)
{
	struct cairn_pg *pg = snapshot_pg(snapshot);
	const PGresult *r;
	cairn_pg_scan(pg);
	if (cairn_pg_ask(pg, SNAPSHOT_EXTENT, CAIRN_ARGS(cairn_db_int(after_xorb)), &r) != CAIRN_OK)
		return snapshot_fail(pg, diag);
	*out = (struct cairn_index_extent){cairn_pg_get_int8(r, 0, 0), cairn_pg_get_int8(r, 0, 1),
					   (uint64_t)cairn_pg_get_int8(r, 0, 2)};
	cairn_pg_look_up(pg); /* Plans for pages: with merge joins, each page would begin at the first row. */
	return CAIRN_OK;
}

static enum cairn_status snapshot_damaged(struct cairn_diag *diag, const char *table, int64_t number)
{
	return cairn_fail(diag, CAIRN_E_DAMAGED, "index.row", CAIRN_NO_OFFSET,
			  "row %lld of the index's table %s is damaged", (long long)number, table);
}

/* Reads the next rows, which stay valid while the visitor runs other queries. @param[out] page  owned by the caller */
static enum cairn_status snapshot_page(struct cairn_pg *pg, const char *sql, int64_t after, int limit, PGresult **page,
				       struct cairn_diag *diag)
{
	const PGresult *r;
	if (cairn_pg_ask(pg, sql, CAIRN_ARGS(cairn_db_int(after), cairn_db_int(limit)), &r) != CAIRN_OK)
		return snapshot_fail(pg, diag);
	*page = cairn_pg_keep(pg, r);
	return CAIRN_OK;
}

static enum cairn_status snapshot_xorb(const PGresult *page, int row, struct cairn_chunk_list *list,
				       cairn_index_visit_xorb *visit, void *ctx, struct cairn_diag *diag)
{
	struct cairn_index_xorb xorb;
	enum cairn_status status = cairn_pg_xorb_row(page, row, &xorb)
					   ? cairn_pg_list_row(page, row, CAIRN_PG_XORB_COLUMNS, list)
					   : CAIRN_E_DAMAGED;
	if (status == CAIRN_E_DAMAGED)
		return snapshot_damaged(diag, "xorb", xorb.id);
	return status == CAIRN_OK ? visit(ctx, &xorb, list) : status;
}

enum cairn_status cairn_postgres_snapshot_xorbs(struct cairn_index_snapshot *snapshot, int64_t after,
						cairn_index_visit_xorb *visit, void *ctx, struct cairn_diag *diag)
{
	CLEANUP(cairn_chunk_list_fini) struct cairn_chunk_list list = {0};
	for (;;) {
		CLEANUP(cairn_pg_clearp) PGresult *page = NULL;
		enum cairn_status status =
			snapshot_page(snapshot_pg(snapshot), SNAPSHOT_XORBS, after, SNAPSHOT_XORBS_PAGE, &page, diag);
		if (status != CAIRN_OK || PQntuples(page) == 0)
			return status;
		for (int i = 0; status == CAIRN_OK && i < PQntuples(page); i++) {
			after = cairn_pg_get_int8(page, i, 0);
			status = snapshot_xorb(page, i, &list, visit, ctx, diag);
		}
		if (status != CAIRN_OK)
			return status;
	}
}

static enum cairn_status snapshot_file(const PGresult *page, int row, cairn_index_visit_file *visit, void *ctx,
				       struct cairn_diag *diag)
{
	CLEANUP(cairn_index_file_fini) struct cairn_index_file file = {0};
	struct cairn_hash sha256;
	int64_t number = cairn_pg_get_int8(page, row, 3);
	bool has_sha256 = !PQgetisnull(page, row, 5);
	enum cairn_status status = cairn_pg_file_row(page, row, true, &file);
	if (status == CAIRN_E_DAMAGED || (has_sha256 && !cairn_pg_get_hash(page, row, 5, &sha256)))
		return snapshot_damaged(diag, "file", number);
	return status == CAIRN_OK
		       ? visit(ctx, number, cairn_pg_get_int8(page, row, 4), has_sha256 ? sha256.b : NULL, &file)
		       : status;
}

enum cairn_status cairn_postgres_snapshot_files(struct cairn_index_snapshot *snapshot, int64_t after,
						cairn_index_visit_file *visit, void *ctx, struct cairn_diag *diag)
{
	for (;;) {
		CLEANUP(cairn_pg_clearp) PGresult *page = NULL;
		enum cairn_status status =
			snapshot_page(snapshot_pg(snapshot), SNAPSHOT_FILES, after, SNAPSHOT_FILES_PAGE, &page, diag);
		if (status != CAIRN_OK || PQntuples(page) == 0)
			return status;
		for (int i = 0; status == CAIRN_OK && i < PQntuples(page); i++) {
			after = cairn_pg_get_int8(page, i, 3);
			status = snapshot_file(page, i, visit, ctx, diag);
		}
		if (status != CAIRN_OK)
			return status;
	}
}

enum cairn_status cairn_postgres_snapshot_xorb_hash(struct cairn_index_snapshot *snapshot, int64_t number,
						    struct cairn_hash *out)
{
	const PGresult *r;
	enum cairn_status status =
		cairn_pg_ask(snapshot_pg(snapshot), SNAPSHOT_XORB_HASH, CAIRN_ARGS(cairn_db_int(number)), &r);
	if (status != CAIRN_OK || PQntuples(r) == 0)
		return status == CAIRN_OK ? CAIRN_E_NOT_FOUND : status;
	return cairn_pg_get_hash(r, 0, 0, out) ? CAIRN_OK : CAIRN_E_DAMAGED;
}
