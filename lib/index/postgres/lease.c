/* Leases of jobs, and of files of the mirrored hub, where several daemons write one index. */
#include "index/daemon/lease.h"

#include "index/postgres/engine.h"

#include <string.h>

enum { LEASE_NAME_BYTES = 32 };

static const char *const LEASE_NAMES[] = {
	[CAIRN_INDEX_COLLECT] = "collect", [CAIRN_INDEX_PROVE] = "prove", [CAIRN_INDEX_SCRUB] = "scrub",
	[CAIRN_INDEX_USAGE] = "usage",     [CAIRN_INDEX_AHEAD] = "ahead",
};

/* Uses the server's present clock, not the start of the transaction. A lease that ends too far in the future counts as
 * free: a former leader whose clock was ahead granted it. */
#define LEASE_IS_FREE(until, lease_s)                                                                                  \
	"(" until " <= clock_timestamp() OR " until " > clock_timestamp() + 2 * " lease_s " * interval '1 s')"
static const char LEASE_BEGIN[] = "UPDATE job SET epoch = epoch + 1, until = clock_timestamp() + $2 * interval '1 s',"
				  " who = $3, since = extract(epoch FROM clock_timestamp())::bigint"
				  " WHERE name = $1 AND " LEASE_IS_FREE("until", "$2") " RETURNING epoch";
static const char LEASE_BEGIN_FETCH[] =
	"INSERT INTO mirror_lease AS l(content, holder, until, fence)"
	" SELECT id, $3, clock_timestamp() + $2 * interval '1 s', 1 FROM content"
	" WHERE id = $1 AND file IS NULL AND body IS NULL"
	" ON CONFLICT(content) DO UPDATE SET holder = excluded.holder, until = excluded.until,"
	" fence = l.fence + 1 WHERE " LEASE_IS_FREE("l.until", "$2") " RETURNING fence";
static const char LEASE_END_FETCH[] = "UPDATE mirror_lease SET until = '-infinity' WHERE content = $1 AND fence = $2";
static const char LEASE_IS_LAST_FETCH[] = "SELECT 1 FROM mirror_lease WHERE content = $1 AND fence = $2";
static const char LEASE_RENEW_FETCHES[] =
	"UPDATE mirror_lease l SET until = clock_timestamp() + $3 * interval '1 s'"
	" FROM unnest($1::bigint[], $2::bigint[]) AS held(content, fence)"
	" WHERE l.content = held.content AND l.fence = held.fence AND l.until > '-infinity'";
static const char LEASE_FETCH[] = "SELECT c.file IS NOT NULL OR c.body IS NOT NULL, l.content IS NOT NULL"
				  " FROM content c LEFT JOIN mirror_lease l ON l.content = c.id"
				  " AND NOT " LEASE_IS_FREE("l.until", "$3") " WHERE c.id = $1 AND c.repo = $2";
static const char LEASE_END[] = "UPDATE job SET until = '-infinity', ran = greatest(ran, $3), good = greatest(good, $4)"
				" WHERE name = $1 AND epoch = $2";
static const char LEASE_IS_LAST[] = "SELECT 1 FROM job WHERE name = $1 AND epoch = $2";
/* Compares the fence, so that a lease that has ended since is not renewed. */
static const char LEASE_RENEW[] = "UPDATE job SET until = clock_timestamp() + $3 * interval '1 s'"
				  " WHERE name = $1 AND epoch = $2 AND until > '-infinity'";
/* Renewals do not wait for standbys: a lost one is repeated a second later, or the lease is taken over. */
static const char LEASE_NOT_DURABLE[] =
	"SELECT set_config('synchronous_commit', 'off', true),"
	" set_config('lock_timeout', '500', true)"; /* the row may be locked by a note that waits for standbys */
static const char LEASE_STATES[] =
	"SELECT NOT " LEASE_IS_FREE("until", "$1") ", ran, good, since, who, epoch, name FROM job";
static const char LEASE_NOTE[] = "SELECT version, note FROM job WHERE name = $1";
static const char LEASE_PUT_NOTE[] = "UPDATE job SET note = $2, version = version + 1 WHERE name = $1 AND version = $3";

bool cairn_postgres_clock_is_off(struct cairn_index *ix, struct cairn_diag *diag)
{
	return cairn_pg_clock_is_off(&cairn_postgres(ix)->clock, diag);
}

void cairn_postgres_job_state(struct cairn_index *ix, enum cairn_index_job job, struct cairn_index_job_state *out)
{
	struct cairn_postgres *p = cairn_postgres(ix);
	pthread_mutex_lock(&p->lock);
	*out = p->jobs[job];
	pthread_mutex_unlock(&p->lock);
}

/* Stores the lease of a fetch so that it is renewed. If there is no room, it ends, and another daemon may take it over.
 * Called with the lock. */
