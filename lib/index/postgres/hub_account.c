/* Accounts, and who belongs to which organisation. */
#include "index/postgres/hub.h"

#include "base/clock.h"

#include <string.h>

#define ACCOUNT "a.id, a.kind, a.name, a.fullname, a.email, a.created, a.disabled"

static const char ACCOUNT_FIND[] = "SELECT " ACCOUNT " FROM account a WHERE lower(a.name) = lower($1 COLLATE \"C\")";
static const char ACCOUNT_BY_ID[] = "SELECT " ACCOUNT " FROM account a WHERE a.id = $1";
static const char ACCOUNT_EACH[] =
	"SELECT " ACCOUNT ", a.quota, (SELECT coalesce(sum(x.stored), 0)::bigint FROM repo x WHERE x.account = a.id"
	" AND x.dropped IS NULL) FROM account a WHERE a.id > $1 ORDER BY a.id LIMIT $2";
static const char ACCOUNT_ROLE[] = "SELECT role FROM membership WHERE organisation = $1 AND member = $2";
static const char ACCOUNT_EACH_MEMBER[] =
	"SELECT " ACCOUNT ", m.role FROM membership m JOIN account a ON a.id = m.member"
	" WHERE m.organisation = $1 AND m.member > $2 ORDER BY m.member LIMIT $3";
static const char ACCOUNT_EACH_ORGANISATION[] =
	"SELECT " ACCOUNT ", m.role FROM membership m JOIN account a ON a.id = m.organisation"
	" WHERE m.member = $1 AND m.organisation > $2 ORDER BY m.organisation LIMIT $3";

static const char ACCOUNT_ADD[] = "INSERT INTO account(kind, name, fullname, email, created) VALUES($1, $2, $3, $4, $5)"
				  " ON CONFLICT DO NOTHING RETURNING id";
static const char ACCOUNT_LOOK[] =
	"SELECT id, kind, disabled IS NOT NULL FROM account WHERE lower(name) = lower($1 COLLATE \"C\")";
static const char ACCOUNT_DISABLE[] = "UPDATE account SET disabled = $2 WHERE id = $1";
static const char ACCOUNT_LAST_ADMIN[] =
	"SELECT 1 FROM membership WHERE organisation = $1 AND member = $2 AND role = $3 AND NOT EXISTS"
	"(SELECT 1 FROM membership m JOIN account a ON a.id = m.member WHERE m.organisation = $1"
	" AND m.member <> $2 AND m.role = $3 AND a.disabled IS NULL)";
static const char ACCOUNT_SET_MEMBER[] =
	"INSERT INTO membership(organisation, member, role) VALUES($1, $2, $3)"
	" ON CONFLICT(organisation, member) DO UPDATE SET role = $3 WHERE membership.role <> $3";
static const char ACCOUNT_DROP_MEMBER[] = "DELETE FROM membership WHERE organisation = $1 AND member = $2";

/* --- reading ------------------------------------------------------------------------------------------------------ */

static bool account_columns(const PGresult *r, int row, struct cairn_index_account *out)
{
	*out = (struct cairn_index_account){
		.id = cairn_pg_get_int8(r, row, 0),
		.kind = (enum cairn_index_account_kind)cairn_pg_get_int8(r, row, 1),
		.created_unix_s = cairn_pg_get_int8(r, row, 5),
		.disabled_unix_s = cairn_pg_get_int8(r, row, 6),
	};
	return cairn_pg_get_text(r, row, 2, out->name, sizeof(out->name)) &&
	       cairn_pg_get_text(r, row, 3, out->fullname, sizeof(out->fullname)) &&
	       cairn_pg_get_text(r, row, 4, out->email, sizeof(out->email));
}

static enum cairn_status account_one(const PGresult *r, struct cairn_index_account *out)
{
	if (PQntuples(r) == 0)
		return CAIRN_E_NOT_FOUND;
	return account_columns(r, 0, out) ? CAIRN_OK : CAIRN_E_DAMAGED;
}

enum cairn_status cairn_pg_account(struct cairn_index *ix, const char *name, struct cairn_index_account *out)
{
	struct cairn_pg_args args = {0};
	cairn_pg_text(&args, name);
	PG_READ(ix, reader, r, ACCOUNT_FIND, &args);
	return account_one(r, out);
}

enum cairn_status cairn_pg_account_by_id(struct cairn_index *ix, int64_t id, struct cairn_index_account *out)
{
	struct cairn_pg_args args = {0};
	cairn_pg_int8(&args, id);
	PG_READ(ix, reader, r, ACCOUNT_BY_ID, &args);
	return account_one(r, out);
}

