/* The list of repositories that are fetched ahead of requests, while this daemon holds the lease for that. */
#include "base/clock.h"
#include "mirror/ahead.h"

#include <stdlib.h>

enum { AHEAD_SKEW_S = 120 }; /* more than the clocks of two daemons may differ */

struct mirror_ahead *mirror_ahead_find(struct cairn_mirror *m, int64_t repo)
{
	struct mirror_ahead *a = m->ahead;
	while (a && a->repo != repo)
		a = a->next;
	return a;
}

void mirror_ahead_drop(struct cairn_mirror *m, struct mirror_ahead *a)
{
	struct mirror_ahead **at = &m->ahead;
	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	free(a);
}

struct mirror_ahead *mirror_ahead_have(struct cairn_mirror *m, int64_t repo)
{
	struct mirror_ahead *a = mirror_ahead_find(m, repo);
	if (!a && (a = calloc(1, sizeof(*a)))) {
		a->m = m;
		a->repo = repo;
		a->next = m->ahead;
		m->ahead = a;
	}
	if (a)
		a->seen = m->n_ahead_readings;
	return a;
}

void mirror_ahead_want(struct mirror_ahead *a)
{
	a->again = a->phase != MIRROR_AHEAD_RESTS;
	a->has_done = false;
	a->due_ms = a->due_unix_s = 0;
	a->n_tries = 0;
}

void mirror_ahead_leave(struct mirror_ahead *a)
{
	struct cairn_mirror *m = a->m;
	pthread_mutex_lock(&m->lock);
	m->n_ahead_running--;
	a->works = a->wakes = false;
	a->phase = MIRROR_AHEAD_RESTS;
	if (a->again && !a->leaves)
		a->again = false;
	else
		mirror_ahead_drop(m, a);
	pthread_mutex_unlock(&m->lock);
}

/* A time in the future was noted before somebody set the clock back. */
int64_t mirror_ahead_due_unix_s(const struct cairn_index_mirrored *row)
{
	int64_t at_unix_s = row->fetched.at_unix_s;
	bool was_fetched = at_unix_s != 0 && at_unix_s <= cairn_clock_unix_s() + AHEAD_SKEW_S;
	return was_fetched ? at_unix_s + row->ahead.every_s : 0;
}

/* If another daemon holds the lease, it reads the row soon. */
void mirror_ahead_changed(struct cairn_mirror *m, int64_t repo)
{
	pthread_mutex_lock(&m->lock);
	struct mirror_ahead *a = m->ahead_holds ? mirror_ahead_have(m, repo) : NULL;
	if (a)
		mirror_ahead_want(a);
	else {
		m->ahead_is_read = false;
		m->ahead_read_ms = 0;
	}
	pthread_mutex_unlock(&m->lock);
}

/* --- the lease ---------------------------------------------------------------------------------------------------- */

bool mirror_ahead_let_go(struct cairn_mirror *m, struct cairn_index_lease *lease)
{
	struct mirror_ahead *next;
	*lease = m->ahead_lease;
	if (!m->ahead_holds)
		return false;
	m->ahead_holds = false;
	for (struct mirror_ahead *a = m->ahead; a; a = next) {
		next = a->next;
		a->leaves = true;
		if (a->phase == MIRROR_AHEAD_RESTS && !a->works)
			mirror_ahead_drop(m, a);
	}
	return true;
}

void mirror_ahead_lose(struct cairn_mirror *m, int64_t fence)
{
	struct cairn_index_lease lease;
	pthread_mutex_lock(&m->lock);
	bool held = m->ahead_lease.fence <= fence && mirror_ahead_let_go(m, &lease);
	pthread_mutex_unlock(&m->lock);
	if (held)
		cairn_index_leave_lease(m->hub->index, &lease);
}

enum cairn_status mirror_ahead_note(struct mirror_ahead *a, const struct cairn_index_fetched *now, bool *is_current)
{
	struct cairn_index_note_ahead note = {.write.lease = &a->lease, .repo = a->repo, .now = *now};
	enum cairn_status status = cairn_index_note_ahead(a->m->hub->index, &note);
	*is_current = note.is_current;
	if (status != CAIRN_E_BUSY || !cairn_diag_has(&note.write.diag, "lease.over"))
		return status;
	mirror_ahead_lose(a->m, a->lease.fence);
	return CAIRN_E_CONFLICT;
}
