/* Repositories of the hub: names and visibility. */
#include "index/backend.h"
#include "index/hub/edit.h"
#include "index/quota.h"
#include "index/records.h"
#include "index/stage.h"

#include "base/clock.h"
#include "base/sum.h"

#include <string.h>

/* The time after which a repository that is made in pieces may be swept. */
static const int64_t REPO_HIDDEN_MS_MAX = 60LL * 60 * 1000;

#define REPO                                                                                                           \
	"SELECT " CAIRN_REPO_COLUMNS(                                                                                  \
		"a.name") ", a.mirrored FROM repo r CROSS JOIN account a WHERE a.id = r.account AND "
/* Finds a repository by its name, or by a former one. */
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

/* The mirrored hub's namespace $1 was given up meanwhile. */
#define NAMESPACE_GONE "EXISTS(SELECT 1 FROM account a WHERE a.id = $1 AND " CAIRN_ACCOUNT_GONE("a") ")"
/* Adds the repository, and the owner of the repository's files, whose name is the repository's id. SQLite cannot insert
 * into two tables at once: there the answer has 0 for the owner, and REPO_ADD_OWNER follows. A hidden repository, which
 * has a time $10, may have the name of another. */
#define REPO_CREATED  "coalesce(nullif(CAST($8 AS bigint), 0), $5)"
#define REPO_MIRRORED "coalesce((SELECT mirrored FROM account WHERE id = $1), 0)"
CAIRN_SQL_OF(
	REPO_ADD,
	"INSERT INTO repo(account, kind, name, private, scope, created, updated, files, bytes, sdk, guard, stored,"
	" mirrored, gate, dropped)"
	" SELECT $1, $2, $3, $4 <> 0, 0, " REPO_CREATED ", $5, 0, 0, $6, nullif($7, 0), " CAIRN_SQL_REPO_COUNTS
	", " REPO_MIRRORED ", $9, $10 WHERE NOT " NAMESPACE_GONE " ON CONFLICT DO NOTHING RETURNING id, 0",
	"WITH n AS (SELECT nextval(pg_get_serial_sequence('repo', 'id')) AS id WHERE NOT EXISTS(SELECT 1 FROM repo"
	" WHERE account = $1 AND kind = $2 AND lower(name) = lower($3 COLLATE \"C\") AND dropped IS NULL"
	" AND CAST($10 AS bigint) IS NULL)"
	" AND NOT " NAMESPACE_GONE "),"
	" s AS (INSERT INTO scope(name) SELECT 'hub/' || id FROM n RETURNING id)"
	" INSERT INTO repo(id, account, kind, name, private, scope, created, updated, files, bytes, sdk, guard, stored,"
	" mirrored, gate, dropped)"
	" SELECT n.id, $1, $2, $3, $4 <> 0, s.id, " REPO_CREATED ", $5, 0, 0, $6, nullif($7, 0), " CAIRN_SQL_REPO_COUNTS
	", " REPO_MIRRORED ", $9, $10 FROM n, s RETURNING id, scope");
#define NAMED(is_named)                                                                                                \
	"SELECT 1 WHERE EXISTS(SELECT 1 FROM repo WHERE kind = $2 AND account = $1 AND " is_named                      \
	" AND dropped IS NULL AND id <> $4) OR " NAMESPACE_GONE
CAIRN_SQL_OF(REPO_NAMED, NAMED("name = $3"), NAMED("lower(name) = lower($3 COLLATE \"C\")"));
CAIRN_SQL(REPO_ADD_OWNER, "INSERT INTO scope(name) VALUES($1)");
CAIRN_SQL(REPO_SET_OWNER,
	  "UPDATE repo SET scope = (SELECT id FROM scope WHERE name = $2) WHERE id = $1 RETURNING scope");
CAIRN_SQL(REPO_SET, "UPDATE repo SET private = coalesce($2 <> 0, private), updated = $3, gate = coalesce($4, gate),"
		    " pulls_closed = coalesce($5 <> 0, pulls_closed) WHERE id = $1 AND " CAIRN_REPO_KEPT("repo"));
/* The words of the repository's card also record whether it is private (repo_lists.c). */
CAIRN_SQL(REPO_SET_WORDS, "UPDATE tag SET private = $2 <> 0 WHERE repo = $1 AND private <> ($2 <> 0)");
CAIRN_SQL(REPO_DROP_WORDS, "DELETE FROM tag WHERE repo = $1");
CAIRN_SQL(REPO_GUARD, "UPDATE repo SET guard = CASE WHEN coalesce(guard, $2) = $2 THEN $2 ELSE -1 END"
		      " WHERE id = $1 AND " CAIRN_REPO_KEPT("repo") " AND private");
