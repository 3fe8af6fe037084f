#include "mirror/stream.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/sys.h"
#include "store/spool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	STREAM_FEED_BYTES = 1 << 20,     /* bytes of the front at which the work is submitted */
	STREAM_GATHER_BYTES = 256 << 10, /* bytes for which a reader is woken */
	STREAM_GATHER_MS = 200,          /* time after the first byte for which a reader is woken */
};

/* --- making ------------------------------------------------------------------------------------------------------- */

uint64_t mirror_spool_bytes(const struct cairn_mirror *m)
{
	uint64_t bytes = 0;
	for (const struct mirror_stream *s = m->streams; s; s = s->next)
		bytes += s->asked_bytes - s->kept;
	return bytes;
}

static enum cairn_status stream_open_spool(struct mirror_stream *s)
{
	struct cairn_spool *spool;
	enum cairn_status status = cairn_spool_new(&spool, s->m->spool_dir, UINT64_MAX, UINT64_MAX);
	if (status != CAIRN_OK)
		return status;
	s->fd = cairn_spool_take_fd(spool);
	cairn_spool_free(spool);
	return CAIRN_OK;
}

enum cairn_status mirror_stream_new(struct mirror_stream **out, struct mirror_fetch *f,
				    void (*run)(struct cairn_work *work), struct cairn_diag *diag)
{
	struct cairn_mirror *m = f->m;
	struct mirror_stream *s = calloc(1, sizeof(*s));
	if (!s)
		return CAIRN_E_NOMEM;
	s->m = m;
	s->fd = -1;
	s->what = f->what;
	s->work = (struct cairn_work){.run = run, .lane = CAIRN_LANE_HEAVY, .turn = f->what.sender};
	s->n_refs = 1;
	s->f = f;
	s->block_bytes = MIRROR_BLOCK_BYTES_MIN;
	memcpy(s->path, f->path, sizeof(s->path));
	s->follows = true;
	s->wanted_ms = cairn_clock_mono_ms();
	s->known.state = MIRROR_KNOWN_OVER;
	s->known.plan.file_bytes = f->what.entry.size_bytes;
	mirror_blocks_init(&s->blocks, f->what.entry.size_bytes);
	for (unsigned i = 0; i < MIRROR_BLOCKS_AT_ONCE; i++)
		s->slots[i] = (struct mirror_slot){.s = s, .number = i};
	enum cairn_status status = stream_open_spool(s);
	if (status != CAIRN_OK) {
		mirror_stream_drop(s);
		return status;
	}
	pthread_mutex_lock(&m->lock);
	bool stopping = m->is_stopping;
	if (!stopping) {
		s->works = true;
		s->n_refs++;
		s->next = m->streams;
		m->streams = s;
	}
	pthread_mutex_unlock(&m->lock);
	if (!stopping) {
		*out = s;
		return CAIRN_OK;
	}
	mirror_stream_drop(s);
	return mirror_stopped(diag);
}

struct mirror_stream *mirror_stream_find(struct cairn_mirror *m, int64_t repo, int64_t content)
{
	struct mirror_stream *s = m->streams;
	while (s && !(mirror_stream_goes(s) && s->what.repo == repo && s->what.entry.content == content))
		s = s->next;
	if (s)
		s->n_refs++;
	return s;
}

void mirror_stream_drop(struct mirror_stream *s)
{
	struct cairn_mirror *m = s->m;
	pthread_mutex_lock(&m->lock);
	bool last = --s->n_refs == 0;
	for (struct mirror_stream **at = &m->streams; last && *at; at = &(*at)->next)
		if (*at == s) {
			*at = s->next;
			break;
		}
	pthread_mutex_unlock(&m->lock);
	if (!last)
		return;
	for (unsigned i = 0; i < MIRROR_BLOCKS_AT_ONCE; i++)
		mirror_call_fini(&s->slots[i].call);
	mirror_plan_fini(&s->known.plan);
	mirror_known_runs_fini(&s->known.runs);
	mirror_known_runs_fini(&s->known.packed);
	explicit_bzero(&s->known.packed_cas, sizeof(s->known.packed_cas));
	cairn_hub_ingest_free(s->in);
	mirror_part_close(&s->old);
	cairn_fd_closep(&s->fd);
	explicit_bzero(s->what.token, sizeof(s->what.token));
	free(s);
}

