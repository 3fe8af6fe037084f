/* Fetches repositories ahead of requests, as the operator has set: looks up each, then fetches its files, a few at
 * once, after those that clients wait for. The settings are rows of the index, so this continues after a restart. */
#include "mirror/ahead.h"

#include "base/clock.h"
#include "hub/revision.h"
#include "hub/tree.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	AHEAD_AGAIN_MS = 30 * 1000, /* wait after a round with temporary failures; doubles */
	AHEAD_AGAIN_MS_MAX = 10 * 60 * 1000,
	AHEAD_FAILURES_MAX = 8, /* failures that end a round: probably the upstream cannot be reached */
	AHEAD_LOAD_MS = 30 * 1000,
};

/* --- settings as text --------------------------------------------------------------------------------------------- */

void cairn_mirror_ahead_revision(const char *include, char out[static CAIRN_INDEX_REF_NAME_MAX + 1])
{
	size_t len = include[0] == '@' ? strcspn(include, "\n") : 0;
	(void)snprintf(out, CAIRN_INDEX_REF_NAME_MAX + 1, "%.*s", len > 0 ? (int)len - 1 : 4,
		       len > 0 ? include + 1 : CAIRN_HUB_MAIN);
}

const char *cairn_mirror_ahead_patterns(const char *include)
{
	size_t len = include[0] == '@' ? strcspn(include, "\n") : 0;
	return include[len] == '\n' && len > 0 ? include + len + 1 : include + len;
}

enum cairn_status cairn_mirror_find_wanted(const struct cairn_hub *hub, const struct cairn_index_mirrored *m,
					   struct cairn_index_commit *out)
{
	char revision[CAIRN_INDEX_REF_NAME_MAX + 1];
	cairn_mirror_ahead_revision(m->ahead.include, revision);
	enum cairn_status status = cairn_index_ref(hub->index, m->repo.id, CAIRN_INDEX_BRANCH, revision, out);
	if (status == CAIRN_E_NOT_FOUND && strlen(revision) == CAIRN_GIT_OID_CHARS)
		status = cairn_index_find_commit(hub->index, m->repo.id, revision, CAIRN_INDEX_REACHED, out);
	return status;
}

/* --- the list ----------------------------------------------------------------------------------------------------- */

static struct mirror_ahead *ahead_find(struct cairn_mirror *m, int64_t repo)
{
	struct mirror_ahead *a = m->ahead;
	while (a && a->repo != repo)
		a = a->next;
	return a;
}

/* Removes an entry whose work has ended. Called with the lock. */
static void ahead_drop(struct cairn_mirror *m, struct mirror_ahead *a)
{
	struct mirror_ahead **at = &m->ahead;
	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	m->n_ahead--;
	free(a);
}

/* Removes an entry of a repository that was fetched once. Called with the lock. @return false: there is none */
static bool ahead_drop_one_over(struct cairn_mirror *m)
{
	for (struct mirror_ahead *a = m->ahead; a; a = a->next)
		if (a->phase == MIRROR_AHEAD_RESTS && !a->works && a->is_once && a->is_over) {
			ahead_drop(m, a);
			return true;
		}
	return false;
}

/* Checks that the list has the repository, or room for it. Called with the lock. */
static enum cairn_status ahead_has_room(struct cairn_mirror *m, int64_t repo, struct cairn_diag *diag)
{
	if (ahead_find(m, repo) || m->n_ahead < CAIRN_MIRROR_AHEAD_MAX || ahead_drop_one_over(m))
		return CAIRN_OK;
	return cairn_fail(diag, CAIRN_E_CONFLICT, "mirror.ahead", CAIRN_NO_OFFSET,
			  "%d repositories are fetched ahead already", CAIRN_MIRROR_AHEAD_MAX);
}

/* Adds an entry that is due now, or makes it due. Called with the lock. */
static enum cairn_status ahead_want(struct cairn_mirror *m, int64_t repo, struct cairn_diag *diag)
{
	enum cairn_status status = ahead_has_room(m, repo, diag);
	struct mirror_ahead *a = ahead_find(m, repo);
	if (status != CAIRN_OK)
		return status;
	if (!a) {
		a = calloc(1, sizeof(*a));
		if (!a)
			return CAIRN_E_NOMEM;
		a->m = m;
		a->repo = repo;
		a->next = m->ahead;
		m->ahead = a;
		m->n_ahead++;
	}
	a->again = a->phase != MIRROR_AHEAD_RESTS;
	a->is_over = a->has_done = false;
	a->due_ms = a->due_unix_s = 0;
	a->n_tries = 0;
	a->n_failed = 0;
	cairn_diag_clear(&a->why);
	return CAIRN_OK;
}

