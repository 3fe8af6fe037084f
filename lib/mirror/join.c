/* Joins equal requests (wants) to one fetch, limits how many fetches are in progress, and remembers their outcomes. */
#include "mirror/stream.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "hash/hash.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- outcomes of earlier fetches ---------------------------------------------------------------------------------- */

static bool join_key(uint8_t key[static CAIRN_SHA256_BYTES], const char *text)
{
	return cairn_sha256_of(key, text, strlen(text)) == CAIRN_OK;
}

/* Returns the slot of an outcome. Outcomes share slots: a later one replaces an earlier one. */
static struct mirror_outcome *join_place(struct cairn_mirror *m, const uint8_t key[static CAIRN_SHA256_BYTES])
{
	return &m->outcomes[(key[0] | (unsigned)key[1] << 8) % MIRROR_OUTCOMES];
}

/* Finds an outcome that is still valid. @return NULL: none */
static const struct mirror_outcome *join_outcome(struct cairn_mirror *m, const uint8_t key[static CAIRN_SHA256_BYTES])
{
	const struct mirror_outcome *o = join_place(m, key);
	bool good = o->until_ms > cairn_clock_mono_ms() && memcmp(o->key, key, CAIRN_SHA256_BYTES) == 0;
	return good ? o : NULL;
}

/* Did a look-up find another repository with this name, which is gone? */
static bool join_is_of_other(const struct mirror_outcome *o, int64_t repo)
{
	return o->status == CAIRN_OK && repo != 0 && o->repo != 0 && o->repo != repo;
}

/* Was the outcome of a successful look-up lost? It has written rows into the index. If a request lacks them afterwards,
 * another daemon has removed them, and the upstream is asked again. */
static bool join_was_in_vain(const struct mirror_outcome *o, int64_t repo)
{
	return join_is_of_other(o, repo) ||
	       (o->status == CAIRN_OK && cairn_clock_mono_ms() - o->ended_ms > CAIRN_MIRROR_FRESH_MS);
}

static bool join_is_ours(const struct cairn_diag *diag)
{
	static const char *const OURS[] = {"mirror.stopped", "mirror.full", "mirror.later", "mirror.offline",
					   "mirror.room"};
	for (size_t i = 0; i < sizeof(OURS) / sizeof(OURS[0]); i++)
		if (cairn_diag_has(diag, OURS[i]))
			return true;
	/* The index or the store has failed; it may work again at once. */
	return !diag->rule || strncmp(diag->rule, "mirror.", strlen("mirror.")) != 0;
}

/* Returns how long the outcome of a fetch is valid. */
static int64_t join_holds_s(const struct mirror_fetch *f, enum cairn_status status, const struct cairn_diag *diag)
{
	if (status == CAIRN_OK)
		return (int64_t)f->holds_s;
	/* Not remembered, because the upstream may send the file for another asker's token. */
	bool is_refused = status == CAIRN_E_NOT_FOUND || cairn_diag_has(diag, "mirror.denied");
	if (f->is_file && f->what.is_alone && is_refused && f->what.rule == 0)
		return 0;
	if (status == CAIRN_E_NOT_FOUND)
		return CAIRN_MIRROR_UNKNOWN_S;
	if (status == CAIRN_E_MISMATCH && !cairn_diag_has(diag, "mirror.plan"))
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
	o->ended_ms = cairn_clock_mono_ms();
	o->until_ms = o->ended_ms + holds_s * 1000;
	o->repo = f->what.repo;
	o->status = status;
	o->diag = *diag;
}

void mirror_key_fold(char *key)
{
	for (char *p = key; *p && *p != '@'; p++)
		*p = (char)(*p >= 'A' && *p <= 'Z' ? *p + 'a' - 'A' : *p);
}

bool mirror_remembers(struct cairn_mirror *m, const char *text, int64_t repo, bool *failed)
{
	uint8_t key[CAIRN_SHA256_BYTES];
	*failed = false;
	if (!join_key(key, text))
		return true;
	pthread_mutex_lock(&m->lock);
	const struct mirror_outcome *o = join_outcome(m, key);
	bool is_other = o && join_is_of_other(o, repo);
	*failed = o && o->status != CAIRN_OK && o->status != CAIRN_E_NOT_FOUND;
	pthread_mutex_unlock(&m->lock);
	return o && !is_other;
}

