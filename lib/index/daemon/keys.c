/* API keys, of which only the digests are stored. */
#include "index/backend.h"
#include "index/records.h"

#include "base/clock.h"

#include <inttypes.h>
#include <string.h>

#define KEYS                                                                                                           \
	"SELECT k.id, k.digest, k.name, k.repo, k.scopes, k.created, k.revoked, k.account, a.name, k.expires, k.used," \
	" k.parent FROM api_key k LEFT JOIN account a ON a.id = k.account"

CAIRN_SQL(KEYS_FIND, KEYS " WHERE k.digest = $1");
CAIRN_SQL(KEYS_EACH, KEYS " WHERE k.id > $1 ORDER BY k.id LIMIT $2");
/* Runs only in engines on this machine. */
CAIRN_SQL(KEYS_GOOD, "SELECT 1 FROM api_key k LEFT JOIN account a ON a.id = k.account WHERE k.id = $1"
		     " AND k.revoked IS NULL AND a.disabled IS NULL AND (k.expires IS NULL OR k.expires > $2)");
CAIRN_SQL(KEYS_ADD, "INSERT INTO api_key(digest, name, repo, scopes, created, account, expires, parent)"
		    " VALUES($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING RETURNING id");
/* No race: writes run one after the other. */
CAIRN_SQL(KEYS_COUNT, "SELECT count(*) FILTER (WHERE revoked IS NULL AND (expires IS NULL OR expires > $2)), count(*)"
		      " FROM api_key WHERE account = $1");
CAIRN_SQL(KEYS_HAS, "SELECT 1 FROM api_key WHERE id = $1");
CAIRN_SQL(KEYS_IS_THERE, "SELECT 1 FROM api_key WHERE id = $1 AND revoked IS NULL");
/* Keeps the time of the first revocation. Keys that were made with a revoked one are revoked, too. */
CAIRN_SQL(KEYS_REVOKE, "WITH RECURSIVE gone(id) AS (SELECT id FROM api_key WHERE id = $1 AND revoked IS NULL"
		       " UNION SELECT k.id FROM gone JOIN api_key k ON k.parent = gone.id)"
		       " UPDATE api_key SET revoked = $2 WHERE id IN (SELECT id FROM gone) AND revoked IS NULL"
		       " RETURNING id");
CAIRN_SQL(KEYS_USE, "UPDATE api_key SET used = $2 WHERE id = $1");

static enum cairn_status keys_row(struct cairn_db_rows *row, struct cairn_index_key *out)
{
	*out = (struct cairn_index_key){
		.id = cairn_db_get_int(row, 0),
		.created_unix_s = cairn_db_get_int(row, 5),
		.revoked_unix_s = cairn_db_get_int(row, 6),
		.account = cairn_db_get_int(row, 7),
		.expires_unix_s = cairn_db_get_int(row, 9),
		.used_unix_s = cairn_db_get_int(row, 10),
		.parent = cairn_db_get_int(row, 11),
	};
	cairn_db_get_fixed(row, 1, out->digest, sizeof(out->digest));
	cairn_db_get_text(row, 2, out->name, sizeof(out->name));
	cairn_db_get_text(row, 3, out->repo, sizeof(out->repo));
	cairn_db_get_text(row, 4, out->scopes, sizeof(out->scopes));
	cairn_db_get_text(row, 8, out->account_name, sizeof(out->account_name));
	return cairn_db_whole(row);
}

enum cairn_status cairn_index_key(struct cairn_index *ix, const uint8_t digest[static CAIRN_SHA256_BYTES],
				  struct cairn_index_key *out)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status =
		cairn_records_find(ix, &rows, &KEYS_FIND, CAIRN_ARGS(cairn_db_bytes(digest, CAIRN_SHA256_BYTES)));
	return status == CAIRN_OK ? keys_row(&rows, out) : status;
}

enum cairn_status cairn_index_key_is_good(struct cairn_index *ix, int64_t id, bool *good)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	if (ix->backend->key_is_good)
		return ix->backend->key_is_good(ix, id, good);
	enum cairn_status status = cairn_records_find(ix, &rows, &KEYS_GOOD,
						      CAIRN_ARGS(cairn_db_int(id), cairn_db_int(cairn_clock_unix_s())));
	*good = status == CAIRN_OK;
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status cairn_index_each_key(struct cairn_index *ix, int64_t from_id, uint32_t limit,
				       void (*visit)(void *ctx, const struct cairn_index_key *key), void *ctx,
				       int64_t *next_id)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	struct cairn_index_key key = {.id = from_id};
	uint32_t page = cairn_records_page(limit), n = 0;
	enum cairn_status status =
		cairn_records_find(ix, &rows, &KEYS_EACH, CAIRN_ARGS(cairn_db_int(from_id), cairn_db_int(page)));
	for (; status == CAIRN_OK; status = cairn_db_next(&rows), n++) {
		status = keys_row(&rows, &key);
		if (status == CAIRN_OK)
			visit(ctx, &key);
	}
	return cairn_records_paged(status, n, page, key.id, next_id);
}

