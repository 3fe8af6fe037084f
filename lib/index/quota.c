#include "index/quota.h"

#include "index/backend.h"
#include "index/records.h"

#include "base/sum.h"

#include <inttypes.h>
#include <stdio.h>

/* Columns for an account a and its repository r. */
#define COLUMNS(sums)                                                                                                  \
	"a.name, a.quota, CASE WHEN " sums " THEN " CAIRN_ACCOUNT_COUNTS                                               \
	" ELSE 0 END, r.kind, r.name, r.quota, " CAIRN_REPO_COUNTS("r")
/* Selects the files of an owner, by the database index of claims, to which each text leads its engine's planner. */
#define SQLITE_FILES(owner)                                                                                            \
	"(SELECT DISTINCT file FROM file_owner INDEXED BY file_owner_claim WHERE scope = " owner ") w"
#define POSTGRES_FILES(owner) "(SELECT DISTINCT file FROM file_owner WHERE scope + 0 = " owner ") w"
#define SIZES(files)          " FROM " files " CROSS JOIN file f WHERE f.id = w.file"
#define OWNED(files, counts)  "(SELECT CAST(coalesce(sum(" counts("f.size") "), 0) AS bigint)" SIZES(files) ")"
#define SQLITE_OWNED          OWNED(SQLITE_FILES("s.id"), CAIRN_SQLITE_FILE_COUNTS)
#define POSTGRES_OWNED        OWNED(POSTGRES_FILES("s.id"), CAIRN_POSTGRES_FILE_COUNTS)
#define OF_REPO               "(SELECT scope FROM repo WHERE id = $1)"
#define OWNER(owned)                                                                                                   \
	"SELECT s.quota, CASE WHEN s.quota IS NULL AND $2 <> 0 THEN " owned " ELSE s.stored END FROM scope s"          \
	" WHERE s.name = $1"
#define SET_OWNER(owned)                                                                                               \
	"UPDATE scope AS s SET quota = $2, stored = CASE WHEN CAST($2 AS bigint) IS NULL THEN 0 WHEN quota IS NULL"    \
	" THEN " owned " ELSE stored END WHERE id = $1"
/* If two places have the same name, the hub's comes first and counts. */
#define EACH(bytewise)                                                                                                        \
	"SELECT place, quota, stored FROM (SELECT place, quota, stored, row_number() OVER (PARTITION BY place"                \
	" ORDER BY after) AS nth FROM (SELECT a.name" bytewise " AS place, a.quota, " CAIRN_ACCOUNT_COUNTS                    \
	" AS stored, 0 AS after FROM account a WHERE a.quota IS NOT NULL UNION ALL SELECT (" CAIRN_REPO_SHOWN                 \
	")" bytewise ", r.quota, " CAIRN_REPO_COUNTS(                                                                         \
		"r") ", 0 FROM repo r CROSS JOIN account a"                                                                   \
		     " WHERE a.id = r.account AND r.quota IS NOT NULL AND r.dropped IS NULL UNION ALL SELECT s.name" bytewise \
		     ", s.quota, s.stored, 1 FROM scope s WHERE s.quota IS NOT NULL) p WHERE place > $1) q WHERE nth = 1"     \
		     " ORDER BY place LIMIT $2"

CAIRN_SQL(QUOTA_READ, "SELECT " COLUMNS("0 = 0") " FROM account a LEFT JOIN repo r ON r.id = $2 AND r.account = a.id"
						 " AND " CAIRN_REPO_KEPT("r") " WHERE a.id = $1");
CAIRN_SQL_OF(QUOTA_SIZES, "SELECT f.size" SIZES(SQLITE_FILES(OF_REPO)), "SELECT f.size" SIZES(POSTGRES_FILES(OF_REPO)));
CAIRN_SQL_OF(QUOTA_OWNER, OWNER(SQLITE_OWNED), OWNER(POSTGRES_OWNED));
CAIRN_SQL_OF(QUOTA_EACH, EACH(""), EACH(" COLLATE \"C\""));
/* Computes the sum only if there is a quota. */
CAIRN_SQL(
	QUOTA_CHECK,
	"SELECT " COLUMNS("a.quota IS NOT NULL") " FROM repo r CROSS JOIN account a"
						 " WHERE a.id = r.account AND r.scope = $1 AND " CAIRN_REPO_KEPT("r"));
