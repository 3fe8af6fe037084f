/* Repositories of the hub: names and visibility. */
#include "index/backend.h"
#include "index/hub/card.h"
#include "index/records.h"
#include "index/stage.h"

#include "base/clock.h"
#include "base/sum.h"

#include <string.h>

/* A repository that is made in pieces may be swept after so long. */
static const int64_t REPO_HIDDEN_MS_MAX = 60LL * 60 * 1000;

#define REPO_COLUMNS                                                                                                   \
	"SELECT r.id, r.kind, r.account, a.name, r.name, r.private, r.created, r.updated, r.files, r.bytes,"           \
	" r.gate, r.sdk, r.guard"
#define REPO REPO_COLUMNS " FROM repo r CROSS JOIN account a WHERE a.id = r.account AND "
/* With its card, and the head of main. $10 says which of the two are wanted: 1, 2. */
#define REPO_LISTED                                                                                                    \
	REPO_COLUMNS ", c.task, c.library, c.tags, c.data, c.config,"                                                  \
		     " (SELECT k.oid FROM ref f JOIN line l ON l.id = f.line JOIN commit_ k ON k.id = l.head"          \
		     " WHERE ($10 & 2) <> 0 AND f.repo = r.id AND f.kind = 1 AND f.name = 'main')"                     \
		     " FROM repo r CROSS JOIN account a LEFT JOIN card c ON c.repo = r.id AND ($10 & 1) <> 0"          \
		     " WHERE a.id = r.account AND "

/* A repository by its name, or by a former one. */
#define FOUND REPO CAIRN_REPO_KEPT("r") " AND r.id = coalesce("
CAIRN_SQL_OF(REPO_FIND,
	     FOUND "(SELECT n.id FROM repo n WHERE n.dropped IS NULL AND n.kind = $1 AND n.name = $3"
		   " AND n.account = (SELECT id FROM account WHERE name = $2)),"
		   " (SELECT repo FROM former WHERE kind = $1 AND name = $3"
		   " AND account = (SELECT id FROM account WHERE name = $2)))",
	     FOUND "(SELECT n.id FROM repo n WHERE n.dropped IS NULL AND n.kind = $1"
		   " AND lower(n.name) = lower($3 COLLATE \"C\")"
		   " AND n.account = (SELECT id FROM account WHERE lower(name) = lower($2 COLLATE \"C\"))),"
		   " (SELECT repo FROM former WHERE kind = $1 AND lower(name) = lower($3 COLLATE \"C\")"
		   " AND account = (SELECT id FROM account WHERE lower(name) = lower($2 COLLATE \"C\"))))");
CAIRN_SQL(REPO_EACH, REPO "r.dropped IS NULL AND r.account = $1 AND r.kind = $2 AND r.id > $3 ORDER BY r.id LIMIT $4");

/* Has the repository's card a word? */
#define HAS(word) " AND (" word " = '' OR EXISTS(SELECT 1 FROM tag t WHERE t.repo = r.id AND t.tag = " word "))"
#define NARROWED                                                                                                       \
	" AND ($8 = 0 OR r.private = ($8 = 1)) AND ($9 = 0 OR (r.gate <> 0) = ($9 = 1))" HAS("$11") HAS("$12")         \
		HAS("$13") HAS("$14") HAS("$15") HAS("$16")

/* A page of the repositories that a viewer may see. $1 kind, $2 account, $3 text in the name, $4 whether all may be
 * seen, $5 viewer, $6 limit, $7 the last repository of the page before, $8 whether private ones, $9 whether those with
 * a gate, $10 what is wanted of each, $11 to $16 words of its card, $17 the date or name of the last repository. */
#define SQLITE_PAGE                                                                                                    \
	REPO_LISTED "r.dropped IS NULL AND ($1 = 0 OR r.kind = $1)"                                                    \
		    " AND ($3 = '' OR instr(lower(a.name || '/' || r.name), lower($3)) > 0)"                           \
		    " AND (NOT r.private OR $4 <> 0 OR r.account = $5 OR EXISTS(SELECT 1 FROM membership m"            \
		    " WHERE m.organisation = r.account AND m.user = $5))" NARROWED