/* Checks the room before the row is written, so that no row waits for an entry. */
enum cairn_status cairn_mirror_set_ahead(struct cairn_mirror *mirror, int64_t repo,
					 const struct cairn_index_ahead *ahead, struct cairn_diag *diag)
{
	struct cairn_index_set_ahead set = {.repo = repo, .ahead = *ahead};
	pthread_mutex_lock(&mirror->lock);
	enum cairn_status status = ahead_has_room(mirror, repo, diag);
	pthread_mutex_unlock(&mirror->lock);
	if (status != CAIRN_OK)
		return status;
	status = cairn_index_set_ahead(mirror->hub->index, &set);
	*diag = set.write.diag;
	if (status != CAIRN_OK)
		return status;
	pthread_mutex_lock(&mirror->lock);
	status = ahead_want(mirror, repo, diag);
	pthread_mutex_unlock(&mirror->lock);
	return status;
}

bool cairn_mirror_ahead_state(struct cairn_mirror *mirror, int64_t repo, struct cairn_mirror_ahead *out)
{
	pthread_mutex_lock(&mirror->lock);
	const struct mirror_ahead *a = ahead_find(mirror, repo);
	if (a)
		*out = (struct cairn_mirror_ahead){.is_over = a->is_over && !a->again,
						   .is_running = a->phase != MIRROR_AHEAD_RESTS,
						   .n_failed = a->n_failed,
						   .why = a->why};
	pthread_mutex_unlock(&mirror->lock);
	return a != NULL;
}

/* --- a round ------------------------------------------------------------------------------------------------------ */

/* Submits the work of an entry. If the queue is full, the next tick does. @return false: it is full */
static bool ahead_submit(struct mirror_ahead *a)
{
	struct cairn_mirror *m = a->m;
	if (cairn_workers_submit(m->workers, &a->work) == CAIRN_OK)
		return true;
	pthread_mutex_lock(&m->lock);
	a->works = false;
	a->wakes = true;
	pthread_mutex_unlock(&m->lock);
	return false;
}

/* Ends a want, and wakes the work of its entry. Any thread; called without the lock. */
static void ahead_looked(struct cairn_mirror_want *want)
{
	struct mirror_ahead *a = ((struct mirror_ahead_want *)want)->of;
	struct cairn_mirror *m = a->m;
	pthread_mutex_lock(&m->lock);
	/* Under the lock, since a worker that sees it may end the round, and then the entry may be freed. */
	atomic_store(&((struct mirror_ahead_want *)want)->is_over, true);
	bool submits = !a->works && !m->is_stopping;
	a->works = a->works || submits;
	a->wakes = !submits;
	pthread_mutex_unlock(&m->lock);
	if (submits)
		(void)!ahead_submit(a);
}

static void ahead_begin_want(struct mirror_ahead *a, struct mirror_ahead_want *w)
{
	const struct cairn_index_repo *repo = &a->row.repo;
	*w = (struct mirror_ahead_want){.of = a, .is_used = true};
	w->want = (struct cairn_mirror_want){
		.done = ahead_looked, .sender = MIRROR_AHEAD_SENDER, .kind = repo->kind, .is_ahead = true};
	(void)snprintf(w->want.name, sizeof(w->want.name), "%s/%s", repo->account_name, repo->name);
}

static void ahead_end_want(struct mirror_ahead_want *w)
{
	explicit_bzero(w->want.token, sizeof(w->want.token));
	w->is_used = false;
}

static void ahead_set_phase(struct mirror_ahead *a, enum mirror_ahead_phase phase)
{
	pthread_mutex_lock(&a->m->lock);
	a->phase = phase;
	pthread_mutex_unlock(&a->m->lock);
}

/* May a failure be temporary? */
static bool ahead_may_pass(enum cairn_status status, const struct cairn_diag *diag)
{
	return status != CAIRN_E_NOT_FOUND && status != CAIRN_E_DENIED && status != CAIRN_E_FORMAT &&
	       (status != CAIRN_E_MISMATCH || cairn_diag_has(diag, "mirror.plan"));
}