bool mirror_outcome_of(struct cairn_mirror *m, const char *text, struct mirror_outcome *out)
{
	uint8_t key[CAIRN_SHA256_BYTES];
	if (!join_key(key, text))
		return false;
	pthread_mutex_lock(&m->lock);
	const struct mirror_outcome *o = join_outcome(m, key);
	if (o)
		*out = *o;
	pthread_mutex_unlock(&m->lock);
	return o != NULL;
}

void mirror_forget(struct cairn_mirror *m, const char *text)
{
	uint8_t key[CAIRN_SHA256_BYTES];
	if (!join_key(key, text))
		return;
	pthread_mutex_lock(&m->lock);
	struct mirror_outcome *o = join_place(m, key);
	if (memcmp(o->key, key, sizeof(key)) == 0)
		o->until_ms = 0;
	pthread_mutex_unlock(&m->lock);
}

void mirror_forget_all(struct cairn_mirror *m)
{
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < MIRROR_OUTCOMES; i++)
		m->outcomes[i].until_ms = 0;
	pthread_mutex_unlock(&m->lock);
}

void mirror_remember(struct cairn_mirror *m, const char *text, int64_t for_s)
{
	struct mirror_outcome o = {.until_ms = cairn_clock_mono_ms() + for_s * 1000};
	if (!join_key(o.key, text))
		return;
	pthread_mutex_lock(&m->lock);
	*join_place(m, o.key) = o;
	pthread_mutex_unlock(&m->lock);
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
			if (want->is_ahead || now_ms - want->asked_ms < CAIRN_MIRROR_WAIT_MS) {
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

/* Counts the fetches of a sender. */
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

/* May a fetch for which no client waits begin? Only if no client's fetch of its kind has to wait. */
static bool join_may_begin_ahead(const struct cairn_mirror *m, enum mirror_fetch_kind kind)
{
	unsigned n_ahead = 0;
	for (const struct mirror_fetch *f = m->fetches; f; f = f->next) {
		if (join_kind(f) != kind)
			continue;
		if (!f->begun && !f->what.is_ahead)
			return false;
		n_ahead += f->begun && f->what.is_ahead;
	}
	return n_ahead < CAIRN_MIRROR_AHEAD_AT_ONCE_MAX;
}

/* May a fetch begin? Each kind has limits of its own, so that no other kind waits for long files. */
static bool join_may_begin(const struct cairn_mirror *m, const struct mirror_fetch *f)
{
	enum mirror_fetch_kind kind = join_kind(f);
	if (join_count_begun_of(m, f->what.sender, kind) >= CAIRN_MIRROR_SENDER_AT_ONCE_MAX ||
	    (f->what.is_ahead && !join_may_begin_ahead(m, kind)))
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

/* Takes the oldest fetch that may begin. Called with the lock. @return NULL: none */
static struct mirror_fetch *join_take_next(struct cairn_mirror *m)
{
	struct mirror_fetch *oldest = NULL;
	for (struct mirror_fetch *f = m->fetches; f; f = f->next)
		if (!f->begun && join_may_begin(m, f))
			oldest = f;
	if (oldest) {
		oldest->begun = true;
		oldest->begun_ms = cairn_clock_mono_ms();
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

/* Records a limit of the upstream. A limit for an asker's own token does not delay others. */
static void join_note_later(struct cairn_mirror *m, const struct cairn_mirror_want *what,
			    const struct mirror_call *call)
{
	if (call->code != 429 || call->retry_after_s == 0 || mirror_is_askers(what))
		return;
	int64_t later_ms = cairn_clock_mono_ms() + (int64_t)call->retry_after_s * 1000;
	m->later_ms = later_ms > m->later_ms ? later_ms : m->later_ms;
}

void mirror_note_later(struct cairn_mirror *m, const struct cairn_mirror_want *what, const struct mirror_call *call)
{
	pthread_mutex_lock(&m->lock);
	join_note_later(m, what, call);
	pthread_mutex_unlock(&m->lock);
}

struct cairn_mirror_want *mirror_fetch_begun(struct mirror_fetch *f)
{
	struct cairn_mirror_want *waiting = NULL;
	for (struct cairn_mirror_want **at = &f->waiting, *want; (want = *at);) {
		if (want->is_ahead) {
			at = &want->next;
			continue;
		}
		*at = want->next;
		want->next = waiting;
		waiting = want;
	}
	f->has_bytes = true;
	return waiting;
}

void mirror_fetch_end(struct mirror_fetch *f, enum cairn_status status, const struct cairn_diag *diag)
{
	struct cairn_mirror *m = f->m;
	mirror_count_failure(m, status, diag);
	mirror_tell_end(f, status, diag);
	pthread_mutex_lock(&m->lock);
	struct mirror_fetch **at = &m->fetches;
	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	m->n_fetches--;
	join_count(m, f, false);
	mirror_room_end(f, status == CAIRN_OK);
	join_note_later(m, &f->what, &f->call);
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

bool mirror_sender_may(struct mirror_senders *senders, const struct cairn_mirror_want *want, unsigned burst)
{
	enum { EACH_MS = 1000 };
	struct cairn_hash mac;
	cairn_hash_mac(&mac, senders->key, &want->sender, sizeof(want->sender));
	int64_t now_ms = cairn_clock_mono_ms();
	int64_t *next_ms = want->asked_by[0] ? senders->account_ms : senders->address_ms;
	next_ms += cairn_get_u64le(mac.b) % MIRROR_SENDERS;
	if (*next_ms < now_ms)
		*next_ms = now_ms;
	bool may = *next_ms - now_ms < (int64_t)EACH_MS * burst;
	if (may)
		*next_ms += EACH_MS;
	return may;
}

static enum cairn_status join_refuse(struct cairn_mirror *m, const struct cairn_mirror_want *want,
				     struct cairn_diag *diag)
{
	unsigned n_of_sender = join_count_all_of(m, want->sender);
	if (m->later_ms > cairn_clock_mono_ms())
		return cairn_mirror_later(diag);
	if (n_of_sender >= CAIRN_MIRROR_SENDER_FETCHES_MAX)
		return cairn_fail(
			diag, CAIRN_E_BUSY, "mirror.full", CAIRN_NO_OFFSET,
			"%u fetches from the mirrored hub are under way for you already; ask again in a moment",
			n_of_sender);
	if (m->n_fetches >= CAIRN_MIRROR_FETCHES_MAX)
		return cairn_fail(diag, CAIRN_E_BUSY, "mirror.full", CAIRN_NO_OFFSET,
				  "%u fetches from the mirrored hub are under way already; ask again in a moment",
				  m->n_fetches);
	if (want->is_new && !mirror_sender_may(&m->new_senders, want, CAIRN_MIRROR_SENDER_NEW_MAX))
		return cairn_fail(diag, CAIRN_E_BUSY, "mirror.full", CAIRN_NO_OFFSET,
				  "you ask for many names that are not here; ask again in a moment");
	return CAIRN_OK;
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

/* Joins a request. Called with the lock. @param[out] told  false: the request waits @return if *told, its outcome; else
 * CAIRN_OK */
static enum cairn_status join_locked(struct cairn_mirror *m, struct cairn_mirror_want *want,
				     const uint8_t key[static CAIRN_SHA256_BYTES], bool is_file,
				     void (*begin)(struct mirror_fetch *f), bool *told)
{
	const struct mirror_outcome *o = join_outcome(m, key);
	struct mirror_fetch *f = m->fetches;
	*told = true;
	if (o && !join_was_in_vain(o, want->repo)) {
		want->diag = o->diag;
		return o->status;
	}
	while (f && memcmp(f->key, key, CAIRN_SHA256_BYTES) != 0)
		f = f->next;
	enum cairn_status status = f ? CAIRN_OK : join_refuse(m, want, &want->diag);
	if (status != CAIRN_OK)
		return status;
	if (f && !want->is_ahead)
		f->what.is_ahead = false;
	if (f && f->has_bytes && !want->is_ahead)
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
			   "the server is too busy to read the answer of the mirrored hub; ask again in a moment");
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
