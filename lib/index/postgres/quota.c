/* Quotas: what a repository holds is counted with each row that makes it hold more or less. */
#include "index/postgres/hub.h"
#include "index/postgres/own.h"

/* Of an account a and a repository r of its. */
#define QUOTA_COLUMNS                                                                                                  \
	"a.name, a.quota, (SELECT coalesce(sum(x.stored), 0)::bigint FROM repo x WHERE x.account = a.id"               \
	" AND x.dropped IS NULL), r.kind, r.name, r.quota, r.stored"

static const char QUOTA_READ[] = "SELECT " QUOTA_COLUMNS " FROM account a LEFT JOIN repo r ON r.id = $2"
				 " AND r.account = a.id AND " CAIRN_PG_KEPT("r") " WHERE a.id = $1";
static const char QUOTA_OWNED_SIZES[] = "SELECT f.size FROM (SELECT DISTINCT file FROM file_owner WHERE scope + 0 ="
					" (SELECT scope FROM repo WHERE id = $1)) w JOIN file f ON f.id = w.file";
static const char QUOTA_COUNT[] = "UPDATE repo SET stored = stored + $2 WHERE scope = $1";
/* What owner s, who is no repository, holds. */
#define QUOTA_OWNED                                                                                                    \
	"(SELECT coalesce(sum(f.size), 0)::bigint FROM file f WHERE f.id IN (SELECT file FROM file_owner"              \
	" WHERE scope + 0 = s.id))"
static const char QUOTA_OWNER[] = "SELECT s.quota, CASE WHEN s.quota IS NULL AND $2 <> 0 THEN " QUOTA_OWNED
				  " ELSE s.stored END FROM scope s WHERE s.name = $1";
static const char QUOTA_EACH[] =
	"SELECT DISTINCT ON (place) place, quota, stored FROM (SELECT a.name COLLATE \"C\" AS place, a.quota, (SELECT"
	" coalesce(sum(x.stored), 0)::bigint FROM repo x WHERE x.account = a.id AND x.dropped IS NULL) AS stored,"
	" 0 AS after FROM account a WHERE a.quota IS NOT NULL UNION ALL SELECT (CASE r.kind WHEN 1 THEN 'models/'"
	" WHEN 2 THEN 'datasets/' WHEN 3 THEN 'spaces/' WHEN 4 THEN 'buckets/' ELSE 'kernels/' END || a.name || '/'"
	" || r.name) COLLATE \"C\", r.quota, r.stored, 0 FROM repo r JOIN account a ON a.id = r.account WHERE r.quota"
	" IS NOT NULL AND r.dropped IS NULL UNION ALL SELECT s.name, s.quota, s.stored, 1 FROM scope s"
	" WHERE s.quota IS NOT NULL) p WHERE place > $1 ORDER BY place, after LIMIT $2";
static const char QUOTA_CHECK_OWNER[] = "SELECT name, quota, stored FROM scope WHERE id = $1 AND quota IS NOT NULL";
static const char QUOTA_SET_OWNER[] =
	"UPDATE scope s SET quota = $2, stored = CASE WHEN $2::bigint IS NULL THEN 0 WHEN quota IS NULL THEN " QUOTA_OWNED
	" ELSE stored END WHERE id = $1";
/* Without a quota there is nothing to add up. */
static const char QUOTA_CHECK[] =
	"SELECT " QUOTA_COLUMNS " FROM repo r JOIN account a ON a.id = r.account"
	" WHERE r.scope = $1 AND " CAIRN_PG_KEPT("r") " AND (a.quota IS NOT NULL OR r.quota IS NOT NULL)";
static const char QUOTA_SET_ACCOUNT[] = "UPDATE account SET quota = $2 WHERE id = $1";
static const char QUOTA_SET_REPO[] = "UPDATE repo r SET quota = $2 WHERE id = $1 AND " CAIRN_PG_KEPT("r");

