/* What a transaction is, and what its end means. Measured, and written down in docs/scale.md: a commit that waits for a
 * standby cannot be timed out; ended from outside it is visible and on no standby; and whoever does it again is then
 * told success at once. Hence the rules:
 * - each transaction writes a record of its own into the log, also when all was known, and waits for that;
 * - a WARNING during COMMIT is no success;
 * - a COMMIT is never cancelled: without an answer in time the writes have failed for their clients, the connection is
 *   parked, and nothing else is written until the server has said what became of it. */
#include "index/postgres/write.h"

#include "index/postgres/errors.h"
#include "index/postgres/good_keys.h"

#include "base/clock.h"

#include <string.h>
#include <time.h>

enum { TX_TRY_MS = 2000 }; /* for so long a failure that passes is tried again */

static const char TX_LOCK[] = "SELECT pg_advisory_lock(hashtextextended('cairn index ' || $1, 0))";
static const char TX_SHARE[] = "SELECT pg_advisory_lock_shared(hashtextextended('cairn index ' || $1, 0))";
static const char TX_BEGIN[] = "BEGIN";
/* Transactions that write follow each other, whichever daemon they are of. */
static const char TX_STATE[] = "SELECT " CAIRN_PG_COUNTS ", frozen FROM state FOR NO KEY UPDATE";
static const char TX_SET_STATE[] = "UPDATE state SET collection = $1, files = $2, xorbs = $3, shards = $4,"
				   " eligible = $5, stored_bytes = $6, keys = $7, withdrawn = $8";
/* The lock of the state row would leave a record, too; here it does not hang on that. */
static const char TX_RECORD[] = "SELECT pg_logical_emit_message(true, 'cairn', '')";
static const char TX_COMMIT[] = "COMMIT";
static const char TX_ROLLBACK[] = "ROLLBACK";
static const char TX_SAVE[] = "SAVEPOINT one";
static const char TX_UNDO[] = "ROLLBACK TO SAVEPOINT one";
static const char TX_RELEASE[] = "RELEASE SAVEPOINT one";
static const char TX_PROBE[] = "UPDATE state SET probes = probes + 1";
static const char TX_FIND_SCOPE[] = "SELECT id FROM scope WHERE name = $1";
static const char TX_ADD_SCOPE[] = "INSERT INTO scope(name) VALUES($1) RETURNING id";

