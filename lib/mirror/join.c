/* Joins requests that want the same, limits what is under way, and remembers what came of it. */
#include "mirror/parts.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- what came of earlier fetches --------------------------------------------------------------------------------- */

static bool join_key(uint8_t key[static CAIRN_SHA256_BYTES], const char *text)
{
	return cairn_sha256_of(key, text, strlen(text)) == CAIRN_OK;
}

/* Fetches share places. A later one takes the place of an earlier one. */
static struct mirror_outcome *join_place(struct cairn_mirror *m, const uint8_t key[static CAIRN_SHA256_BYTES])
{
	return &m->outcomes[(key[0] | (unsigned)key[1] << 8) % MIRROR_OUTCOMES];
}

/* @return NULL: nothing is remembered */
static const struct mirror_outcome *join_outcome(struct cairn_mirror *m, const uint8_t key[static CAIRN_SHA256_BYTES])
{
	const struct mirror_outcome *o = join_place(m, key);
	bool good = o->until_ms > cairn_clock_mono_ms() && memcmp(o->key, key, CAIRN_SHA256_BYTES) == 0;
	return good ? o : NULL;
}

static bool join_is_ours(const struct cairn_diag *diag)
{
	static const char *const OURS[] = {"mirror.stopped", "mirror.full", "mirror.later"};
	for (size_t i = 0; i < sizeof(OURS) / sizeof(OURS[0]); i++)
		if (cairn_diag_has(diag, OURS[i]))
			return true;
	return !diag->rule; /* the index or the store: they may be well again at once */
}

/* Returns for how long the outcome of a fetch holds. */
static int64_t join_holds_s(const struct mirror_fetch *f, enum cairn_status status, const struct cairn_diag *diag)
{
	if (status == CAIRN_OK)
		return f->is_file ? 0 : CAIRN_MIRROR_REFRESH_S;
	/* The upstream may give to one token a file that it refuses to another. */
	bool is_refused = status == CAIRN_E_NOT_FOUND || cairn_diag_has(diag, "mirror.denied");
	if (f->is_file && f->what.is_alone && is_refused)
		return 0;
	if (status == CAIRN_E_NOT_FOUND)
		return CAIRN_MIRROR_UNKNOWN_S;
	if (status == CAIRN_E_MISMATCH)
		return CAIRN_MIRROR_WRONG_S;
	return join_is_ours(diag) ? 0 : CAIRN_MIRROR_FAILED_S;
}

static void join_remember(struct mirror_fetch *f, enum cairn_status status, const struct cairn_diag *diag)
{
	struct mirror_outcome *o = join_place(f->m, f->key);
	int64_t holds_s = join_holds_s(f, status, diag);
	if (holds_s == 0)
		return;
	memcpy(o->key, f->key, sizeof(o->key));
	o->until_ms = cairn_clock_mono_ms() + holds_s * 1000;
	o->status = status;
	o->diag = *diag;
}

bool mirror_remembers(struct cairn_mirror *m, const char *text, bool *failed)
{
	uint8_t key[CAIRN_SHA256_BYTES];
	*failed = false;
	if (!join_key(key, text))
		return true;
	pthread_mutex_lock(&m->lock);
	const struct mirror_outcome *o = join_outcome(m, key);
	*failed = o && o->status != CAIRN_OK && o->status != CAIRN_E_NOT_FOUND;
	pthread_mutex_unlock(&m->lock);
	return o != NULL;
}

/* --- the list ----------------------------------------------------------------------------------------------------- */

void mirror_tell(struct cairn_mirror_want *waiting, enum cairn_status status, const struct cairn_diag *diag)
{
	for (struct cairn_mirror_want *want = waiting, *next; want; want = next) {
		next = want->next;
		want->status = status;
		want->diag = *diag;
		want->done(want);
	}
}

enum cairn_status cairn_mirror_later(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_BUSY, "mirror.later", CAIRN_NO_OFFSET,
			  "the mirrored hub has not answered yet; ask again in a moment");
}