/* --- reading ------------------------------------------------------------------------------------------------------ */

struct cairn_index_room cairn_pg_room(const PGresult *r, int row, int column)
{
	bool limited = !PQgetisnull(r, row, column);
	return (struct cairn_index_room){
		.limit_bytes = limited ? (uint64_t)cairn_pg_get_int8(r, row, column) : CAIRN_INDEX_NO_QUOTA,
		.stored_bytes = (uint64_t)cairn_pg_get_int8(r, row, column + 1),
	};
}

static enum cairn_status quota_row(const PGresult *r, struct cairn_index_quota *out)
{
	if (PQntuples(r) == 0)
		return CAIRN_E_NOT_FOUND;
	*out = (struct cairn_index_quota){
		.account = cairn_pg_room(r, 0, 1),
		.kind = (enum cairn_index_repo_kind)cairn_pg_get_int8(r, 0, 3),
		.repo = cairn_pg_room(r, 0, 5),
	};
	bool ok = cairn_pg_get_text(r, 0, 0, out->account_name, sizeof(out->account_name)) &&
		  (out->kind == 0 || cairn_pg_get_text(r, 0, 4, out->repo_name, sizeof(out->repo_name)));
	return ok ? CAIRN_OK : CAIRN_E_DAMAGED;
}

enum cairn_status cairn_pg_quota(struct cairn_index *ix, int64_t account, int64_t repo, struct cairn_index_quota *out)
{
	struct cairn_pg_args args = {0};
	cairn_pg_int8(&args, account);
	cairn_pg_int8(&args, repo);
	PG_READ(ix, reader, r, QUOTA_READ, &args);
	return quota_row(r, out);
}

enum cairn_status cairn_pg_each_owned_size(struct cairn_index *ix, int64_t repo,
					   void (*visit)(void *ctx, uint64_t size_bytes), void *ctx)
{
	struct cairn_pg_args args = {0};
	cairn_pg_int8(&args, repo);
	PG_READ(ix, reader, r, QUOTA_OWNED_SIZES, &args);
	for (int i = 0; i < PQntuples(r); i++)
		visit(ctx, (uint64_t)cairn_pg_get_int8(r, i, 0));
	return CAIRN_OK;
}

enum cairn_status cairn_pg_owner_quota(struct cairn_index *ix, const char *owner, bool adds_up,
				       struct cairn_index_room *out)
{
	struct cairn_pg_args args = {0};
	cairn_pg_text(&args, owner);
	cairn_pg_int8(&args, adds_up);
	PG_READ(ix, reader, r, QUOTA_OWNER, &args);
	if (PQntuples(r) == 0)
		return CAIRN_E_NOT_FOUND;
	*out = cairn_pg_room(r, 0, 0);
	return CAIRN_OK;
}

enum cairn_status cairn_pg_each_quota(struct cairn_index *ix, const char *after, uint32_t limit,
				      cairn_index_visit_quota *visit, void *ctx, bool *more)
{
	int page = (int)(limit == 0 || limit > CAIRN_INDEX_PAGE_MAX ? CAIRN_INDEX_PAGE_MAX : limit);
	char place[CAIRN_INDEX_SCOPE_TEXT_MAX + 1];
	struct cairn_pg_args args = {0};
	*more = false;
	cairn_pg_text(&args, after);
	cairn_pg_int8(&args, page + 1);
	PG_READ(ix, reader, r, QUOTA_EACH, &args);
	for (int i = 0; i < PQntuples(r) && i < page; i++) {
		const struct cairn_index_room room = cairn_pg_room(r, i, 1);
		if (!cairn_pg_get_text(r, i, 0, place, sizeof(place)))
			return CAIRN_E_DAMAGED;
		visit(ctx, place, &room);
	}
	*more = PQntuples(r) > page;
	return CAIRN_OK;
}

/* --- counting ----------------------------------------------------------------------------------------------------- */

