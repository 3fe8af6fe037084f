/* Fetches a repository ahead of requests, as the operator has set: looks it up, then fetches its files, a few at once,
 * after those that clients wait for. */
#include "mirror/ahead.h"

#include "base/clock.h"
#include "base/visible.h"
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

/* --- a round ------------------------------------------------------------------------------------------------------ */

bool mirror_ahead_submit(struct mirror_ahead *a)
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
		(void)!mirror_ahead_submit(a);
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

/* Reads the row at the begin of a round. @return false: there is nothing to do now, and the entry may be freed */
static bool ahead_read_row(struct mirror_ahead *a, enum cairn_status *status)
{
	struct cairn_mirror *m = a->m;
	pthread_mutex_lock(&m->lock);
	a->again = false; /* before the row is read, so that no change is lost */
	bool leaves = a->leaves;
	a->lease = m->ahead_lease;
	pthread_mutex_unlock(&m->lock);
	a->round_asked = -1;
	*status = cairn_index_mirrored(m->hub->index, a->repo, &a->row);
	bool is_gone = *status == CAIRN_E_NOT_FOUND || (*status == CAIRN_OK && a->row.ahead.every_s == 0);
	if (leaves || is_gone) {
		mirror_ahead_leave(a);
		return false;
	}
	int64_t due_unix_s = *status == CAIRN_OK ? mirror_ahead_due_unix_s(&a->row) : 0;
	pthread_mutex_lock(&m->lock);
	bool is_due = due_unix_s <= cairn_clock_unix_s();
	if (*status == CAIRN_OK)
		a->asked = a->round_asked = a->row.fetched.asked;
	if (!is_due) { /* another daemon has just fetched it */
		a->due_unix_s = due_unix_s;
		a->phase = MIRROR_AHEAD_RESTS;
		a->works = a->wakes = false;
		m->n_ahead_running--;
	}
	pthread_mutex_unlock(&m->lock);
	return is_due;
}

/* Lets the other daemons tell that the repository is being fetched. @return as mirror_ahead_note() */
static enum cairn_status ahead_note_begin(struct mirror_ahead *a)
{
	const struct cairn_index_fetched now = {.asked = a->round_asked, .is_going = true};
	bool is_current;
	if (!cairn_index_is_shared(a->m->hub->index) || a->row.fetched.at_unix_s != 0)
		return CAIRN_OK;
	return mirror_ahead_note(a, &now, &is_current); /* if it is not current, the note at the end says so, too */
}

/* Begins a round: reads the row, and looks up the repository. @return false: none begins, and the entry may be freed */
static bool ahead_begin(struct mirror_ahead *a)
{
	struct cairn_mirror *m = a->m;
	enum cairn_status status;
	if (!ahead_read_row(a, &status))
		return false;
	if (status == CAIRN_OK)
		status = ahead_note_begin(a);
	a->ends = status != CAIRN_OK;
	a->n_passing = a->ends;
	a->after[0] = '\0';
	pthread_mutex_lock(&m->lock);
	a->n_failed = 0;
	cairn_diag_clear(&a->why);
	a->phase = a->ends ? MIRROR_AHEAD_FETCHES : MIRROR_AHEAD_LOOKS;
	pthread_mutex_unlock(&m->lock);
	if (a->ends)
		return true;
	ahead_begin_want(a, &a->wants[0]);
	cairn_mirror_ahead_revision(a->row.ahead.include, a->wants[0].want.revision);
	cairn_mirror_look_again(m, &a->wants[0].want);
	return true;
}

