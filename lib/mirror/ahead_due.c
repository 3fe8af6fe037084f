/* Chooses which repositories are fetched ahead of requests, and when. The operator's settings, and how far each fetch
 * has come, are rows of the index, so this continues after a restart. A single one of the daemons that share the index
 * holds the lease of this job. It reads the rows again and again, since the others change them. */
#include "base/clock.h"
#include "mirror/ahead.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { AHEAD_READ_MS = 5 * 1000 }; /* time between two readings of the rows */

/* --- reading the rows --------------------------------------------------------------------------------------------- */

/* @return whether this daemon fetches ahead now */
static bool ahead_take_lease(struct cairn_mirror *m)
{
	struct cairn_index_lease lease;
	struct cairn_diag unsaid = {0};
	if (cairn_index_take_lease(m->hub->index, CAIRN_INDEX_AHEAD, &lease, &unsaid) != CAIRN_OK)
		return false; /* another daemon was faster, or the next reading tries again */
	pthread_mutex_lock(&m->lock);
	bool keeps = !m->is_stopping;
	m->ahead_holds = keeps;
	m->ahead_lease = lease;
	pthread_mutex_unlock(&m->lock);
	if (!keeps)
		cairn_index_leave_lease(m->hub->index, &lease);
	return keeps;
}

static void ahead_note_row(void *ctx, const struct cairn_index_mirrored *row)
{
	struct cairn_mirror *m = ctx;
	pthread_mutex_lock(&m->lock);
	struct mirror_ahead *a = mirror_ahead_have(m, row->repo.id); /* without memory, the next reading adds it */
	if (a && row->fetched.asked > a->asked) {
		mirror_ahead_want(a);
		a->asked = row->fetched.asked;
	}
	if (a && a->phase == MIRROR_AHEAD_RESTS)
		a->due_unix_s = mirror_ahead_due_unix_s(row);
	pthread_mutex_unlock(&m->lock);
}

/* Removes entries whose rows are gone, and ends their rounds. Gives the lease back if there are none.
 * @param number  of the reading that has just ended */
static void ahead_forget(struct cairn_mirror *m, unsigned number)
{
	struct cairn_index_lease lease;
	struct mirror_ahead *next;
	pthread_mutex_lock(&m->lock);
	for (struct mirror_ahead *a = m->ahead; a; a = next) {
		next = a->next;
		if (a->seen == number)
			continue;
		if (a->phase == MIRROR_AHEAD_RESTS && !a->works)
			mirror_ahead_drop(m, a);
		else
			a->again = true; /* the next round does not find the row */
	}
	bool gives = !m->ahead && cairn_index_is_shared(m->hub->index) && mirror_ahead_let_go(m, &lease);
	pthread_mutex_unlock(&m->lock);
	if (gives)
		cairn_index_leave_lease(m->hub->index, &lease);
}

static void ahead_note_any(void *ctx, const struct cairn_index_mirrored *row)
{
	(void)row;
	*(bool *)ctx = true;
}

/* Takes the lease if this daemon does not hold it, and there is anything to fetch ahead.
 * @return CAIRN_OK; as every read */
static enum cairn_status ahead_hold(struct cairn_mirror *m, bool *holds)
{
	int64_t next;
	bool any = false;
	pthread_mutex_lock(&m->lock);
	*holds = m->ahead_holds;
	pthread_mutex_unlock(&m->lock);
	if (*holds)
		return CAIRN_OK;
	enum cairn_status status = cairn_index_each_mirrored(m->hub->index, 0, true, 1, ahead_note_any, &any, &next);
	*holds = status == CAIRN_OK && any && ahead_take_lease(m);
	return status;
}

static void ahead_read(struct cairn_work *work)
{
	struct cairn_mirror *m = (struct cairn_mirror *)((char *)work - offsetof(struct cairn_mirror, ahead_work));
	int64_t next = 0;
	bool holds;
	pthread_mutex_lock(&m->lock);
	m->ahead_is_read = true;
	unsigned number = ++m->n_ahead_readings;
	pthread_mutex_unlock(&m->lock);
	enum cairn_status status = ahead_hold(m, &holds);
	if (holds) {
		do {
			status = cairn_index_each_mirrored(m->hub->index, next, true, 0, ahead_note_row, m, &next);
		} while (status == CAIRN_OK && next != 0);
		if (status == CAIRN_OK)
			ahead_forget(m, number);
	}
	pthread_mutex_lock(&m->lock);
	m->ahead_is_read = m->ahead_is_read && status == CAIRN_OK;
	m->ahead_read_ms = cairn_clock_mono_ms() + AHEAD_READ_MS;
	m->ahead_reads = false;
	pthread_mutex_unlock(&m->lock);
}

/* Must the rows be read now? If no other process writes them, only at the start, and if this one has changed them.
 * Otherwise, while no other daemon holds the lease. Called with the lock. */
static bool ahead_must_read(const struct cairn_mirror *m, const struct cairn_index_job_state *job)
{
	if (m->ahead_reads || cairn_clock_mono_ms() < m->ahead_read_ms)
		return false;
	return cairn_index_is_shared(m->hub->index) ? m->ahead_holds || !job->taken : !m->ahead_is_read;
}

