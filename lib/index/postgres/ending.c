#include "index/postgres/ending.h"

#include "base/clock.h"
#include "base/sys.h"
#include "index/postgres/errors.h"

#include <string.h>
#include <time.h>

enum { ENDING_TRY_MS = 2000 }; /* a temporary failure is retried for so long */

/* Writes an explicit record. A lock on a row would write one, too, but only as a side effect. */
static const char ENDING_RECORD[] = "SELECT pg_logical_emit_message(true, 'cairn', '')";
static const char ENDING_COMMIT[] = "COMMIT";

void cairn_pg_queue_record(struct cairn_pg *pg)
{
	(void)cairn_pg_queue(pg, ENDING_RECORD, NULL);
}

/* Returns the outcome of a COMMIT. If the transaction has failed, its answer is ROLLBACK. */
static enum cairn_status ending_judge(const struct cairn_pg *pg, unsigned commit, struct cairn_diag *diag)
{
	if (pg->warned)
		return cairn_fail(diag, CAIRN_E_BUSY, "index.silent", CAIRN_NO_OFFSET,
				  "what was committed may be on no standby: PostgreSQL: %s", pg->message);
	if (strcmp(PQcmdStatus(pg->results[commit]), "COMMIT") == 0)
		return CAIRN_OK;
	return cairn_fail(diag, CAIRN_E_BUSY, "index.silent", CAIRN_NO_OFFSET,
			  "PostgreSQL has rolled the transaction back");
}

enum cairn_status cairn_pg_end(struct cairn_pg *pg, struct cairn_pg_ending *ending, bool waits, struct cairn_diag *diag)
{
	unsigned commit = cairn_pg_queue(pg, ENDING_COMMIT, NULL);
	ending->sent = false;
	if (!pg->conn || pg->queued != CAIRN_OK || PQpipelineSync(pg->conn) != 1)
		return cairn_pg_fail(pg, diag, "the index cannot be written"); /* rolling back closes the connection */
	ending->sent = true;
	pg->warned = false;
	int64_t began_ms = cairn_clock_mono_ms();
	enum cairn_status status = cairn_pg_await(pg);
	cairn_pg_count(pg, began_ms, status == CAIRN_OK,
		       !waits && pg->silent); /* a commit that waits may wait for standbys */
	if (status == CAIRN_OK)
		return ending_judge(pg, commit, diag);
	ending->parked = pg->silent;
	if (ending->parked)
		return cairn_fail(diag, CAIRN_E_BUSY, "index.silent", CAIRN_NO_OFFSET,
				  "PostgreSQL does not acknowledge a commit: look whether its standbys are there");
	ending->sent = !pg->conn; /* a failure with an answer is certain; without an answer it is not */
	return cairn_pg_fail(pg, diag, "the index cannot be written");
}

/* The caller no longer needs the outcome, but the COMMIT keeps its locks until it ends. */
enum cairn_status cairn_pg_unpark(struct cairn_pg *pg, struct cairn_pg_ending *ending, struct cairn_diag *diag)
{
	if (ending->parked) {
		pg->silence_ms = 0;
		(void)!cairn_pg_await(pg);
		pg->silence_ms = CAIRN_PG_SILENCE_MS;
	}
	if (ending->parked && pg->silent)
		return cairn_fail(diag, CAIRN_E_BUSY, "index.silent", CAIRN_NO_OFFSET,
				  "PostgreSQL has not acknowledged the last commit yet: look whether its standbys "
				  "are there");
	/* An earlier statement may have failed and left the transaction open. */
	if (ending->parked && pg->conn && PQtransactionStatus(pg->conn) != PQTRANS_IDLE)
		cairn_pg_close(pg);
	*ending = (struct cairn_pg_ending){.parked = false};
	return CAIRN_OK;
}

void cairn_pg_try(struct cairn_pg *pg, struct cairn_pg_tries *tries)
{
	pg->message[0] = pg->sqlstate[0] = '\0';
	if (tries->n == 0)
		tries->began_ms = cairn_clock_mono_ms();
}

bool cairn_pg_try_again(struct cairn_pg *pg, struct cairn_pg_tries *tries, bool may)
{
	static const long WAITS_MS[] = {0, 10, 40, 160};
	bool goes_by =
		pg->message[0] != '\0' && cairn_pg_is_temporary(pg->sqlstate) && !cairn_pg_watch_is_down(pg->watch);
	bool late = cairn_clock_mono_ms() - tries->began_ms >= ENDING_TRY_MS;
	if (!goes_by || !may || late) {
		if (late && !pg->conn)
			cairn_pg_watch_give_up(pg->watch);
		tries->n = 0;
		return false;
	}
	long ms = WAITS_MS[tries->n < 3 ? tries->n : 3];
	tries->n++;
	cairn_sys_sleep_ms(ms);
	return true;
}