CAIRN_SQL(REPO_TO_MOVE, "SELECT scope, kind, account, " CAIRN_REPO_COUNTS("r") " FROM repo r WHERE id = $1"
									       " AND " CAIRN_REPO_KEPT("r"));
CAIRN_SQL_OF(REPO_ADD_FORMER,
	     "INSERT INTO former(kind, account, name, repo) SELECT kind, account, name, id FROM repo"
	     " WHERE id = $1 ON CONFLICT(kind, account, name) DO UPDATE SET repo = excluded.repo",
	     "INSERT INTO former(kind, account, name, repo) SELECT kind, account, name, id FROM repo"
	     " WHERE id = $1 ON CONFLICT(kind, account, lower(name)) DO UPDATE SET repo = excluded.repo");
/* Counts the bytes of the former name, too. */
#define MOVE(is_named)                                                                                                 \
	"UPDATE repo SET account = $2, name = $3, updated = $4, stored = stored + " CAIRN_SQL_FORMER_COUNTS            \
	" WHERE id = $1 AND NOT EXISTS(SELECT 1 FROM repo o WHERE o.account = $2 AND o.kind = repo.kind AND " is_named \
	" AND o.dropped IS NULL AND o.id <> $1) RETURNING " CAIRN_REPO_COUNTS("repo")
CAIRN_SQL_OF(REPO_MOVE, MOVE("o.name = $3"), MOVE("lower(o.name) = lower($3 COLLATE \"C\")"));
#define GIVE_BACK(is_named)                                                                                            \
	"UPDATE repo SET stored = stored - " CAIRN_SQL_FORMER_COUNTS                                                   \
	" WHERE id = (SELECT repo FROM former WHERE kind = $1 AND account = $2 AND " is_named ")"
CAIRN_SQL_OF(REPO_GIVE_BACK, GIVE_BACK("name = $3"), GIVE_BACK("lower(name) = lower($3 COLLATE \"C\")"));
/* A former name of another repository then no longer leads to that one, even after the new repository is deleted. */
CAIRN_SQL_OF(REPO_TAKE_NAME, "DELETE FROM former WHERE kind = $1 AND account = $2 AND name = $3",
	     "DELETE FROM former WHERE kind = $1 AND account = $2 AND lower(name) = lower($3 COLLATE \"C\")");
CAIRN_SQL(REPO_RENAME_OWNER, "UPDATE scope SET name = $2 WHERE id = $1");
CAIRN_SQL(REPO_DROP_FORMER, "DELETE FROM former WHERE repo = $1");
CAIRN_SQL(REPO_DROP, "UPDATE repo SET dropped = $2 WHERE id = $1");
CAIRN_SQL(REPO_SHOW, "UPDATE repo SET dropped = NULL WHERE id = $1 RETURNING stored");
/* Takes over the state and the settings of another repository. The new one was not looked up yet. */
CAIRN_SQL(REPO_TAKE_MIRRORED, "INSERT INTO mirror_repo(repo, state, looked, every, keep, include)"
			      " SELECT $1, state, 0, every, keep, include FROM mirror_repo WHERE repo = $2");
CAIRN_SQL(REPO_OWNER, "SELECT scope FROM repo r WHERE id = $1 AND " CAIRN_REPO_KEPT("r"));

/* --- reading ------------------------------------------------------------------------------------------------------ */

enum { REPO_COLUMN_MIRRORED = 14 };

enum cairn_status cairn_records_repo(struct cairn_db_rows *row, struct cairn_index_repo *out)
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
	status = cairn_records_repo(&rows, out);
	out->is_mirrored = cairn_db_get_int(&rows, REPO_COLUMN_MIRRORED) != 0;
	return status;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static enum cairn_status repo_unknown(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_NOT_FOUND, "repo.unknown", CAIRN_NO_OFFSET, "Repository not found");
}

static enum cairn_status repo_name_is_taken(struct cairn_diag *diag)
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
	enum cairn_status status = cairn_records_number(tx, &REPO_OWNER, CAIRN_ARGS(cairn_db_int(repo)), owner);
	return status == CAIRN_E_NOT_FOUND ? repo_unknown(diag) : status;
}

static void repo_take_name(struct cairn_index_tx *tx, enum cairn_index_repo_kind kind, int64_t account,
			   const char *name)
{
	const struct cairn_db_args *args =
		CAIRN_ARGS(cairn_db_int((int64_t)kind), cairn_db_int(account), cairn_db_text(name));
	cairn_db_queue(tx->db, NULL, &REPO_GIVE_BACK, args);
	cairn_db_queue(tx->db, NULL, &REPO_TAKE_NAME, args);
}