#define POSTGRES_PAGE                                                                                                  \
	REPO_LISTED "r.dropped IS NULL AND ($1 = 0 OR r.kind = $1)"                                                    \
		    " AND ($3 = '' OR strpos(lower(a.name || '/' || r.name), lower($3 COLLATE \"C\")) > 0)"            \
		    " AND (NOT r.private OR $4 <> 0 OR r.account = $5 OR EXISTS(SELECT 1 FROM membership m"            \
		    " WHERE m.organisation = r.account AND m.member = $5))" NARROWED
#define OF_ALL            " AND $2 = 0"
#define OF_ONE            " AND r.account = $2"
#define UPDATED_DOWN      " AND ($7 = 0 OR (r.updated, r.id) < ($17, $7)) ORDER BY r.updated DESC, r.id DESC LIMIT $6"
#define UPDATED_UP        " AND ($7 = 0 OR (r.updated, r.id) > ($17, $7)) ORDER BY r.updated, r.id LIMIT $6"
#define CREATED_DOWN      " AND ($7 = 0 OR r.id < $7) ORDER BY r.id DESC LIMIT $6"
#define CREATED_UP        " AND ($7 = 0 OR r.id > $7) ORDER BY r.id LIMIT $6"
#define SQLITE_NAMED_DOWN " AND ($7 = 0 OR (r.name, r.id) < ($17, $7)) ORDER BY r.name DESC, r.id DESC LIMIT $6"
#define SQLITE_NAMED_UP   " AND ($7 = 0 OR (r.name, r.id) > ($17, $7)) ORDER BY r.name, r.id LIMIT $6"
#define POSTGRES_NAMED_DOWN                                                                                            \
	" AND ($7 = 0 OR (lower(r.name), r.id) < (lower($17 COLLATE \"C\"), $7))"                                      \
	" ORDER BY lower(r.name) DESC, r.id DESC LIMIT $6"
#define POSTGRES_NAMED_UP                                                                                              \
	" AND ($7 = 0 OR (lower(r.name), r.id) > (lower($17 COLLATE \"C\"), $7))"                                      \
	" ORDER BY lower(r.name), r.id LIMIT $6"