void cairn_pg_grow(struct cairn_pg_tx *tx, int64_t scope, int64_t bytes)
{
	tx->growth.scope = scope;
	tx->growth.repo_bytes += bytes;
	tx->growth.account_bytes += bytes;
}

enum cairn_status cairn_pg_count_stored(struct cairn_pg_tx *tx, int64_t scope, int64_t bytes)
{
	struct cairn_pg_args args = {0};
	int64_t n;
	if (scope == 0 || bytes == 0)
		return CAIRN_OK;
	cairn_pg_int8(&args, scope);
	cairn_pg_int8(&args, bytes);
	enum cairn_status status = cairn_pg_run(&tx->pg, QUOTA_COUNT, &args, &n);
	if (status == CAIRN_OK && n > 0)
		cairn_pg_grow(tx, scope, bytes);
	return status;
}

/* Of who is no repository. */
static enum cairn_status quota_check_owner(struct cairn_pg_tx *tx, struct cairn_diag *diag)
{
	char name[CAIRN_INDEX_SCOPE_TEXT_MAX + 1];
	const PGresult *r;
	struct cairn_pg_args args = {0};
	cairn_pg_int8(&args, tx->growth.scope);
	enum cairn_status status = cairn_pg_ask(&tx->pg, QUOTA_CHECK_OWNER, &args, &r);
	if (status != CAIRN_OK || PQntuples(r) == 0)
		return status;
	if (!cairn_pg_get_text(r, 0, 0, name, sizeof(name)))
		return CAIRN_E_DAMAGED;
	const struct cairn_index_room room = cairn_pg_room(r, 0, 1);
	return cairn_index_room_check(name, &room, 0, diag);
}

/* What did not grow may be over its quota: it may have been lowered since. */
enum cairn_status cairn_pg_check_quota(struct cairn_pg_tx *tx, struct cairn_diag *diag)
{
	struct cairn_index_quota quota;
	const PGresult *r;
	struct cairn_pg_args args = {0};
	if (tx->growth.account_bytes <= 0)
		return CAIRN_OK;
	cairn_pg_int8(&args, tx->growth.scope);
	enum cairn_status status = cairn_pg_ask(&tx->pg, QUOTA_CHECK, &args, &r);
	if (status == CAIRN_OK)
		status = quota_row(r, &quota);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? quota_check_owner(tx, diag) : status;
	if (tx->growth.repo_bytes <= 0)
		quota.repo.limit_bytes = CAIRN_INDEX_NO_QUOTA;
	return cairn_index_quota_check(&quota, 0, diag);
}

/* --- setting ------------------------------------------------------------------------------------------------------ */

enum cairn_status cairn_pg_set_quota(struct cairn_pg_tx *tx, struct cairn_index_set_quota *set)
{
	bool of_repo = set->repo != 0, of_owner = !of_repo && set->account == 0;
	struct cairn_pg_args args = {0};
	int64_t n, id = of_repo ? set->repo : set->account;
	enum cairn_status status = of_owner ? cairn_pg_scope(tx, set->owner, &id) : CAIRN_OK;
	if (status != CAIRN_OK)
		return status;
	cairn_pg_int8(&args, id);
	if (set->limit_bytes == CAIRN_INDEX_NO_QUOTA)
		cairn_pg_int8_or_null(&args, 0);
	else
		cairn_pg_int8(&args, (int64_t)set->limit_bytes);
	status = cairn_pg_run(&tx->pg,
			      of_repo    ? QUOTA_SET_REPO
			      : of_owner ? QUOTA_SET_OWNER
					 : QUOTA_SET_ACCOUNT,
			      &args, &n);
	if (status != CAIRN_OK || n > 0)
		return status;
	return cairn_fail(&set->write.diag, CAIRN_E_NOT_FOUND, of_repo ? "repo.unknown" : "account.unknown",
			  CAIRN_NO_OFFSET, of_repo ? "Repository not found" : "there is no account of this name");
}
