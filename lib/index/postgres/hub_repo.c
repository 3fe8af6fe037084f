/* Repositories of the hub: their names, and who may see them. */
#include "index/postgres/hub.h"
#include "index/postgres/own.h"

#include "base/clock.h"

#include <string.h>

#define REPO                                                                                                           \
	"SELECT r.id, r.kind, r.account, a.name, r.name, r.private, r.created, r.updated, r.files, r.bytes,"           \
	" r.gate, r.sdk, coalesce(r.guard, 0) FROM repo r JOIN account a ON a.id = r.account WHERE "
#define REPO_ACCOUNT "(SELECT id FROM account WHERE lower(name) = lower($2 COLLATE \"C\"))"
#define REPO_NAME    "lower($3 COLLATE \"C\")"
#define REPO_OF_ALL  "$2 = 0"
#define REPO_OF_ONE  "r.account = $2"
/* A page of all that a viewer may see, by a column and then by the number; key is where it begins. */
#define REPO_PAGE(of, column, key, before, order)                                                                      \
	REPO "r.dropped IS NULL AND ($1 = 0 OR r.kind = $1) AND " of " AND ($3 = '' OR position(" REPO_NAME            \
	     " IN lower(a.name || '/' || r.name)) > 0)"                                                                \
	     " AND (NOT r.private OR $4 <> 0 OR r.account = $5 OR EXISTS(SELECT 1 FROM membership m"                   \
	     " WHERE m.organisation = r.account AND m.member = $5))"                                                   \
	     " AND ($8 = 0 OR (" column ", r.id) " before " (" key ", $8))"                                            \
	     " ORDER BY " column " " order ", r.id " order " LIMIT $6"
#define REPO_PAGES(column, key)                                                                                        \
	{                                                                                                              \
		{REPO_PAGE(REPO_OF_ALL, column, key, "<", "DESC"), REPO_PAGE(REPO_OF_ALL, column, key, ">", "ASC")},   \
		{                                                                                                      \
			REPO_PAGE(REPO_OF_ONE, column, key, "<", "DESC"),                                              \
				REPO_PAGE(REPO_OF_ONE, column, key, ">", "ASC")                                        \
		}                                                                                                      \
	}

static const char REPO_FIND[] =
	REPO CAIRN_PG_KEPT("r") " AND r.id = coalesce((SELECT n.id FROM repo n WHERE n.dropped IS NULL AND n.kind = $1"
				" AND n.account = " REPO_ACCOUNT " AND lower(n.name) = " REPO_NAME
				"), (SELECT repo FROM former"
				" WHERE kind = $1 AND account = " REPO_ACCOUNT " AND lower(name) = " REPO_NAME "))";
static const char REPO_EACH[] =
	REPO "r.dropped IS NULL AND r.account = $1 AND r.kind = $2 AND r.id > $3 ORDER BY r.id LIMIT $4";
/* As enum cairn_index_repo_sort, of all accounts and of one, each backwards and then forwards. */
static const char *const REPO_LISTS[][2][2] = {
	[CAIRN_INDEX_BY_UPDATE] = REPO_PAGES(" r.updated", "$7"),
	[CAIRN_INDEX_BY_CREATION] = REPO_PAGES(" r.id", "$8"),
	[CAIRN_INDEX_BY_NAME] = REPO_PAGES("lower(r.name)", "lower($9 COLLATE \"C\")"),
};

/* With the owner of its files, which goes by its number. */
static const char REPO_ADD[] =
	"WITH n AS (SELECT nextval(pg_get_serial_sequence('repo', 'id')) AS id WHERE NOT EXISTS(SELECT 1 FROM repo"
	" WHERE account = $1 AND kind = $2 AND lower(name) = " REPO_NAME " AND dropped IS NULL)),"
	" s AS (INSERT INTO scope(name) SELECT 'hub/' || id FROM n RETURNING id)"
	" INSERT INTO repo(id, account, kind, name, private, scope, created, updated, files, bytes, sdk, guard)"
	" SELECT n.id, $1, $2, $3, $4 <> 0, s.id, $5, $5, 0, 0, $6, nullif($7, 0) FROM n, s RETURNING id, scope";
static const char REPO_SET[] = "UPDATE repo r SET private = coalesce($2 <> 0, private), updated = $3,"
			       " gate = coalesce($4, gate) WHERE id = $1 AND " CAIRN_PG_KEPT("r");
static const char REPO_MOVED_BYTES[] =
	"SELECT scope, CASE WHEN account <> $2 THEN stored END FROM repo r WHERE id = $1 AND " CAIRN_PG_KEPT("r");
static const char REPO_ADD_FORMER[] = "INSERT INTO former(kind, account, name, repo)"
				      " SELECT kind, account, name, id FROM repo WHERE id = $1 AND kind <> 4"
				      " ON CONFLICT(kind, account, lower(name)) DO UPDATE SET repo = excluded.repo";
static const char REPO_MOVE[] =
	"UPDATE repo r SET account = $2, name = $3, updated = $4 WHERE id = $1 AND NOT EXISTS(SELECT 1 FROM repo o"
	" WHERE o.account = $2 AND o.kind = r.kind AND lower(o.name) = " REPO_NAME " AND o.dropped IS NULL"
	" AND o.id <> $1)";
