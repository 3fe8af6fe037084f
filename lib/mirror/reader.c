/* Reads a long file for clients while it is fetched: from the spool, from parts, and from the store at the end. */
#include "base/fd.h"
#include "hub/lfs.h"
#include "mirror/stream.h"

#include <stdlib.h>

static void reader_link(struct cairn_mirror_reader *r)
{
	r->next = r->s->readers;
	r->s->readers = r;
}

static enum cairn_status reader_gone(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_NOT_FOUND, "mirror.later", CAIRN_NO_OFFSET,
			  "this file is not being fetched from the mirrored hub; ask again in a moment");
}

/* Does a range end a download? Clients that were cut off resume with "bytes=N-", and then have the whole file. A
 * request for a footer names the footer's length instead. */
static bool reader_goes_on(const struct cairn_byte_range *range)
{
	return range->kind == CAIRN_RANGE_FROM_TO && range->last == UINT64_MAX;
}

enum cairn_status cairn_mirror_reader_open(struct cairn_mirror *mirror, const struct cairn_mirror_want *what,
					   const struct cairn_byte_range *range, struct cairn_file_extent *extent,
					   struct cairn_mirror_reader **out, struct cairn_diag *diag)
{
	*out = NULL;
	pthread_mutex_lock(&mirror->lock);
	struct mirror_stream *s = mirror_stream_find(mirror, what->repo, what->entry.content);
	pthread_mutex_unlock(&mirror->lock);
	if (!s)
		return reader_gone(diag);
	uint64_t size = extent->file_bytes = s->blocks.size_bytes;
	struct cairn_mirror_reader *r = calloc(1, sizeof(*r));
	enum cairn_status status = r ? CAIRN_OK : CAIRN_E_NOMEM;
	if (status == CAIRN_OK && !cairn_byte_range_clip(range, size, &extent->first, &extent->end))
		status = CAIRN_E_LIMIT;
	if (status == CAIRN_OK) {
		*r = (struct cairn_mirror_reader){.s = s, .at = extent->first, .end = extent->end};
		r->holds_back = r->end == size && (reader_goes_on(range) || r->end - r->at > MIRROR_FOOTER_MAX);
		pthread_mutex_lock(&mirror->lock);
		bool is_kept = s->is_here || r->at >= s->kept || r->at < s->parts_end;
		if (is_kept)
			reader_link(r);
		pthread_mutex_unlock(&mirror->lock);
		status = is_kept ? CAIRN_OK : cairn_mirror_later(diag);
	}
	if (status == CAIRN_OK) {
		*out = r;
		return CAIRN_OK;
	}
	free(r);
	mirror_stream_drop(s);
	return status;
}

void cairn_mirror_reader_free(struct cairn_mirror_reader *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->s->m->lock);
	struct cairn_mirror_reader **at = &r->s->readers;
	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	pthread_mutex_unlock(&r->s->m->lock);
	cairn_file_reader_free(r->stored);
	mirror_part_close(&r->part);
	mirror_stream_drop(r->s);
	free(r);
}

bool cairn_mirror_reader_unwake(struct cairn_mirror_reader *r)
{
	pthread_mutex_lock(&r->s->m->lock);
	bool waited = r->wake != NULL;
	r->wake = NULL;
	r->waits_for_end = false;
	pthread_mutex_unlock(&r->s->m->lock);
	return waited;
}

static enum cairn_mirror_read reader_stored(struct cairn_mirror_reader *r, uint8_t *out, size_t max, size_t *n,
					    struct cairn_diag *diag)
{
	const struct cairn_mirror_want *what = &r->s->what;
	const struct cairn_byte_range range = {.kind = CAIRN_RANGE_FROM_TO, .first = r->at, .last = r->end - 1};
	struct cairn_file_extent extent;
	enum cairn_status status = CAIRN_OK;
	if (!r->stored)
		status = cairn_hub_lfs_open(r->s->m->hub, what->repo, what->entry.sha256, &range, &extent, &r->stored,
					    diag);
	if (status == CAIRN_OK)
		status = cairn_file_reader_read(r->stored, out, max, n, diag);
	if (status != CAIRN_OK)
		return CAIRN_MIRROR_READ_FAILED;
	r->at += *n;
	return CAIRN_MIRROR_READ_BYTES;
}

/* The place of a reader's next bytes. */
enum reader_place {
	READER_IN_SPOOL,
	READER_IN_PARTS,
	READER_IN_STORE,
	READER_LATER,  /* the bytes have not arrived */
	READER_NOWHERE /* the fetch failed, or the bytes have left the spool */
};