void mirror_join_tick(void *mirror)
{
	struct cairn_mirror *m = mirror;
	struct cairn_mirror_want *late = NULL;
	struct cairn_diag diag = {0};
	int64_t now_ms = cairn_clock_mono_ms();
	pthread_mutex_lock(&m->lock);
	for (struct mirror_fetch *f = m->fetches; f; f = f->next)
		for (struct cairn_mirror_want **at = &f->waiting; *at;) {
			struct cairn_mirror_want *want = *at;
			if (now_ms - want->asked_ms < CAIRN_MIRROR_WAIT_MS) {
				at = &want->next;
				continue;
			}
			*at = want->next;
			want->next = late;
			late = want;
		}
	pthread_mutex_unlock(&m->lock);
	enum cairn_status status = late ? cairn_mirror_later(&diag) : CAIRN_OK;
	mirror_tell(late, status, &diag);
}

bool mirror_fetch_is_long(const struct mirror_fetch *f)
{
	return f->is_file && f->what.entry.size_bytes > CAIRN_MIRROR_SHORT_BYTES_MAX;
}

/* Returns how much memory the bytes of a file take. */
static uint64_t join_bytes(const struct mirror_fetch *f)
{
	return f->is_file && !mirror_fetch_is_long(f) ? f->what.entry.size_bytes : 0;
}

/* Counts the fetches that a sender caused. */
static unsigned join_count_all_of(const struct cairn_mirror *m, uint64_t sender)
{
	unsigned n = 0;
	for (const struct mirror_fetch *f = m->fetches; f; f = f->next)
		n += f->what.sender == sender;
	return n;
}

static enum mirror_fetch_kind join_kind(const struct mirror_fetch *f)
{
	if (!f->is_file)
		return MIRROR_FETCH_LOOK;
	return mirror_fetch_is_long(f) ? MIRROR_FETCH_LONG : MIRROR_FETCH_SHORT;
}

static unsigned join_count_begun_of(const struct cairn_mirror *m, uint64_t sender, enum mirror_fetch_kind kind)
{
	unsigned n = 0;
	for (const struct mirror_fetch *f = m->fetches; f; f = f->next)
		n += f->begun && f->what.sender == sender && join_kind(f) == kind;
	return n;
}

/* Each kind has limits of its own, so that nothing waits behind long files. */
static bool join_may_begin(const struct cairn_mirror *m, const struct mirror_fetch *f)
{
	enum mirror_fetch_kind kind = join_kind(f);
	if (join_count_begun_of(m, f->what.sender, kind) >= CAIRN_MIRROR_SENDER_AT_ONCE_MAX)
		return false;
	if (kind == MIRROR_FETCH_LOOK)
		return m->n_begun[kind] < CAIRN_MIRROR_LOOKS_MAX;
	return m->n_begun[kind] < CAIRN_MIRROR_FILES_MAX &&
	       m->file_bytes + join_bytes(f) <= CAIRN_MIRROR_SHORTS_BYTES_MAX;
}

/* Counts a fetch that begins, or that ends. */
static void join_count(struct cairn_mirror *m, const struct mirror_fetch *f, bool begins)
{
	unsigned *n = &m->n_begun[join_kind(f)];
	*n = begins ? *n + 1 : *n - 1;
	m->file_bytes = begins ? m->file_bytes + join_bytes(f) : m->file_bytes - join_bytes(f);
}

/* Takes the oldest fetch that may begin. Under the lock. @return NULL: none */
static struct mirror_fetch *join_take_next(struct cairn_mirror *m)
{
	struct mirror_fetch *oldest = NULL;
	for (struct mirror_fetch *f = m->fetches; f; f = f->next)
		if (!f->begun && join_may_begin(m, f))
			oldest = f;
	if (oldest) {
		oldest->begun = true;
		join_count(m, oldest, true);
	}
	return oldest;
}