/* Adds the owner to which a xorb counts that no file needs yet: the account of the repository, or another owner. */
CAIRN_SQL(UNREGISTERED_OWNER, "INSERT INTO scope(name) SELECT CAST($1 AS text) WHERE NOT EXISTS(SELECT 1 FROM scope"
			      " WHERE name = CAST($1 AS text))");
CAIRN_SQL(
	UNREGISTERED_ADD,
	"INSERT INTO unregistered(xorb, holder, bytes) SELECT CAST($1 AS bigint), coalesce((SELECT r.account FROM repo r"
	" WHERE r.scope = s.id), -s.id), CAST($3 AS bigint) FROM scope s WHERE s.name = $2"
	" ON CONFLICT(xorb) DO UPDATE SET holder = excluded.holder, bytes = excluded.bytes");
CAIRN_SQL(UNREGISTERED_SUM,
	  "SELECT count(*), CAST(coalesce(sum(bytes), 0) AS bigint) FROM (SELECT bytes FROM unregistered"
	  " WHERE holder = (SELECT holder FROM unregistered WHERE xorb = $1) LIMIT $2) u");
CAIRN_SQL(UNREGISTERED_ACCOUNT, "SELECT a.quota FROM repo r CROSS JOIN account a WHERE a.id = r.account AND r.scope ="
				" (SELECT id FROM scope WHERE name = $1) AND a.quota IS NOT NULL");
CAIRN_SQL(UNREGISTERED_QUOTA, "SELECT quota FROM scope WHERE name = $1 AND quota IS NOT NULL");
CAIRN_SQL(QUOTA_CHECK_OWNER, "SELECT name, quota, stored FROM scope WHERE id = $1 AND quota IS NOT NULL");
CAIRN_SQL(QUOTA_SET_ACCOUNT, "UPDATE account SET quota = $2 WHERE id = $1");
CAIRN_SQL(QUOTA_SET_REPO, "UPDATE repo SET quota = $2 WHERE id = $1 AND " CAIRN_REPO_KEPT("repo"));
CAIRN_SQL_OF(QUOTA_SET_OWNER, SET_OWNER(SQLITE_OWNED), SET_OWNER(POSTGRES_OWNED));

/* --- reading ------------------------------------------------------------------------------------------------------ */

struct cairn_index_room cairn_records_room(const struct cairn_db_rows *rows, int column)
{
	return (struct cairn_index_room){
		.limit_bytes = cairn_db_is_null(rows, column) ? CAIRN_INDEX_NO_QUOTA
							      : (uint64_t)cairn_db_get_int(rows, column),
		.stored_bytes = (uint64_t)cairn_db_get_int(rows, column + 1),
	};
}

static enum cairn_status quota_row(struct cairn_db_rows *row, struct cairn_index_quota *out)
{
	*out = (struct cairn_index_quota){
		.account = cairn_records_room(row, 1),
		.kind = (enum cairn_index_repo_kind)cairn_db_get_int(row, 3),
		.repo = cairn_records_room(row, 5),
	};
	cairn_db_get_text(row, 0, out->account_name, sizeof(out->account_name));
	if (out->kind != 0)
		cairn_db_get_text(row, 4, out->repo_name, sizeof(out->repo_name));
	return cairn_db_whole(row);
}

enum cairn_status cairn_index_quota(struct cairn_index *ix, int64_t account, int64_t repo,
				    struct cairn_index_quota *out)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status =
		cairn_records_find(ix, &rows, &QUOTA_READ, CAIRN_ARGS(cairn_db_int(account), cairn_db_int(repo)));
	return status == CAIRN_OK ? quota_row(&rows, out) : status;
}