/* @param hidden_ms  time until which the repository is hidden; 0: it is visible
 * @param[out] owner  owner of the files; 0: not made yet */
static enum cairn_status repo_add_row(struct cairn_index_tx *tx, struct cairn_index_add_repo *add, int64_t hidden_ms,
				      int64_t *owner)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	if (!repo_name_fits(add->name))
		return CAIRN_E_NOT_FOUND;
	enum cairn_status status =
		cairn_db_find(tx->db, &rows, &REPO_ADD,
			      CAIRN_ARGS(cairn_db_int(add->account), cairn_db_int((int64_t)add->kind),
					 cairn_db_text(add->name), cairn_db_int(add->is_private),
					 cairn_db_int(cairn_clock_unix_ms()), cairn_db_text(add->sdk ? add->sdk : ""),
					 cairn_db_int(add->guard), cairn_db_int(add->created_unix_ms),
					 cairn_db_int((int64_t)add->gate), cairn_db_int_or_null(hidden_ms)));
	if (status != CAIRN_OK)
		return status;
	add->id = cairn_db_get_int(&rows, 0);
	*owner = cairn_db_get_int(&rows, 1);
	return CAIRN_OK;
}

static enum cairn_status repo_add_owner(struct cairn_index_tx *tx, int64_t repo, int64_t *owner)
{
	char name[CAIRN_INDEX_OWNER_BYTES];
	cairn_index_repo_owner(name, repo);
	cairn_db_queue(tx->db, NULL, &REPO_ADD_OWNER, CAIRN_ARGS(cairn_db_text(name)));
	return cairn_records_number(tx, &REPO_SET_OWNER, CAIRN_ARGS(cairn_db_int(repo), cairn_db_text(name)), owner);
}

static enum cairn_status repo_add(struct cairn_index_tx *tx, struct cairn_index_add_repo *add, int64_t hidden_ms,
				  int64_t *owner)
{
	*owner = 0;
	enum cairn_status status = repo_add_row(tx, add, hidden_ms, owner);
	if (status == CAIRN_E_NOT_FOUND)
		return repo_name_is_taken(&add->write.diag);
	if (status == CAIRN_OK && *owner == 0)
		status = repo_add_owner(tx, add->id, owner);
	if (status == CAIRN_OK)
		cairn_records_grow(tx, *owner, CAIRN_INDEX_REPO_BYTES);
	return status;
}

/* Drops the repository that the new one replaces, which frees its name. @param[out] dropped  false: there is none, or
 * it was dropped before, with the operator's settings */
static enum cairn_status repo_drop_replaced(struct cairn_index_tx *tx, const struct cairn_index_add_repo *add,
					    bool *dropped)
{
	struct cairn_index_drop_repo drop = {.id = add->replaces};
	enum cairn_status status = add->replaces == 0 ? CAIRN_E_NOT_FOUND : cairn_records_drop_repo(tx, &drop);
	*dropped = status == CAIRN_OK;
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

static enum cairn_status repo_take_mirrored(struct cairn_index_tx *tx, const struct cairn_index_add_repo *add)
{
	return cairn_db_run(tx->db, &REPO_TAKE_MIRRORED, CAIRN_ARGS(cairn_db_int(add->id), cairn_db_int(add->replaces)),
			    NULL);
}

/* Checks that no other repository has the name, unless the new one replaces it. */
static enum cairn_status repo_check_name(struct cairn_index_tx *tx, struct cairn_index_add_repo *add)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status =
		cairn_db_find(tx->db, &rows, &REPO_NAMED,
			      CAIRN_ARGS(cairn_db_int(add->account), cairn_db_int((int64_t)add->kind),
					 cairn_db_text(add->name), cairn_db_int(add->replaces)));
	if (status == CAIRN_OK)
		return repo_name_is_taken(&add->write.diag);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status cairn_records_hide_repo(struct cairn_index_tx *tx, struct cairn_index_add_repo *add, int64_t *owner)
{
	char gone[CAIRN_INDEX_OWNER_BYTES];
	enum cairn_status status = repo_check_name(tx, add);
	if (status == CAIRN_OK)
		status = repo_add(tx, add, cairn_clock_unix_ms() + REPO_HIDDEN_MS_MAX, owner);
	if (status != CAIRN_OK)
		return status;
	cairn_index_gone_owner(gone, add->id);
	return cairn_db_run(tx->db, &REPO_RENAME_OWNER, CAIRN_ARGS(cairn_db_int(*owner), cairn_db_text(gone)), NULL);
}

enum cairn_status cairn_records_show_repo(struct cairn_index_tx *tx, struct cairn_index_add_repo *add, int64_t owner)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	char name[CAIRN_INDEX_OWNER_BYTES];
	bool replaced = false;
	enum cairn_status status = repo_drop_replaced(tx, add, &replaced);
	if (status == CAIRN_OK)
		status = repo_check_name(tx, add);
	if (status == CAIRN_OK && replaced)
		status = repo_take_mirrored(tx, add);
	if (status != CAIRN_OK)
		return status;
	cairn_index_repo_owner(name, add->id);
	repo_take_name(tx, add->kind, add->account, add->name);
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
	bool replaced = false;
	if (cairn_edit_is_large(add->operations, add->n))
		return tx->ix->backend->begin_repo(tx->ix, add, 0);
	enum cairn_status status = repo_drop_replaced(tx, add, &replaced);
	if (status != CAIRN_OK)
		return status;
	repo_take_name(tx, add->kind, add->account, add->name);
	status = repo_add(tx, add, 0, &owner);
	if (status == CAIRN_OK && replaced)
		status = repo_take_mirrored(tx, add);
	return status == CAIRN_OK && add->kind != CAIRN_INDEX_BUCKET ? tx->ix->backend->begin_repo(tx->ix, add, owner)
								     : status;
}