CAIRN_SQL_OF(UPDATED_ALL_DOWN, SQLITE_PAGE OF_ALL UPDATED_DOWN, POSTGRES_PAGE OF_ALL UPDATED_DOWN);
CAIRN_SQL_OF(UPDATED_ALL_UP, SQLITE_PAGE OF_ALL UPDATED_UP, POSTGRES_PAGE OF_ALL UPDATED_UP);
CAIRN_SQL_OF(UPDATED_ONE_DOWN, SQLITE_PAGE OF_ONE UPDATED_DOWN, POSTGRES_PAGE OF_ONE UPDATED_DOWN);
CAIRN_SQL_OF(UPDATED_ONE_UP, SQLITE_PAGE OF_ONE UPDATED_UP, POSTGRES_PAGE OF_ONE UPDATED_UP);
CAIRN_SQL_OF(CREATED_ALL_DOWN, SQLITE_PAGE OF_ALL CREATED_DOWN, POSTGRES_PAGE OF_ALL CREATED_DOWN);
CAIRN_SQL_OF(CREATED_ALL_UP, SQLITE_PAGE OF_ALL CREATED_UP, POSTGRES_PAGE OF_ALL CREATED_UP);
CAIRN_SQL_OF(CREATED_ONE_DOWN, SQLITE_PAGE OF_ONE CREATED_DOWN, POSTGRES_PAGE OF_ONE CREATED_DOWN);
CAIRN_SQL_OF(CREATED_ONE_UP, SQLITE_PAGE OF_ONE CREATED_UP, POSTGRES_PAGE OF_ONE CREATED_UP);
CAIRN_SQL_OF(NAMED_ALL_DOWN, SQLITE_PAGE OF_ALL SQLITE_NAMED_DOWN, POSTGRES_PAGE OF_ALL POSTGRES_NAMED_DOWN);
CAIRN_SQL_OF(NAMED_ALL_UP, SQLITE_PAGE OF_ALL SQLITE_NAMED_UP, POSTGRES_PAGE OF_ALL POSTGRES_NAMED_UP);
CAIRN_SQL_OF(NAMED_ONE_DOWN, SQLITE_PAGE OF_ONE SQLITE_NAMED_DOWN, POSTGRES_PAGE OF_ONE POSTGRES_NAMED_DOWN);
CAIRN_SQL_OF(NAMED_ONE_UP, SQLITE_PAGE OF_ONE SQLITE_NAMED_UP, POSTGRES_PAGE OF_ONE POSTGRES_NAMED_UP);
/* Indexed by sort, by one account or all, and by direction. */
static const struct cairn_sql *const REPO_PAGES[][2][2] = {
	[CAIRN_INDEX_BY_UPDATE] = {{&UPDATED_ALL_DOWN, &UPDATED_ALL_UP}, {&UPDATED_ONE_DOWN, &UPDATED_ONE_UP}},
	[CAIRN_INDEX_BY_CREATION] = {{&CREATED_ALL_DOWN, &CREATED_ALL_UP}, {&CREATED_ONE_DOWN, &CREATED_ONE_UP}},
	[CAIRN_INDEX_BY_NAME] = {{&NAMED_ALL_DOWN, &NAMED_ALL_UP}, {&NAMED_ONE_DOWN, &NAMED_ONE_UP}},
};

/* With the owner of its files, whose name has the repository's number. SQLite cannot insert into two tables at once:
 * there the answer has 0 for the owner, and REPO_ADD_OWNER follows. */
CAIRN_SQL_OF(REPO_ADD,
	     "INSERT INTO repo(account, kind, name, private, scope, created, updated, files, bytes, sdk, guard)"
	     " VALUES($1, $2, $3, $4 <> 0, 0, $5, $5, 0, 0, $6, nullif($7, 0)) ON CONFLICT DO NOTHING RETURNING id, 0",
	     "WITH n AS (SELECT nextval(pg_get_serial_sequence('repo', 'id')) AS id WHERE NOT EXISTS(SELECT 1 FROM repo"
	     " WHERE account = $1 AND kind = $2 AND lower(name) = lower($3 COLLATE \"C\") AND dropped IS NULL)),"
	     " s AS (INSERT INTO scope(name) SELECT 'hub/' || id FROM n RETURNING id)"
	     " INSERT INTO repo(id, account, kind, name, private, scope, created, updated, files, bytes, sdk, guard)"
	     " SELECT n.id, $1, $2, $3, $4 <> 0, s.id, $5, $5, 0, 0, $6, nullif($7, 0) FROM n, s RETURNING id, scope");
CAIRN_SQL_OF(REPO_NAMED, "SELECT 1 FROM repo WHERE kind = $1 AND account = $2 AND name = $3 AND dropped IS NULL",
	     "SELECT 1 FROM repo WHERE kind = $1 AND account = $2 AND lower(name) = lower($3 COLLATE \"C\")"
	     " AND dropped IS NULL");
CAIRN_SQL(REPO_ADD_OWNER, "INSERT INTO scope(name) VALUES($1)");
CAIRN_SQL(REPO_SET_OWNER,
	  "UPDATE repo SET scope = (SELECT id FROM scope WHERE name = $2) WHERE id = $1 RETURNING scope");
CAIRN_SQL(REPO_SET, "UPDATE repo SET private = coalesce($2 <> 0, private), updated = $3, gate = coalesce($4, gate)"
		    " WHERE id = $1 AND " CAIRN_REPO_KEPT("repo"));
