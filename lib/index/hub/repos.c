/* Repositories of the hub: names and visibility. */
#include "index/backend.h"
#include "index/hub/card.h"
#include "index/hub/edit.h"
#include "index/records.h"
#include "index/stage.h"

#include "base/clock.h"
#include "base/sum.h"

#include <string.h>

/* A repository that is made in pieces may be swept after so long. */
static const int64_t REPO_HIDDEN_MS_MAX = 60LL * 60 * 1000;

#define REPO_COLUMNS(owner)                                                                                            \
	"SELECT r.id, r.kind, r.account, " owner ", r.name, r.private, r.created, r.updated, r.files, r.bytes,"        \
	" r.gate, r.sdk, r.guard, r.pulls_closed"
#define REPO REPO_COLUMNS("a.name") ", a.mirrored FROM repo r CROSS JOIN account a WHERE a.id = r.account AND "
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

/* --- lists -------------------------------------------------------------------------------------------------------- */

/* A list looks at repositories in its order and takes those that it is narrowed to. It looks only at repositories that
 * the viewer may see, which indexes find: neither the time nor the end of a page tells anything of others.
 *
 * $1 kind, $2 account, $3 text in the name, $4 whether all may be seen, $5 viewer, $6 how many are looked at, $7 the
 * last repository that was looked at, $8 whether private ones, $9 whether those with a gate, $10 what is wanted of each
 * (1: its card, 2: the head of main), $11 to $16 words of its card, $17 the date or name of the last repository. */

/* Has the repository's card a word? */
#define HAS(word) " AND (" word " = '' OR EXISTS(SELECT 1 FROM tag t WHERE t.repo = r.id AND t.tag = " word "))"
/* Is a repository that was looked at one of the list? */
#define IS_LISTED(has_text, user)                                                                                      \
	"($1 = 0 OR r.kind = $1) AND ($2 = 0 OR r.account = $2) AND ($3 = '' OR " has_text ") AND (NOT r.private"      \
	" OR $4 <> 0 OR r.account = $5 OR EXISTS(SELECT 1 FROM membership m WHERE m.organisation = r.account"          \
	" AND m." user                                                                                                 \
	" = $5)) AND ($8 = 0 OR r.private = ($8 = 1)) AND ($9 = 0 OR (r.gate <> 0) = ($9 = 1))" HAS("$11") HAS("$12")  \
		HAS("$13") HAS("$14") HAS("$15") HAS("$16")
#define SQLITE_IS_LISTED   IS_LISTED("instr(lower(a.name || '/' || r.name), lower($3)) > 0", "user")
#define POSTGRES_IS_LISTED IS_LISTED("strpos(lower(a.name || '/' || r.name), lower($3 COLLATE \"C\")) > 0", "member")

/* The next repositories of each group of them, by an index that has the group in the list's order. SQLite, which knows
 * no LATERAL, looks their keys up again. */
#define SQLITE_NEXT(key, after, groups, in_group, if)                                                                  \
	"SELECT r.id, r." key " AS k FROM " groups                                                                     \
	" g CROSS JOIN repo r WHERE " if " AND r.id IN (SELECT id FROM repo"                                           \
					 " WHERE dropped IS NULL AND " in_group " AND " after " LIMIT $6)"
#define POSTGRES_NEXT(key, after, groups, in_group, if)                                                                \
	"SELECT n.id, n.k FROM " groups " g CROSS JOIN LATERAL (SELECT id, " key " AS k FROM repo"                     \
	" WHERE dropped IS NULL AND " in_group " AND " after " LIMIT $6) n WHERE " if

/* Is a group not left out as one of private repositories, or of public ones? */
#define IF_PRIVATE "($8 = 0 OR g.column1 = ($8 = 1))"
#define IF_KIND    "$1 IN (0, g.column2) AND ($4 <> 0 OR NOT g.column1) AND " IF_PRIVATE
/* All accounts: public repositories of each kind, and all private ones or those that the viewer may read. */
#define SQLITE_ALL(key, after)                                                                                         \
	SQLITE_NEXT(key, after,                                                                                        \
		    "(VALUES(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 1), (1, 2), (1, 3), (1, 4), (1, 5))",          \
		    "private = g.column1 AND kind = g.column2", IF_KIND)                                               \
	" UNION ALL " SQLITE_NEXT(key, after,                                                                          \
				  "(SELECT $5 AS id UNION ALL SELECT organisation FROM membership WHERE user = $5)",   \
				  "account = g.id AND private = 1", "$4 = 0 AND $8 <> 2")
