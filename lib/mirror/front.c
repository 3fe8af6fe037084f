/* Takes the bytes of a long file into the store in order, and proves the file at its end. The front is the offset up to
 * which bytes were taken. */
#include "base/fd.h"
#include "base/sys.h"
#include "hub/ingest.h"
#include "index/owner.h"
#include "mirror/hub/ask_refused.h"
#include "mirror/stream.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

enum {
	FRONT_TURN_BYTES = 8 << 20,  /* bytes taken before other work has its turn */
	FRONT_PUNCH_BYTES = 1 << 20, /* least length that is freed at once */
};

/* --- taking ------------------------------------------------------------------------------------------------------- */

/* Uses the xorbs of other mirrored files even if they are not offered: parts of this file may be among them. */
enum cairn_status mirror_receive(struct cairn_mirror *m, const struct cairn_mirror_want *what,
				 const uint8_t sha256[static CAIRN_SHA256_BYTES], struct cairn_hub_ingest **out,
				 struct cairn_diag *diag)
{
	char owner[CAIRN_INDEX_OWNER_BYTES];
	struct cairn_hub_ingest_file file = {.size_bytes = what->entry.size_bytes};
	struct cairn_cas_who who = {.scope = what->is_alone ? owner : "",
				    .owner = owner,
				    .sender = {{'m', 'i', 'r', 'r', 'o', 'r'}},
				    .finds_withdrawn = true,
				    .stays_withdrawn = !mirror_room_offers(m)};
	cairn_index_repo_owner(owner, what->repo);
	/* Each file counts as a sender of its own, because this room limits how many are in progress. */
	memcpy(who.sender.b + sizeof("mirror"), &what->entry.content, sizeof(what->entry.content));
	memcpy(file.sha256, sha256, sizeof(file.sha256));
	if (cairn_cas_options_of(m->hub->cas)->xorbs_external)
		return cairn_fail(diag, CAIRN_E_USAGE, "xorbs.external", CAIRN_NO_OFFSET,
				  "this server keeps an index only, so it mirrors files of up to 64 KiB alone");
	return cairn_hub_ingest_begin(m->hub, &who, &file, out, diag);
}

/* Returns how many bytes can be taken now, up to the next part. */
static uint64_t front_has(struct mirror_stream *s)
{
	pthread_mutex_lock(&s->m->lock);
	bool stops = !mirror_stream_goes(s) || mirror_part_is_due(s, s->front);
	uint64_t n = stops ? 0 : mirror_blocks_reach(&s->blocks, s->front) - s->front;
	pthread_mutex_unlock(&s->m->lock);
	return n;
}

static enum cairn_status front_read(const struct mirror_stream *s, uint8_t *to, size_t n, struct cairn_diag *diag)
{
	enum cairn_status status = cairn_fd_read_at(s->fd, s->front, to, n);
	if (status != CAIRN_OK)
		return cairn_fail(diag, status, "mirror.spool", CAIRN_NO_OFFSET,
				  "cannot read bytes of the mirrored hub from the disk: %s", cairn_status_name(status));
	return CAIRN_OK;
}

/* Reads the parts of earlier fetches, so that the SHA-256 and the terms cover the whole file. If a part can no longer
 * be read, drops all parts, so that the next fetch begins anew. */
static enum cairn_status front_read_old(struct mirror_stream *s, uint8_t *to, size_t max, size_t *n,
					struct cairn_diag *diag)
{
	uint64_t left = s->old_end - s->front;
	enum cairn_status status = mirror_part_read(s, &s->old, s->front, to, max < left ? max : (size_t)left, n, diag);
	bool is_unreadable =
		status == CAIRN_E_IO && cairn_diag_has(diag, "object.unreadable"); /* a bad sector stays bad */
	if (status != CAIRN_E_NOT_FOUND && status != CAIRN_E_CONFLICT && status != CAIRN_E_DAMAGED && !is_unreadable)
		return status;
	mirror_parts_drop(s);
	cairn_diag_clear(diag);
	return cairn_mirror_later(diag);
}

static enum cairn_status front_take_some(struct mirror_stream *s, uint64_t has, size_t *taken, struct cairn_diag *diag)
{
	size_t room;
	uint8_t *to = cairn_hub_ingest_room(s->in, &room);
	size_t max = room < has ? room : (size_t)has;
	enum cairn_status status =
		s->front < s->old_end ? front_read_old(s, to, max, taken, diag) : front_read(s, to, *taken = max, diag);
	if (status != CAIRN_OK)
		return status;
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
	if (status == CAIRN_OK && s->in && s->front == 0)
		cairn_hub_ingest_in_parts(s->in, s->old_end);
	for (size_t n = 0, taken; status == CAIRN_OK && has > 0 && n < FRONT_TURN_BYTES; n += taken) {
		status = front_take_some(s, has, &taken, diag);
		has = front_has(s);
	}
	return status;
}

/* --- room in the spool -------------------------------------------------------------------------------------------- */

/* Returns the offset up to which the spool may be freed. If it is half full: bytes that are in parts and that all
 * readers of the spool have passed. If three quarters full: all bytes taken, even if readers lack them; their clients
 * ask again. Called with the lock. */