static const char REPO_RENAME_OWNER[] = "UPDATE scope SET name = $2 WHERE id = $1";
static const char REPO_DROP_FORMER[] = "DELETE FROM former WHERE repo = $1";
static const char REPO_DROP[] = "UPDATE repo SET dropped = $2 WHERE id = $1";

/* --- reading ------------------------------------------------------------------------------------------------------ */

static bool repo_columns(const PGresult *r, int row, struct cairn_index_repo *out)
{
	*out = (struct cairn_index_repo){
		.id = cairn_pg_get_int8(r, row, 0),
		.kind = (enum cairn_index_repo_kind)cairn_pg_get_int8(r, row, 1),
		.account = cairn_pg_get_int8(r, row, 2),
		.is_private = cairn_pg_get_int8(r, row, 5) != 0,
		.created_unix_ms = cairn_pg_get_int8(r, row, 6),
		.updated_unix_ms = cairn_pg_get_int8(r, row, 7),
		.n_files = (uint64_t)cairn_pg_get_int8(r, row, 8),
		.bytes = (uint64_t)cairn_pg_get_int8(r, row, 9),
		.gate = (enum cairn_index_gate)cairn_pg_get_int8(r, row, 10),
		.guard = cairn_pg_get_int8(r, row, 12),
	};
	return cairn_pg_get_text(r, row, 3, out->account_name, sizeof(out->account_name)) &&
	       cairn_pg_get_text(r, row, 4, out->name, sizeof(out->name)) &&
	       cairn_pg_get_text(r, row, 11, out->sdk, sizeof(out->sdk));
}

enum cairn_status cairn_pg_repo(struct cairn_index *ix, enum cairn_index_repo_kind kind, const char *account,
				const char *name, struct cairn_index_repo *out)
{
	struct cairn_pg_args args = {0};
	cairn_pg_int8(&args, (int64_t)kind);
	cairn_pg_text(&args, account);
	cairn_pg_text(&args, name);
	PG_READ(ix, reader, r, REPO_FIND, &args);
	if (PQntuples(r) == 0)
		return CAIRN_E_NOT_FOUND;
	return repo_columns(r, 0, out) ? CAIRN_OK : CAIRN_E_DAMAGED;
}

enum cairn_status cairn_pg_each_repo(struct cairn_index *ix, int64_t account, enum cairn_index_repo_kind kind,
				     int64_t from_id, cairn_index_visit_repo *visit, void *ctx, int64_t *next_id)
{
	struct cairn_pg_args args = {0};
	struct cairn_index_repo repo = {.id = 0};
	*next_id = 0;
	cairn_pg_int8(&args, account);
	cairn_pg_int8(&args, (int64_t)kind);
	cairn_pg_int8(&args, from_id);
	int page = cairn_pg_page(&args, 0);
	PG_READ(ix, reader, r, REPO_EACH, &args);
	for (int i = 0; i < PQntuples(r); i++) {
		if (!repo_columns(r, i, &repo))
			return CAIRN_E_DAMAGED;
		visit(ctx, &repo);
	}
	*next_id = PQntuples(r) == page ? repo.id : 0;
	return CAIRN_OK;
}

enum cairn_status cairn_pg_list_repos(struct cairn_index *ix, struct cairn_index_repo_list *list,
				      cairn_index_visit_repo *visit, void *ctx, bool *more)
{
	int limit = list->limit < CAIRN_INDEX_REPOS_MAX ? (int)list->limit : CAIRN_INDEX_REPOS_MAX;
	struct cairn_index_repo repo;
	struct cairn_pg_args args = {0};
	*more = false;
	cairn_pg_int8(&args, (int64_t)list->kind);
	cairn_pg_int8(&args, list->account);
	cairn_pg_text(&args, list->search ? list->search : "");
	cairn_pg_int8(&args, list->all);
	cairn_pg_int8(&args, list->reader);
	cairn_pg_int8(&args, limit);
	cairn_pg_int8(&args, list->after_unix_ms);
	cairn_pg_int8(&args, list->after_id);
	cairn_pg_text(&args, list->after_name);
	CLEANUP(cairn_pg_givep) struct cairn_pg_reader *reader = NULL;
	const PGresult *r;
	enum cairn_status status = cairn_pg_take(&cairn_postgres(ix)->pool, &reader);
	if (status != CAIRN_OK)
		return status;
	/* Those of one account have no index by name or creation. */
	if (list->account == 0 || list->sort == CAIRN_INDEX_BY_UPDATE)
		cairn_pg_in_order(&reader->pg);
	const char *sql = REPO_LISTS[list->sort][list->account ? 1 : 0][list->ascending ? 1 : 0];
	status = cairn_pg_ask(&reader->pg, sql, &args, &r);
	if (status != CAIRN_OK)
		return status;
	for (int i = 0; i < PQntuples(r); i++) {
		if (!repo_columns(r, i, &repo))
			return CAIRN_E_DAMAGED;
		visit(ctx, &repo);
		list->after_id = repo.id;
		list->after_unix_ms = repo.updated_unix_ms;
		memcpy(list->after_name, repo.name, sizeof(list->after_name));
	}
	*more = PQntuples(r) == limit;
	return CAIRN_OK;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static enum cairn_status repo_known(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_CONFLICT, "repo.known", CAIRN_NO_OFFSET,
			  "there is a repository of this name already, or its name is too long; take another");
}