static void lease_renew_fetch(struct cairn_postgres *p, const struct cairn_index_lease *lease, bool on)
{
	const struct cairn_index_lease none = {.fence = 0};
	for (int i = 0; i < CAIRN_PG_FETCHES_MAX; i++) {
		struct cairn_index_lease *place = &p->fetches[i];
		bool is_it = on ? place->fence == 0 : place->content == lease->content && place->fence == lease->fence;
		if (!is_it)
			continue;
		*place = on ? *lease : none;
		return;
	}
}

void cairn_postgres_renew_lease(struct cairn_index *ix, const struct cairn_index_lease *lease, bool on)
{
	struct cairn_postgres *p = cairn_postgres(ix);
	pthread_mutex_lock(&p->lock);
	if (lease->content != 0)
		lease_renew_fetch(p, lease, on);
	else if (on || p->leases[lease->job] == lease->fence)
		p->leases[lease->job] = on ? lease->fence : 0;
	pthread_mutex_unlock(&p->lock);
}

/* Returns the value by which a lease's row is found. */
static struct cairn_db_arg lease_key(const struct cairn_index_lease *lease)
{
	return lease->content != 0 ? cairn_db_int(lease->content) : cairn_db_text(LEASE_NAMES[lease->job]);
}

enum cairn_status cairn_pg_begin_lease(struct cairn_pg_tx *tx, struct cairn_index_begin_lease *begin)
{
	const PGresult *r;
	bool is_fetch = begin->lease.content != 0; /* a fetch does not judge ages */
	if (!is_fetch && cairn_pg_clock_is_off(tx->clock, &begin->write.diag))
		return CAIRN_E_CONFLICT;
	enum cairn_status status = cairn_pg_ask(
		&tx->pg, is_fetch ? LEASE_BEGIN_FETCH : LEASE_BEGIN,
		CAIRN_ARGS(lease_key(&begin->lease), cairn_db_int(CAIRN_INDEX_LEASE_S), cairn_db_text(begin->who)), &r);
	if (status == CAIRN_OK && PQntuples(r) == 0)
		return cairn_fail(&begin->write.diag, CAIRN_E_CONFLICT, "lease.taken", CAIRN_NO_OFFSET,
				  "another daemon does that now, or did until %d s ago", CAIRN_INDEX_LEASE_S);
	if (status == CAIRN_OK)
		begin->lease.fence = cairn_pg_get_int8(r, 0, 0);
	return status;
}

enum cairn_status cairn_pg_end_lease(struct cairn_pg_tx *tx, struct cairn_index_end_lease *end)
{
	if (end->lease.content != 0)
		return cairn_pg_run(&tx->pg, LEASE_END_FETCH,
				    CAIRN_ARGS(lease_key(&end->lease), cairn_db_int(end->lease.fence)), NULL);
	return cairn_pg_run(&tx->pg, LEASE_END,
			    CAIRN_ARGS(lease_key(&end->lease), cairn_db_int(end->lease.fence),
				       cairn_db_int(end->ran_unix_s), cairn_db_int(end->good_unix_s)),
			    NULL);
}

enum cairn_status cairn_postgres_fetch(struct cairn_index *ix, int64_t repo, int64_t content,
				       struct cairn_index_fetch *out)
{
	PG_READ(ix, reader, r, LEASE_FETCH,
		CAIRN_ARGS(cairn_db_int(content), cairn_db_int(repo), cairn_db_int(CAIRN_INDEX_LEASE_S)));
	if (PQntuples(r) == 0)
		return CAIRN_E_NOT_FOUND;
	out->is_here = cairn_pg_get_int8(r, 0, 0) != 0;
	out->is_taken = cairn_pg_get_int8(r, 0, 1) != 0;
	return CAIRN_OK;
}

enum cairn_status cairn_postgres_note(struct cairn_index *ix, enum cairn_index_job job, struct cairn_index_note *out)
{
	PG_READ(ix, reader, r, LEASE_NOTE, CAIRN_ARGS(cairn_db_text(LEASE_NAMES[job])));
	if (PQntuples(r) != 1 || !cairn_pg_get_text(r, 0, 1, out->text, sizeof(out->text)))
		return CAIRN_E_DAMAGED;
	out->version = cairn_pg_get_int8(r, 0, 0);
	return CAIRN_OK;
}

enum cairn_status cairn_pg_put_note(struct cairn_pg_tx *tx, struct cairn_index_put_note *put)
{
	int64_t n = 0;
	enum cairn_status status =
		cairn_pg_run(&tx->pg, LEASE_PUT_NOTE,
			     CAIRN_ARGS(cairn_db_text(LEASE_NAMES[put->job]), cairn_db_text(put->note.text),
					cairn_db_int(put->note.version)),
			     &n);
	if (status == CAIRN_OK && n == 0)
		return cairn_fail(&put->write.diag, CAIRN_E_CONFLICT, "lease.note", CAIRN_NO_OFFSET,
				  "another daemon has changed the record of this job since; try again");
	return status;
}

