/* Accounts, and memberships in organisations. */
#include "index/backend.h"
#include "index/records.h"

#include "base/clock.h"

#include <string.h>

#define ACCOUNT "a.id, a.kind, a.name, a.fullname, a.email, a.created, a.disabled, a.mirrored"
enum { ACCOUNT_MORE = 8 }; /* the first column after those of ACCOUNT */
#define LOOK "SELECT id, kind, disabled FROM account WHERE "

CAIRN_SQL_OF(ACCOUNT_FIND, "SELECT " ACCOUNT " FROM account a WHERE " CAIRN_SQLITE_NAMED("a.name", "$1"),
	     "SELECT " ACCOUNT " FROM account a WHERE " CAIRN_POSTGRES_NAMED("a.name", "$1"));
CAIRN_SQL(ACCOUNT_BY_ID, "SELECT " ACCOUNT " FROM account a WHERE a.id = $1");
CAIRN_SQL(ACCOUNT_EACH, "SELECT " ACCOUNT ", a.quota, " CAIRN_ACCOUNT_COUNTS
			" FROM account a WHERE a.id > $1 AND NOT " CAIRN_ACCOUNT_GONE("a") " ORDER BY a.id LIMIT $2");
CAIRN_SQL(ACCOUNT_ADD,
	  "INSERT INTO account(kind, name, fullname, email, created, mirrored) VALUES($1, $2, $3, $4, $5, $6)"
	  " ON CONFLICT DO NOTHING RETURNING id");
CAIRN_SQL_OF(ACCOUNT_LOOK, LOOK CAIRN_SQLITE_NAMED("name", "$1"), LOOK CAIRN_POSTGRES_NAMED("name", "$1"));
#define LOOK_MIRRORED                                                                                                  \
	"SELECT id, EXISTS(SELECT 1 FROM repo WHERE account = account.id AND dropped IS NULL) FROM account"            \
	" WHERE mirrored = 1 AND "
CAIRN_SQL_OF(ACCOUNT_LOOK_MIRRORED, LOOK_MIRRORED CAIRN_SQLITE_NAMED("name", "$1"),
	     LOOK_MIRRORED CAIRN_POSTGRES_NAMED("name", "$1"));
CAIRN_SQL(ACCOUNT_GIVE_UP, "UPDATE account SET name = '" CAIRN_INDEX_GONE "' || id, quota = NULL WHERE id = $1");
CAIRN_SQL(ACCOUNT_DISABLE, "UPDATE account SET disabled = $2 WHERE id = $1");

/* The column of a member is "user" in SQLite. PostgreSQL reserves that word. */
#define MEMBER_SQL(name, text) CAIRN_SQL_OF(name, text("user"), text("member"))
#define ROLE(user)             "SELECT role FROM membership WHERE organisation = $1 AND " user " = $2"
#define EACH(user)                                                                                                     \
	"SELECT " ACCOUNT ", m.role FROM membership m CROSS JOIN account a WHERE a.id = m." user                       \
	" AND m.organisation = $1 AND m." user " > $2 ORDER BY m." user " LIMIT $3"
#define EACH_OF(user)                                                                                                  \
	"SELECT " ACCOUNT ", m.role FROM membership m CROSS JOIN account a WHERE a.id = m.organisation"                \
	" AND m." user " = $1 AND m.organisation > $2 ORDER BY m.organisation LIMIT $3"
#define LAST_ADMIN(user)                                                                                               \
	"SELECT 1 FROM membership WHERE organisation = $1 AND " user " = $2 AND role = $3 AND NOT EXISTS"              \
	"(SELECT 1 FROM membership m CROSS JOIN account a WHERE a.id = m." user " AND m.organisation = $1"             \
	" AND m." user " <> $2 AND m.role = $3 AND a.disabled IS NULL)"
#define SET(user)                                                                                                      \
	"INSERT INTO membership(organisation, " user ", role) VALUES($1, $2, $3)"                                      \
	" ON CONFLICT(organisation, " user ") DO UPDATE SET role = $3 WHERE membership.role <> $3"