static bool repo_name_fits(const char *name)
{
	size_t len = strlen(name);
	return len > 0 && len <= CAIRN_INDEX_REPO_NAME_MAX;
}

enum cairn_status cairn_pg_add_repo(struct cairn_pg_tx *tx, struct cairn_index_add_repo *add)
{
	const PGresult *r = NULL;
	struct cairn_pg_args args = {0};
	cairn_pg_int8(&args, add->account);
	cairn_pg_int8(&args, (int64_t)add->kind);
	cairn_pg_text(&args, add->name);
	cairn_pg_int8(&args, add->is_private);
	cairn_pg_int8(&args, cairn_clock_unix_ms());
	cairn_pg_text(&args, add->sdk ? add->sdk : "");
	cairn_pg_int8(&args, add->guard);
	enum cairn_status status = repo_name_fits(add->name) ? cairn_pg_ask(&tx->pg, REPO_ADD, &args, &r) : CAIRN_OK;
	if (status != CAIRN_OK)
		return status;
	if (!r || PQntuples(r) == 0)
		return repo_known(&add->write.diag);
	add->id = cairn_pg_get_int8(r, 0, 0);
	return add->kind == CAIRN_INDEX_BUCKET ? CAIRN_OK : cairn_pg_begin_repo(tx, add, cairn_pg_get_int8(r, 0, 1));
}

enum cairn_status cairn_pg_set_repo(struct cairn_pg_tx *tx, struct cairn_index_set_repo *set)
{
	int64_t n;
	struct cairn_pg_args args = {0};
	cairn_pg_int8(&args, set->id);
	cairn_pg_int8_if(&args, !set->keeps_private, set->is_private);
	cairn_pg_int8(&args, cairn_clock_unix_ms());
	cairn_pg_int8_if(&args, !set->keeps_gate, (int64_t)set->gate);
	enum cairn_status status = cairn_pg_run(&tx->pg, REPO_SET, &args, &n);
	return status == CAIRN_OK && n == 0 ? cairn_pg_no_repo(&set->write.diag) : status;
}

enum cairn_status cairn_pg_move_repo(struct cairn_pg_tx *tx, struct cairn_index_move_repo *move)
{
	const PGresult *r;
	int64_t n;
	struct cairn_pg_args find = {0}, former = {0}, args = {0};
	cairn_pg_int8(&find, move->id);
	cairn_pg_int8(&find, move->account);
	enum cairn_status status = cairn_pg_ask(&tx->pg, REPO_MOVED_BYTES, &find, &r);
	if (status != CAIRN_OK)
		return status;
	if (PQntuples(r) == 0)
		return cairn_pg_no_repo(&move->write.diag);
	/* Another account gets what the repository holds; the repository itself holds no more than before. */
	tx->growth = (struct cairn_pg_growth){.scope = cairn_pg_get_int8(r, 0, 0),
					      .account_bytes = cairn_pg_get_int8(r, 0, 1)};
	if (!repo_name_fits(move->name))
		return repo_known(&move->write.diag);
	cairn_pg_int8(&former, move->id);
	(void)cairn_pg_queue(&tx->pg, REPO_ADD_FORMER, &former);
	cairn_pg_int8(&args, move->id);
	cairn_pg_int8(&args, move->account);
	cairn_pg_text(&args, move->name);
	cairn_pg_int8(&args, cairn_clock_unix_ms());
	status = cairn_pg_run(&tx->pg, REPO_MOVE, &args, &n);
	return status == CAIRN_OK && n == 0 ? repo_known(&move->write.diag) : status;
}

/* The owner loses its name, so that no token that is about opens anything, or brings anything. */
enum cairn_status cairn_pg_drop_repo(struct cairn_pg_tx *tx, struct cairn_index_drop_repo *drop)
{
	int64_t scope = 0;
	char gone[CAIRN_INDEX_OWNER_BYTES];
	struct cairn_pg_args owner = {0}, repo = {0}, args = {0};
	enum cairn_status status = cairn_pg_find_repo(tx, drop->id, &scope, &drop->write.diag);
	if (status != CAIRN_OK)
		return status;
	cairn_index_gone_owner(gone, drop->id);
	cairn_pg_int8(&owner, scope);
	cairn_pg_text(&owner, gone);
	cairn_pg_int8(&repo, drop->id);
	cairn_pg_int8(&args, drop->id);
	cairn_pg_int8(&args, cairn_clock_unix_ms());
	(void)cairn_pg_queue(&tx->pg, REPO_RENAME_OWNER, &owner);
	(void)cairn_pg_queue(&tx->pg, REPO_DROP_FORMER, &repo);
	tx->counts.collection++;
	return cairn_pg_run(&tx->pg, REPO_DROP, &args, NULL);
}