enum cairn_status cairn_pg_each_account(struct cairn_index *ix, int64_t from_id, uint32_t limit,
					void (*visit)(void *ctx, const struct cairn_index_account *account), void *ctx,
					int64_t *next_id)
{
	struct cairn_pg_args args = {0};
	struct cairn_index_account account = {.id = 0};
	*next_id = 0;
	cairn_pg_int8(&args, from_id);
	int page = cairn_pg_page(&args, limit);
	PG_READ(ix, reader, r, ACCOUNT_EACH, &args);
	for (int i = 0; i < PQntuples(r); i++) {
		if (!account_columns(r, i, &account))
			return CAIRN_E_DAMAGED;
		account.room = cairn_pg_room(r, i, 7);
		visit(ctx, &account);
	}
	*next_id = PQntuples(r) == page ? account.id : 0;
	return CAIRN_OK;
}

enum cairn_status cairn_pg_role(struct cairn_index *ix, int64_t organisation, int64_t user, enum cairn_index_role *role)
{
	struct cairn_pg_args args = {0};
	*role = CAIRN_INDEX_ROLE_NONE;
	cairn_pg_int8(&args, organisation);
	cairn_pg_int8(&args, user);
	PG_READ(ix, reader, r, ACCOUNT_ROLE, &args);
	if (PQntuples(r) > 0)
		*role = (enum cairn_index_role)cairn_pg_get_int8(r, 0, 0);
	return CAIRN_OK;
}

static enum cairn_status account_each_membership(struct cairn_index *ix, const char *sql, int64_t of, int64_t from_id,
						 cairn_index_visit_member *visit, void *ctx, int64_t *next_id)
{
	struct cairn_pg_args args = {0};
	struct cairn_index_account account = {.id = 0};
	*next_id = 0;
	cairn_pg_int8(&args, of);
	cairn_pg_int8(&args, from_id);
	int page = cairn_pg_page(&args, 0);
	PG_READ(ix, reader, r, sql, &args);
	for (int i = 0; i < PQntuples(r); i++) {
		if (!account_columns(r, i, &account))
			return CAIRN_E_DAMAGED;
		visit(ctx, &account, (enum cairn_index_role)cairn_pg_get_int8(r, i, 7));
	}
	*next_id = PQntuples(r) == page ? account.id : 0;
	return CAIRN_OK;
}

enum cairn_status cairn_pg_each_member(struct cairn_index *ix, int64_t organisation, int64_t from_id,
				       cairn_index_visit_member *visit, void *ctx, int64_t *next_id)
{
	return account_each_membership(ix, ACCOUNT_EACH_MEMBER, organisation, from_id, visit, ctx, next_id);
}