CAIRN_SQL(REPO_GUARD, "UPDATE repo SET guard = CASE WHEN coalesce(guard, $2) = $2 THEN $2 ELSE -1 END"
		      " WHERE id = $1 AND " CAIRN_REPO_KEPT("repo") " AND (private OR gate <> 0)");
CAIRN_SQL(REPO_MOVED_BYTES,
	  "SELECT scope, CASE WHEN account <> $2 THEN stored END FROM repo r WHERE id = $1 AND " CAIRN_REPO_KEPT("r"));
CAIRN_SQL_OF(REPO_ADD_FORMER,
	     "INSERT INTO former(kind, account, name, repo) SELECT kind, account, name, id FROM repo"
	     " WHERE id = $1 ON CONFLICT(kind, account, name) DO UPDATE SET repo = excluded.repo",
	     "INSERT INTO former(kind, account, name, repo) SELECT kind, account, name, id FROM repo"
	     " WHERE id = $1 ON CONFLICT(kind, account, lower(name)) DO UPDATE SET repo = excluded.repo");
CAIRN_SQL_OF(REPO_MOVE,
	     "UPDATE repo SET account = $2, name = $3, updated = $4 WHERE id = $1 AND NOT EXISTS(SELECT 1 FROM repo o"
	     " WHERE o.account = $2 AND o.kind = repo.kind AND o.name = $3 AND o.dropped IS NULL AND o.id <> $1)",
	     "UPDATE repo SET account = $2, name = $3, updated = $4 WHERE id = $1 AND NOT EXISTS(SELECT 1 FROM repo o"
	     " WHERE o.account = $2 AND o.kind = repo.kind AND lower(o.name) = lower($3 COLLATE \"C\")"
	     " AND o.dropped IS NULL AND o.id <> $1)");
/* A name that is given again leads nowhere else any more, not even once that repository has gone. */
CAIRN_SQL_OF(REPO_TAKE_NAME, "DELETE FROM former WHERE kind = $1 AND account = $2 AND name = $3",
	     "DELETE FROM former WHERE kind = $1 AND account = $2 AND lower(name) = lower($3 COLLATE \"C\")");
CAIRN_SQL_OF(REPO_TAKE_MOVED,
	     "DELETE FROM former WHERE kind = (SELECT kind FROM repo WHERE id = $1) AND account = $2 AND name = $3",
	     "DELETE FROM former WHERE kind = (SELECT kind FROM repo WHERE id = $1) AND account = $2"
	     " AND lower(name) = lower($3 COLLATE \"C\")");
CAIRN_SQL(REPO_RENAME_OWNER, "UPDATE scope SET name = $2 WHERE id = $1");
CAIRN_SQL(REPO_DROP_FORMER, "DELETE FROM former WHERE repo = $1");
CAIRN_SQL(REPO_DROP, "UPDATE repo SET dropped = $2 WHERE id = $1");
CAIRN_SQL(REPO_SHOW, "UPDATE repo SET dropped = NULL WHERE id = $1 RETURNING stored");
CAIRN_SQL(REPO_OWNER, "SELECT scope FROM repo r WHERE id = $1 AND " CAIRN_REPO_KEPT("r"));

/* --- reading ------------------------------------------------------------------------------------------------------ */

enum { REPO_COLUMN_CARD = 13, REPO_COLUMN_HEAD = 18 }; /* of REPO_LISTED */

static enum cairn_status repo_row(struct cairn_db_rows *row, struct cairn_index_repo *out)
{
	*out = (struct cairn_index_repo){
		.id = cairn_db_get_int(row, 0),
		.kind = (enum cairn_index_repo_kind)cairn_db_get_int(row, 1),
		.account = cairn_db_get_int(row, 2),
		.is_private = cairn_db_get_int(row, 5) != 0,
		.created_unix_ms = cairn_db_get_int(row, 6),
		.updated_unix_ms = cairn_db_get_int(row, 7),
		.n_files = (uint64_t)cairn_db_get_int(row, 8),
		.bytes = (uint64_t)cairn_db_get_int(row, 9),
		.gate = (enum cairn_index_gate)cairn_db_get_int(row, 10),
		.guard = cairn_db_get_int(row, 12),
	};
	cairn_db_get_text(row, 3, out->account_name, sizeof(out->account_name));
	cairn_db_get_text(row, 4, out->name, sizeof(out->name));
	cairn_db_get_text(row, 11, out->sdk, sizeof(out->sdk));
	return cairn_db_whole(row);
}

