/* Lists all files, finds a file by its SHA-256, gives a file to another owner, and sums sizes. */
#include "index/backend.h"
#include "index/rows.h"

#include "base/clock.h"

#include <stdlib.h>

CAIRN_SQL(FILE_EACH, "SELECT hash, size, length(terms), id, CASE WHEN $3 <> 0 THEN terms END FROM file WHERE id > $1"
		     " ORDER BY id LIMIT $2");
/* Selects a file with its owners as a text of numbers, because SQLite has no arrays. */
#define OWNED(owners)                                                                                                  \
	"SELECT f.hash, f.size, length(f.terms), f.id, f.terms, " owners " FROM file f WHERE f.id > $1"                \
	" ORDER BY f.id LIMIT $2"
#define OWNERS "(SELECT DISTINCT o.scope FROM file_owner o WHERE o.file = f.id ORDER BY o.scope)"
CAIRN_SQL_OF(FILE_EACH_OWNED, OWNED("(SELECT group_concat(scope, ' ') FROM " OWNERS ")"),
	     OWNED("array_to_string(ARRAY" OWNERS ", ' ')"));

/* Selects files by an owner's claims of SHA-256 $1. Each text leads its planner to the database index of claims. */
#define LITE_CLAIMED(owner)                                                                                            \
	"SELECT file, proof FROM file_owner INDEXED BY file_owner_claim WHERE scope = " owner                          \
	" AND sha256 = $1 ORDER BY file DESC LIMIT " CAIRN_INDEX_SAME_MAX
#define PG_CLAIMED(owner)                                                                                              \
	"SELECT file, proof FROM file_owner WHERE scope + 0 = " owner                                                  \
	" AND sha256 = $1 ORDER BY file DESC LIMIT " CAIRN_INDEX_SAME_MAX
#define BY_SHA256(own, operators, is_hub)                                                                              \
	"SELECT f.hash, f.size, w.proof FROM (SELECT file, proof, 0 AS far FROM (" own ") own"                         \
	" UNION ALL SELECT file, proof, 1 FROM (" operators ") operators WHERE NOT " is_hub ") w"                      \
	" CROSS JOIN file f WHERE f.id = w.file AND w.proof > 0 ORDER BY w.far, w.proof DESC, w.file DESC LIMIT 1"
#define VIEWER "(SELECT id FROM scope WHERE name = $2)"
CAIRN_SQL_OF(FILE_BY_SHA256, BY_SHA256(LITE_CLAIMED(VIEWER), LITE_CLAIMED("0"), "(coalesce($2, '') GLOB 'hub/*')"),
	     BY_SHA256(PG_CLAIMED(VIEWER), PG_CLAIMED("0"), "(left(coalesce($2, ''), 4) = 'hub/')"));

/* True if owner $2 does not have file $1. Statements that count run before the one that adds. */
#define NOT_OWNED "(SELECT 1 FROM file_owner WHERE file = $1 AND scope = $2 LIMIT 1) IS NULL"
CAIRN_SQL(FILE_FIND, "SELECT id, size FROM file WHERE hash = $1");
CAIRN_SQL(FILE_COUNT_REPO, "UPDATE repo SET stored = stored + $3 WHERE scope = $2 AND " NOT_OWNED);
CAIRN_SQL(FILE_COUNT_OWNER, "UPDATE scope SET stored = stored + $3 WHERE id = $2 AND quota IS NOT NULL AND " NOT_OWNED);
CAIRN_SQL(FILE_OWN, "INSERT INTO file_owner(file, scope, at, sha256) SELECT $1, $2, $3, $4 WHERE " NOT_OWNED);

#define SUM(column) "SELECT count(*), CAST(coalesce(sum(" column "), 0) AS bigint) FROM "
CAIRN_SQL(TOTAL_FILES, SUM("size") "file");
CAIRN_SQL(TOTAL_RETIRED, SUM("stored") "xorb WHERE retired IS NOT NULL");
CAIRN_SQL(TOTAL_UNREFERENCED, SUM("stored") "xorb x WHERE NOT EXISTS(SELECT 1 FROM reference r WHERE r.xorb = x.id)");