enum cairn_status cairn_pg_each_organisation(struct cairn_index *ix, int64_t user, int64_t from_id,
					     cairn_index_visit_member *visit, void *ctx, int64_t *next_id)
{
	return account_each_membership(ix, ACCOUNT_EACH_ORGANISATION, user, from_id, visit, ctx, next_id);
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static bool account_fits(const struct cairn_index_add_account *add)
{
	size_t len = strlen(add->name);
	return len > 0 && len <= CAIRN_INDEX_ACCOUNT_NAME_MAX &&
	       strlen(add->fullname) <= CAIRN_INDEX_ACCOUNT_TEXT_MAX &&
	       strlen(add->email) <= CAIRN_INDEX_ACCOUNT_TEXT_MAX;
}

enum cairn_status cairn_pg_add_account(struct cairn_pg_tx *tx, struct cairn_index_add_account *add)
{
	const PGresult *r = NULL;
	struct cairn_pg_args args = {0};
	cairn_pg_int8(&args, (int64_t)add->kind);
	cairn_pg_text(&args, add->name);
	cairn_pg_text(&args, add->fullname);
	cairn_pg_text(&args, add->email);
	cairn_pg_int8(&args, cairn_clock_unix_s());
	enum cairn_status status = account_fits(add) ? cairn_pg_ask(&tx->pg, ACCOUNT_ADD, &args, &r) : CAIRN_OK;
	if (status != CAIRN_OK)
		return status;
	if (!r || PQntuples(r) == 0)
		return cairn_fail(&add->write.diag, CAIRN_E_CONFLICT, "account.known", CAIRN_NO_OFFSET,
				  "there is an account of this name already, or its name is too long; take another");
	add->id = cairn_pg_get_int8(r, 0, 0);
	return CAIRN_OK;
}

struct account_look {
	int64_t id; /* 0: there is no such account of this kind */
	bool disabled;
};

/* @param kind  0: of either */
static struct account_look account_looked(const PGresult *r, int kind)
{
	if (PQntuples(r) == 0 || (kind != 0 && cairn_pg_get_int8(r, 0, 1) != kind))
		return (struct account_look){0};
	return (struct account_look){cairn_pg_get_int8(r, 0, 0), cairn_pg_get_int8(r, 0, 2) != 0};
}

enum cairn_status cairn_pg_disable_account(struct cairn_pg_tx *tx, struct cairn_index_disable_account *disable)
{
	const PGresult *r;
	struct cairn_pg_args name = {0}, args = {0};
	disable->changed = false;
	cairn_pg_text(&name, disable->name);
	enum cairn_status status = cairn_pg_ask(&tx->pg, ACCOUNT_LOOK, &name, &r);
	if (status != CAIRN_OK)
		return status;
	struct account_look account = account_looked(r, 0);
	if (account.id == 0)
		return cairn_fail(&disable->write.diag, CAIRN_E_NOT_FOUND, "account.unknown", CAIRN_NO_OFFSET,
				  "there is no account of this name");
	/* Since when it is so first is what counts. */
	if (account.disabled == disable->disabled)
		return CAIRN_OK;
	cairn_pg_int8(&args, account.id);
	cairn_pg_int8_or_null(&args, disable->disabled ? cairn_clock_unix_s() : 0);
	disable->changed = true;
	tx->keys_changed = true;
	return cairn_pg_run(&tx->pg, ACCOUNT_DISABLE, &args, NULL);
}

/* Without an admin nobody but an operator could say who belongs to it. */
static enum cairn_status account_check_admin(struct cairn_pg_tx *tx, int64_t organisation, int64_t user,
					     struct cairn_index_set_member *set)
{
	const PGresult *r;
	struct cairn_pg_args args = {0};
	if (!set->keeps_admin || set->role == CAIRN_INDEX_ROLE_ADMIN)
		return CAIRN_OK;
	cairn_pg_int8(&args, organisation);
	cairn_pg_int8(&args, user);
	cairn_pg_int8(&args, CAIRN_INDEX_ROLE_ADMIN);
	enum cairn_status status = cairn_pg_ask(&tx->pg, ACCOUNT_LAST_ADMIN, &args, &r);
	if (status != CAIRN_OK || PQntuples(r) == 0)
		return status;
	return cairn_fail(&set->write.diag, CAIRN_E_CONFLICT, "member.last_admin", CAIRN_NO_OFFSET,
			  "\"%s\" is the only admin of \"%s\": make somebody else one before, or ask an operator",
			  set->user, set->organisation);
}

enum cairn_status cairn_pg_set_member(struct cairn_pg_tx *tx, struct cairn_index_set_member *set)
{
	struct cairn_pg *pg = &tx->pg;
	struct cairn_pg_args organisation = {0}, user = {0}, args = {0};
	int64_t n = 0;
	cairn_pg_text(&organisation, set->organisation);
	cairn_pg_text(&user, set->user);
	unsigned first = cairn_pg_queue(pg, ACCOUNT_LOOK, &organisation);
	unsigned second = cairn_pg_queue(pg, ACCOUNT_LOOK, &user);
	enum cairn_status status = cairn_pg_exchange(pg);
	if (status != CAIRN_OK)
		return status;
	struct account_look whose = account_looked(pg->results[first], CAIRN_INDEX_ORGANISATION);
	struct account_look who = account_looked(pg->results[second], CAIRN_INDEX_USER);
	if (whose.id == 0)
		return cairn_fail(&set->write.diag, CAIRN_E_NOT_FOUND, "account.unknown", CAIRN_NO_OFFSET,
				  "there is no organisation of this name");
	if (who.id == 0)
		return cairn_fail(&set->write.diag, CAIRN_E_NOT_FOUND, "user.unknown", CAIRN_NO_OFFSET,
				  "there is no user of this name");
	status = account_check_admin(tx, whose.id, who.id, set);
	if (status != CAIRN_OK)
		return status;
	bool drop = set->role == CAIRN_INDEX_ROLE_NONE;
	cairn_pg_int8(&args, whose.id);
	cairn_pg_int8(&args, who.id);
	if (!drop)
		cairn_pg_int8(&args, (int64_t)set->role);
	status = cairn_pg_run(pg, drop ? ACCOUNT_DROP_MEMBER : ACCOUNT_SET_MEMBER, &args, &n);
	set->changed = n > 0;
	return status;
}