static uint64_t front_may_free(const struct mirror_stream *s)
{
	uint64_t to = s->front, bytes = mirror_spool_bytes(s->m), most = s->m->spool_bytes_max;
	if (bytes <= most / 2)
		return s->kept;
	if (bytes <= most / 4 * 3 && !s->takes_no_parts)
		to = s->parts_end;
	for (const struct cairn_mirror_reader *r = s->readers; r && bytes <= most / 4 * 3; r = r->next)
		to = r->at >= s->parts_end && r->at < to ? r->at : to;
	to -= to % FRONT_PUNCH_BYTES;
	return to > s->kept ? to : s->kept;
}

static void front_free_room(struct mirror_stream *s)
{
	pthread_mutex_lock(&s->m->lock);
	uint64_t from = s->kept, to = mirror_stream_goes(s) ? front_may_free(s) : from;
	s->kept = to; /* before the bytes are freed, because readers check it after they read */
	pthread_mutex_unlock(&s->m->lock);
	if (to == from)
		return;
	(void)cairn_sys_fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)(to - from));
	mirror_stream_wake(s, false);
}

/* --- the work ----------------------------------------------------------------------------------------------------- */

static enum cairn_status front_prove(struct mirror_stream *s, struct cairn_diag *diag)
{
	struct cairn_index_fill_content fill = {
		.write.lease = &s->lease, .repo = s->what.repo, .content = s->what.entry.content};
	memcpy(fill.sha256, s->what.entry.sha256, sizeof(fill.sha256));
	enum cairn_status status = cairn_hub_ingest_end(s->in, diag);
	if (status == CAIRN_E_MISMATCH) {
		mirror_parts_drop(s);
		cairn_diag_clear(diag); /* because a diag keeps its first reason */
		return mirror_known_was_false(s) ? mirror_wrong_copy(s->what.path, diag)
						 : mirror_wrong_bytes(s->what.path, diag);
	}
	if (status != CAIRN_OK)
		return status;
	status = cairn_index_fill_content(s->m->hub->index, &fill);
	*diag = fill.write.diag;
	return status;
}

static bool front_has_part(struct mirror_stream *s)
{
	pthread_mutex_lock(&s->m->lock);
	bool is_due = mirror_stream_goes(s) && mirror_part_is_due(s, s->front);
	pthread_mutex_unlock(&s->m->lock);
	return is_due;
}

/* Is the fetch over without a fault? A collection has removed the file before a row named it; or the repository is
 * gone, which the next request reports; or another daemon has taken over while this one was suspended. */
static bool front_is_over(enum cairn_status status, const struct cairn_diag *diag)
{
	return (status == CAIRN_E_NOT_FOUND && cairn_diag_has(diag, "content.unknown")) ||
	       (status == CAIRN_E_BUSY && cairn_diag_has(diag, "lease.over"));
}

/* Does a turn of work. @return false: the stream has ended */
static bool front_go_on(struct mirror_stream *s)
{
	struct cairn_diag diag = {0};
	enum cairn_status status = front_take(s, &diag);
	bool whole = status == CAIRN_OK && s->front == s->blocks.size_bytes;
	if (whole)
		status = front_prove(s, &diag);
	else if (status == CAIRN_OK && front_has_part(s))
		status = mirror_part_make(s, &diag);
	if (front_is_over(status, &diag)) {
		cairn_diag_clear(&diag);
		status = cairn_mirror_later(&diag);
	}
	if (!whole && status == CAIRN_OK) {
		front_free_room(s);
		return true;
	}
	mirror_stream_end(s, status, &diag);
	/* free it now, because slow readers keep the stream for long; this is the last work */
	cairn_hub_ingest_free(s->in);
	s->in = NULL;
	if (status == CAIRN_OK)
		mirror_known_keep(s); /* after the end, so that no client waits for it */
	return false;
}

static bool front_follows(const struct mirror_stream *s)
{
	pthread_mutex_lock(&s->m->lock);
	bool follows = s->follows;
	pthread_mutex_unlock(&s->m->lock);
	return follows;
}

static void front_work(struct cairn_work *work)
{
	struct mirror_stream *s = (struct mirror_stream *)work;
	struct cairn_mirror *m = s->m;
	struct cairn_hub_ingest *in = NULL;
	if (front_follows(s)) {
		mirror_follow(s);
	} else if (!front_go_on(s)) {
		mirror_stream_drop(s);
		return;
	}
	pthread_mutex_lock(&m->lock);
	s->works = false;
	if (!mirror_stream_goes(s)) { /* it ended during this work */
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
	struct cairn_diag diag = {0};
	struct mirror_stream *s;
	enum cairn_status status = mirror_stream_new(&s, f, front_work, &diag);
	if (status != CAIRN_OK) {
		mirror_fetch_end(f, status, &diag);
		return;
	}
	front_work(&s->work);
}

void mirror_stream_begin(struct mirror_fetch *f)
{
	mirror_fetch_work(f, front_begin);
}
