#include "server/http/http_stream.h"

#include "base/buf.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct http_stream {
	pthread_mutex_t lock; /* guards the members below except ops and ctx */
	const struct http_stream_ops *ops;
	void *ctx;
	struct cairn_buf waiting;
	size_t sent;       /* how many bytes of waiting the connection has taken */
	size_t last_frame; /* offset of the newest frame in waiting */
	unsigned n_refs;
	bool paused, finished, failed, gone;
};

struct http_stream *http_stream_new(const struct http_stream_ops *ops, void *ctx)
{
	struct http_stream *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	pthread_mutex_init(&s->lock, NULL);
	s->ops = ops;
	s->ctx = ctx;
	s->waiting = cairn_buf_init(HTTP_STREAM_BYTES_MAX);
	s->n_refs = 2;
	return s;
}

/* Drops a reference, and releases the lock, which the caller holds. */
static void stream_unref(struct http_stream *s)
{
	bool last = --s->n_refs == 0;
	pthread_mutex_unlock(&s->lock);
	if (!last)
		return;
	pthread_mutex_destroy(&s->lock);
	cairn_buf_fini(&s->waiting);
	free(s);
}

static void stream_append(struct http_stream *s, const char *frame, size_t len)
{
	if (s->sent == s->waiting.len)
		s->sent = s->waiting.len = 0;
	s->last_frame = s->waiting.len;
	cairn_buf_add(&s->waiting, frame, len);
}

static void stream_wake(struct http_stream *s)
{
	if (!s->paused)
		return;
	s->paused = false;
	s->ops->wake(s->ctx);
}

bool http_stream_frame(struct http_stream *s, const char *frame, size_t len)
{
	pthread_mutex_lock(&s->lock);
	bool gone = s->gone;
	if (!gone && len > 0) {
		/* An unsent frame is stale now, so at most three wait: one partly sent, the new one, and the last. */
		if (s->sent <= s->last_frame)
			s->waiting.len = s->last_frame;
		stream_append(s, frame, len);
		stream_wake(s);
	}
	pthread_mutex_unlock(&s->lock);
	return !gone;
}

void http_stream_finish(struct http_stream *s, const char *frame, size_t len)
{
	pthread_mutex_lock(&s->lock);
	if (!s->gone) {
		stream_append(s, frame, len);
		s->failed = s->waiting.status != CAIRN_OK;
		s->finished = true;
		stream_wake(s);
	}
	stream_unref(s);
}

enum http_stream_read http_stream_read(struct http_stream *s, uint8_t *out, size_t max, size_t *n_read)
{
	enum http_stream_read result = HTTP_STREAM_BYTES;
	*n_read = 0;
	pthread_mutex_lock(&s->lock);
	size_t left = s->waiting.len - s->sent;
	if (s->failed) {
		result = HTTP_STREAM_FAILED;
	} else if (left > 0) {
		*n_read = left < max ? left : max;
		memcpy(out, s->waiting.bytes + s->sent, *n_read);
		s->sent += *n_read;
	} else if (s->finished) {
		result = HTTP_STREAM_END;
	} else if (s->ops->pause(s->ctx)) {
		/* Decided and set under the lock that the feeder takes, so no frame can slip in between. */
		s->paused = true;
		result = HTTP_STREAM_PAUSED;
	} else {
		result = HTTP_STREAM_FAILED;
	}
	pthread_mutex_unlock(&s->lock);
	return result;
}

void http_stream_gone(struct http_stream *s)
{
	pthread_mutex_lock(&s->lock);
	s->gone = true;
	stream_unref(s);
}
