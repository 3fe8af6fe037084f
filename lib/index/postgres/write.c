/* Transactions of the writer, which ending.c ends. This file implements two rules of ../README.md ("Commits over
 * PostgreSQL"). T1: each transaction whose success is reported writes its own record to the log, even without changes,
 * and waits for it. T4: writing transactions run one after the other. */
#include "index/postgres/write.h"

#include "index/postgres/errors.h"
#include "index/postgres/good_keys.h"

#include "base/sum.h"

#include <string.h>

static const char TX_LOCK[] = "SELECT pg_advisory_lock(hashtextextended('cairn index ' || $1, 0))";
static const char TX_SHARE[] = "SELECT pg_advisory_lock_shared(hashtextextended('cairn index ' || $1, 0))";
static const char TX_BEGIN[] = "BEGIN";
/* Locks the row, so that writing transactions of all daemons run one after the other. */
static const char TX_STATE[] = "SELECT " CAIRN_PG_COUNTS ", frozen FROM state FOR NO KEY UPDATE";
static const char TX_SET_STATE[] = "UPDATE state SET collection = $1, files = $2, xorbs = $3, shards = $4,"
				   " eligible = $5, stored_bytes = $6, keys = $7, withdrawn = $8";
static const char TX_AHEAD[] = "SET LOCAL synchronous_commit = off";
static const char TX_ROLLBACK[] = "ROLLBACK";

void cairn_pg_get_counts(const PGresult *r, struct cairn_index_counts *out)
{
	*out = (struct cairn_index_counts){
		.collection = cairn_pg_get_int8(r, 0, 0),
		.files = cairn_pg_get_int8(r, 0, 1),
		.xorbs = cairn_pg_get_int8(r, 0, 2),
		.shards = cairn_pg_get_int8(r, 0, 3),
		.eligible = cairn_pg_get_int8(r, 0, 4),
		.stored_bytes = cairn_pg_get_int8(r, 0, 5),
		.keys = cairn_pg_get_int8(r, 0, 6),
		.withdrawn = cairn_pg_get_int8(r, 0, 7),
	};
}

enum cairn_status cairn_pg_lock_writer(struct cairn_pg *pg, bool shared, struct cairn_diag *diag)
{
	const PGresult *r;
	enum cairn_status status =
		cairn_pg_ask(pg, shared ? TX_SHARE : TX_LOCK, CAIRN_ARGS(cairn_db_text(pg->place->schema)), &r);
	if (status == CAIRN_OK)
		return CAIRN_OK;
	if (strcmp(pg->sqlstate, "55P03") != 0) {
		status = cairn_pg_fail(pg, diag, "the index cannot be written");
		cairn_pg_close(pg); /* an open connection without the lock must not write */
		return status;
	}
	cairn_pg_close(pg);
	return cairn_fail(
		diag, CAIRN_E_CONFLICT, "index.taken", CAIRN_NO_OFFSET,
		"another daemon writes the index in the schema \"%s\", or its last transaction is not over; "
		"stop it, or name another schema (daemons that share one have their objects in the same S3 store "
		"and the same secret_file)",
		pg->place->schema);
}

static enum cairn_status tx_fail(struct cairn_pg_tx *tx, struct cairn_diag *diag)
{
	return cairn_pg_fail(&tx->pg, diag, "the index cannot be written");
}

static enum cairn_status tx_connect(struct cairn_pg_tx *tx, struct cairn_diag *diag)
{
	if (cairn_pg_is_alive(&tx->pg))
		return CAIRN_OK;
	struct cairn_diag taken = {0};
	if (cairn_pg_open(&tx->pg) != CAIRN_OK)
		return tx_fail(tx, diag);
	enum cairn_status status = cairn_pg_lock_writer(&tx->pg, tx->shared, &taken);
	if (status == CAIRN_E_CONFLICT) /* CAIRN_E_CONFLICT is for starting a daemon; uploads must not get it */
		return cairn_fail(diag, CAIRN_E_BUSY, "index.silent", CAIRN_NO_OFFSET, "%s", taken.text);
	if (status != CAIRN_OK && diag)
		*diag = taken;
	return status;
}