enum cairn_status cairn_index_repo(struct cairn_index *ix, enum cairn_index_repo_kind kind, const char *account,
				   const char *name, struct cairn_index_repo *out)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_records_find(
		ix, &rows, &REPO_FIND,
		CAIRN_ARGS(cairn_db_int((int64_t)kind), cairn_db_text(account), cairn_db_text(name)));
	return status == CAIRN_OK ? repo_row(&rows, out) : status;
}

enum cairn_status cairn_index_each_repo(struct cairn_index *ix, int64_t account, enum cairn_index_repo_kind kind,
					int64_t from_id, cairn_index_visit_repo *visit, void *ctx, int64_t *next_id)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	struct cairn_index_repo repo = {.id = from_id};
	uint32_t page = cairn_records_page(0), n = 0;
	enum cairn_status status = cairn_records_find(ix, &rows, &REPO_EACH,
						      CAIRN_ARGS(cairn_db_int(account), cairn_db_int((int64_t)kind),
								 cairn_db_int(from_id), cairn_db_int(page)));
	for (; status == CAIRN_OK; status = cairn_db_next(&rows), n++) {
		status = repo_row(&rows, &repo);
		if (status == CAIRN_OK)
			visit(ctx, &repo);
	}
	return cairn_records_paged(status, n, page, repo.id, next_id);
}

/* @param after_name  a copy: SQLite still reads it while visitors change the list's after_name */
static enum cairn_status repo_ask_page(struct cairn_index *ix, struct cairn_db_rows *rows,
				       const struct cairn_index_repo_list *list, uint32_t limit, const char *after_name)
{
	const struct cairn_sql *sql = REPO_PAGES[list->sort][list->account ? 1 : 0][list->ascending ? 1 : 0];
	const char *words[CAIRN_INDEX_WORDS_ASKED_MAX];
	for (unsigned i = 0; i < CAIRN_INDEX_WORDS_ASKED_MAX; i++)
		words[i] = i < list->n_words ? list->words[i] : "";
	const struct cairn_db_arg arg[] = {
		cairn_db_int((int64_t)list->kind),
		cairn_db_int(list->account),
		cairn_db_text(list->search ? list->search : ""),
		cairn_db_int(list->all),
		cairn_db_int(list->reader),
		cairn_db_int(limit),
		cairn_db_int(list->after_id),
		cairn_db_int((int64_t)list->is_private),
		cairn_db_int((int64_t)list->gated),
		cairn_db_int((list->cards ? 1 : 0) | (list->heads ? 2 : 0)),
		cairn_db_text(words[0]),
		cairn_db_text(words[1]),
		cairn_db_text(words[2]),
		cairn_db_text(words[3]),
		cairn_db_text(words[4]),
		cairn_db_text(words[5]),
		list->sort == CAIRN_INDEX_BY_NAME ? cairn_db_text(after_name) : cairn_db_int(list->after_unix_ms),
	};
	const struct cairn_db_args args = {arg, list->sort == CAIRN_INDEX_BY_CREATION ? 16 : 17};
	enum cairn_status status = cairn_records_take(ix, rows);
	if (status != CAIRN_OK)
		return status;
	/* No index has the repositories of one account by name or creation. */
	if (list->account == 0 || list->sort == CAIRN_INDEX_BY_UPDATE)
		cairn_db_advise(rows->db, CAIRN_DB_IN_ORDER);
	return cairn_db_find(rows->db, rows, sql, &args);
}