/* Finds the reader's next bytes. Called with the lock. @param[out] has  how many have arrived */
static enum reader_place reader_find(const struct cairn_mirror_reader *r, uint64_t *has, struct cairn_diag *diag)
{
	const struct mirror_stream *s = r->s;
	*has = 0;
	if (s->is_here)
		return READER_IN_STORE;
	if (!mirror_stream_goes(s)) {
		*diag = s->diag;
		return READER_NOWHERE;
	}
	if (r->at < s->kept && r->at >= s->parts_end) {
		(void)cairn_mirror_later(diag);
		return READER_NOWHERE;
	}
	*has = mirror_reader_has(r);
	if (*has == 0)
		return READER_LATER;
	return r->at < s->kept ? READER_IN_PARTS : READER_IN_SPOOL;
}

/* The result of an attempt to read. */
enum reader_got {
	READER_TRIED, /* the status is final */
	READER_AGAIN, /* the bytes have moved: find them again */
	READER_WAITS, /* it waits for the end of the stream, and may be freed from now on */
};

/* Reads from the spool. @param max  at most the bytes that have arrived */
static enum reader_got reader_spooled(const struct cairn_mirror_reader *r, uint8_t *out, size_t max, size_t *n,
				      enum cairn_status *status, struct cairn_diag *diag)
{
	const struct mirror_stream *s = r->s;
	*status = cairn_fd_read_at(s->fd, r->at, out, max);
	pthread_mutex_lock(&s->m->lock);
	bool good = mirror_stream_goes(s) && r->at >= s->kept;
	pthread_mutex_unlock(&s->m->lock);
	if (good && *status != CAIRN_OK)
		(void)cairn_fail(diag, *status, "mirror.spool", CAIRN_NO_OFFSET,
				 "cannot read bytes of the mirrored hub from the disk: %s", cairn_status_name(*status));
	*n = max;
	return good ? READER_TRIED : READER_AGAIN; /* AGAIN: they left the spool during the read */
}

/* Reads from parts. A part is gone if a daemon is just completing the file; then the reader waits. */
static enum reader_got reader_of_parts(struct cairn_mirror_reader *r, uint8_t *out, size_t max, size_t *n,
				       void (*wake)(void *ctx), void *ctx, enum cairn_status *status,
				       struct cairn_diag *diag)
{
	const struct mirror_stream *s = r->s;
	enum reader_got got = READER_TRIED;
	struct cairn_diag why = {0};
	*status = mirror_part_read(s, &r->part, r->at, out, max, n, &why);
	pthread_mutex_lock(&s->m->lock);
	if (*status != CAIRN_OK && s->is_here) {
		got = READER_AGAIN;
	} else if (*status == CAIRN_E_NOT_FOUND && mirror_stream_goes(s)) {
		got = READER_WAITS;
		r->wake = wake;
		r->ctx = ctx;
		r->waits_for_end = true;
	} else {
		*diag = why;
	}
	pthread_mutex_unlock(&s->m->lock);
	return got;
}

enum cairn_mirror_read cairn_mirror_reader_read(struct cairn_mirror_reader *r, uint8_t *out, size_t max, size_t *n,
						void (*wake)(void *ctx), void *ctx, struct cairn_diag *diag)
{
	struct mirror_stream *s = r->s;
	struct cairn_mirror *m = s->m;
	enum cairn_status status;
	enum reader_got got = READER_AGAIN;
	uint64_t has;
	*n = 0;
	if (r->at == r->end)
		return CAIRN_MIRROR_READ_BYTES;
	while (got == READER_AGAIN) {
		pthread_mutex_lock(&m->lock);
		enum reader_place place = reader_find(r, &has, diag);
		bool lacks = place == READER_LATER && !mirror_blocks_is_asked(&s->blocks, r->at);
		if (place == READER_LATER) {
			r->wake = wake;
			r->ctx = ctx;
		}
		pthread_mutex_unlock(&m->lock);
		/* A reader that waits may be freed from here on. */
		if (lacks)
			mirror_ask_blocks(m);
		if (place != READER_IN_SPOOL && place != READER_IN_PARTS)
			return place == READER_IN_STORE ? reader_stored(r, out, max, n, diag)
			       : place == READER_LATER  ? CAIRN_MIRROR_READ_NOT_YET
							: CAIRN_MIRROR_READ_FAILED;
		size_t len = has < max ? (size_t)has : max;
		got = place == READER_IN_SPOOL ? reader_spooled(r, out, len, n, &status, diag)
					       : reader_of_parts(r, out, len, n, wake, ctx, &status, diag);
	}
	if (got == READER_WAITS)
		return CAIRN_MIRROR_READ_NOT_YET;
	if (status != CAIRN_OK)
		return CAIRN_MIRROR_READ_FAILED;
	pthread_mutex_lock(&m->lock);
	r->at += *n;
	r->has_read = true;
	pthread_mutex_unlock(&m->lock);
	return CAIRN_MIRROR_READ_BYTES;
}
