#include "index/postgres/refresh.h"

#include "base/clock.h"
#include "base/cond.h"
#include "index/postgres/engine.h"

/* Ends transactions of daemons that hang, because they block all others. The server itself ends only idle ones: in the
 * middle of an exchange, no timeout applies before PostgreSQL 17. A transaction that waits for a lock or for standbys
 * is not the client's fault. Returns the time until the next must be ended: other daemons give up soon after it, so the
 * next check must not be late. */
static const char REFRESH_END_STILL[] =
	"SELECT count(CASE WHEN left_ms <= 0 THEN pg_terminate_backend(pid) END),"
	" coalesce(min(ceil(left_ms)) FILTER (WHERE left_ms > 0), $1)::bigint FROM"
	" (SELECT a.pid, $1 - 1000 * extract(epoch FROM clock_timestamp() - a.state_change) AS left_ms"
	" FROM pg_stat_activity a JOIN pg_locks l ON l.pid = a.pid"
	" WHERE a.usename = current_user AND a.wait_event = 'ClientRead' AND l.relation = 'state'::regclass"
	" AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())) still";
static const char REFRESH_STATE[] = "SELECT " CAIRN_PG_COUNTS " FROM state";

/* Reads the keys after their generation: if they are newer, the next refresh reads them again. */
static enum cairn_status refresh_keys(struct cairn_postgres *p, int64_t generation)
{
	const PGresult *r;
	struct cairn_pg *pg = &p->refresh.pg;
	if (cairn_pg_good_keys_are(&p->good_keys, pg->server, generation))
		return CAIRN_OK;
	enum cairn_status status = cairn_pg_ask(pg, CAIRN_PG_GOOD_KEYS, NULL, &r);
	return status == CAIRN_OK ? cairn_pg_good_keys_take(&p->good_keys, r, pg->server, generation) : status;
}

/* Refreshes leases and clocks, and ends daemons that hang. */
static enum cairn_status refresh_others(struct cairn_postgres *p)
{
	struct cairn_pg *pg = &p->refresh.pg;
	cairn_pg_queue_leases(p, pg);
	unsigned place = cairn_pg_queue(pg, REFRESH_END_STILL, CAIRN_ARGS(cairn_db_int(CAIRN_PG_STILL_MS)));
	enum cairn_status status = cairn_pg_read_jobs(p, pg);
	if (status != CAIRN_OK)
		return status;
	p->refresh.next_ms = cairn_pg_get_int8(pg->results[place], 0, 1) + 1;
	return cairn_pg_clock_compare(&p->clock, pg);
}

static enum cairn_status refresh_ask(struct cairn_postgres *p)
{
	const PGresult *r;
	struct cairn_pg *pg = &p->refresh.pg;
	struct cairn_index_counts counts;
	int64_t asked_ms = cairn_clock_mono_ms();
	enum cairn_status status = cairn_pg_is_alive(pg) ? CAIRN_OK : cairn_pg_open(pg);
	if (status == CAIRN_OK)
		status = cairn_pg_ask(pg, REFRESH_STATE, NULL, &r);
	if (status == CAIRN_OK && PQntuples(r) != 1)
		status = CAIRN_E_DAMAGED;
	if (status != CAIRN_OK)
		return status;
	cairn_pg_get_counts(r, &counts);
	status = refresh_keys(p, counts.keys);
	if (status != CAIRN_OK)
		return status;
	cairn_pg_note_counts(p, &counts, pg->server);
	atomic_store(&p->refresh.fresh_ms, asked_ms); /* set even if the rest fails: reads do not need that */
	return refresh_others(p);
}

/* @return false: the thread must end */
static bool refresh_wait(struct cairn_pg_refresh *refresh)
{
	int64_t wait_ms = refresh->next_ms < CAIRN_PG_REFRESH_MS ? refresh->next_ms : CAIRN_PG_REFRESH_MS;
	const struct timespec until = cairn_cond_in_ms(wait_ms);
	pthread_mutex_lock(&refresh->lock);
	while (!refresh->ending && cairn_cond_wait_until(&refresh->ends, &refresh->lock, &until))
		continue;
	bool on = !refresh->ending;
	pthread_mutex_unlock(&refresh->lock);
	return on;
}

static void *refresh_loop(void *arg)
{
	struct cairn_postgres *p = arg;
	(void)pthread_setname_np(pthread_self(), "index-refresh");
	p->refresh.next_ms = CAIRN_PG_REFRESH_MS;
	while (refresh_wait(&p->refresh)) {
		p->refresh.next_ms = CAIRN_PG_REFRESH_MS;
		(void)!refresh_ask(p); /* callers that wait for a silent server report it */
	}
	return NULL;
}

enum cairn_status cairn_pg_refresh_start(struct cairn_postgres *index, struct cairn_diag *diag)
{
	struct cairn_pg_refresh *refresh = &index->refresh;
	refresh->pg = (struct cairn_pg){.place = &index->place, .watch = &index->watch};
	atomic_store(&refresh->fresh_ms, cairn_clock_mono_ms());
	pthread_mutex_init(&refresh->lock, NULL);
	cairn_cond_init(&refresh->ends);
	if (pthread_create(&refresh->thread, NULL, refresh_loop, index) == 0) {
		refresh->index = index;
		return CAIRN_OK;
	}
	pthread_cond_destroy(&refresh->ends);
	pthread_mutex_destroy(&refresh->lock);
	return cairn_fail(
		diag, CAIRN_E_NOMEM, "index.thread", CAIRN_NO_OFFSET,
		"the thread that looks what others have changed in the index cannot be started; raise the limit on "
		"threads");
}

void cairn_pg_refresh_stop(struct cairn_pg_refresh *refresh)
{
	if (!refresh->index)
		return;
	pthread_mutex_lock(&refresh->lock);
	refresh->ending = true;
	pthread_cond_signal(&refresh->ends);
	pthread_mutex_unlock(&refresh->lock);
	pthread_join(refresh->thread, NULL);
	cairn_pg_close(&refresh->pg);
	pthread_cond_destroy(&refresh->ends);
	pthread_mutex_destroy(&refresh->lock);
}

/* Is the state in memory fresh? */
static bool refresh_is_fresh(struct cairn_pg_refresh *refresh)
{
	return !refresh->index || cairn_clock_mono_ms() - atomic_load(&refresh->fresh_ms) <= CAIRN_PG_STALE_MS;
}

enum cairn_status cairn_postgres_key_is_good(struct cairn_index *ix, int64_t id, bool *good)
{
	struct cairn_postgres *p = cairn_postgres(ix);
	bool is_new, fresh = refresh_is_fresh(&p->refresh);
	*good = cairn_pg_good_keys_has(&p->good_keys, id, cairn_clock_unix_s(), &is_new) && fresh;
	/* Another daemon may just have created the key. */
	return fresh && (!is_new || !p->refresh.index) ? CAIRN_OK : CAIRN_E_BUSY;
}