static void ahead_note_failure(struct mirror_ahead *a, const struct cairn_mirror_want *want)
{
	bool passes = ahead_may_pass(want->status, &want->diag);
	a->n_passing += passes;
	a->ends = a->ends || a->n_passing >= AHEAD_FAILURES_MAX ||
		  (want->is_alone && want->status == CAIRN_E_DENIED); /* then the other files are refused, too */
	pthread_mutex_lock(&a->m->lock);
	a->n_failed++;
	a->why = want->diag;
	pthread_mutex_unlock(&a->m->lock);
}

/* Begins a round: reads the row, and looks up the repository. @return false: the row is gone */
static bool ahead_begin(struct mirror_ahead *a)
{
	enum cairn_status status = cairn_index_mirrored(a->m->hub->index, a->repo, &a->row);
	if (status == CAIRN_E_NOT_FOUND || (status == CAIRN_OK && a->row.ahead.every_s == 0))
		return false;
	a->ends = status != CAIRN_OK;
	a->n_passing = a->ends;
	a->after[0] = '\0';
	pthread_mutex_lock(&a->m->lock);
	a->n_failed = 0;
	a->again = false;
	a->is_once = a->row.ahead.every_s == CAIRN_INDEX_AHEAD_ONCE_S;
	cairn_diag_clear(&a->why);
	pthread_mutex_unlock(&a->m->lock);
	ahead_set_phase(a, a->ends ? MIRROR_AHEAD_FETCHES : MIRROR_AHEAD_LOOKS);
	if (a->ends)
		return true;
	ahead_begin_want(a, &a->wants[0]);
	cairn_mirror_ahead_revision(a->row.ahead.include, a->wants[0].want.revision);
	cairn_mirror_look_again(a->m, &a->wants[0].want);
	return true;
}

/* Handles the result of looking up the repository. */
static void ahead_take_look(struct mirror_ahead *a)
{
	struct mirror_ahead_want *w = &a->wants[0];
	const struct cairn_hub *hub = a->m->hub;
	if (w->is_used && !atomic_load(&w->is_over))
		return;
	ahead_set_phase(a, MIRROR_AHEAD_FETCHES);
	enum cairn_status status = w->want.status;
	if (status == CAIRN_OK)
		status = cairn_index_mirrored(hub->index, a->repo, &a->row); /* it may have a gate now */
	if (status == CAIRN_OK)
		status = cairn_mirror_find_wanted(hub, &a->row, &a->commit);
	w->want.status = status;
	if (status != CAIRN_OK)
		ahead_note_failure(a, &w->want);
	/* Evicted files of a commit that was fetched are fetched again only on request. */
	a->ends = a->ends || status != CAIRN_OK || (a->has_done && cairn_git_oid_equal(&a->done, &a->commit.oid));
	ahead_end_want(w);
}

/* The next files that are to be fetched. */
struct ahead_page {
	struct mirror_ahead *a;
	unsigned n, most;
	bool more;
	struct {
		char path[CAIRN_INDEX_PATH_MAX + 1];
		struct cairn_index_entry entry;
	} file[MIRROR_AHEAD_FILES];
};

static bool ahead_note_entry(void *ctx, const struct cairn_index_entry *entry)
{
	struct ahead_page *page = ctx;
	char path[CAIRN_INDEX_PATH_MAX + 1];
	if (entry->kind == CAIRN_INDEX_FOLDER || !entry->is_absent)
		return true;
	cairn_hub_entry_path(path, entry);
	if (!cairn_mirror_fits(cairn_mirror_ahead_patterns(page->a->row.ahead.include), path))
		return true;
	page->more = page->n == page->most;
	if (page->more)
		return false;
	memcpy(page->file[page->n].path, path, strlen(path) + 1);
	page->file[page->n].entry = *entry;
	page->file[page->n].entry.folder = page->file[page->n].entry.name = NULL;
	page->n++;
	return true;
}