#define POSTGRES_ALL(key, after)                                                                                       \
	POSTGRES_NEXT(key, after,                                                                                      \
		      "(VALUES(false, 1), (false, 2), (false, 3), (false, 4), (false, 5),"                             \
		      " (true, 1), (true, 2), (true, 3), (true, 4), (true, 5))",                                       \
		      "private = g.column1 AND kind = g.column2", IF_KIND)                                             \
	" UNION ALL " POSTGRES_NEXT(                                                                                   \
		key, after,                                                                                            \
		"(SELECT CAST($5 AS bigint) AS id UNION ALL SELECT organisation FROM membership WHERE member = $5)",   \
		"account = g.id AND private", "$4 = 0 AND $8 <> 2")

/* The public repositories of one account, and its private ones if the viewer may read them. */
#define IF_READ(user)                                                                                                  \
	IF_PRIVATE                                                                                                     \
	" AND (NOT g.column1 OR $4 <> 0 OR $2 = $5"                                                                    \
	" OR EXISTS(SELECT 1 FROM membership m WHERE m.organisation = $2 AND m." user " = $5))"
#define SQLITE_ONE(key, after)                                                                                         \
	SQLITE_NEXT(key, after, "(VALUES(0), (1))", "account = $2 AND private = g.column1", IF_READ("user"))
#define POSTGRES_ONE(key, after)                                                                                       \
	POSTGRES_NEXT(key, after, "(VALUES(false), (true))", "account = $2 AND private = g.column1", IF_READ("member"))

/* A page: of each repository that is looked at its columns, its card and head if it is listed, and whether it is. A
 * LIMIT keeps the planner from asking twice whether it is. Rows come in the order of the innermost table. */
#define PAGE(next, direction, is_listed)                                                                               \
	REPO_COLUMNS("r.owner")                                                                                        \
	", c.task, c.library, c.tags, c.data, c.config,"                                                               \
	" (SELECT k.oid FROM ref f JOIN line l ON l.id = f.line JOIN commit_ k ON k.id = l.head"                       \
	" WHERE ($10 & 2) <> 0 AND r.is_listed AND f.repo = r.id AND f.kind = 1 AND f.name = 'main'),"                 \
	" r.is_listed FROM (SELECT r.*, a.name AS owner, n.k, " is_listed " AS is_listed"                              \
	" FROM (SELECT id, k FROM (" next ") n ORDER BY k " direction ", id " direction " LIMIT $6) n"                 \
	" CROSS JOIN repo r CROSS JOIN account a WHERE r.id = n.id AND a.id = r.account LIMIT $6) r"                   \
	" LEFT JOIN card c ON c.repo = r.id AND ($10 & 1) <> 0 AND r.is_listed"
#define POSTGRES_ORDER(direction) " ORDER BY r.k " direction ", r.id " direction

/* A sort: the key, and what comes after the last repository, in order. */
#define UPDATED_DOWN        "updated", "(updated, id) < ($17, $7) ORDER BY updated DESC, id DESC"
#define UPDATED_UP          "updated", "(updated, id) > ($17, $7) ORDER BY updated, id"
#define SQLITE_CREATED_DOWN "id", "id < $7 ORDER BY id DESC"
#define SQLITE_CREATED_UP   "id", "id > $7 ORDER BY id"
/* Not by the primary key, which would go through all repositories. */
#define POSTGRES_CREATED_DOWN "id + 0", "id + 0 < $7 ORDER BY id + 0 DESC"
#define POSTGRES_CREATED_UP   "id + 0", "id + 0 > $7 ORDER BY id + 0"
#define SQLITE_NAMED_DOWN     "name", "(name, id) < ($17, $7) ORDER BY name DESC, id DESC"
#define SQLITE_NAMED_UP       "name", "(name, id) > ($17, $7) ORDER BY name, id"
#define POSTGRES_NAMED(is)    "(lower(name), id) " is " (lower($17 COLLATE \"C\"), $7) ORDER BY lower(name)"
#define POSTGRES_NAMED_DOWN   "lower(name)", POSTGRES_NAMED("<") " DESC, id DESC"
#define POSTGRES_NAMED_UP     "lower(name)", POSTGRES_NAMED(">") ", id"