/* --- readers ------------------------------------------------------------------------------------------------------ */

uint64_t mirror_reader_has(const struct cairn_mirror_reader *r)
{
	const struct mirror_stream *s = r->s;
	uint64_t size = s->blocks.size_bytes, reach = mirror_blocks_reach(&s->blocks, r->at);
	uint64_t end = r->holds_back ? size - MIRROR_HELD_BACK : r->end;
	end = reach < end ? reach : end;
	return end > r->at ? end - r->at : 0;
}

/* Has a reader enough bytes to be woken? A few are enough if they are the first or the last ones, or if more do not
 * come soon. A reader whose bytes have left the spool is woken, too. Under the lock. */
static bool stream_has_enough(struct cairn_mirror_reader *r, int64_t now_ms)
{
	const struct mirror_stream *s = r->s;
	uint64_t has = mirror_reader_has(r), size = s->blocks.size_bytes;
	if (r->at < s->kept && r->at >= s->parts_end)
		return true;
	if (has == 0)
		return false;
	if (r->waits_until_ms == 0)
		r->waits_until_ms = now_ms + STREAM_GATHER_MS;
	return !r->has_read || has >= STREAM_GATHER_BYTES || r->at + has == r->end ||
	       (r->holds_back && r->at + has == size - MIRROR_HELD_BACK) || now_ms >= r->waits_until_ms;
}

/* Takes the next reader to wake. Called with the lock. */
static void (*stream_take_waiting(struct mirror_stream *s, bool all, void **ctx))(void *ctx)
{
	int64_t now_ms = cairn_clock_mono_ms();
	for (struct cairn_mirror_reader *r = s->readers; r; r = r->next) {
		void (*wake)(void *ctx) = r->wake;
		if (!wake || !(all || (!r->waits_for_end && stream_has_enough(r, now_ms))))
			continue;
		*ctx = r->ctx;
		r->waits_for_end = false;
		r->waits_until_ms = 0;
		r->wake = NULL;
		return wake;
	}
	return NULL;
}

void mirror_stream_wake(struct mirror_stream *s, bool all)
{
	for (;;) {
		void *ctx = NULL;
		pthread_mutex_lock(&s->m->lock);
		void (*wake)(void *ctx) = stream_take_waiting(s, all, &ctx);
		pthread_mutex_unlock(&s->m->lock);
		if (!wake)
			return;
		wake(ctx);
	}
}

/* --- its course --------------------------------------------------------------------------------------------------- */

void mirror_stream_begun(struct mirror_stream *s)
{
	pthread_mutex_lock(&s->m->lock);
	struct cairn_mirror_want *waiting = NULL;
	if (!s->has_begun && s->f)
		waiting = mirror_fetch_begun(s->f);
	s->has_begun = true;
	pthread_mutex_unlock(&s->m->lock);
	mirror_tell(waiting, CAIRN_OK, &(const struct cairn_diag){0});
}

static bool stream_is_waited_for(const struct mirror_stream *s)
{
	bool waits = s->f->waiting != NULL;
	for (const struct cairn_mirror_reader *r = s->readers; r && !waits; r = r->next)
		waits = r->wake != NULL;
	return waits;
}

