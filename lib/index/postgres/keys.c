/* API keys: only their digests are here. */
#include "index/operate.h"
#include "index/postgres/engine.h"

#include "base/clock.h"

#include <string.h>

#define KEYS                                                                                                           \
	"SELECT k.id, k.digest, k.name, k.repo, k.scopes, k.created, k.revoked, k.account, a.name, k.expires, k.used"  \
	" FROM api_key k LEFT JOIN account a ON a.id = k.account"

static const char KEYS_ADD[] = "INSERT INTO api_key(digest, name, repo, scopes, created, account, expires)"
			       " VALUES($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING RETURNING id";
static const char KEYS_FIND_REVOKED[] = "SELECT revoked IS NOT NULL FROM api_key WHERE id = $1";
/* When it was revoked first is what counts. */
static const char KEYS_REVOKE[] = "UPDATE api_key SET revoked = $2 WHERE id = $1 AND revoked IS NULL";
static const char KEYS_USE[] = "UPDATE api_key SET used = $2 WHERE id = $1";
/* No two writes are between their beginning and their end at once: each has the row of the table state. */
static const char KEYS_COUNT[] = "SELECT count(*) FILTER (WHERE revoked IS NULL AND (expires IS NULL OR expires > $2)),"
				 " count(*) FROM api_key WHERE account = $1";
static const char KEYS_FIND[] = KEYS " WHERE k.digest = $1";
static const char KEYS_EACH[] = KEYS " WHERE k.id > $1 ORDER BY k.id LIMIT $2";

static bool keys_fit(const struct cairn_index_add_key *add)
{
	return strlen(add->name) <= CAIRN_INDEX_SCOPE_TEXT_MAX && strlen(add->repo) <= CAIRN_INDEX_SCOPE_TEXT_MAX &&
	       strlen(add->scopes) <= CAIRN_INDEX_KEY_SCOPES_MAX;
}

static enum cairn_status keys_check(struct cairn_pg_tx *tx, struct cairn_index_add_key *add)
{
	const PGresult *r;
	struct cairn_pg_args args = {0};
	if (add->good_max == 0 && add->kept_max == 0)
		return CAIRN_OK;
	cairn_pg_int8(&args, add->account);
	cairn_pg_int8(&args, cairn_clock_unix_s());
	enum cairn_status status = cairn_pg_ask(&tx->pg, KEYS_COUNT, &args, &r);
	return status == CAIRN_OK ? cairn_index_key_check(add, cairn_pg_get_int8(r, 0, 0), cairn_pg_get_int8(r, 0, 1))
				  : status;
}

enum cairn_status cairn_pg_add_key(struct cairn_pg_tx *tx, struct cairn_index_add_key *add)
{
	const PGresult *r = NULL;
	struct cairn_pg_args args = {0};
	enum cairn_status status = keys_check(tx, add);
	if (status != CAIRN_OK)
		return status;
	cairn_pg_bytes(&args, add->digest, sizeof(add->digest));
	cairn_pg_text(&args, add->name);
	cairn_pg_text(&args, add->repo);
	cairn_pg_text(&args, add->scopes);
	cairn_pg_int8(&args, cairn_clock_unix_s());
	cairn_pg_int8_or_null(&args, add->account);
	cairn_pg_int8_or_null(&args, add->expires_unix_s);
	status = keys_fit(add) ? cairn_pg_ask(&tx->pg, KEYS_ADD, &args, &r) : CAIRN_OK;
	if (status != CAIRN_OK)
		return status;
	if (!r || PQntuples(r) == 0)
		return cairn_fail(&add->write.diag, CAIRN_E_CONFLICT, "key.known", CAIRN_NO_OFFSET,
				  "this key is known already, or its name is too long; make another");
	add->id = cairn_pg_get_int8(r, 0, 0);
	tx->keys_changed = true;
	return CAIRN_OK;
}