/* Writing transactions run one after the other, so nobody can take the lease over before this one ends. */
enum cairn_status cairn_pg_must_hold(struct cairn_pg_tx *tx, const struct cairn_index_lease *lease,
				     struct cairn_diag *diag)
{
	const PGresult *r;
	if (!lease || lease->fence == 0)
		return CAIRN_OK;
	enum cairn_status status = cairn_pg_ask(&tx->pg, lease->content != 0 ? LEASE_IS_LAST_FETCH : LEASE_IS_LAST,
						CAIRN_ARGS(lease_key(lease), cairn_db_int(lease->fence)), &r);
	if (status != CAIRN_OK || PQntuples(r) == 1)
		return status;
	return cairn_fail(diag, CAIRN_E_BUSY, "lease.over", CAIRN_NO_OFFSET,
			  "this daemon hung for more than %d s, and another daemon has taken over its job",
			  CAIRN_INDEX_LEASE_S);
}

static void lease_queue_fetches(struct cairn_postgres *p, struct cairn_pg *pg)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array contents = {0};
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array fences = {0};
	pthread_mutex_lock(&p->lock);
	for (int i = 0; i < CAIRN_PG_FETCHES_MAX; i++) {
		if (p->fetches[i].fence == 0)
			continue;
		cairn_pg_add_int8(&contents, p->fetches[i].content);
		cairn_pg_add_int8(&fences, p->fetches[i].fence);
	}
	pthread_mutex_unlock(&p->lock);
	if (contents.n > 0)
		(void)cairn_pg_queue(pg, LEASE_RENEW_FETCHES,
				     CAIRN_ARGS(cairn_pg_int8s(&contents), cairn_pg_int8s(&fences),
						cairn_db_int(CAIRN_INDEX_LEASE_S)));
}

void cairn_pg_queue_leases(struct cairn_postgres *p, struct cairn_pg *pg)
{
	int64_t fences[CAIRN_INDEX_JOBS];
	pthread_mutex_lock(&p->lock);
	memcpy(fences, p->leases, sizeof(fences));
	pthread_mutex_unlock(&p->lock);
	(void)cairn_pg_queue(pg, LEASE_NOT_DURABLE, NULL);
	for (int job = 0; job < CAIRN_INDEX_JOBS; job++) {
		if (fences[job] != 0)
			(void)cairn_pg_queue(pg, LEASE_RENEW,
					     CAIRN_ARGS(cairn_db_text(LEASE_NAMES[job]), cairn_db_int(fences[job]),
							cairn_db_int(CAIRN_INDEX_LEASE_S)));
	}
	lease_queue_fetches(p, pg);
}

/* @return CAIRN_INDEX_JOBS: unknown name of a job */
static int lease_job_of(const char *name)
{
	int job = 0;
	while (job < CAIRN_INDEX_JOBS && strcmp(LEASE_NAMES[job], name) != 0)
		job++;
	return job;
}

static bool lease_read_row(const PGresult *r, int row, struct cairn_index_job_state *state)
{
	state->taken = cairn_pg_get_int8(r, row, 0) != 0;
	state->ran_unix_s = cairn_pg_get_int8(r, row, 1);
	state->good_unix_s = cairn_pg_get_int8(r, row, 2);
	state->since_unix_s = cairn_pg_get_int8(r, row, 3);
	state->fence = cairn_pg_get_int8(r, row, 5);
	return cairn_pg_get_text(r, row, 4, state->who, sizeof(state->who));
}

enum cairn_status cairn_pg_read_jobs(struct cairn_postgres *p, struct cairn_pg *pg)
{
	const PGresult *r;
	struct cairn_index_job_state jobs[CAIRN_INDEX_JOBS] = {{0}};
	int n = 0;
	enum cairn_status status = cairn_pg_ask(pg, LEASE_STATES, CAIRN_ARGS(cairn_db_int(CAIRN_INDEX_LEASE_S)), &r);
	if (status != CAIRN_OK)
		return status;
	for (int row = 0; row < PQntuples(r); row++) {
		char name[LEASE_NAME_BYTES];
		if (!cairn_pg_get_text(r, row, 6, name, sizeof(name)))
			continue; /* longer than all known names */
		int job = lease_job_of(name);
		if (job == CAIRN_INDEX_JOBS)
			continue;
		if (!lease_read_row(r, row, &jobs[job]))
			return CAIRN_E_DAMAGED;
		n++;
	}
	if (n != CAIRN_INDEX_JOBS) /* names are unique */
		return CAIRN_E_DAMAGED;
	pthread_mutex_lock(&p->lock);
	memcpy(p->jobs, jobs, sizeof(p->jobs));
	pthread_mutex_unlock(&p->lock);
	return CAIRN_OK;
}
