/* Sessions of browsers; only digests are stored. */
#include "index/daemon/session.h"

#include "index/postgres/engine.h"

#include <string.h>

static const char SESSION_FIND[] = "SELECT digest, key, account, ends FROM session WHERE digest = $1 AND ends > $2";
static const char SESSION_ADD[] = "INSERT INTO session(digest, key, account, ends) VALUES($1, $2, $3, $4)";
static const char SESSION_DROP[] = "DELETE FROM session WHERE digest = $1";
static const char SESSION_DROP_ENDED[] = "DELETE FROM session WHERE ends <= $1";
/* Drops a person's sessions beyond a number. Operators count by key. */
static const char SESSION_DROP_OWN[] =
	"DELETE FROM session WHERE digest IN (SELECT digest FROM session WHERE account = $1 AND ($1 <> 0 OR key = $2)"
	" ORDER BY ends DESC, id DESC OFFSET $3)";
static const char SESSION_DROP_OLDEST[] =
	"DELETE FROM session WHERE digest IN (SELECT digest FROM session ORDER BY ends DESC, id DESC OFFSET $1)";

enum cairn_status cairn_postgres_session(struct cairn_index *ix, const uint8_t digest[static CAIRN_SHA256_BYTES],
					 int64_t now_unix_s, struct cairn_index_session *out)
{
	struct cairn_hash found, key;
	PG_READ(ix, reader, r, SESSION_FIND,
		CAIRN_ARGS(cairn_db_bytes(digest, sizeof(out->digest)), cairn_db_int(now_unix_s)));
	if (PQntuples(r) == 0)
		return CAIRN_E_NOT_FOUND;
	if (!cairn_pg_get_hash(r, 0, 0, &found) || !cairn_pg_get_hash(r, 0, 1, &key))
		return CAIRN_E_DAMAGED;
	memcpy(out->digest, found.b, sizeof(out->digest));
	memcpy(out->key, key.b, sizeof(out->key));
	out->account = cairn_pg_get_int8(r, 0, 2);
	out->ends_unix_s = cairn_pg_get_int8(r, 0, 3);
	return CAIRN_OK;
}

enum cairn_status cairn_pg_begin_session(struct cairn_pg_tx *tx, struct cairn_index_begin_session *begin)
{
	const struct cairn_index_session *session = &begin->session;
	(void)cairn_pg_queue(&tx->pg, SESSION_DROP_ENDED, CAIRN_ARGS(cairn_db_int(begin->now_unix_s)));
	(void)cairn_pg_queue(&tx->pg, SESSION_DROP_OWN,
			     CAIRN_ARGS(cairn_db_int(session->account),
					cairn_db_bytes(session->key, sizeof(session->key)),
					cairn_db_int((int64_t)begin->n_of_one_max - 1)));
	(void)cairn_pg_queue(&tx->pg, SESSION_DROP_OLDEST, CAIRN_ARGS(cairn_db_int((int64_t)begin->n_max - 1)));
	return cairn_pg_run(&tx->pg, SESSION_ADD,
			    CAIRN_ARGS(cairn_db_bytes(session->digest, sizeof(session->digest)),
				       cairn_db_bytes(session->key, sizeof(session->key)),
				       cairn_db_int(session->account), cairn_db_int(session->ends_unix_s)),
			    NULL);
}

enum cairn_status cairn_pg_end_session(struct cairn_pg_tx *tx, struct cairn_index_end_session *end)
{
	return cairn_pg_run(&tx->pg, SESSION_DROP, CAIRN_ARGS(cairn_db_bytes(end->digest, sizeof(end->digest))), NULL);
}