enum cairn_status cairn_pg_revoke_key(struct cairn_pg_tx *tx, struct cairn_index_revoke_key *revoke)
{
	const PGresult *r;
	int64_t n = 0;
	struct cairn_pg_args find = {0}, args = {0};
	revoke->revoked = false;
	cairn_pg_int8(&find, revoke->id);
	enum cairn_status status = cairn_pg_ask(&tx->pg, KEYS_FIND_REVOKED, &find, &r);
	if (status == CAIRN_OK && PQntuples(r) == 0)
		return cairn_fail(&revoke->write.diag, CAIRN_E_NOT_FOUND, "key.unknown", CAIRN_NO_OFFSET,
				  "there is no key of this number");
	if (status != CAIRN_OK)
		return status;
	cairn_pg_int8(&args, revoke->id);
	cairn_pg_int8(&args, cairn_clock_unix_s());
	status = cairn_pg_run(&tx->pg, KEYS_REVOKE, &args, &n);
	revoke->revoked = status == CAIRN_OK && n > 0;
	tx->keys_changed = tx->keys_changed || revoke->revoked;
	return status;
}

enum cairn_status cairn_pg_use_key(struct cairn_pg_tx *tx, struct cairn_index_use_key *use)
{
	struct cairn_pg_args args = {0};
	cairn_pg_int8(&args, use->id);
	cairn_pg_int8(&args, use->used_unix_s);
	return cairn_pg_run(&tx->pg, KEYS_USE, &args, NULL);
}

static bool keys_columns(const PGresult *r, int row, struct cairn_index_key *out)
{
	struct cairn_hash digest;
	*out = (struct cairn_index_key){
		.id = cairn_pg_get_int8(r, row, 0),
		.created_unix_s = cairn_pg_get_int8(r, row, 5),
		.revoked_unix_s = cairn_pg_get_int8(r, row, 6),
		.account = cairn_pg_get_int8(r, row, 7),
		.expires_unix_s = cairn_pg_get_int8(r, row, 9),
		.used_unix_s = cairn_pg_get_int8(r, row, 10),
	};
	if (!cairn_pg_get_hash(r, row, 1, &digest))
		return false;
	memcpy(out->digest, digest.b, sizeof(out->digest));
	return cairn_pg_get_text(r, row, 2, out->name, sizeof(out->name)) &&
	       cairn_pg_get_text(r, row, 3, out->repo, sizeof(out->repo)) &&
	       cairn_pg_get_text(r, row, 4, out->scopes, sizeof(out->scopes)) &&
	       cairn_pg_get_text(r, row, 8, out->account_name, sizeof(out->account_name));
}

enum cairn_status cairn_pg_key(struct cairn_index *ix, const uint8_t digest[static CAIRN_SHA256_BYTES],
			       struct cairn_index_key *out)
{
	struct cairn_pg_args args = {0};
	cairn_pg_bytes(&args, digest, CAIRN_SHA256_BYTES);
	PG_READ(ix, reader, r, KEYS_FIND, &args);
	if (PQntuples(r) == 0)
		return CAIRN_E_NOT_FOUND;
	return keys_columns(r, 0, out) ? CAIRN_OK : CAIRN_E_DAMAGED;
}

enum cairn_status cairn_pg_key_is_good(struct cairn_index *ix, int64_t id, bool *good)
{
	struct cairn_postgres *p = cairn_postgres(ix);
	bool is_new, fresh = cairn_pg_is_fresh(&p->refresh);
	*good = cairn_pg_good_keys_has(&p->good_keys, id, cairn_clock_unix_s(), &is_new) && fresh;
	/* Another daemon may have made it a moment ago. */
	return fresh && (!is_new || !p->refresh.index) ? CAIRN_OK : CAIRN_E_BUSY;
}

enum cairn_status cairn_pg_each_key(struct cairn_index *ix, int64_t from_id, uint32_t limit,
				    void (*visit)(void *ctx, const struct cairn_index_key *key), void *ctx,
				    int64_t *next_id)
{
	struct cairn_pg_args args = {0};
	struct cairn_index_key key = {.id = 0};
	*next_id = 0;
	cairn_pg_int8(&args, from_id);
	int page = cairn_pg_page(&args, limit);
	PG_READ(ix, reader, r, KEYS_EACH, &args);
	for (int i = 0; i < PQntuples(r); i++) {
		if (!keys_columns(r, i, &key))
			return CAIRN_E_DAMAGED;
		visit(ctx, &key);
	}
	*next_id = PQntuples(r) == page ? key.id : 0;
	return CAIRN_OK;
}