/* Should the work run, because enough bytes have arrived or the spools need room? Called with the lock. */
static bool stream_has_work(const struct mirror_stream *s)
{
	if (s->follows)
		return stream_is_waited_for(s) && cairn_clock_mono_ms() - s->looked_ms >= MIRROR_FOLLOW_MS;
	uint64_t reach = mirror_blocks_reach(&s->blocks, s->front);
	bool is_full = mirror_spool_bytes(s->m) > s->m->spool_bytes_max / 4 * 3;
	return reach - s->front >= STREAM_FEED_BYTES || mirror_part_is_due(s, reach) ||
	       (reach > s->front && (is_full || reach == s->blocks.size_bytes)) ||
	       (is_full && s->kept + STREAM_FEED_BYTES <= s->front);
}

void mirror_stream_feed(struct mirror_stream *s)
{
	pthread_mutex_lock(&s->m->lock);
	bool works = mirror_stream_goes(s) && !s->works && stream_has_work(s);
	if (works) {
		s->works = true;
		s->n_refs++;
	}
	pthread_mutex_unlock(&s->m->lock);
	if (!works || cairn_workers_submit(s->m->workers, &s->work) == CAIRN_OK)
		return;
	pthread_mutex_lock(&s->m->lock);
	s->works = false; /* the next tick tries again */
	pthread_mutex_unlock(&s->m->lock);
	mirror_stream_drop(s);
}

void mirror_stream_end(struct mirror_stream *s, enum cairn_status status, const struct cairn_diag *diag)
{
	struct cairn_diag why = *diag;
	pthread_mutex_lock(&s->m->lock);
	struct mirror_fetch *f = s->f;
	struct cairn_hub_ingest *in = NULL;
	const struct cairn_index_lease lease = s->lease;
	if (f) {
		s->f = NULL;
		if (!s->works) { /* else the work frees it */
			in = s->in;
			s->in = NULL;
		}
		f->fetched_bytes = s->asked_bytes;
		f->is_others = s->follows;
		f->has_bytes = false; /* later requests for the file wait for the outcome */
		s->is_here = status == CAIRN_OK;
		s->status = status;
		s->diag = why;
	}
	pthread_mutex_unlock(&s->m->lock);
	if (!f)
		return;
	cairn_index_leave_lease(s->m->hub->index, &lease); /* then another daemon may continue */
	cairn_hub_ingest_free(in);
	(void)cairn_sys_ftruncate(s->fd, 0); /* free the disk space now, because readers may hold the stream for long */
	pthread_mutex_lock(&s->m->lock);
	s->kept = s->asked_bytes;
	pthread_mutex_unlock(&s->m->lock);
	mirror_stream_wake(s, true);
	mirror_fetch_end(f, status, &why);
	mirror_stream_drop(s);
}

/* --- bytes -------------------------------------------------------------------------------------------------------- */

bool mirror_stream_write(struct mirror_slot *slot, uint64_t at, const uint8_t *bytes, size_t len)
{
	struct mirror_stream *s = slot->s;
	enum cairn_status status = cairn_fd_write_at(s->fd, at, bytes, len);
	if (status != CAIRN_OK) {
		struct cairn_diag diag = {0};
		status =
			cairn_fail(&diag, status, "mirror.spool", CAIRN_NO_OFFSET,
				   "cannot write bytes of the mirrored hub to the disk: %s", cairn_status_name(status));
		mirror_stream_end(s, status, &diag);
		return false;
	}
	return true;
}

void mirror_stream_came(struct mirror_slot *slot, uint64_t len)
{
	struct mirror_stream *s = slot->s;
	pthread_mutex_lock(&s->m->lock);
	if (mirror_blocks_take(&s->blocks, slot->number, len))
		slot->used = false;
	pthread_mutex_unlock(&s->m->lock);
	mirror_stream_begun(s);
	mirror_stream_wake(s, false);
	mirror_stream_feed(s);
}

bool mirror_stream_take(struct mirror_slot *slot, uint64_t at, const uint8_t *bytes, size_t len)
{
	if (!mirror_stream_write(slot, at, bytes, len))
		return false;
	mirror_stream_came(slot, len);
	return true;
}