#define DROP(user) "DELETE FROM membership WHERE organisation = $1 AND " user " = $2"
MEMBER_SQL(MEMBER_ROLE, ROLE);
MEMBER_SQL(MEMBER_EACH, EACH);
MEMBER_SQL(MEMBER_EACH_OF, EACH_OF);
MEMBER_SQL(MEMBER_LAST_ADMIN, LAST_ADMIN);
MEMBER_SQL(MEMBER_SET, SET);
MEMBER_SQL(MEMBER_DROP, DROP);
/* Uncounts the organisation's former names that lead to repositories which the user has moved to their own account. */
CAIRN_SQL(MEMBER_COUNT_FORMER,
	  "UPDATE repo SET stored = stored - " CAIRN_SQL_FORMER_COUNTS
	  " * (SELECT count(*) FROM former f WHERE f.repo = repo.id AND f.account = $1) WHERE account = $2"
	  " AND dropped IS NULL AND EXISTS(SELECT 1 FROM former f WHERE f.repo = repo.id AND f.account = $1)");
CAIRN_SQL(
	MEMBER_DROP_FORMER,
	"DELETE FROM former WHERE account = $1 AND repo IN (SELECT id FROM repo WHERE account = $2 AND dropped IS NULL)");

static enum cairn_status account_row(struct cairn_db_rows *row, struct cairn_index_account *out)
{
	*out = (struct cairn_index_account){
		.id = cairn_db_get_int(row, 0),
		.kind = (enum cairn_index_account_kind)cairn_db_get_int(row, 1),
		.created_unix_s = cairn_db_get_int(row, 5),
		.disabled_unix_s = cairn_db_get_int(row, 6),
		.is_mirrored = cairn_db_get_int(row, 7) != 0,
	};
	cairn_db_get_text(row, 2, out->name, sizeof(out->name));
	cairn_db_get_text(row, 3, out->fullname, sizeof(out->fullname));
	cairn_db_get_text(row, 4, out->email, sizeof(out->email));
	return cairn_db_whole(row);
}

static enum cairn_status account_one(struct cairn_index *ix, const struct cairn_sql *sql,
				     const struct cairn_db_args *args, struct cairn_index_account *out)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_records_find(ix, &rows, sql, args);
	return status == CAIRN_OK ? account_row(&rows, out) : status;
}

enum cairn_status cairn_index_account(struct cairn_index *ix, const char *name, struct cairn_index_account *out)
{
	return account_one(ix, &ACCOUNT_FIND, CAIRN_ARGS(cairn_db_text(name)), out);
}

enum cairn_status cairn_index_account_by_id(struct cairn_index *ix, int64_t id, struct cairn_index_account *out)
{
	return account_one(ix, &ACCOUNT_BY_ID, CAIRN_ARGS(cairn_db_int(id)), out);
}

enum cairn_status cairn_index_each_account(struct cairn_index *ix, int64_t from_id, uint32_t limit,
					   void (*visit)(void *ctx, const struct cairn_index_account *account),
					   void *ctx, int64_t *next_id)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	struct cairn_index_account account = {.id = from_id};
	uint32_t page = cairn_records_page(limit), n = 0;
	enum cairn_status status =
		cairn_records_find(ix, &rows, &ACCOUNT_EACH, CAIRN_ARGS(cairn_db_int(from_id), cairn_db_int(page)));
	for (; status == CAIRN_OK; status = cairn_db_next(&rows), n++) {
		status = account_row(&rows, &account);
		account.room = cairn_records_room(&rows, ACCOUNT_MORE);
		if (status == CAIRN_OK)
			visit(ctx, &account);
	}
	return cairn_records_paged(status, n, page, account.id, next_id);
}

enum cairn_status cairn_index_role(struct cairn_index *ix, int64_t organisation, int64_t user,
				   enum cairn_index_role *role)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status =
		cairn_records_find(ix, &rows, &MEMBER_ROLE, CAIRN_ARGS(cairn_db_int(organisation), cairn_db_int(user)));
	*role = status == CAIRN_OK ? (enum cairn_index_role)cairn_db_get_int(&rows, 0) : CAIRN_INDEX_ROLE_NONE;
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