enum cairn_status cairn_index_each_owned_size(struct cairn_index *ix, int64_t repo,
					      void (*visit)(void *ctx, uint64_t size_bytes), void *ctx)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_records_find(ix, &rows, &QUOTA_SIZES, CAIRN_ARGS(cairn_db_int(repo)));
	for (; status == CAIRN_OK; status = cairn_db_next(&rows))
		visit(ctx, (uint64_t)cairn_db_get_int(&rows, 0));
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status cairn_index_owner_quota(struct cairn_index *ix, const char *owner, bool adds_up,
					  struct cairn_index_room *out)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status =
		cairn_records_find(ix, &rows, &QUOTA_OWNER, CAIRN_ARGS(cairn_db_text(owner), cairn_db_int(adds_up)));
	if (status == CAIRN_OK)
		*out = cairn_records_room(&rows, 0);
	return status;
}

enum cairn_status cairn_index_each_quota(struct cairn_index *ix, const char *after, uint32_t limit,
					 cairn_index_visit_quota *visit, void *ctx, bool *more)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	char place[CAIRN_INDEX_SCOPE_TEXT_MAX + 1];
	uint32_t page = cairn_records_page(limit), n = 0;
	enum cairn_status status = cairn_records_find(
		ix, &rows, &QUOTA_EACH, CAIRN_ARGS(cairn_db_text(after ? after : ""), cairn_db_int((int64_t)page + 1)));
	for (; status == CAIRN_OK && n < page; status = cairn_db_next(&rows), n++) {
		const struct cairn_index_room room = cairn_records_room(&rows, 1);
		cairn_db_get_text(&rows, 0, place, sizeof(place));
		if (cairn_db_whole(&rows) == CAIRN_OK)
			visit(ctx, place, &room);
	}
	*more = status == CAIRN_OK;
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

const char *cairn_index_kind_name(enum cairn_index_repo_kind kind)
{
	static const char *const KINDS[] = {[CAIRN_INDEX_MODEL] = "models",
					    [CAIRN_INDEX_DATASET] = "datasets",
					    [CAIRN_INDEX_SPACE] = "spaces",
					    [CAIRN_INDEX_BUCKET] = "buckets",
					    [CAIRN_INDEX_KERNEL] = "kernels"};
	return KINDS[kind];
}

static uint64_t quota_would_be(const struct cairn_index_room *room, uint64_t more_bytes)
{
	return more_bytes < UINT64_MAX - room->stored_bytes ? room->stored_bytes + more_bytes : UINT64_MAX;
}

static enum cairn_status quota_refuse(struct cairn_diag *diag, const char *rule, const char *place,
				      const struct cairn_index_room *room, uint64_t more_bytes)
{
	uint64_t would_be = quota_would_be(room, more_bytes);
	(void)cairn_fail(diag, CAIRN_E_DENIED, rule, CAIRN_NO_OFFSET,
			 "Quota exceeded: %s may hold %" PRIu64 " bytes, and would hold %" PRIu64
			 ". Delete what is not needed, or ask the operator for more",
			 place, room->limit_bytes, would_be);
	cairn_diag_numbers(diag, room->limit_bytes, would_be);
	return CAIRN_E_DENIED;
}

/* Does the quota of one place permit so many more bytes? */
static enum cairn_status quota_check_room(const char *place, const struct cairn_index_room *room, uint64_t more_bytes,
					  struct cairn_diag *diag)
{
	if (quota_would_be(room, more_bytes) <= room->limit_bytes)
		return CAIRN_OK;
	return quota_refuse(diag, "quota.repo", place, room, more_bytes);
}