static void ahead_submit_reading(struct cairn_mirror *m, const struct cairn_index_job_state *job)
{
	pthread_mutex_lock(&m->lock);
	bool reads = ahead_must_read(m, job);
	m->ahead_reads = m->ahead_reads || reads;
	pthread_mutex_unlock(&m->lock);
	if (!reads)
		return;
	m->ahead_work = (struct cairn_work){.run = ahead_read, .lane = CAIRN_LANE_HEAVY};
	if (cairn_workers_submit(m->workers, &m->ahead_work) == CAIRN_OK)
		return;
	pthread_mutex_lock(&m->lock);
	m->ahead_reads = false;
	pthread_mutex_unlock(&m->lock);
}

/* --- now and then ------------------------------------------------------------------------------------------------- */

/* Takes an entry whose work is to be submitted. Called with the lock. @return NULL: none */
static struct mirror_ahead *ahead_take(struct cairn_mirror *m)
{
	int64_t now_ms = cairn_clock_mono_ms(), now_s = cairn_clock_unix_s();
	for (struct mirror_ahead *a = m->ahead; a; a = a->next) {
		bool is_due = a->phase == MIRROR_AHEAD_RESTS && a->due_ms <= now_ms && a->due_unix_s <= now_s &&
			      m->n_ahead_running < MIRROR_AHEAD_REPOS;
		if (a->works || !(a->wakes || is_due))
			continue;
		if (is_due) {
			a->phase = MIRROR_AHEAD_BEGINS;
			a->work = (struct cairn_work){.run = mirror_ahead_run, .lane = CAIRN_LANE_HEAVY};
			m->n_ahead_running++;
		}
		a->works = true;
		a->wakes = false;
		return a;
	}
	return NULL;
}

void mirror_ahead_tick(struct cairn_mirror *m)
{
	struct cairn_index_job_state job;
	struct mirror_ahead *a;
	if (m->is_offline)
		return;
	cairn_index_job_state(m->hub->index, CAIRN_INDEX_AHEAD, &job);
	mirror_ahead_lose(m, job.fence - 1); /* if another daemon has taken the lease since */
	ahead_submit_reading(m, &job);
	do {
		pthread_mutex_lock(&m->lock);
		a = m->is_stopping ? NULL : ahead_take(m);
		pthread_mutex_unlock(&m->lock);
	} while (a && mirror_ahead_submit(a));
}

void mirror_ahead_stop(struct cairn_mirror *m)
{
	mirror_ahead_lose(m, INT64_MAX);
}

void mirror_ahead_free(struct cairn_mirror *m)
{
	struct mirror_ahead *a = m->ahead, *next;
	for (; a; a = next) {
		next = a->next;
		for (unsigned i = 0; i < MIRROR_AHEAD_FILES; i++)
			explicit_bzero(a->wants[i].want.token, sizeof(a->wants[i].want.token));
		free(a);
	}
	m->ahead = NULL;
}

/* --- for the server ----------------------------------------------------------------------------------------------- */

enum cairn_status cairn_mirror_set_ahead(struct cairn_mirror *mirror, int64_t repo,
					 const struct cairn_index_ahead *ahead, struct cairn_diag *diag)
{
	struct cairn_index_set_ahead set = {.repo = repo, .ahead = *ahead, .n_max = CAIRN_MIRROR_AHEAD_MAX};
	enum cairn_status status = cairn_index_set_ahead(mirror->hub->index, &set);
	*diag = set.write.diag;
	if (status == CAIRN_OK)
		mirror_ahead_changed(mirror, repo);
	return status;
}

void cairn_mirror_ahead_state(struct cairn_mirror *mirror, const struct cairn_index_mirrored *row,
			      struct cairn_mirror_ahead *out)
{
	const struct cairn_index_fetched *told = &row->fetched;
	struct cairn_index_job_state job;
	*out = (struct cairn_mirror_ahead){.is_over = row->ahead.every_s == 0 || told->at_unix_s != 0,
					   .n_failed = told->n_failed};
	(void)snprintf(out->rule, sizeof(out->rule), "%s", told->rule);
	(void)snprintf(out->message, sizeof(out->message), "%s", told->message);
	if (!mirror || out->is_over)
		return;
	cairn_index_job_state(mirror->hub->index, CAIRN_INDEX_AHEAD, &job);
	pthread_mutex_lock(&mirror->lock);
	const struct mirror_ahead *a = mirror_ahead_find(mirror, row->repo.id);
	out->is_running = told->is_going && job.taken && !mirror->ahead_holds;
	if (a && a->phase != MIRROR_AHEAD_RESTS && !a->leaves) {
		out->is_running = true;
		out->n_failed = a->n_failed;
		(void)snprintf(out->rule, sizeof(out->rule), "%s", a->why.rule ? a->why.rule : "");
		(void)snprintf(out->message, sizeof(out->message), "%s", a->why.rule ? a->why.text : "");
	}
	pthread_mutex_unlock(&mirror->lock);
}