static void ahead_fetch(struct mirror_ahead *a, struct mirror_ahead_want *w, const char *path,
			const struct cairn_index_entry *entry)
{
	ahead_begin_want(a, w);
	w->want.repo = a->repo;
	w->want.commit = a->commit.oid;
	w->want.entry = *entry;
	w->want.is_alone = a->row.repo.gate != CAIRN_INDEX_GATE_NONE || a->row.repo.is_private;
	(void)snprintf(w->want.path, sizeof(w->want.path), "%s", path);
	cairn_mirror_want_file(a->m, &w->want);
}

/* Requests further files, up to the limit. */
static enum cairn_status ahead_fetch_more(struct mirror_ahead *a)
{
	const struct cairn_index_listing listing = {.folder = "", .recursive = true, .after = a->after};
	struct ahead_page *page = calloc(1, sizeof(*page));
	unsigned n = 0;
	if (!page)
		return CAIRN_E_NOMEM;
	page->a = a;
	for (unsigned i = 0; i < MIRROR_AHEAD_FILES; i++)
		page->most += !a->wants[i].is_used;
	enum cairn_status status =
		page->most > 0 ? cairn_index_each_entry(a->m->hub->index, &a->commit, &listing, ahead_note_entry, page)
			       : CAIRN_OK;
	for (unsigned i = 0; i < MIRROR_AHEAD_FILES && n < page->n; i++) {
		if (a->wants[i].is_used)
			continue;
		(void)snprintf(a->after, sizeof(a->after), "%s", page->file[n].path);
		ahead_fetch(a, &a->wants[i], page->file[n].path, &page->file[n].entry);
		n++;
	}
	a->ends = a->ends || (page->most > 0 && !page->more);
	free(page);
	return status;
}

/* Handles the results of fetches. @return whether a fetch is in progress */
static bool ahead_take_files(struct mirror_ahead *a)
{
	bool waits = false;
	for (unsigned i = 0; i < MIRROR_AHEAD_FILES; i++) {
		struct mirror_ahead_want *w = &a->wants[i];
		if (!w->is_used)
			continue;
		if (!atomic_load(&w->is_over)) {
			waits = true;
			continue;
		}
		if (w->want.status != CAIRN_OK)
			ahead_note_failure(a, &w->want);
		ahead_end_want(w);
	}
	return waits;
}

/* Ends a round: sets when the next one begins. */
static void ahead_end(struct mirror_ahead *a)
{
	struct cairn_mirror *m = a->m;
	bool passes = a->n_passing > 0;
	int64_t again_ms = AHEAD_AGAIN_MS;
	for (unsigned i = 0; i < a->n_tries && again_ms < AHEAD_AGAIN_MS_MAX; i++)
		again_ms *= 2;
	if (!passes && a->is_once) {
		struct cairn_index_end_ahead end = {.repo = a->repo, .include = a->row.ahead.include};
		passes = cairn_index_end_ahead(m->hub->index, &end) != CAIRN_OK;
	}
	pthread_mutex_lock(&m->lock);
	a->phase = MIRROR_AHEAD_RESTS;
	m->n_ahead_running--;
	a->n_tries = passes ? a->n_tries + 1 : 0;
	a->due_ms = passes && !a->again
			    ? cairn_clock_mono_ms() + (again_ms < AHEAD_AGAIN_MS_MAX ? again_ms : AHEAD_AGAIN_MS_MAX)
			    : 0;
	a->is_over = (a->is_over || !passes) && !a->again;
	a->due_unix_s = !a->is_over || passes ? 0 : cairn_clock_unix_s() + a->row.ahead.every_s;
	a->has_done = !passes && a->n_failed == 0 && !a->again;
	a->done = a->commit.oid;
	pthread_mutex_unlock(&m->lock);
}

/* Drops an entry whose row is gone. If it was requested again meanwhile, its row is read once more. */
static void ahead_leave(struct mirror_ahead *a)
{
	struct cairn_mirror *m = a->m;
	pthread_mutex_lock(&m->lock);
	m->n_ahead_running--;
	a->works = a->wakes = false;
	a->phase = MIRROR_AHEAD_RESTS;
	if (a->again)
		a->again = false;
	else
		ahead_drop(m, a);
	pthread_mutex_unlock(&m->lock);
}

static bool ahead_is_wanted_anew(struct mirror_ahead *a)
{
	pthread_mutex_lock(&a->m->lock);
	bool again = a->again;
	pthread_mutex_unlock(&a->m->lock);
	return again;
}