enum cairn_status cairn_index_quota_check(const struct cairn_index_quota *quota, uint64_t more_bytes,
					  struct cairn_diag *diag)
{
	char place[CAIRN_INDEX_ACCOUNT_NAME_MAX + CAIRN_INDEX_REPO_NAME_MAX + 32];
	if (quota->kind != 0) {
		(void)snprintf(place, sizeof(place), "%s/%s/%s", cairn_index_kind_name(quota->kind),
			       quota->account_name, quota->repo_name);
		enum cairn_status status = quota_check_room(place, &quota->repo, more_bytes, diag);
		if (status != CAIRN_OK)
			return status;
	}
	if (quota_would_be(&quota->account, more_bytes) <= quota->account.limit_bytes)
		return CAIRN_OK;
	(void)snprintf(place, sizeof(place), "the account %s", quota->account_name);
	return quota_refuse(diag, "quota.account", place, &quota->account, more_bytes);
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

void cairn_records_grow(struct cairn_index_tx *tx, int64_t owner, int64_t bytes)
{
	tx->growth.owner = owner;
	cairn_add(&tx->growth.repo_bytes, bytes);
	cairn_add(&tx->growth.account_bytes, bytes);
}

static enum cairn_status quota_check_repo(const struct cairn_index_tx *tx, struct cairn_db_rows *row,
					  struct cairn_diag *diag)
{
	struct cairn_index_quota quota;
	enum cairn_status status = quota_row(row, &quota);
	if (tx->growth.repo_bytes <= 0)
		quota.repo.limit_bytes = CAIRN_INDEX_NO_QUOTA;
	return status == CAIRN_OK ? cairn_index_quota_check(&quota, 0, diag) : status;
}

/* Checks the quota of an owner that is not a repository of the hub. */
static enum cairn_status quota_check_owner(struct cairn_db_rows *row, struct cairn_diag *diag)
{
	char name[CAIRN_INDEX_SCOPE_TEXT_MAX + 1];
	const struct cairn_index_room room = cairn_records_room(row, 1);
	cairn_db_get_text(row, 0, name, sizeof(name));
	enum cairn_status status = cairn_db_whole(row);
	return status == CAIRN_OK ? quota_check_room(name, &room, 0, diag) : status;
}

/* Checks only the owners that grew: others may exceed a quota that was lowered since. */
enum cairn_status cairn_records_check_quota(struct cairn_index_tx *tx, struct cairn_diag *diag)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows repo = {0}, owner = {0};
	if (tx->growth.account_bytes <= 0)
		return CAIRN_OK;
	cairn_db_queue(tx->db, &repo, &QUOTA_CHECK, CAIRN_ARGS(cairn_db_int(tx->growth.owner)));
	enum cairn_status status =
		cairn_db_ask(tx->db, &owner, &QUOTA_CHECK_OWNER, CAIRN_ARGS(cairn_db_int(tx->growth.owner)));
	if (status == CAIRN_OK)
		status = cairn_db_next(&repo);
	if (status == CAIRN_OK)
		return quota_check_repo(tx, &repo, diag);
	if (status == CAIRN_E_NOT_FOUND)
		status = cairn_db_next(&owner);
	if (status == CAIRN_OK)
		return quota_check_owner(&owner, diag);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status cairn_records_check_account(struct cairn_index_tx *tx, int64_t account, struct cairn_diag *diag)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	struct cairn_index_quota quota;
	enum cairn_status status =
		cairn_db_find(tx->db, &rows, &QUOTA_READ, CAIRN_ARGS(cairn_db_int(account), cairn_db_int(0)));
	if (status == CAIRN_OK)
		status = quota_row(&rows, &quota);
	if (status == CAIRN_OK)
		return cairn_index_quota_check(&quota, 0, diag);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

/* --- xorbs that no file needs yet --------------------------------------------------------------------------------- */

static enum cairn_status quota_refuse_unregistered(struct cairn_diag *diag, uint64_t limit, const char *of,
						   uint64_t would_be)
{
	(void)cairn_fail(diag, CAIRN_E_DENIED, "quota.unregistered", CAIRN_NO_OFFSET,
			 "Quota exceeded: uploads that no file needs yet may have %" PRIu64
			 " %s, and would have %" PRIu64
			 ". Finish an upload that was begun, or wait until the server has collected them",
			 limit, of, would_be);
	cairn_diag_numbers(diag, limit, would_be);
	return CAIRN_E_DENIED;
}

/* @param sum  number and bytes of all xorbs that no file needs yet @param quota  quota of the account, or of another
 *             owner; no row: none */
static enum cairn_status quota_check_unregistered(const struct cairn_index_put_xorb *put, struct cairn_db_rows *sum,
						  struct cairn_db_rows *quota, struct cairn_diag *diag)
{
	uint64_t limit = put->unregistered_max;
	enum cairn_status status = cairn_db_next(sum);
	if (status != CAIRN_OK)
		return status;
	uint64_t n = (uint64_t)cairn_db_get_int(sum, 0), bytes = (uint64_t)cairn_db_get_int(sum, 1);
	status = cairn_db_next(quota);
	if (status == CAIRN_OK) {
		uint64_t own = (uint64_t)cairn_db_get_int(quota, 0);
		uint64_t least = own > CAIRN_INDEX_UNREGISTERED_FREE ? own : CAIRN_INDEX_UNREGISTERED_FREE;
		limit = limit < least ? limit : least;
	} else if (status != CAIRN_E_NOT_FOUND) {
		return status;
	}
	if (n > CAIRN_INDEX_UNREGISTERED_MAX)
		return quota_refuse_unregistered(diag, CAIRN_INDEX_UNREGISTERED_MAX, "xorbs", n);
	return bytes <= limit ? CAIRN_OK : quota_refuse_unregistered(diag, limit, "bytes", bytes);
}

enum cairn_status cairn_records_hold_xorb(struct cairn_index_tx *tx, struct cairn_index_put_xorb *put, int64_t xorb)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows sum = {0}, quota = {0};
	bool counts = put->owner && put->owner[0] && put->unregistered_max != 0;
	bool of_repo = counts && cairn_index_is_repo_owner(put->owner);
	if (!counts)
		return CAIRN_OK;
	int64_t bytes = (int64_t)cairn_index_xorb_counts(cairn_chunk_list_bytes(put->list, 0, put->list->n),
							 put->stored_bytes, put->list->n);
	if (!of_repo)
		cairn_db_queue(tx->db, NULL, &UNREGISTERED_OWNER, CAIRN_ARGS(cairn_db_text(put->owner)));
	cairn_db_queue(tx->db, NULL, &UNREGISTERED_ADD,
		       CAIRN_ARGS(cairn_db_int(xorb), cairn_db_text(put->owner), cairn_db_int(bytes)));
	cairn_db_queue(tx->db, &sum, &UNREGISTERED_SUM,
		       CAIRN_ARGS(cairn_db_int(xorb), cairn_db_int(CAIRN_INDEX_UNREGISTERED_MAX + 1)));
	enum cairn_status status = cairn_db_ask(tx->db, &quota, of_repo ? &UNREGISTERED_ACCOUNT : &UNREGISTERED_QUOTA,
						CAIRN_ARGS(cairn_db_text(put->owner)));
	return status == CAIRN_OK ? quota_check_unregistered(put, &sum, &quota, &put->write.diag) : status;
}

/* --- setting ------------------------------------------------------------------------------------------------------ */

enum cairn_status cairn_records_set_quota(struct cairn_index_tx *tx, struct cairn_index_set_quota *set)
{
	bool of_repo = set->repo != 0, of_owner = !of_repo && set->account == 0;
	int64_t n, id = of_repo ? set->repo : set->account;
	enum cairn_status status = of_owner ? cairn_records_scope(tx, set->owner, &id) : CAIRN_OK;
	if (status != CAIRN_OK)
		return status;
	status = cairn_db_run(tx->db,
			      of_repo    ? &QUOTA_SET_REPO
			      : of_owner ? &QUOTA_SET_OWNER
					 : &QUOTA_SET_ACCOUNT,
			      CAIRN_ARGS(cairn_db_int(id), cairn_db_int_if(set->limit_bytes != CAIRN_INDEX_NO_QUOTA,
									   (int64_t)set->limit_bytes)),
			      &n);
	if (status != CAIRN_OK || n > 0)
		return status;
	return cairn_fail(&set->write.diag, CAIRN_E_NOT_FOUND, of_repo ? "repo.unknown" : "account.unknown",
			  CAIRN_NO_OFFSET, of_repo ? "Repository not found" : "there is no account of this name");
}
