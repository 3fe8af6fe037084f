/* Takes what has come of a long file into the store, from its front on, and proves it. */
#include "base/fd.h"
#include "base/sys.h"
#include "cas/room.h"
#include "hub/lfs.h"
#include "mirror/hub/ask_refused.h"
#include "mirror/stream.h"

#include <fcntl.h>
#include <string.h>

enum {
	FRONT_TURN_BYTES = 8 << 20,  /* taken before other work has its turn */
	FRONT_PUNCH_BYTES = 1 << 20, /* freed at a time, at least */
};

/* --- taking ------------------------------------------------------------------------------------------------------- */

enum cairn_status mirror_receive(const struct cairn_mirror *m, const struct cairn_mirror_want *what,
				 const uint8_t sha256[static CAIRN_SHA256_BYTES], struct cairn_hub_ingest **out,
				 struct cairn_diag *diag)
{
	struct cairn_hub_lfs_grant grant = {
		.upload = true, .repo = what->repo, .size_bytes = what->entry.size_bytes, .alone = what->is_alone};
	struct cairn_hash sender = {{'m', 'i', 'r', 'r', 'o', 'r'}};
	/* Each file is a sender of its own: how many are under way at once is limited here. */
	memcpy(sender.b + sizeof("mirror"), &what->entry.content, sizeof(what->entry.content));
	memcpy(grant.sha256, sha256, sizeof(grant.sha256));
	if (cairn_cas_options_of(m->hub->cas)->xorbs_external)
		return cairn_fail(diag, CAIRN_E_USAGE, "xorbs.external", CAIRN_NO_OFFSET,
				  "this server keeps an index only: of the mirrored hub it takes texts alone");
	return cairn_hub_lfs_receive(m->hub, &grant, &sender, out, diag);
}

/* Returns how many bytes there are to take. */
static uint64_t front_has(struct mirror_stream *s)
{
	pthread_mutex_lock(&s->m->lock);
	uint64_t n = mirror_stream_goes(s) ? mirror_blocks_reach(&s->blocks, s->front) - s->front : 0;
	pthread_mutex_unlock(&s->m->lock);
	return n;
}

static enum cairn_status front_take_some(struct mirror_stream *s, uint64_t has, size_t *taken, struct cairn_diag *diag)
{
	size_t room;
	uint8_t *to = cairn_hub_ingest_room(s->in, &room);
	*taken = room < has ? room : (size_t)has;
	enum cairn_status status = cairn_fd_read_at(s->fd, s->front, to, *taken);
	if (status != CAIRN_OK)
		return cairn_fail(diag, status, "mirror.spool", CAIRN_NO_OFFSET,
				  "cannot read what the mirrored hub has sent: %s", cairn_status_name(status));
	cairn_hub_ingest_put(s->in, *taken);
	status = cairn_hub_ingest_work(s->in, diag);
	pthread_mutex_lock(&s->m->lock);
	s->front += *taken;
	pthread_mutex_unlock(&s->m->lock);
	return status;
}

static enum cairn_status front_take(struct mirror_stream *s, struct cairn_diag *diag)
{
	uint64_t has = front_has(s);
	enum cairn_status status = CAIRN_OK;
	if (!s->in && has > 0)
		status = mirror_receive(s->m, &s->what, s->what.entry.sha256, &s->in, diag);
	for (size_t n = 0, taken; status == CAIRN_OK && has > 0 && n < FRONT_TURN_BYTES; n += taken) {
		status = front_take_some(s, has, &taken, diag);
		has = front_has(s);
	}
	return status;
}

/* --- room --------------------------------------------------------------------------------------------------------- */

/* Returns the bytes of the spool that may go: those behind the front and all readers, once the spools are half full;
 * three quarters full, they go although clients want them, which then ask again. Under the lock. */
static uint64_t front_may_free(const struct mirror_stream *s)
{
	uint64_t to = s->front, bytes = mirror_spool_bytes(s->m), most = s->m->spool_bytes_max;
	if (bytes <= most / 2)
		return s->kept;
	for (const struct cairn_mirror_reader *r = s->readers; r && bytes <= most / 4 * 3; r = r->next)
		to = r->at < to ? r->at : to;
	to -= to % FRONT_PUNCH_BYTES;
	return to > s->kept ? to : s->kept;
}

static void front_free_room(struct mirror_stream *s)
{
	pthread_mutex_lock(&s->m->lock);
	uint64_t from = s->kept, to = mirror_stream_goes(s) ? front_may_free(s) : from;
	s->kept = to; /* before the bytes go: whoever reads them looks again afterwards */
	pthread_mutex_unlock(&s->m->lock);
	if (to == from)
		return;
	(void)cairn_sys_fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)(to - from));
	mirror_stream_wake(s, false);
}

/* --- the work ----------------------------------------------------------------------------------------------------- */

static enum cairn_status front_prove(struct mirror_stream *s, struct cairn_diag *diag)
{
	struct cairn_index_fill_content fill = {.repo = s->what.repo, .content = s->what.entry.content};
	memcpy(fill.sha256, s->what.entry.sha256, sizeof(fill.sha256));
	enum cairn_status status = cairn_hub_ingest_end(s->in, diag);
	if (status == CAIRN_E_MISMATCH) {
		cairn_diag_clear(diag); /* which keeps what was said first */
		return mirror_wrong_bytes(s->what.path, diag);
	}
	if (status != CAIRN_OK)
		return status;
	status = cairn_index_fill_content(s->m->hub->index, &fill);
	*diag = fill.write.diag;
	return status;
}

static void front_work(struct cairn_work *work)
{
	struct mirror_stream *s = (struct mirror_stream *)work;
	struct cairn_mirror *m = s->m;
	struct cairn_diag diag = {0};
	enum cairn_status status = front_take(s, &diag);
	bool whole = status == CAIRN_OK && s->front == s->blocks.size_bytes;
	if (whole)
		status = front_prove(s, &diag);
	if (whole || status != CAIRN_OK) {
		mirror_stream_end(s, status, &diag);
		cairn_hub_ingest_free(
			s->in); /* slow readers keep the stream for long; no other work follows this one */
		s->in = NULL;
		mirror_stream_drop(s);
		return;
	}
	front_free_room(s);
	struct cairn_hub_ingest *in = NULL;
	pthread_mutex_lock(&m->lock);
	s->works = false;
	if (!mirror_stream_goes(s)) { /* it ended meanwhile */
		in = s->in;
		s->in = NULL;
	}
	pthread_mutex_unlock(&m->lock);
	cairn_hub_ingest_free(in);
	mirror_stream_feed(s);
	mirror_stream_drop(s);
	mirror_ask_blocks(m);
}

/* --- beginning ---------------------------------------------------------------------------------------------------- */

static void front_begin(struct mirror_fetch *f)
{
	struct cairn_mirror *m = f->m;
	struct cairn_diag diag = {0};
	struct mirror_stream *s;
	enum cairn_status status = cairn_cas_room(m->hub->cas, f->what.entry.size_bytes, &diag);
	if (status == CAIRN_OK)
		status = mirror_stream_new(&s, f, front_work, &diag);
	if (status == CAIRN_OK)
		mirror_ask_blocks(m);
	else
		mirror_fetch_end(f, status, &diag);
}

void mirror_stream_begin(struct mirror_fetch *f)
{
	mirror_fetch_work(f, front_begin);
}
