#include "index/settler.h"

#include "base/clock.h"
#include "base/cond.h"
#include "base/crash_point.h"
#include "index/backend.h"

#include <stdlib.h>

enum { SETTLER_TRY_MS = 1000 }; /* time from a failed transaction to the next try, even if no write waits */

static void settler_describe(struct cairn_index_settling *out, const struct cairn_index_write *write)
{
	if (write->kind->shards) {
		const struct cairn_index_put_shard *put = (const struct cairn_index_put_shard *)write;
		*out = (struct cairn_index_settling){&put->body, put->scope, put->owner, put->registered, false};
	} else {
		const struct cairn_index_confirm_shard *c = (const struct cairn_index_confirm_shard *)write;
		*out = (struct cairn_index_settling){&c->body, c->scope, c->owner, c->registered, false};
	}
}

/* Decides a write after its shard was looked up: an invisible shard was lost with its server, or removed since. */
static void settler_judge(struct cairn_index_write *write, const struct cairn_index_settling *settling)
{
	write->status = CAIRN_OK;
	if (!settling->seen)
		write->status = cairn_fail(&write->diag, CAIRN_E_BUSY, "index.silent", CAIRN_NO_OFFSET,
					   "the registered rows are gone, because another PostgreSQL server "
					   "took over or somebody removed them: send it again");
}

static enum cairn_status settler_settle(struct cairn_settler *s, struct cairn_index_write *batch, unsigned n,
					struct cairn_diag *diag)
{
	struct cairn_index_settling *all = calloc((size_t)n + 1, sizeof(*all));
	unsigned i = 0;
	if (!all)
		return CAIRN_E_NOMEM;
	for (const struct cairn_index_write *write = batch; write; write = write->next)
		settler_describe(&all[i++], write);
	enum cairn_status status = s->index->backend->settle(s->index, all, n, diag);
	i = 0;
	for (struct cairn_index_write *write = batch; write && status == CAIRN_OK; write = write->next)
		settler_judge(write, &all[i++]);
	free(all);
	return status;
}

/* Records the engine's health from the outcome of the transaction, whether or not it contained any shards. */
static void settler_note(struct cairn_settler *s, enum cairn_status status, const struct cairn_diag *diag)
{
	static const struct cairn_index_kind KIND = {.probes = false};
	const struct cairn_index_write note = {.kind = &KIND, .status = status, .diag = *diag};
	pthread_mutex_lock(&s->lock);
	cairn_health_note(&s->health, &note, cairn_clock_mono_ms());
	pthread_mutex_unlock(&s->lock);
	atomic_store(&s->ailing, status != CAIRN_OK);
}

/* @param batch  the writes to settle; NULL: only test whether settling works */
static void settler_serve(struct cairn_settler *s, struct cairn_index_write *batch)
{
	struct cairn_diag diag = {0};
	unsigned n = 0;
	for (const struct cairn_index_write *write = batch; write; write = write->next)
		n++;
	enum cairn_status status = settler_settle(s, batch, n, &diag);
	settler_note(s, status, &diag);
	atomic_fetch_sub(&s->n, n);
	if (status == CAIRN_OK && n > 0)
		cairn_crash_point(CAIRN_CRASH_INDEX_COMMITTED);
	for (struct cairn_index_write *write = batch, *next; write; write = next) {
		next = write->next;
		if (status != CAIRN_OK) {
			write->status = status;
			write->diag = diag;
		}
		write->done(write);
		cairn_crash_point(CAIRN_CRASH_INDEX_ANSWERED);
	}
	pthread_mutex_lock(&s->lock);
	s->n_done += n;
	pthread_cond_broadcast(&s->settled);
	pthread_mutex_unlock(&s->lock);
}

/* Called with the lock. After a failure, wakes up each second to test whether the failure is over. */
static void settler_wait(struct cairn_settler *s)
{
	const struct timespec until = cairn_cond_in_ms(SETTLER_TRY_MS);
	bool waits = true;
	while (!s->head && !s->closing && waits) {
		if (atomic_load(&s->ailing))
			waits = cairn_cond_wait_until(&s->work, &s->lock, &until);
		else
			pthread_cond_wait(&s->work, &s->lock);
	}
}

static void *settler_loop(void *arg)
{
	struct cairn_settler *s = arg;
	(void)pthread_setname_np(pthread_self(), "index-settler");
	pthread_mutex_lock(&s->lock);
	for (;;) {
		settler_wait(s);
		if (!s->head && s->closing)
			break;
		struct cairn_index_write *batch = s->head;
		s->head = NULL;
		s->tail = &s->head;
		pthread_mutex_unlock(&s->lock);
		settler_serve(s, batch);
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

enum cairn_status cairn_settler_start(struct cairn_settler *s, struct cairn_index *ix, bool read_only,
				      struct cairn_diag *diag)
{
	pthread_mutex_init(&s->lock, NULL);
	cairn_cond_init(&s->work);
	cairn_cond_init(&s->settled);
	s->tail = &s->head;
	if (read_only || !ix->backend->settle)
		return CAIRN_OK;
	s->index = ix;
	if (pthread_create(&s->thread, NULL, settler_loop, s) == 0)
		return CAIRN_OK;
	s->index = NULL;
	return cairn_fail(diag, CAIRN_E_NOMEM, "index.thread", CAIRN_NO_OFFSET,
			  "the thread that waits for commits of the index cannot be started; raise the limit on "
			  "threads");
}

void cairn_settler_stop(struct cairn_settler *s)
{
	pthread_mutex_lock(&s->lock);
	s->closing = true;
	pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
	if (s->index)
		pthread_join(s->thread, NULL);
	pthread_cond_destroy(&s->settled);
	pthread_cond_destroy(&s->work);
	pthread_mutex_destroy(&s->lock);
}

bool cairn_settler_is_well(const struct cairn_settler *s)
{
	return s->index && !atomic_load(&s->ailing);
}

unsigned cairn_settler_n(const struct cairn_settler *s)
{
	return atomic_load(&s->n);
}

void cairn_settler_take(struct cairn_settler *s, struct cairn_index_write *batch)
{
	struct cairn_index_write **end = &batch;
	unsigned n = 0;
	for (; *end; end = &(*end)->next)
		n++;
	atomic_fetch_add(&s->n, n);
	pthread_mutex_lock(&s->lock);
	*s->tail = batch;
	s->tail = end == &batch ? s->tail : end;
	s->n_queued += n;
	pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
}

bool cairn_settler_flush(struct cairn_settler *s, const struct timespec *until)
{
	bool waits = true;
	pthread_mutex_lock(&s->lock);
	uint64_t wanted = s->n_queued;
	while (s->n_done < wanted && waits)
		waits = cairn_cond_wait_until(&s->settled, &s->lock, until);
	bool done = s->n_done >= wanted;
	pthread_mutex_unlock(&s->lock);
	return done;
}

enum cairn_status cairn_settler_health(struct cairn_settler *s, struct cairn_diag *diag)
{
	pthread_mutex_lock(&s->lock);
	enum cairn_status status = s->health.status;
	if (status != CAIRN_OK && diag)
		*diag = s->health.diag;
	pthread_mutex_unlock(&s->lock);
	return status;
}