#define OF(next, ...) next(__VA_ARGS__)
#define REPO_PAGE(name, who, sqlite_sort, postgres_sort, direction)                                                    \
	CAIRN_SQL_OF(name, PAGE(OF(SQLITE_##who, sqlite_sort), direction, SQLITE_IS_LISTED),                           \
		     PAGE(OF(POSTGRES_##who, postgres_sort), direction, POSTGRES_IS_LISTED) POSTGRES_ORDER(direction))
REPO_PAGE(UPDATED_ALL_DOWN, ALL, UPDATED_DOWN, UPDATED_DOWN, "DESC");
REPO_PAGE(UPDATED_ALL_UP, ALL, UPDATED_UP, UPDATED_UP, "ASC");
REPO_PAGE(UPDATED_ONE_DOWN, ONE, UPDATED_DOWN, UPDATED_DOWN, "DESC");
REPO_PAGE(UPDATED_ONE_UP, ONE, UPDATED_UP, UPDATED_UP, "ASC");
REPO_PAGE(CREATED_ALL_DOWN, ALL, SQLITE_CREATED_DOWN, POSTGRES_CREATED_DOWN, "DESC");
REPO_PAGE(CREATED_ALL_UP, ALL, SQLITE_CREATED_UP, POSTGRES_CREATED_UP, "ASC");
REPO_PAGE(CREATED_ONE_DOWN, ONE, SQLITE_CREATED_DOWN, POSTGRES_CREATED_DOWN, "DESC");
REPO_PAGE(CREATED_ONE_UP, ONE, SQLITE_CREATED_UP, POSTGRES_CREATED_UP, "ASC");
REPO_PAGE(NAMED_ALL_DOWN, ALL, SQLITE_NAMED_DOWN, POSTGRES_NAMED_DOWN, "DESC");
REPO_PAGE(NAMED_ALL_UP, ALL, SQLITE_NAMED_UP, POSTGRES_NAMED_UP, "ASC");
REPO_PAGE(NAMED_ONE_DOWN, ONE, SQLITE_NAMED_DOWN, POSTGRES_NAMED_DOWN, "DESC");
REPO_PAGE(NAMED_ONE_UP, ONE, SQLITE_NAMED_UP, POSTGRES_NAMED_UP, "ASC");
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
CAIRN_SQL(REPO_SET, "UPDATE repo SET private = coalesce($2 <> 0, private), updated = $3, gate = coalesce($4, gate),"
		    " pulls_closed = coalesce($5 <> 0, pulls_closed) WHERE id = $1 AND " CAIRN_REPO_KEPT("repo"));
CAIRN_SQL(REPO_GUARD, "UPDATE repo SET guard = CASE WHEN coalesce(guard, $2) = $2 THEN $2 ELSE -1 END"
		      " WHERE id = $1 AND " CAIRN_REPO_KEPT("repo") " AND private");
CAIRN_SQL(REPO_MOVED_BYTES, "SELECT scope, CASE WHEN account <> $2 THEN " CAIRN_REPO_COUNTS(
				    "r") " END FROM repo r WHERE id = $1 AND " CAIRN_REPO_KEPT("r"));
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

enum { REPO_COLUMN_CARD = 14, REPO_COLUMN_HEAD = 19, REPO_COLUMN_LISTED = 20 }; /* of a page */
enum { REPO_COLUMN_MIRRORED = 14 };                                             /* of a repository alone */

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
		.pulls_closed = cairn_db_get_int(row, 13) != 0,
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
	if (status != CAIRN_OK)
		return status;
	status = repo_row(&rows, out);
	out->is_mirrored = cairn_db_get_int(&rows, REPO_COLUMN_MIRRORED) != 0;
	return status;
}

/* The place where a page begins: behind the last repository that was looked at, else before all. */
struct repo_after {
	int64_t id, unix_ms;
	char name[CAIRN_INDEX_REPO_NAME_MAX + 1];
};

static struct repo_after repo_after_last(const struct cairn_index_repo_list *list)
{
	struct repo_after after = {.id = list->after_id, .unix_ms = list->after_unix_ms};
	if (list->after_id != 0) {
		memcpy(after.name, list->after_name, sizeof(after.name));
	} else if (!list->ascending) {
		after.id = after.unix_ms = INT64_MAX;
		memcpy(after.name, "\x7f", 2); /* greater than what names consist of */
	}
	return after;
}

/* @param look   how many repositories to look at
 * @param after  a copy: SQLite still reads it while visitors change the list */
static enum cairn_status repo_ask_page(struct cairn_index *ix, struct cairn_db_rows *rows,
				       const struct cairn_index_repo_list *list, uint32_t look,
				       const struct repo_after *after)
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
		cairn_db_int(look),
		cairn_db_int(after->id),
		cairn_db_int((int64_t)list->is_private),
		cairn_db_int((int64_t)list->gated),
		cairn_db_int((list->cards ? 1 : 0) | (list->heads ? 2 : 0)),
		cairn_db_text(words[0]),
		cairn_db_text(words[1]),
		cairn_db_text(words[2]),
		cairn_db_text(words[3]),
		cairn_db_text(words[4]),
		cairn_db_text(words[5]),
		list->sort == CAIRN_INDEX_BY_NAME ? cairn_db_text(after->name) : cairn_db_int(after->unix_ms),
	};
	const struct cairn_db_args args = {arg, list->sort == CAIRN_INDEX_BY_CREATION ? 16 : 17};
	enum cairn_status status = cairn_records_take(ix, rows);
	if (status != CAIRN_OK)
		return status;
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

/* Looks at further repositories, and visits those that are listed, up to the limit.
 * @param look          how many to look at
 * @param[in,out] n     how many were visited
 * @param[out] at_end   there are no more to look at
 * @return CAIRN_OK; as every read */
static enum cairn_status repo_look(struct cairn_index *ix, struct cairn_index_repo_list *list, uint32_t look,
				   cairn_index_visit_repo *visit, void *ctx, uint32_t *n, bool *at_end)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	const struct repo_after after = repo_after_last(list);
	struct repo_listed row = {0};
	const struct cairn_index_repo *repo = &row.repo;
	uint32_t looked = 0;
	enum cairn_status status = repo_ask_page(ix, &rows, list, look, &after);
	for (; status == CAIRN_OK && *n < list->limit; status = cairn_db_next(&rows), looked++) {
		if (repo_listed_row(&rows, list, &row) != CAIRN_OK)
			continue;
		list->after_id = repo->id;
		list->after_unix_ms = repo->updated_unix_ms;
		memcpy(list->after_name, repo->name, sizeof(list->after_name));
		if (cairn_db_get_int(&rows, REPO_COLUMN_LISTED) == 0)
			continue;
		visit(ctx, repo);
		++*n;
	}
	*at_end = status == CAIRN_E_NOT_FOUND && looked < look;
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status cairn_index_list_repos(struct cairn_index *ix, struct cairn_index_repo_list *list,
					 cairn_index_visit_repo *visit, void *ctx, bool *more)
{
	uint32_t n = 0, left = CAIRN_INDEX_REPOS_LOOKED_MAX;
	enum cairn_status status = CAIRN_OK;
	bool at_end = false;
	if (list->limit > CAIRN_INDEX_REPOS_MAX)
		list->limit = CAIRN_INDEX_REPOS_MAX;
	uint32_t look = list->limit; /* at first: maybe all are listed */
	while (status == CAIRN_OK && !at_end && n < list->limit && left > 0) {
		left -= look;
		status = repo_look(ix, list, look, visit, ctx, &n, &at_end);
		look = left < CAIRN_INDEX_REPOS_MAX ? left : CAIRN_INDEX_REPOS_MAX;
	}
	*more = status == CAIRN_OK && !at_end;
	return status;
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

enum cairn_status cairn_records_find_repo(struct cairn_index_tx *tx, int64_t repo, int64_t *owner,
					  struct cairn_diag *diag)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_db_find(tx->db, &rows, &REPO_OWNER, CAIRN_ARGS(cairn_db_int(repo)));
	*owner = status == CAIRN_OK ? cairn_db_get_int(&rows, 0) : 0;
	return status == CAIRN_E_NOT_FOUND ? repo_unknown(diag) : status;
}

static void repo_take_name(struct cairn_index_tx *tx, const struct cairn_index_add_repo *add)
{
	cairn_db_queue(
		tx->db, NULL, &REPO_TAKE_NAME,
		CAIRN_ARGS(cairn_db_int((int64_t)add->kind), cairn_db_int(add->account), cairn_db_text(add->name)));
}

/* @param[out] owner  of its files; 0: the row has none yet */
static enum cairn_status repo_add_row(struct cairn_index_tx *tx, struct cairn_index_add_repo *add, int64_t *owner)
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
	*owner = cairn_db_get_int(&rows, 1);
	return CAIRN_OK;
}

static enum cairn_status repo_add_owner(struct cairn_index_tx *tx, int64_t repo, int64_t *owner)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	char name[CAIRN_INDEX_OWNER_BYTES];
	cairn_index_repo_owner(name, repo);
	cairn_db_queue(tx->db, NULL, &REPO_ADD_OWNER, CAIRN_ARGS(cairn_db_text(name)));
	enum cairn_status status =
		cairn_db_find(tx->db, &rows, &REPO_SET_OWNER, CAIRN_ARGS(cairn_db_int(repo), cairn_db_text(name)));
	*owner = status == CAIRN_OK ? cairn_db_get_int(&rows, 0) : 0;
	return status;
}

static enum cairn_status repo_add(struct cairn_index_tx *tx, struct cairn_index_add_repo *add, int64_t *owner)
{
	*owner = 0;
	enum cairn_status status = repo_add_row(tx, add, owner);
	if (status == CAIRN_E_NOT_FOUND)
		return repo_known(&add->write.diag);
	return status == CAIRN_OK && *owner == 0 ? repo_add_owner(tx, add->id, owner) : status;
}

enum cairn_status cairn_records_hide_repo(struct cairn_index_tx *tx, struct cairn_index_add_repo *add, int64_t *owner)
{
	char gone[CAIRN_INDEX_OWNER_BYTES];
	enum cairn_status status = repo_add(tx, add, owner);
	if (status != CAIRN_OK)
		return status;
	cairn_index_gone_owner(gone, add->id);
	cairn_db_queue(tx->db, NULL, &REPO_RENAME_OWNER, CAIRN_ARGS(cairn_db_int(*owner), cairn_db_text(gone)));
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

enum cairn_status cairn_records_show_repo(struct cairn_index_tx *tx, struct cairn_index_add_repo *add, int64_t owner)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	char name[CAIRN_INDEX_OWNER_BYTES];
	bool known = false;
	enum cairn_status status = repo_is_known(tx, add, &known);
	if (status == CAIRN_OK && known)
		return repo_known(&add->write.diag);
	if (status != CAIRN_OK)
		return status;
	cairn_index_repo_owner(name, add->id);
	repo_take_name(tx, add);
	cairn_db_queue(tx->db, NULL, &REPO_RENAME_OWNER, CAIRN_ARGS(cairn_db_int(owner), cairn_db_text(name)));
	status = cairn_db_find(tx->db, &rows, &REPO_SHOW, CAIRN_ARGS(cairn_db_int(add->id)));
	tx->growth = (struct cairn_index_growth){0};
	if (status == CAIRN_OK)
		cairn_records_grow(tx, owner, cairn_db_get_int(&rows, 0));
	return status;
}

enum cairn_status cairn_records_add_repo(struct cairn_index_tx *tx, struct cairn_index_add_repo *add)
{
	int64_t owner = 0;
	if (tx->ix->backend->stages && cairn_edit_is_large(add->operations, add->n))
		return tx->ix->backend->begin_repo(tx->ix, add, 0);
	repo_take_name(tx, add);
	enum cairn_status status = repo_add(tx, add, &owner);
	return status == CAIRN_OK && add->kind != CAIRN_INDEX_BUCKET ? tx->ix->backend->begin_repo(tx->ix, add, owner)
								     : status;
}

enum cairn_status cairn_records_set_repo(struct cairn_index_tx *tx, struct cairn_index_set_repo *set)
{
	int64_t n;
	enum cairn_status status = cairn_db_run(
		tx->db, &REPO_SET,
		CAIRN_ARGS(cairn_db_int(set->id), cairn_db_int_if(!set->keeps_private, set->is_private),
			   cairn_db_int(cairn_clock_unix_ms()), cairn_db_int_if(!set->keeps_gate, (int64_t)set->gate),
			   cairn_db_int_if(set->sets_pulls, set->pulls_closed)),
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
		tx->growth = (struct cairn_index_growth){.owner = cairn_db_get_int(&rows, 0),
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
	int64_t owner;
	char gone[CAIRN_INDEX_OWNER_BYTES];
	enum cairn_status status = cairn_records_find_repo(tx, drop->id, &owner, &drop->write.diag);
	if (status != CAIRN_OK)
		return status;
	cairn_index_gone_owner(gone, drop->id);
	cairn_db_queue(tx->db, NULL, &REPO_RENAME_OWNER, CAIRN_ARGS(cairn_db_int(owner), cairn_db_text(gone)));
	cairn_db_queue(tx->db, NULL, &REPO_DROP_FORMER, CAIRN_ARGS(cairn_db_int(drop->id)));
	cairn_records_queue_drop_access(tx, drop->id);
	cairn_advance(&tx->counts->collection);
	return cairn_db_run(tx->db, &REPO_DROP, CAIRN_ARGS(cairn_db_int(drop->id), cairn_db_int(cairn_clock_unix_ms())),
			    NULL);
}