/* Begins all fetches that may begin. The end of a long file may make room for several. */
static void join_begin_next(struct cairn_mirror *m)
{
	for (;;) {
		pthread_mutex_lock(&m->lock);
		struct mirror_fetch *next = join_take_next(m);
		pthread_mutex_unlock(&m->lock);
		if (!next)
			return;
		next->begin(next);
	}
}

static void join_free(struct mirror_fetch *f)
{
	mirror_call_fini(&f->call);
	cairn_buf_fini(&f->info);
	mirror_tree_fini(&f->tree);
	explicit_bzero(f->what.token, sizeof(f->what.token));
	free(f);
}

static void join_note_later(struct cairn_mirror *m, const struct mirror_call *call)
{
	if (call->code == 429 && call->retry_after_s > 0)
		m->later_ms = cairn_clock_mono_ms() + (int64_t)call->retry_after_s * 1000;
}

void mirror_note_later(struct cairn_mirror *m, const struct mirror_call *call)
{
	pthread_mutex_lock(&m->lock);
	join_note_later(m, call);
	pthread_mutex_unlock(&m->lock);
}

struct cairn_mirror_want *mirror_fetch_begun(struct mirror_fetch *f)
{
	struct cairn_mirror_want *waiting = f->waiting;
	f->waiting = NULL;
	f->has_bytes = true;
	return waiting;
}

void mirror_fetch_end(struct mirror_fetch *f, enum cairn_status status, const struct cairn_diag *diag)
{
	struct cairn_mirror *m = f->m;
	mirror_count_failure(m, status, diag);
	pthread_mutex_lock(&m->lock);
	struct mirror_fetch **at = &m->fetches;
	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	m->n_fetches--;
	join_count(m, f, false);
	join_note_later(m, &f->call);
	join_remember(f, status, diag);
	struct cairn_mirror_want *waiting = f->waiting;
	pthread_mutex_unlock(&m->lock);
	mirror_tell(waiting, status, diag);
	join_free(f);
	join_begin_next(m);
}

enum cairn_status mirror_stopped(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_BUSY, "mirror.stopped", CAIRN_NO_OFFSET, "the daemon is stopping");
}

void mirror_join_stop(struct cairn_mirror *m)
{
	struct cairn_diag diag = {0};
	enum cairn_status status = mirror_stopped(&diag);
	for (;;) {
		pthread_mutex_lock(&m->lock);
		struct mirror_fetch *f = m->fetches;
		while (f && f->begun)
			f = f->next;
		if (f) {
			f->begun = true;
			join_count(m, f, true);
		}
		pthread_mutex_unlock(&m->lock);
		if (!f)
			return;
		mirror_fetch_end(f, status, &diag);
	}
}

/* --- joining ------------------------------------------------------------------------------------------------------ */

static enum cairn_status join_refuse(const struct cairn_mirror *m, uint64_t sender, struct cairn_diag *diag)
{
	unsigned n_of_sender = join_count_all_of(m, sender);
	if (m->later_ms > cairn_clock_mono_ms())
		return cairn_mirror_later(diag);
	if (n_of_sender >= CAIRN_MIRROR_SENDER_FETCHES_MAX)
		return cairn_fail(
			diag, CAIRN_E_BUSY, "mirror.full", CAIRN_NO_OFFSET,
			"%u fetches from the mirrored hub are under way for you already; ask again in a moment",
			n_of_sender);
	if (m->n_fetches < CAIRN_MIRROR_FETCHES_MAX)
		return CAIRN_OK;
	return cairn_fail(diag, CAIRN_E_BUSY, "mirror.full", CAIRN_NO_OFFSET,
			  "%u fetches from the mirrored hub are under way already; ask again in a moment",
			  m->n_fetches);
}