void cairn_pg_get_counts(const PGresult *r, struct cairn_pg_counts *out)
{
	*out = (struct cairn_pg_counts){
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
	struct cairn_pg_args schema = {0};
	cairn_pg_text(&schema, pg->place->schema);
	enum cairn_status status = cairn_pg_ask(pg, shared ? TX_SHARE : TX_LOCK, &schema, &r);
	if (status == CAIRN_OK)
		return CAIRN_OK;
	if (strcmp(pg->sqlstate, "55P03") != 0)
		return cairn_pg_fail(pg, diag, "the index cannot be written");
	cairn_pg_close(pg);
	return cairn_fail(
		diag, CAIRN_E_CONFLICT, "index.taken", CAIRN_NO_OFFSET,
		"another daemon writes the index in the schema \"%s\", or its last transaction is not over; "
		"stop it, or name another schema (daemons that share one have their objects in the same S3 store "
		"and the same secret_file)",
		pg->place->schema);
}

/* --- a transaction ------------------------------------------------------------------------------------------------ */

static enum cairn_status tx_fail(struct cairn_pg_tx *tx, struct cairn_diag *diag)
{
	return cairn_pg_fail(&tx->pg, diag, "the index cannot be written");
}

/* The commit that was not answered: what became of it does not matter to whom it was for, but while the server holds
 * it, it holds its locks. */
static enum cairn_status tx_unpark(struct cairn_pg_tx *tx, struct cairn_diag *diag)
{
	tx->pg.silence_ms = 0;
	(void)!cairn_pg_await(&tx->pg);
	tx->pg.silence_ms = CAIRN_PG_SILENCE_MS;
	if (tx->pg.silent)
		return cairn_fail(diag, CAIRN_E_BUSY, "index.silent", CAIRN_NO_OFFSET,
				  "PostgreSQL has not acknowledged the last commit yet: look whether its standbys "
				  "are there");
	tx->parked = false;
	return CAIRN_OK;
}

static enum cairn_status tx_connect(struct cairn_pg_tx *tx, struct cairn_diag *diag)
{
	if (cairn_pg_is_alive(&tx->pg))
		return CAIRN_OK;
	struct cairn_diag taken = {0};
	if (cairn_pg_open(&tx->pg) != CAIRN_OK)
		return tx_fail(tx, diag);
	enum cairn_status status = cairn_pg_lock_writer(&tx->pg, tx->shared, &taken);
	if (status == CAIRN_E_CONFLICT) /* that is for whoever starts a daemon; a client's upload contradicts nothing */
		return cairn_fail(diag, CAIRN_E_BUSY, "index.silent", CAIRN_NO_OFFSET, "%s", taken.text);
	return status == CAIRN_OK ? CAIRN_OK : tx_fail(tx, diag);
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
	tx->frozen = cairn_pg_get_int8(r, 0, PQnfields(r) - 1) != 0;
	return CAIRN_OK;
}

enum cairn_status cairn_pg_begin(struct cairn_pg_tx *tx, struct cairn_diag *diag)
{
	enum cairn_status status = tx->parked ? tx_unpark(tx, diag) : CAIRN_OK;
	if (status != CAIRN_OK)
		return status;
	tx->committing = false;
	tx->pg.message[0] = tx->pg.sqlstate[0] = '\0';
	if (tx->n_tries == 0)
		tx->began_ms = cairn_clock_mono_ms();
	status = tx_connect(tx, diag);
	if (status != CAIRN_OK)
		return status;
	status = tx_read_state(tx);
	return status == CAIRN_OK ? CAIRN_OK : tx_fail(tx, diag);
}

static void tx_queue_commit(struct cairn_pg_tx *tx)
{
	const struct cairn_pg_counts *c = &tx->counts;
	tx->counts.keys += tx->keys_changed;
	if (memcmp(c, &tx->committed, sizeof(*c)) != 0) {
		struct cairn_pg_args args = {0};
		cairn_pg_int8(&args, c->collection);
		cairn_pg_int8(&args, c->files);
		cairn_pg_int8(&args, c->xorbs);
		cairn_pg_int8(&args, c->shards);
		cairn_pg_int8(&args, c->eligible);
		cairn_pg_int8(&args, c->stored_bytes);
		cairn_pg_int8(&args, c->keys);
		cairn_pg_int8(&args, c->withdrawn);
		(void)cairn_pg_queue(&tx->pg, TX_SET_STATE, &args);
	}
	if (tx->keys_changed)
		tx->keys = cairn_pg_queue(&tx->pg, CAIRN_PG_GOOD_KEYS, NULL);
	(void)cairn_pg_queue(&tx->pg, TX_RECORD, NULL);
}

/* A transaction that had failed ends in a COMMIT that says ROLLBACK. */
static enum cairn_status tx_ended(struct cairn_pg_tx *tx, unsigned commit, struct cairn_diag *diag)
{
	if (tx->pg.warned)
		return cairn_fail(diag, CAIRN_E_BUSY, "index.silent", CAIRN_NO_OFFSET,
				  "what was committed may be on no standby: PostgreSQL: %s", tx->pg.message);
	tx->n_tries = 0;
	if (strcmp(PQcmdStatus(tx->pg.results[commit]), "COMMIT") == 0)
		return CAIRN_OK;
	return cairn_fail(diag, CAIRN_E_BUSY, "index.silent", CAIRN_NO_OFFSET,
			  "PostgreSQL has rolled the transaction back");
}

enum cairn_status cairn_pg_commit(struct cairn_pg_tx *tx, struct cairn_diag *diag)
{
	tx_queue_commit(tx);
	unsigned commit = cairn_pg_queue(&tx->pg, TX_COMMIT, NULL);
	if (!tx->pg.conn || tx->pg.queued != CAIRN_OK || PQpipelineSync(tx->pg.conn) != 1)
		return tx_fail(tx, diag); /* roll back closes it */
	tx->committing = true;
	tx->pg.warned = false;
	int64_t began_ms = cairn_clock_mono_ms();
	enum cairn_status status = cairn_pg_await(&tx->pg);
	cairn_pg_count(&tx->pg, began_ms, status == CAIRN_OK, false); /* it may wait for standbys alone */
	if (status == CAIRN_OK)
		return tx_ended(tx, commit, diag);
	tx->parked = tx->pg.silent;
	if (tx->parked)
		return cairn_fail(diag, CAIRN_E_BUSY, "index.silent", CAIRN_NO_OFFSET,
				  "PostgreSQL does not acknowledge a commit: look whether its standbys are there");
	tx->committing = !tx->pg.conn; /* an answer that it failed is certain, none is not */
	return tx_fail(tx, diag);
}

void cairn_pg_roll_back(struct cairn_pg_tx *tx)
{
	if (tx->parked || !tx->pg.conn)
		return;
	if (tx->pg.queued != CAIRN_OK && tx->pg.n_answered < tx->pg.n_sent)
		cairn_pg_close(&tx->pg);
	else if (PQtransactionStatus(tx->pg.conn) != PQTRANS_IDLE)
		(void)!cairn_pg_run(&tx->pg, TX_ROLLBACK, NULL, NULL);
}

/* A failure that passes ends the transaction: it is done again as a whole. */
bool cairn_pg_is_open(const struct cairn_pg_tx *tx)
{
	return tx->pg.conn && (tx->pg.message[0] == '\0' || !cairn_pg_goes_by(tx->pg.sqlstate));
}

bool cairn_pg_again(struct cairn_pg_tx *tx)
{
	static const long WAITS_MS[] = {0, 10, 40, 160};
	bool goes_by =
		tx->pg.message[0] != '\0' && cairn_pg_goes_by(tx->pg.sqlstate) && !cairn_pg_watch_is_down(tx->pg.watch);
	bool late = cairn_clock_mono_ms() - tx->began_ms >= TX_TRY_MS;
	if (!goes_by || tx->committing || tx->parked || late) {
		if (late && !tx->pg.conn)
			cairn_pg_watch_give_up(tx->pg.watch);
		tx->n_tries = 0;
		return false;
	}
	long ms = WAITS_MS[tx->n_tries < 3 ? tx->n_tries : 3];
	tx->n_tries++;
	(void)nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
	return true;
}

/* --- one write of it ---------------------------------------------------------------------------------------------- */

void cairn_pg_save(struct cairn_pg_tx *tx)
{
	tx->saved = tx->counts;
	(void)cairn_pg_queue(&tx->pg, TX_SAVE, NULL);
}

enum cairn_status cairn_pg_undo(struct cairn_pg_tx *tx)
{
	tx->counts = tx->saved;
	return cairn_pg_run(&tx->pg, TX_UNDO, NULL, NULL);
}

enum cairn_status cairn_pg_release(struct cairn_pg_tx *tx)
{
	return cairn_pg_run(&tx->pg, TX_RELEASE, NULL, NULL);
}

enum cairn_status cairn_pg_probe(struct cairn_pg_tx *tx)
{
	return cairn_pg_run(&tx->pg, TX_PROBE, NULL, NULL);
}

enum cairn_status cairn_pg_scope(struct cairn_pg_tx *tx, const char *name, int64_t *id)
{
	const PGresult *r;
	struct cairn_pg_args args = {0};
	*id = 0;
	if (name[0] == '\0')
		return CAIRN_OK;
	cairn_pg_text(&args, name);
	enum cairn_status status = cairn_pg_ask(&tx->pg, TX_FIND_SCOPE, &args, &r);
	/* Repositories bring theirs: a token may outlive the repository that it is for. */
	if (status == CAIRN_OK && PQntuples(r) == 0 && cairn_index_is_repo_owner(name))
		return CAIRN_E_NOT_FOUND;
	if (status == CAIRN_OK && PQntuples(r) == 0)
		status = cairn_pg_ask(&tx->pg, TX_ADD_SCOPE, &args, &r);
	if (status == CAIRN_OK)
		*id = cairn_pg_get_int8(r, 0, 0);
	return status;
}