static enum cairn_status keys_many(const struct cairn_index_add_key *add, int64_t n_good, int64_t n_kept,
				   struct cairn_diag *diag)
{
	if (add->good_max != 0 && n_good >= add->good_max)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "key.many", CAIRN_NO_OFFSET,
				  "this account has %" PRId64 " keys, and may have %" PRIu32
				  "; revoke one that is not needed",
				  n_good, add->good_max);
	if (add->kept_max != 0 && n_kept >= add->kept_max)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "key.many", CAIRN_NO_OFFSET,
				  "this account has %" PRId64
				  " keys, revoked and expired ones included, and may have %" PRIu32
				  "; ended keys are removed after some time",
				  n_kept, add->kept_max);
	return CAIRN_OK;
}

/* Is the key that makes another one still good? It may have been revoked since the request began. */
static enum cairn_status keys_check_parent(struct cairn_index_tx *tx, struct cairn_index_add_key *add)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status =
		add->parent ? cairn_db_find(tx->db, &rows, &KEYS_IS_THERE, CAIRN_ARGS(cairn_db_int(add->parent)))
			    : CAIRN_OK;
	return status != CAIRN_E_NOT_FOUND
		       ? status
		       : cairn_fail(&add->write.diag, CAIRN_E_DENIED, "key.unknown", CAIRN_NO_OFFSET,
				    "the key that should make this one was revoked meanwhile");
}

static enum cairn_status keys_check(struct cairn_index_tx *tx, struct cairn_index_add_key *add)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	if (add->good_max == 0 && add->kept_max == 0)
		return CAIRN_OK;
	enum cairn_status status = cairn_db_find(
		tx->db, &rows, &KEYS_COUNT, CAIRN_ARGS(cairn_db_int(add->account), cairn_db_int(cairn_clock_unix_s())));
	return status == CAIRN_OK
		       ? keys_many(add, cairn_db_get_int(&rows, 0), cairn_db_get_int(&rows, 1), &add->write.diag)
		       : status;
}

static bool keys_fit(const struct cairn_index_add_key *add)
{
	return strlen(add->name) <= CAIRN_INDEX_SCOPE_TEXT_MAX && strlen(add->repo) <= CAIRN_INDEX_SCOPE_TEXT_MAX &&
	       strlen(add->scopes) <= CAIRN_INDEX_KEY_SCOPES_MAX;
}

enum cairn_status cairn_records_add_key(struct cairn_index_tx *tx, struct cairn_index_add_key *add)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = keys_check_parent(tx, add);
	if (status == CAIRN_OK)
		status = keys_check(tx, add);
	if (status == CAIRN_OK)
		status = !keys_fit(add) ? CAIRN_E_NOT_FOUND
					: cairn_db_find(tx->db, &rows, &KEYS_ADD,
							CAIRN_ARGS(cairn_db_bytes(add->digest, sizeof(add->digest)),
								   cairn_db_text(add->name), cairn_db_text(add->repo),
								   cairn_db_text(add->scopes),
								   cairn_db_int(cairn_clock_unix_s()),
								   cairn_db_int_or_null(add->account),
								   cairn_db_int_or_null(add->expires_unix_s),
								   cairn_db_int_or_null(add->parent)));
	if (status == CAIRN_E_NOT_FOUND)
		return cairn_fail(&add->write.diag, CAIRN_E_CONFLICT, "key.known", CAIRN_NO_OFFSET,
				  "this key is known already, or its name is too long; make another");
	if (status != CAIRN_OK)
		return status;
	add->id = cairn_db_get_int(&rows, 0);
	tx->keys_changed = true;
	return CAIRN_OK;
}

enum cairn_status cairn_records_revoke_key(struct cairn_index_tx *tx, struct cairn_index_revoke_key *revoke)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows has = {0}, revoked = {0};
	cairn_db_queue(tx->db, &has, &KEYS_HAS, CAIRN_ARGS(cairn_db_int(revoke->id)));
	enum cairn_status status =
		cairn_db_find(tx->db, &revoked, &KEYS_REVOKE,
			      CAIRN_ARGS(cairn_db_int(revoke->id), cairn_db_int(cairn_clock_unix_s())));
	revoke->revoked = status == CAIRN_OK;
	tx->keys_changed = tx->keys_changed || revoke->revoked;
	if (status != CAIRN_E_NOT_FOUND)
		return status;
	status = cairn_db_next(&has);
	return status == CAIRN_E_NOT_FOUND ? cairn_fail(&revoke->write.diag, CAIRN_E_NOT_FOUND, "key.unknown",
							CAIRN_NO_OFFSET, "there is no key of this number")
					   : status;
}

enum cairn_status cairn_records_use_key(struct cairn_index_tx *tx, struct cairn_index_use_key *use)
{
	return cairn_db_run(tx->db, &KEYS_USE, CAIRN_ARGS(cairn_db_int(use->id), cairn_db_int(use->used_unix_s)), NULL);
}