static enum cairn_status file_row(struct cairn_db_rows *row, bool with_terms, struct cairn_index_file *out)
{
	size_t len;
	*out = (struct cairn_index_file){
		.size_bytes = (uint64_t)cairn_db_get_int(row, 1),
		.n_terms = (uint32_t)(cairn_db_get_int(row, 2) / CAIRN_ROWS_TERM_BYTES),
		.id = cairn_db_get_int(row, 3),
	};
	cairn_db_get_fixed(row, 0, out->hash.b, sizeof(out->hash.b));
	enum cairn_status status = cairn_db_whole(row);
	if (status != CAIRN_OK || !with_terms)
		return status;
	const uint8_t *terms = cairn_db_get_bytes(row, 4, &len);
	return cairn_rows_terms(&out->terms, &out->n_terms, terms, len, CAIRN_ROWS_TERM_BYTES);
}

enum cairn_status cairn_index_each_file(struct cairn_index *ix, int64_t from_id, uint32_t limit, bool with_terms,
					void (*visit)(void *ctx, const struct cairn_index_file *file), void *ctx,
					int64_t *next_id)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	uint32_t page = cairn_records_page(limit), n = 0;
	int64_t last = 0;
	*next_id = 0;
	enum cairn_status status = cairn_records_find(
		ix, &rows, &FILE_EACH, CAIRN_ARGS(cairn_db_int(from_id), cairn_db_int(page), cairn_db_int(with_terms)));
	for (; status == CAIRN_OK; status = cairn_db_next(&rows), n++) {
		CLEANUP(cairn_index_file_fini) struct cairn_index_file file = {0};
		status = file_row(&rows, with_terms, &file);
		if (status != CAIRN_OK)
			return status;
		last = file.id;
		visit(ctx, &file);
	}
	return cairn_records_paged(status, n, page, last, next_id);
}

struct file_owners {
	int64_t *all; /* owned */
	uint32_t n, cap;
};

static void file_owners_fini(struct file_owners *owners)
{
	free(owners->all);
}

static enum cairn_status file_owners_add(struct file_owners *owners, int64_t owner)
{
	if (owners->n == owners->cap) {
		uint32_t cap = owners->cap ? 2 * owners->cap : 16;
		int64_t *grown = realloc(owners->all, cap * sizeof(*grown));
		if (!grown)
			return CAIRN_E_NOMEM;
		owners->all = grown;
		owners->cap = cap;
	}
	owners->all[owners->n++] = owner;
	return CAIRN_OK;
}

/* @param text  numbers with a space between them */
static enum cairn_status file_owners_read(struct file_owners *owners, const char *text)
{
	enum cairn_status status = CAIRN_OK;
	owners->n = 0;
	while (status == CAIRN_OK && *text != '\0') {
		char *end;
		status = file_owners_add(owners, strtoll(text, &end, 10));
		text = *end == ' ' ? end + 1 : "";
	}
	return status;
}

enum cairn_status cairn_index_each_owned_file(struct cairn_index *ix, int64_t from_id,
					      cairn_index_visit_owned_file *visit, void *ctx, int64_t *next_id)
{
	CLEANUP(file_owners_fini) struct file_owners owners = {0};
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	uint32_t page = cairn_records_page(0), n = 0;
	int64_t last = 0;
	*next_id = 0;
	enum cairn_status status =
		cairn_records_find(ix, &rows, &FILE_EACH_OWNED, CAIRN_ARGS(cairn_db_int(from_id), cairn_db_int(page)));
	for (; status == CAIRN_OK; status = cairn_db_next(&rows), n++) {
		CLEANUP(cairn_index_file_fini) struct cairn_index_file file = {0};
		status = file_row(&rows, true, &file);
		if (status == CAIRN_OK)
			status = file_owners_read(&owners, cairn_db_borrow_text(&rows, 5));
		if (status != CAIRN_OK)
			return status;
		last = file.id;
		visit(ctx, &file, owners.all, owners.n);
	}
	return cairn_records_paged(status, n, page, last, next_id);
}