static enum cairn_status tx_read_state(struct cairn_pg_tx *tx)
{
	const PGresult *r;
	(void)cairn_pg_queue(&tx->pg, TX_BEGIN, NULL);
	enum cairn_status status = cairn_pg_ask(&tx->pg, TX_STATE, NULL, &r);
	if (status != CAIRN_OK || PQntuples(r) != 1)
		return status == CAIRN_OK ? CAIRN_E_DAMAGED : status;
	cairn_pg_get_counts(r, &tx->counts);
	tx->committed = tx->counts;
	tx->counted = false;
	tx->frozen = (enum cairn_index_frozen)cairn_pg_get_int8(r, 0, PQnfields(r) - 1);
	return CAIRN_OK;
}

enum cairn_status cairn_pg_begin(struct cairn_pg_tx *tx, struct cairn_diag *diag)
{
	enum cairn_status status = cairn_pg_unpark(&tx->pg, &tx->ending, diag);
	if (status != CAIRN_OK)
		return status;
	cairn_pg_try(&tx->pg, &tx->tries);
	status = tx_connect(tx, diag);
	if (status != CAIRN_OK)
		return status;
	status = tx_read_state(tx);
	return status == CAIRN_OK ? CAIRN_OK : tx_fail(tx, diag);
}

static void tx_queue_counts(struct cairn_pg_tx *tx)
{
	const struct cairn_index_counts *c = &tx->counts;
	if (!tx->counted && memcmp(c, &tx->committed, sizeof(*c)) != 0) {
		(void)cairn_pg_queue(&tx->pg, TX_SET_STATE,
				     CAIRN_ARGS(cairn_db_int(c->collection), cairn_db_int(c->files),
						cairn_db_int(c->xorbs), cairn_db_int(c->shards),
						cairn_db_int(c->eligible), cairn_db_int(c->stored_bytes),
						cairn_db_int(c->keys), cairn_db_int(c->withdrawn)));
	}
}

static enum cairn_status tx_end(struct cairn_pg_tx *tx, bool waits, struct cairn_diag *diag)
{
	enum cairn_status status = cairn_pg_end(&tx->pg, &tx->ending, waits, diag);
	if (status != CAIRN_OK)
		return status;
	tx->tries.n = 0;
	if (tx->counted)
		cairn_pg_get_counts(tx->pg.results[tx->counted_at], &tx->counts);
	return CAIRN_OK;
}

enum cairn_status cairn_pg_commit(struct cairn_pg_tx *tx, struct cairn_diag *diag)
{
	cairn_add(&tx->counts.keys, tx->records.keys_changed);
	tx_queue_counts(tx);
	if (tx->records.keys_changed)
		tx->keys = cairn_pg_queue(&tx->pg, CAIRN_PG_GOOD_KEYS, NULL);
	cairn_pg_queue_record(&tx->pg);
	return tx_end(tx, true, diag);
}

/* Commits; no write is answered after it. */
enum cairn_status cairn_pg_commit_ahead(struct cairn_pg_tx *tx, struct cairn_diag *diag)
{
	tx_queue_counts(tx);
	(void)cairn_pg_queue(&tx->pg, TX_AHEAD, NULL);
	enum cairn_status status = tx_end(tx, false, diag);
	if (status != CAIRN_OK && !tx->ending.parked)
		tx->ending.sent = false; /* it may be retried, whatever its outcome */
	return status;
}

void cairn_pg_roll_back(struct cairn_pg_tx *tx)
{
	if (tx->ending.parked || !tx->pg.conn)
		return;
	if (tx->pg.queued != CAIRN_OK && tx->pg.n_answered < tx->pg.n_sent)
		cairn_pg_close(&tx->pg);
	else if (PQtransactionStatus(tx->pg.conn) != PQTRANS_IDLE)
		(void)!cairn_pg_run(&tx->pg, TX_ROLLBACK, NULL, NULL);
}

/* After a temporary failure the transaction counts as ended, and is retried as a whole. */
bool cairn_pg_is_open(const struct cairn_pg_tx *tx)
{
	return tx->pg.conn && (tx->pg.message[0] == '\0' || !cairn_pg_is_temporary(tx->pg.sqlstate));
}

bool cairn_pg_again(struct cairn_pg_tx *tx)
{
	return cairn_pg_try_again(&tx->pg, &tx->tries, !tx->ending.sent);
}
