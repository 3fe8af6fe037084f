#include "server/hub/hub_stream.h"

#include "server/ask/hub_mirror.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_WINDOW_BYTES = 16 << 20 }; /* after each window the right to read is checked again */

struct hub_stream {
	struct app *app;
	struct cairn_mirror_reader *reader;
	struct cairn_hub_asker asker;
	enum cairn_index_repo_kind kind;
	int64_t repo;
	char account[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1], name[CAIRN_INDEX_REPO_NAME_MAX + 1];
	uint8_t who[CAIRN_SHA256_BYTES]; /* SHA-256 of the admitted token, if asker.admitted */
	uint64_t asked_at;               /* position at which the right is checked again */
	pthread_mutex_t lock;            /* guards the members below */
	bool woken;                      /* bytes have come since the last read that found none */
	struct http_waiter *waiter;      /* NULL: no reply waits */
};

enum cairn_status hub_stream_open(struct hub_stream **out, struct hub_repo *r, const struct cairn_byte_range *range,
				  struct cairn_file_extent *extent)
{
	*out = NULL;
	struct cairn_mirror_reader *reader = NULL;
	enum cairn_status status = hub_mirror_open_file(r, range, extent, &reader);
	struct hub_stream *s = status == CAIRN_OK ? calloc(1, sizeof(*s)) : NULL;
	if (!s) {
		cairn_mirror_reader_free(reader);
		return status == CAIRN_OK ? CAIRN_E_NOMEM : status;
	}
	s->app = r->call.job.app;
	s->reader = reader;
	s->asker = r->call.asker;
	memcpy(s->who, r->call.digest, sizeof(s->who));
	s->kind = r->kind;
	s->repo = r->repo.id;
	s->asked_at = STREAM_WINDOW_BYTES;
	(void)snprintf(s->account, sizeof(s->account), "%s", r->repo.account_name);
	(void)snprintf(s->name, sizeof(s->name), "%s", r->repo.name);
	pthread_mutex_init(&s->lock, NULL);
	*out = s;
	return CAIRN_OK;
}

void hub_stream_free(struct hub_stream *stream)
{
	if (!stream)
		return;
	cairn_mirror_reader_free(stream->reader);
	pthread_mutex_destroy(&stream->lock);
	free(stream);
}

/* May the asker still read the repository? */
static bool stream_may_go_on(struct hub_stream *s, uint64_t pos)
{
	struct cairn_index_repo repo;
	struct cairn_diag diag = {0};
	if (pos < s->asked_at)
		return true;
	s->asked_at = pos + STREAM_WINDOW_BYTES;
	char name[CAIRN_INDEX_ALIAS_MAX + 1];
	(void)snprintf(name, sizeof(name), "%s/%s", s->account, s->name);
	if (s->asker.admitted &&
	    !cairn_mirror_admits(s->app->mirror, s->kind, name, s->repo, s->who, !cairn_mirror_is_up(s->app->mirror)))
		return false; /* the token was refused since, or the hub would have to be asked again */
	return cairn_hub_find_repo(&s->app->hub, &s->asker, s->kind, s->account, s->name, CAIRN_HUB_READ, &repo,
				   &diag) == CAIRN_OK &&
	       repo.id == s->repo;
}

static void stream_wake(void *ctx)
{
	struct hub_stream *s = ctx;
	pthread_mutex_lock(&s->lock);
	struct http_waiter *waiter = s->waiter;
	s->woken = true;
	s->waiter = NULL;
	pthread_mutex_unlock(&s->lock);
	if (waiter)
		waiter->wake(waiter);
}

static ssize_t stream_read(void *ctx, uint64_t pos, uint8_t *out, size_t max)
{
	struct hub_stream *s = ctx;
	struct cairn_diag diag = {0};
	size_t n = 0;
	if (!stream_may_go_on(s, pos))
		return -1;
	s->woken = false; /* nothing can wake the waiter any more */
	enum cairn_mirror_read read = cairn_mirror_reader_read(s->reader, out, max, &n, stream_wake, s, &diag);
	if (read == CAIRN_MIRROR_READ_NOT_YET)
		return HTTP_NOT_YET;
	if (read == CAIRN_MIRROR_READ_FAILED || n == 0)
		return -1;
	atomic_fetch_add(&s->app->mirror_counts.passed_on_bytes, n);
	return (ssize_t)n;
}

static bool stream_wait(void *ctx, uint64_t pos, struct http_waiter *waiter)
{
	struct hub_stream *s = ctx;
	(void)pos;
	pthread_mutex_lock(&s->lock);
	bool waits = !s->woken;
	if (waits)
		s->waiter = waiter;
	pthread_mutex_unlock(&s->lock);
	return waits;
}

/* Takes the waiter back. A wake-up that can no longer be taken back is on its way to stream_wake(). */
static bool stream_leave(void *ctx, struct http_waiter *waiter)
{
	struct hub_stream *s = ctx;
	pthread_mutex_lock(&s->lock);
	bool kept = s->waiter == waiter && cairn_mirror_reader_unwake(s->reader);
	if (kept)
		s->waiter = NULL;
	pthread_mutex_unlock(&s->lock);
	return kept;
}

static void stream_release(void *ctx)
{
	hub_stream_free(ctx);
}

struct http_source hub_stream_source(struct hub_stream *stream, uint64_t bytes)
{
	return (struct http_source){stream_read, stream_wait, stream_leave, stream_release, stream, bytes};
}
