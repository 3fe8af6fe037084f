/* Long files of an index that several daemons share. A single daemon fetches a file, and holds its lease. The others
 * follow: they send their clients the bytes in parts, and one takes over when the lease is free. */
#include "base/clock.h"
#include "cas/room.h"
#include "mirror/stream.h"

enum {
	FOLLOW_LEFT_MS = 10000, /* time after which a stream without readers ends */
};

void mirror_follow_end_if_left(struct mirror_stream *s)
{
	struct cairn_diag diag = {0};
	int64_t now_ms = cairn_clock_mono_ms();
	pthread_mutex_lock(&s->m->lock);
	bool follows = mirror_stream_goes(s) && s->follows;
	if (follows && (s->readers || s->f->waiting))
		s->wanted_ms = now_ms;
	bool is_left = follows && now_ms - s->wanted_ms >= FOLLOW_LEFT_MS;
	pthread_mutex_unlock(&s->m->lock);
	if (is_left)
		mirror_stream_end(s, cairn_mirror_later(&diag), &diag);
}

/* --- following ---------------------------------------------------------------------------------------------------- */

/* Records that the bytes before an offset are in parts, and that no others have arrived. Called with the lock. */
static void follow_have(struct mirror_stream *s, uint64_t end)
{
	s->parts_end = s->kept = s->asked_bytes = end;
	mirror_blocks_have(&s->blocks, end);
}

/* Records the end of the parts. Parts are removed only if their bytes are false, or cannot be read. Clients have some
 * of them, so the stream then ends. */
static enum cairn_status follow_note(struct mirror_stream *s, uint64_t end, struct cairn_diag *diag)
{
	pthread_mutex_lock(&s->m->lock);
	bool lost = end < s->parts_end;
	if (mirror_stream_goes(s) && end > s->parts_end)
		follow_have(s, end);
	pthread_mutex_unlock(&s->m->lock);
	if (lost)
		return cairn_mirror_later(diag);
	if (end > 0)
		mirror_stream_begun(s);
	mirror_stream_wake(s, false);
	return CAIRN_OK;
}

/* Reads how far the parts reach, and then the state of the file. In this order, because the parts are also removed when
 * the file is complete. */
static enum cairn_status follow_look(struct mirror_stream *s, struct cairn_index_fetch *found, struct cairn_diag *diag)
{
	const struct cairn_mirror_want *what = &s->what;
	uint64_t end;
	*found = (struct cairn_index_fetch){.is_here = false};
	if (!cairn_index_is_shared(s->m->hub->index))
		return CAIRN_OK;
	enum cairn_status status = mirror_parts_find(s->m, what, &end);
	if (status == CAIRN_OK)
		status = cairn_index_fetch(s->m->hub->index, what->repo, what->entry.content, found);
	if (status == CAIRN_E_NOT_FOUND) /* the repository is gone, which the next request reports */
		return cairn_mirror_later(diag);
	return status == CAIRN_OK && !found->is_here ? follow_note(s, end, diag) : status;
}

/* --- fetching ----------------------------------------------------------------------------------------------------- */

/* @param[out] begins  false: the stream has ended meanwhile, or cannot continue where its clients are */
static enum cairn_status follow_begin(struct mirror_stream *s, const struct cairn_index_lease *lease, bool *begins,
				      struct cairn_diag *diag)
{
	struct cairn_mirror *m = s->m;
	uint64_t old_end;
	*begins = false;
	enum cairn_status status = mirror_parts_find(m, &s->what, &old_end);
	if (status == CAIRN_OK)
		status = mirror_room_promise(m, &s->f, &s->what, old_end, diag);
	if (status == CAIRN_OK)
		status = cairn_cas_room(m->hub->cas, s->what.entry.size_bytes - old_end, diag);
	if (status != CAIRN_OK)
		return status;
	mirror_known_begin(s);
	pthread_mutex_lock(&m->lock);
	*begins = mirror_stream_goes(s) && old_end >= s->parts_end;
	if (*begins) {
		s->lease = *lease;
		s->old_end = old_end;
		s->part_ms = cairn_clock_mono_ms();
		s->follows = false;
		follow_have(s, old_end);
	}
	pthread_mutex_unlock(&m->lock);
	return *begins ? CAIRN_OK : cairn_mirror_later(diag);
}

static enum cairn_status follow_take_over(struct mirror_stream *s, struct cairn_diag *diag)
{
	struct cairn_index *ix = s->m->hub->index;
	struct cairn_index_lease lease;
	bool begins;
	if (s->m->is_offline)
		return mirror_net_offline(diag);
	enum cairn_status status = cairn_index_take_fetch(ix, s->what.entry.content, &lease, diag);
	if (status == CAIRN_E_CONFLICT && cairn_diag_has(diag, "lease.taken")) {
		cairn_diag_clear(diag); /* the next look-up finds out more */
		return CAIRN_OK;
	}
	if (status != CAIRN_OK)
		return status;
	status = follow_begin(s, &lease, &begins, diag);
	if (!begins)
		cairn_index_leave_lease(ix, &lease);
	return status;
}

void mirror_follow(struct mirror_stream *s)
{
	struct cairn_diag diag = {0};
	struct cairn_index_fetch found;
	pthread_mutex_lock(&s->m->lock);
	s->looked_ms = cairn_clock_mono_ms();
	pthread_mutex_unlock(&s->m->lock);
	enum cairn_status status = follow_look(s, &found, &diag);
	if (status == CAIRN_E_BUSY && !diag.rule) /* the index is silent; the next look tells more */
		return;
	if (status == CAIRN_OK && !found.is_here && !found.is_taken)
		status = follow_take_over(s, &diag);
	if (status != CAIRN_OK || found.is_here)
		mirror_stream_end(s, status, &diag);
}