static struct mirror_fetch *join_new(struct cairn_mirror *m, const struct cairn_mirror_want *want,
				     const uint8_t key[static CAIRN_SHA256_BYTES], bool is_file,
				     void (*begin)(struct mirror_fetch *f))
{
	struct mirror_fetch *f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->m = m;
	f->begin = begin;
	f->what = *want;
	f->is_file = is_file;
	memcpy(f->key, key, sizeof(f->key));
	f->next = m->fetches;
	m->fetches = f;
	m->n_fetches++;
	return f;
}

/* Under the lock. @param[out] told  false: the want waits
 * @return CAIRN_OK: the want waits, or, if *told, has what it wants; else what to tell it */
static enum cairn_status join_locked(struct cairn_mirror *m, struct cairn_mirror_want *want,
				     const uint8_t key[static CAIRN_SHA256_BYTES], bool is_file,
				     void (*begin)(struct mirror_fetch *f), bool *told)
{
	const struct mirror_outcome *o = join_outcome(m, key);
	struct mirror_fetch *f = m->fetches;
	*told = true;
	if (o) {
		want->diag = o->diag;
		return o->status;
	}
	while (f && memcmp(f->key, key, CAIRN_SHA256_BYTES) != 0)
		f = f->next;
	enum cairn_status status = f ? CAIRN_OK : join_refuse(m, want->sender, &want->diag);
	if (status != CAIRN_OK)
		return status;
	if (f && f->has_bytes)
		return CAIRN_OK;
	if (!f && !(f = join_new(m, want, key, is_file, begin)))
		return CAIRN_E_NOMEM;
	*told = false;
	want->next = f->waiting;
	f->waiting = want;
	return CAIRN_OK;
}

void mirror_join(struct cairn_mirror *m, struct cairn_mirror_want *want, const char *text, bool is_file,
		 void (*begin)(struct mirror_fetch *f))
{
	uint8_t key[CAIRN_SHA256_BYTES];
	bool told = true;
	cairn_diag_clear(&want->diag);
	want->asked_ms = cairn_clock_mono_ms();
	enum cairn_status status = join_key(key, text) ? CAIRN_OK : CAIRN_E_NOMEM;
	if (status == CAIRN_OK) {
		pthread_mutex_lock(&m->lock);
		status = join_locked(m, want, key, is_file, begin, &told);
		pthread_mutex_unlock(&m->lock);
	}
	if (told) {
		want->status = status;
		want->done(want);
	} else {
		join_begin_next(m);
	}
}

/* --- a call of a fetch -------------------------------------------------------------------------------------------- */

static void join_work(struct cairn_work *work)
{
	struct mirror_fetch *f = (struct mirror_fetch *)work;
	f->step(f);
}

void mirror_fetch_work(struct mirror_fetch *f, void (*step)(struct mirror_fetch *f))
{
	struct cairn_diag diag = {0};
	f->step = step;
	f->work.run = join_work;
	f->work.lane = CAIRN_LANE_HEAVY;
	if (cairn_workers_submit(f->m->workers, &f->work) == CAIRN_OK)
		return;
	enum cairn_status status =
		cairn_fail(&diag, CAIRN_E_BUSY, "mirror.full", CAIRN_NO_OFFSET,
			   "the server is too busy to take what the mirrored hub sent; ask again in a moment");
	mirror_fetch_end(f, status, &diag);
}

static void join_answered(struct mirror_call *call)
{
	struct mirror_fetch *f = (struct mirror_fetch *)((char *)call - offsetof(struct mirror_fetch, call));
	struct cairn_diag diag = call->diag;
	if (call->status == CAIRN_OK)
		mirror_fetch_work(f, f->step);
	else
		mirror_fetch_end(f, call->status, &diag);
}

void mirror_fetch_send(struct mirror_fetch *f)
{
	struct cairn_diag diag = {0};
	mirror_call_fini(&f->call);
	f->call.path = f->path;
	f->call.token = f->what.token;
	f->call.done = join_answered;
	enum cairn_status status = mirror_net_ask(f->m->net, &f->call, &diag);
	if (status != CAIRN_OK)
		mirror_fetch_end(f, status, &diag);
}