static void ahead_go_on(struct mirror_ahead *a)
{
	bool waits = ahead_take_files(a);
	a->ends = a->ends || ahead_is_wanted_anew(a);
	if (!a->ends && ahead_fetch_more(a) != CAIRN_OK) {
		a->ends = true;
		a->n_passing++;
	}
	for (unsigned i = 0; i < MIRROR_AHEAD_FILES; i++)
		waits = waits || a->wants[i].is_used;
	if (!waits)
		ahead_end(a);
}

static void ahead_run(struct cairn_work *work)
{
	struct mirror_ahead *a = (struct mirror_ahead *)work;
	struct cairn_mirror *m = a->m;
	bool more = true;
	while (more) {
		if (a->phase == MIRROR_AHEAD_BEGINS && !ahead_begin(a)) {
			ahead_leave(a);
			return;
		}
		if (a->phase == MIRROR_AHEAD_LOOKS)
			ahead_take_look(a);
		if (a->phase == MIRROR_AHEAD_FETCHES)
			ahead_go_on(a);
		pthread_mutex_lock(&m->lock);
		more = a->wakes && !m->is_stopping;
		a->wakes = a->wakes && !more;
		a->works = more;
		pthread_mutex_unlock(&m->lock);
	}
}

/* --- now and then ------------------------------------------------------------------------------------------------- */

static void ahead_note_row(void *ctx, const struct cairn_index_mirrored *mirrored)
{
	struct cairn_mirror *m = ctx;
	struct cairn_diag unsaid = {0};
	pthread_mutex_lock(&m->lock);
	if (!ahead_find(m, mirrored->repo.id) && ahead_want(m, mirrored->repo.id, &unsaid) != CAIRN_OK)
		cairn_diag_clear(&unsaid); /* the oldest come first; the others wait for another start */
	pthread_mutex_unlock(&m->lock);
}

/* Reads the rows: at the start, and when a row has come that nobody added here. */
static void ahead_load(struct cairn_work *work)
{
	struct cairn_mirror *m = (struct cairn_mirror *)((char *)work - offsetof(struct cairn_mirror, ahead_work));
	int64_t next = 0;
	enum cairn_status status;
	pthread_mutex_lock(&m->lock);
	m->ahead_is_read = true;
	pthread_mutex_unlock(&m->lock);
	do {
		status = cairn_index_each_mirrored(m->hub->index, next, true, 0, ahead_note_row, m, &next);
	} while (status == CAIRN_OK && next != 0);
	pthread_mutex_lock(&m->lock);
	m->ahead_is_read = m->ahead_is_read && status == CAIRN_OK;
	m->ahead_load_ms = cairn_clock_mono_ms() + AHEAD_LOAD_MS;
	m->ahead_loads = false;
	pthread_mutex_unlock(&m->lock);
}

static void ahead_submit_load(struct cairn_mirror *m)
{
	pthread_mutex_lock(&m->lock);
	bool loads = !m->ahead_is_read && !m->ahead_loads && cairn_clock_mono_ms() >= m->ahead_load_ms;
	m->ahead_loads = m->ahead_loads || loads;
	pthread_mutex_unlock(&m->lock);
	if (!loads)
		return;
	m->ahead_work = (struct cairn_work){.run = ahead_load, .lane = CAIRN_LANE_HEAVY};
	if (cairn_workers_submit(m->workers, &m->ahead_work) == CAIRN_OK)
		return;
	pthread_mutex_lock(&m->lock);
	m->ahead_loads = false;
	pthread_mutex_unlock(&m->lock);
}

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
			a->work = (struct cairn_work){.run = ahead_run, .lane = CAIRN_LANE_HEAVY};
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
	struct mirror_ahead *a;
	if (m->is_offline)
		return;
	ahead_submit_load(m);
	do {
		pthread_mutex_lock(&m->lock);
		a = m->is_stopping ? NULL : ahead_take(m);
		pthread_mutex_unlock(&m->lock);
	} while (a && ahead_submit(a));
}

void mirror_ahead_free(struct cairn_mirror *m)
{
	struct mirror_ahead *a = m->ahead, *next;
	for (; a; a = next) {
		next = a->next;
		for (unsigned i = 0; i < MIRROR_AHEAD_FILES; i++)
			ahead_end_want(&a->wants[i]);
		free(a);
	}
	m->ahead = NULL;
}