/* A row of a page, with its card and its head where they were asked for. */
struct repo_listed {
	struct cairn_index_repo repo;
	struct cairn_index_card card;
	struct cairn_git_oid head;
};

static enum cairn_status repo_listed_row(struct cairn_db_rows *row, const struct cairn_index_repo_list *list,
					 struct repo_listed *out)
{
	enum cairn_status status = repo_row(row, &out->repo);
	if (list->cards) {
		cairn_records_card(row, REPO_COLUMN_CARD, &out->card);
		out->repo.card = &out->card;
	}
	if (list->heads && !cairn_db_is_null(row, REPO_COLUMN_HEAD)) {
		cairn_db_get_fixed(row, REPO_COLUMN_HEAD, &out->head, sizeof(out->head));
		out->repo.head = &out->head;
	}
	return status == CAIRN_OK ? cairn_db_whole(row) : status;
}

enum cairn_status cairn_index_list_repos(struct cairn_index *ix, struct cairn_index_repo_list *list,
					 cairn_index_visit_repo *visit, void *ctx, bool *more)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	uint32_t limit = list->limit < CAIRN_INDEX_REPOS_MAX ? list->limit : CAIRN_INDEX_REPOS_MAX, n = 0;
	struct repo_listed row = {0};
	const struct cairn_index_repo *repo = &row.repo;
	char after_name[sizeof(list->after_name)];
	memcpy(after_name, list->after_name, sizeof(after_name));
	*more = false;
	enum cairn_status status = repo_ask_page(ix, &rows, list, limit, after_name);
	for (; status == CAIRN_OK; status = cairn_db_next(&rows), n++) {
		if (repo_listed_row(&rows, list, &row) != CAIRN_OK)
			continue;
		visit(ctx, repo);
		list->after_id = repo->id;
		list->after_unix_ms = repo->updated_unix_ms;
		memcpy(list->after_name, repo->name, sizeof(list->after_name));
	}
	*more = status == CAIRN_E_NOT_FOUND && n == limit;
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static enum cairn_status repo_unknown(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_NOT_FOUND, "repo.unknown", CAIRN_NO_OFFSET, "Repository not found");
}

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

enum cairn_status cairn_records_find_repo(struct cairn_index_tx *tx, int64_t repo, int64_t *scope,
					  struct cairn_diag *diag)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_db_find(tx->db, &rows, &REPO_OWNER, CAIRN_ARGS(cairn_db_int(repo)));
	*scope = status == CAIRN_OK ? cairn_db_get_int(&rows, 0) : 0;
	return status == CAIRN_E_NOT_FOUND ? repo_unknown(diag) : status;
}

static void repo_take_name(struct cairn_index_tx *tx, const struct cairn_index_add_repo *add)
{
	cairn_db_queue(
		tx->db, NULL, &REPO_TAKE_NAME,
		CAIRN_ARGS(cairn_db_int((int64_t)add->kind), cairn_db_int(add->account), cairn_db_text(add->name)));
}

/* @param[out] scope  the owner of its files; 0: the row has none yet */
static enum cairn_status repo_add_row(struct cairn_index_tx *tx, struct cairn_index_add_repo *add, int64_t *scope)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	if (!repo_name_fits(add->name))
		return CAIRN_E_NOT_FOUND;
	enum cairn_status status = cairn_db_find(
		tx->db, &rows, &REPO_ADD,
		CAIRN_ARGS(cairn_db_int(add->account), cairn_db_int((int64_t)add->kind), cairn_db_text(add->name),
			   cairn_db_int(add->is_private), cairn_db_int(cairn_clock_unix_ms()),
			   cairn_db_text(add->sdk ? add->sdk : ""), cairn_db_int(add->guard)));
	if (status != CAIRN_OK)
		return status;
	add->id = cairn_db_get_int(&rows, 0);
	*scope = cairn_db_get_int(&rows, 1);
	return CAIRN_OK;
}