static enum cairn_status account_each_membership(struct cairn_index *ix, const struct cairn_sql *sql, int64_t of,
						 int64_t from_id, cairn_index_visit_member *visit, void *ctx,
						 int64_t *next_id)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	struct cairn_index_account account = {.id = from_id};
	uint32_t page = cairn_records_page(0), n = 0;
	enum cairn_status status = cairn_records_find(
		ix, &rows, sql, CAIRN_ARGS(cairn_db_int(of), cairn_db_int(from_id), cairn_db_int(page)));
	for (; status == CAIRN_OK; status = cairn_db_next(&rows), n++) {
		status = account_row(&rows, &account);
		if (status == CAIRN_OK)
			visit(ctx, &account, (enum cairn_index_role)cairn_db_get_int(&rows, ACCOUNT_MORE));
	}
	return cairn_records_paged(status, n, page, account.id, next_id);
}

enum cairn_status cairn_index_each_member(struct cairn_index *ix, int64_t organisation, int64_t from_id,
					  cairn_index_visit_member *visit, void *ctx, int64_t *next_id)
{
	return account_each_membership(ix, &MEMBER_EACH, organisation, from_id, visit, ctx, next_id);
}

enum cairn_status cairn_index_each_organisation(struct cairn_index *ix, int64_t user, int64_t from_id,
						cairn_index_visit_member *visit, void *ctx, int64_t *next_id)
{
	return account_each_membership(ix, &MEMBER_EACH_OF, user, from_id, visit, ctx, next_id);
}

static bool account_fits(const struct cairn_index_add_account *add)
{
	size_t len = strlen(add->name);
	return len > 0 && len <= CAIRN_INDEX_ACCOUNT_NAME_MAX &&
	       strlen(add->fullname) <= CAIRN_INDEX_ACCOUNT_TEXT_MAX &&
	       strlen(add->email) <= CAIRN_INDEX_ACCOUNT_TEXT_MAX;
}

enum cairn_status cairn_records_add_account(struct cairn_index_tx *tx, struct cairn_index_add_account *add)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status =
		!account_fits(add)
			? CAIRN_E_NOT_FOUND
			: cairn_db_find(tx->db, &rows, &ACCOUNT_ADD,
					CAIRN_ARGS(cairn_db_int((int64_t)add->kind), cairn_db_text(add->name),
						   cairn_db_text(add->fullname), cairn_db_text(add->email),
						   cairn_db_int(cairn_clock_unix_s()), cairn_db_int(add->is_mirrored)));
	if (status == CAIRN_E_NOT_FOUND)
		return cairn_fail(&add->write.diag, CAIRN_E_CONFLICT, "account.known", CAIRN_NO_OFFSET,
				  "there is an account of this name already, or its name is too long; take another");
	if (status == CAIRN_OK)
		add->id = cairn_db_get_int(&rows, 0);
	return status;
}

enum cairn_status cairn_records_disable_account(struct cairn_index_tx *tx, struct cairn_index_disable_account *disable)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	disable->changed = false;
	enum cairn_status status =
		cairn_db_find(tx->db, &rows, &ACCOUNT_LOOK, CAIRN_ARGS(cairn_db_text(disable->name)));
	if (status == CAIRN_E_NOT_FOUND)
		return cairn_fail(&disable->write.diag, CAIRN_E_NOT_FOUND, "account.unknown", CAIRN_NO_OFFSET,
				  "there is no account of this name");
	/* If the account has this state already, keep the time of the change. */
	if (status != CAIRN_OK || !cairn_db_is_null(&rows, 2) == disable->disabled)
		return status;
	disable->changed = true;
	tx->keys_changed = true;
	return cairn_db_run(tx->db, &ACCOUNT_DISABLE,
			    CAIRN_ARGS(cairn_db_int(cairn_db_get_int(&rows, 0)),
				       cairn_db_int_or_null(disable->disabled ? cairn_clock_unix_s() : 0)),
			    NULL);
}

/* Free the name only now: REPO_ADD makes no repository in a namespace given up, so the mirror cannot make one. */
enum cairn_status cairn_records_drop_namespace(struct cairn_index_tx *tx, struct cairn_index_drop_namespace *drop)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status =
		cairn_db_find(tx->db, &rows, &ACCOUNT_LOOK_MIRRORED, CAIRN_ARGS(cairn_db_text(drop->name)));
	if (status == CAIRN_E_NOT_FOUND)
		return cairn_fail(&drop->write.diag, CAIRN_E_NOT_FOUND, "account.unknown", CAIRN_NO_OFFSET,
				  "there is no namespace of the mirrored hub of this name");
	if (status != CAIRN_OK)
		return status;
	if (cairn_db_get_int(&rows, 1) != 0)
		return cairn_fail(&drop->write.diag, CAIRN_E_CONFLICT, "account.in_use", CAIRN_NO_OFFSET,
				  "repositories came to this namespace meanwhile; remove it again");
	return cairn_db_run(tx->db, &ACCOUNT_GIVE_UP, CAIRN_ARGS(cairn_db_int(cairn_db_get_int(&rows, 0))), NULL);
}

