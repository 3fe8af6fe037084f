/* Gives clients the bytes of a long file while they come: from the spool, and from the store once the file is here. */
#include "base/fd.h"
#include "hub/lfs.h"
#include "mirror/stream.h"

#include <stdlib.h>

/* --- opening ------------------------------------------------------------------------------------------------------ */

static void reader_link(struct cairn_mirror_reader *r)
{
	r->next = r->s->readers;
	r->s->readers = r;
}

static enum cairn_status reader_gone(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_NOT_FOUND, "mirror.later", CAIRN_NO_OFFSET,
			  "this file is not on its way from the mirrored hub; ask again in a moment");
}

/* Clients that were cut off go on by "bytes=N-". They have the rest, so this end makes the file whole for them. A
 * request for a footer says how long the footer is. */
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
		bool is_kept = s->is_here || r->at >= s->kept;
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
	mirror_stream_drop(r->s);
	free(r);
}

bool cairn_mirror_reader_unwake(struct cairn_mirror_reader *r)
{
	pthread_mutex_lock(&r->s->m->lock);
	bool waited = r->wake != NULL;
	r->wake = NULL;
	pthread_mutex_unlock(&r->s->m->lock);
	return waited;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

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
	READER_IN_STORE,
	READER_LATER,  /* they have not come */
	READER_NOWHERE /* the fetch failed, or they are no longer in the spool */
};

/* Under the lock. @param[out] has  bytes in the spool */
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
	if (r->at < s->kept) {
		(void)cairn_mirror_later(diag);
		return READER_NOWHERE;
	}
	*has = mirror_reader_has(r);
	return *has > 0 ? READER_IN_SPOOL : READER_LATER;
}

enum cairn_mirror_read cairn_mirror_reader_read(struct cairn_mirror_reader *r, uint8_t *out, size_t max, size_t *n,
						void (*wake)(void *ctx), void *ctx, struct cairn_diag *diag)
{
	struct mirror_stream *s = r->s;
	struct cairn_mirror *m = s->m;
	uint64_t has;
	*n = 0;
	if (r->at == r->end)
		return CAIRN_MIRROR_READ_BYTES;
	for (;;) {
		pthread_mutex_lock(&m->lock);
		enum reader_place place = reader_find(r, &has, diag);
		bool lacks = place == READER_LATER && !mirror_blocks_is_asked(&s->blocks, r->at);
		if (place == READER_LATER) {
			r->wake = wake;
			r->ctx = ctx;
		}
		pthread_mutex_unlock(&m->lock);
		/* The reader may be gone from here on, if it was told to wait. */
		if (lacks)
			mirror_ask_blocks(m);
		if (place != READER_IN_SPOOL)
			return place == READER_IN_STORE ? reader_stored(r, out, max, n, diag)
			       : place == READER_LATER  ? CAIRN_MIRROR_READ_NOT_YET
							: CAIRN_MIRROR_READ_FAILED;
		size_t len = has < max ? (size_t)has : max;
		enum cairn_status status = cairn_fd_read_at(s->fd, r->at, out, len);
		pthread_mutex_lock(&m->lock);
		bool good = mirror_stream_goes(s) && r->at >= s->kept;
		pthread_mutex_unlock(&m->lock);
		if (!good)
			continue;
		if (status != CAIRN_OK) {
			(void)cairn_fail(diag, status, "mirror.spool", CAIRN_NO_OFFSET,
					 "cannot read what the mirrored hub has sent: %s", cairn_status_name(status));
			return CAIRN_MIRROR_READ_FAILED;
		}
		pthread_mutex_lock(&m->lock);
		r->at += len;
		r->has_read = true;
		pthread_mutex_unlock(&m->lock);
		*n = len;
		return CAIRN_MIRROR_READ_BYTES;
	}
}