static enum cairn_status repo_add_owner(struct cairn_index_tx *tx, int64_t repo, int64_t *scope)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	char owner[CAIRN_INDEX_OWNER_BYTES];
	cairn_index_repo_owner(owner, repo);
	cairn_db_queue(tx->db, NULL, &REPO_ADD_OWNER, CAIRN_ARGS(cairn_db_text(owner)));
	enum cairn_status status =
		cairn_db_find(tx->db, &rows, &REPO_SET_OWNER, CAIRN_ARGS(cairn_db_int(repo), cairn_db_text(owner)));
	*scope = status == CAIRN_OK ? cairn_db_get_int(&rows, 0) : 0;
	return status;
}

static enum cairn_status repo_add(struct cairn_index_tx *tx, struct cairn_index_add_repo *add, int64_t *scope)
{
	*scope = 0;
	enum cairn_status status = repo_add_row(tx, add, scope);
	if (status == CAIRN_E_NOT_FOUND)
		return repo_known(&add->write.diag);
	return status == CAIRN_OK && *scope == 0 ? repo_add_owner(tx, add->id, scope) : status;
}

enum cairn_status cairn_records_hide_repo(struct cairn_index_tx *tx, struct cairn_index_add_repo *add, int64_t *scope)
{
	char gone[CAIRN_INDEX_OWNER_BYTES];
	enum cairn_status status = repo_add(tx, add, scope);
	if (status != CAIRN_OK)
		return status;
	cairn_index_gone_owner(gone, add->id);
	cairn_db_queue(tx->db, NULL, &REPO_RENAME_OWNER, CAIRN_ARGS(cairn_db_int(*scope), cairn_db_text(gone)));
	return cairn_db_run(tx->db, &REPO_DROP,
			    CAIRN_ARGS(cairn_db_int(add->id), cairn_db_int(cairn_clock_unix_ms() + REPO_HIDDEN_MS_MAX)),
			    NULL);
}

static enum cairn_status repo_is_known(struct cairn_index_tx *tx, const struct cairn_index_add_repo *add, bool *known)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_db_find(
		tx->db, &rows, &REPO_NAMED,
		CAIRN_ARGS(cairn_db_int((int64_t)add->kind), cairn_db_int(add->account), cairn_db_text(add->name)));
	*known = status == CAIRN_OK;
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status cairn_records_show_repo(struct cairn_index_tx *tx, struct cairn_index_add_repo *add, int64_t scope)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	char owner[CAIRN_INDEX_OWNER_BYTES];
	bool known = false;
	enum cairn_status status = repo_is_known(tx, add, &known);
	if (status == CAIRN_OK && known)
		return repo_known(&add->write.diag);
	if (status != CAIRN_OK)
		return status;
	cairn_index_repo_owner(owner, add->id);
	repo_take_name(tx, add);
	cairn_db_queue(tx->db, NULL, &REPO_RENAME_OWNER, CAIRN_ARGS(cairn_db_int(scope), cairn_db_text(owner)));
	status = cairn_db_find(tx->db, &rows, &REPO_SHOW, CAIRN_ARGS(cairn_db_int(add->id)));
	tx->growth = (struct cairn_index_growth){0};
	if (status == CAIRN_OK)
		cairn_records_grow(tx, scope, cairn_db_get_int(&rows, 0));
	return status;
}

enum cairn_status cairn_records_add_repo(struct cairn_index_tx *tx, struct cairn_index_add_repo *add)
{
	int64_t scope = 0;
	if (tx->ix->backend->stages && cairn_index_in_pieces(add->n))
		return tx->ix->backend->begin_repo(tx->ix, add, 0);
	repo_take_name(tx, add);
	enum cairn_status status = repo_add(tx, add, &scope);
	return status == CAIRN_OK && add->kind != CAIRN_INDEX_BUCKET ? tx->ix->backend->begin_repo(tx->ix, add, scope)
								     : status;
}