enum cairn_status cairn_records_set_repo(struct cairn_index_tx *tx, struct cairn_index_set_repo *set)
{
	int64_t n;
	if (!set->keeps_private)
		cairn_db_queue(tx->db, NULL, &REPO_SET_WORDS,
			       CAIRN_ARGS(cairn_db_int(set->id), cairn_db_int(set->is_private)));
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

/* A repository before it moves. */
struct repo_to_move {
	int64_t owner, account, bytes;
	enum cairn_index_repo_kind kind;
};

static enum cairn_status repo_to_move(struct cairn_index_tx *tx, int64_t repo, struct repo_to_move *out,
				      struct cairn_diag *diag)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_db_find(tx->db, &rows, &REPO_TO_MOVE, CAIRN_ARGS(cairn_db_int(repo)));
	if (status == CAIRN_OK)
		*out = (struct repo_to_move){.owner = cairn_db_get_int(&rows, 0),
					     .kind = (enum cairn_index_repo_kind)cairn_db_get_int(&rows, 1),
					     .account = cairn_db_get_int(&rows, 2),
					     .bytes = cairn_db_get_int(&rows, 3)};
	return status == CAIRN_E_NOT_FOUND ? repo_unknown(diag) : status;
}

/* Counts the former name for the repository, and for a new account all that the repository holds. */
static void repo_grow_moved(struct cairn_index_tx *tx, const struct repo_to_move *from, int64_t account, int64_t bytes)
{
	cairn_records_grow(tx, from->owner, cairn_difference(bytes, from->bytes));
	if (account != from->account)
		tx->growth.account_bytes = bytes;
}

enum cairn_status cairn_records_move_repo(struct cairn_index_tx *tx, struct cairn_index_move_repo *move)
{
	struct repo_to_move from = {0};
	int64_t bytes = 0;
	enum cairn_status status = repo_to_move(tx, move->id, &from, &move->write.diag);
	if (status != CAIRN_OK)
		return status;
	if (!repo_name_fits(move->name))
		return repo_name_is_taken(&move->write.diag);
	cairn_db_queue(tx->db, NULL, &REPO_ADD_FORMER, CAIRN_ARGS(cairn_db_int(move->id)));
	repo_take_name(tx, from.kind, move->account, move->name);
	status = cairn_records_number(tx, &REPO_MOVE,
				      CAIRN_ARGS(cairn_db_int(move->id), cairn_db_int(move->account),
						 cairn_db_text(move->name), cairn_db_int(cairn_clock_unix_ms())),
				      &bytes);
	if (status == CAIRN_OK)
		repo_grow_moved(tx, &from, move->account, bytes);
	return status == CAIRN_E_NOT_FOUND ? repo_name_is_taken(&move->write.diag) : status;
}

/* Removes the name of the repository's owner, so that tokens already issued can neither read nor write. */
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
	cairn_db_queue(tx->db, NULL, &REPO_DROP_WORDS, CAIRN_ARGS(cairn_db_int(drop->id)));
	cairn_advance(&tx->counts->collection);
	return cairn_db_run(tx->db, &REPO_DROP, CAIRN_ARGS(cairn_db_int(drop->id), cairn_db_int(cairn_clock_unix_ms())),
			    NULL);
}