/* Reads the row again after the look-up: the repository may have a gate now. */
static enum cairn_status ahead_read_again(struct mirror_ahead *a)
{
	enum cairn_status status = cairn_index_mirrored(a->m->hub->index, a->repo, &a->row);
	if (status != CAIRN_OK || a->row.fetched.asked == a->round_asked)
		return status;
	pthread_mutex_lock(&a->m->lock);
	a->again = true; /* another daemon was told other settings */
	pthread_mutex_unlock(&a->m->lock);
	return CAIRN_OK;
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
		status = ahead_read_again(a);
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

/* Notes how the round has ended. @return as mirror_ahead_note() */
static enum cairn_status ahead_note_end(struct mirror_ahead *a, int64_t at_unix_s, bool *is_current)
{
	struct cairn_index_fetched now = {.asked = a->round_asked, .at_unix_s = at_unix_s, .n_failed = a->n_failed};
	CLEANUP(cairn_buf_fini) struct cairn_buf shown = cairn_buf_init(sizeof(now.message) - 1);
	(void)snprintf(now.rule, sizeof(now.rule), "%s", a->why.rule ? a->why.rule : "");
	cairn_visible_text(&shown, a->why.rule ? a->why.text : ""); /* the index accepts only valid text */
	(void)snprintf(now.message, sizeof(now.message), "%.*s", (int)shown.len,
		       shown.len > 0 ? (const char *)shown.bytes : "");
	return mirror_ahead_note(a, &now, is_current);
}

/* Sets when the next round begins. @param passes  this one had failures that may pass */
static void ahead_rest(struct mirror_ahead *a, int64_t at_unix_s, bool passes, bool is_current)
{
	struct cairn_mirror *m = a->m;
	int64_t again_ms = AHEAD_AGAIN_MS;
	for (unsigned i = 0; i < a->n_tries && again_ms < AHEAD_AGAIN_MS_MAX; i++)
		again_ms *= 2;
	pthread_mutex_lock(&m->lock);
	bool again = a->again || !is_current;
	a->phase = MIRROR_AHEAD_RESTS;
	m->n_ahead_running--;
	a->n_tries = passes ? a->n_tries + 1 : 0;
	a->due_ms = passes && !again
			    ? cairn_clock_mono_ms() + (again_ms < AHEAD_AGAIN_MS_MAX ? again_ms : AHEAD_AGAIN_MS_MAX)
			    : 0;
	a->due_unix_s = passes || again ? 0 : at_unix_s + a->row.ahead.every_s;
	a->has_done = !passes && a->n_failed == 0 && !again;
	a->done = a->commit.oid;
	pthread_mutex_unlock(&m->lock);
}

/* Ends a round. @return false: the entry may be freed */
static bool ahead_end(struct mirror_ahead *a)
{
	bool passes = a->n_passing > 0, is_current = true;
	int64_t at_unix_s = passes ? 0 : cairn_clock_unix_s();
	pthread_mutex_lock(&a->m->lock);
	bool leaves = a->leaves;
	pthread_mutex_unlock(&a->m->lock);
	enum cairn_status status = leaves ? CAIRN_E_CONFLICT : CAIRN_OK;
	if (!leaves && a->round_asked >= 0)
		status = ahead_note_end(a, at_unix_s, &is_current);
	bool is_once = a->row.ahead.every_s == CAIRN_INDEX_AHEAD_ONCE_S;
	if (status == CAIRN_E_CONFLICT || (status == CAIRN_OK && is_current && is_once && !passes)) {
		mirror_ahead_leave(a);
		return false;
	}
	ahead_rest(a, at_unix_s, passes || status != CAIRN_OK, is_current);
	return true;
}

/* Is the rest of the round of no use? */
static bool ahead_is_in_vain(struct mirror_ahead *a)
{
	pthread_mutex_lock(&a->m->lock);
	bool again = a->again || a->leaves;
	pthread_mutex_unlock(&a->m->lock);
	return again;
}

/* @return false: the round has ended, and the entry may be freed */
static bool ahead_go_on(struct mirror_ahead *a)
{
	bool waits = ahead_take_files(a);
	a->ends = a->ends || ahead_is_in_vain(a);
	if (!a->ends && ahead_fetch_more(a) != CAIRN_OK) {
		a->ends = true;
		a->n_passing++;
	}
	for (unsigned i = 0; i < MIRROR_AHEAD_FILES; i++)
		waits = waits || a->wants[i].is_used;
	return waits || ahead_end(a);
}

void mirror_ahead_run(struct cairn_work *work)
{
	struct mirror_ahead *a = (struct mirror_ahead *)work;
	struct cairn_mirror *m = a->m;
	bool more = true;
	while (more) {
		if (a->phase == MIRROR_AHEAD_BEGINS && !ahead_begin(a))
			return;
		if (a->phase == MIRROR_AHEAD_LOOKS)
			ahead_take_look(a);
		if (a->phase == MIRROR_AHEAD_FETCHES && !ahead_go_on(a))
			return;
		pthread_mutex_lock(&m->lock);
		more = a->wakes && !m->is_stopping;
		a->wakes = a->wakes && !more;
		a->works = more;
		pthread_mutex_unlock(&m->lock);
	}
}