/* Refuses to remove the last admin: only an operator could change the members then. */
static enum cairn_status account_check_admin(struct cairn_index_tx *tx, int64_t organisation, int64_t user,
					     struct cairn_index_set_member *set)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	if (!set->keeps_admin || set->role == CAIRN_INDEX_ROLE_ADMIN)
		return CAIRN_OK;
	enum cairn_status status = cairn_db_find(
		tx->db, &rows, &MEMBER_LAST_ADMIN,
		CAIRN_ARGS(cairn_db_int(organisation), cairn_db_int(user), cairn_db_int(CAIRN_INDEX_ROLE_ADMIN)));
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	return cairn_fail(&set->write.diag, CAIRN_E_CONFLICT, "member.last_admin", CAIRN_NO_OFFSET,
			  "\"%s\" is the only admin of \"%s\": make somebody else one before, or ask an operator",
			  set->user, set->organisation);
}

/* @return 0: no account of this kind was found */
static int64_t account_of_kind(struct cairn_db_rows *rows, int kind, enum cairn_status *status)
{
	if (*status == CAIRN_OK)
		*status = cairn_db_next(rows);
	bool found = *status == CAIRN_OK && cairn_db_get_int(rows, 1) == kind;
	if (*status == CAIRN_E_NOT_FOUND)
		*status = CAIRN_OK;
	return found ? cairn_db_get_int(rows, 0) : 0;
}

static void account_drop_former(struct cairn_index_tx *tx, int64_t organisation, int64_t user)
{
	const struct cairn_db_args *args = CAIRN_ARGS(cairn_db_int(organisation), cairn_db_int(user));
	cairn_db_queue(tx->db, NULL, &MEMBER_COUNT_FORMER, args);
	cairn_db_queue(tx->db, NULL, &MEMBER_DROP_FORMER, args);
}

enum cairn_status cairn_records_set_member(struct cairn_index_tx *tx, struct cairn_index_set_member *set)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows whose = {0}, who = {0};
	int64_t n;
	cairn_db_queue(tx->db, &whose, &ACCOUNT_LOOK, CAIRN_ARGS(cairn_db_text(set->organisation)));
	enum cairn_status status = cairn_db_ask(tx->db, &who, &ACCOUNT_LOOK, CAIRN_ARGS(cairn_db_text(set->user)));
	int64_t organisation = account_of_kind(&whose, CAIRN_INDEX_ORGANISATION, &status);
	int64_t user = account_of_kind(&who, CAIRN_INDEX_USER, &status);
	if (status == CAIRN_OK && organisation == 0)
		return cairn_fail(&set->write.diag, CAIRN_E_NOT_FOUND, "account.unknown", CAIRN_NO_OFFSET,
				  "there is no organisation of this name");
	if (status == CAIRN_OK && user == 0)
		return cairn_fail(&set->write.diag, CAIRN_E_NOT_FOUND, "user.unknown", CAIRN_NO_OFFSET,
				  "there is no user of this name");
	if (status == CAIRN_OK)
		status = account_check_admin(tx, organisation, user, set);
	if (status != CAIRN_OK)
		return status;
	if (set->role != CAIRN_INDEX_ROLE_ADMIN)
		account_drop_former(tx, organisation, user);
	if (set->role == CAIRN_INDEX_ROLE_NONE)
		status = cairn_db_run(tx->db, &MEMBER_DROP, CAIRN_ARGS(cairn_db_int(organisation), cairn_db_int(user)),
				      &n);
	else
		status = cairn_db_run(
			tx->db, &MEMBER_SET,
			CAIRN_ARGS(cairn_db_int(organisation), cairn_db_int(user), cairn_db_int((int64_t)set->role)),
			&n);
	set->changed = status == CAIRN_OK && n > 0;
	return status;
}