enum cairn_status cairn_index_file_by_sha256(struct cairn_index *ix, const uint8_t sha256[static CAIRN_SHA256_BYTES],
					     const char *viewer, struct cairn_index_file *out)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	*out = (struct cairn_index_file){0};
	enum cairn_status status =
		cairn_records_find(ix, &rows, &FILE_BY_SHA256,
				   CAIRN_ARGS(cairn_db_bytes(sha256, CAIRN_SHA256_BYTES), cairn_db_text(viewer)));
	if (status != CAIRN_OK)
		return status;
	cairn_db_get_fixed(&rows, 0, out->hash.b, sizeof(out->hash.b));
	out->size_bytes = (uint64_t)cairn_db_get_int(&rows, 1);
	out->belief = (enum cairn_index_belief)cairn_db_get_int(&rows, 2);
	return cairn_db_whole(&rows);
}

/* Computes a sum. Each is a snapshot of its own: a single long one would keep SQLite's log from being restarted. */
static enum cairn_status file_total(struct cairn_index *ix, const struct cairn_sql *sql, uint64_t *n, uint64_t *bytes)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_records_scan(ix, &rows, CAIRN_DB_SCANS, sql);
	if (status != CAIRN_OK)
		return status;
	*n = (uint64_t)cairn_db_get_int(&rows, 0);
	*bytes = (uint64_t)cairn_db_get_int(&rows, 1);
	return CAIRN_OK;
}

enum cairn_status cairn_index_totals(struct cairn_index *ix, struct cairn_index_totals *out)
{
	*out = (struct cairn_index_totals){0};
	enum cairn_status status = file_total(ix, &TOTAL_FILES, &out->n_files, &out->file_bytes);
	if (status == CAIRN_OK)
		status = file_total(ix, &TOTAL_RETIRED, &out->n_retired, &out->retired_bytes);
	if (status == CAIRN_OK)
		status = file_total(ix, &TOTAL_UNREFERENCED, &out->n_unreferenced, &out->unreferenced_bytes);
	return status;
}

static enum cairn_status file_find(struct cairn_index_tx *tx, struct cairn_index_share_file *share, int64_t *id,
				   int64_t *counts)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_db_find(tx->db, &rows, &FILE_FIND,
						 CAIRN_ARGS(cairn_db_bytes(share->hash.b, sizeof(share->hash.b))));
	if (status == CAIRN_E_NOT_FOUND)
		return cairn_fail(&share->write.diag, status, "file.unknown", CAIRN_NO_OFFSET,
				  "there is no such file to share");
	if (status != CAIRN_OK)
		return status;
	*id = cairn_db_get_int(&rows, 0);
	*counts = (int64_t)cairn_index_file_counts((uint64_t)cairn_db_get_int(&rows, 1));
	return CAIRN_OK;
}

enum cairn_status cairn_records_share_file(struct cairn_index_tx *tx, struct cairn_index_share_file *share)
{
	int64_t id = 0, owner = 0, counts = 0, n;
	share->shared = false;
	enum cairn_status status = file_find(tx, share, &id, &counts);
	if (status != CAIRN_OK)
		return status;
	status = cairn_records_scope(tx, share->owner, &owner);
	if (status == CAIRN_E_NOT_FOUND)
		return cairn_fail(&share->write.diag, status, "repo.gone", CAIRN_NO_OFFSET,
				  "there is no such repository, or it was deleted");
	if (status != CAIRN_OK)
		return status;
	const struct cairn_db_args *counted = CAIRN_ARGS(cairn_db_int(id), cairn_db_int(owner), cairn_db_int(counts));
	cairn_db_queue(tx->db, NULL, &FILE_COUNT_REPO, counted);
	cairn_db_queue(tx->db, NULL, &FILE_COUNT_OWNER, counted);
	status = cairn_db_run(tx->db, &FILE_OWN,
			      CAIRN_ARGS(cairn_db_int(id), cairn_db_int(owner), cairn_db_int(cairn_clock_unix_s()),
					 cairn_db_bytes("", 0)),
			      &n);
	share->shared = status == CAIRN_OK && n > 0;
	if (share->shared)
		cairn_records_grow(tx, owner, counts);
	return status;
}