enum cairn_status cairn_records_set_repo(struct cairn_index_tx *tx, struct cairn_index_set_repo *set)
{
	int64_t n;
	enum cairn_status status = cairn_db_run(
		tx->db, &REPO_SET,
		CAIRN_ARGS(cairn_db_int(set->id), cairn_db_int_if(!set->keeps_private, set->is_private),
			   cairn_db_int(cairn_clock_unix_ms()), cairn_db_int_if(!set->keeps_gate, (int64_t)set->gate)),
		&n);
	return status == CAIRN_OK && n == 0 ? repo_unknown(&set->write.diag) : status;
}

enum cairn_status cairn_records_guard_repo(struct cairn_index_tx *tx, struct cairn_index_guard_repo *guard)
{
	int64_t n;
	enum cairn_status status =
		cairn_db_run(tx->db, &REPO_GUARD, CAIRN_ARGS(cairn_db_int(guard->id), cairn_db_int(guard->guard)), &n);
	return status == CAIRN_OK && n == 0 ? repo_unknown(&guard->write.diag) : status;
}

/* Note that the new account grows by what the repository holds. The repository itself does not grow. */
static enum cairn_status repo_count_moved(struct cairn_index_tx *tx, const struct cairn_index_move_repo *move,
					  struct cairn_diag *diag)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_db_find(tx->db, &rows, &REPO_MOVED_BYTES,
						 CAIRN_ARGS(cairn_db_int(move->id), cairn_db_int(move->account)));
	if (status == CAIRN_OK)
		tx->growth = (struct cairn_index_growth){.scope = cairn_db_get_int(&rows, 0),
							 .account_bytes = cairn_db_get_int(&rows, 1)};
	return status == CAIRN_E_NOT_FOUND ? repo_unknown(diag) : status;
}

enum cairn_status cairn_records_move_repo(struct cairn_index_tx *tx, struct cairn_index_move_repo *move)
{
	int64_t n;
	enum cairn_status status = repo_count_moved(tx, move, &move->write.diag);
	if (status != CAIRN_OK)
		return status;
	if (!repo_name_fits(move->name))
		return repo_known(&move->write.diag);
	cairn_db_queue(tx->db, NULL, &REPO_ADD_FORMER, CAIRN_ARGS(cairn_db_int(move->id)));
	cairn_db_queue(tx->db, NULL, &REPO_TAKE_MOVED,
		       CAIRN_ARGS(cairn_db_int(move->id), cairn_db_int(move->account), cairn_db_text(move->name)));
	status = cairn_db_run(tx->db, &REPO_MOVE,
			      CAIRN_ARGS(cairn_db_int(move->id), cairn_db_int(move->account), cairn_db_text(move->name),
					 cairn_db_int(cairn_clock_unix_ms())),
			      &n);
	return status == CAIRN_OK && n == 0 ? repo_known(&move->write.diag) : status;
}

/* The owner of its files loses its name, so that tokens already issued neither read nor write. */
enum cairn_status cairn_records_drop_repo(struct cairn_index_tx *tx, struct cairn_index_drop_repo *drop)
{
	int64_t scope;
	char gone[CAIRN_INDEX_OWNER_BYTES];
	enum cairn_status status = cairn_records_find_repo(tx, drop->id, &scope, &drop->write.diag);
	if (status != CAIRN_OK)
		return status;
	cairn_index_gone_owner(gone, drop->id);
	cairn_db_queue(tx->db, NULL, &REPO_RENAME_OWNER, CAIRN_ARGS(cairn_db_int(scope), cairn_db_text(gone)));
	cairn_db_queue(tx->db, NULL, &REPO_DROP_FORMER, CAIRN_ARGS(cairn_db_int(drop->id)));
	cairn_advance(&tx->counts->collection);
	return cairn_db_run(tx->db, &REPO_DROP, CAIRN_ARGS(cairn_db_int(drop->id), cairn_db_int(cairn_clock_unix_ms())),
			    NULL);
}
