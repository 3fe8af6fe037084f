#include "server/http/http_pump.h"

#include <stdlib.h>
#include <string.h>

struct http_pump {
	struct cairn_work work;
	struct http_wait wait;
	struct cairn_workers *workers;
	struct http_waits *waits;
	const struct http_pump_ops *ops;
	void *ctx;
	struct http_source source;
	uint64_t at;    /* offset of the block in the body */
	size_t n;       /* bytes in the block */
	uint8_t *block; /* of HTTP_PUMP_BYTES; NULL while the source has no bytes */
	bool failed;
};

static struct http_pump *pump_of_wait(struct http_wait *wait)
{
	return (struct http_pump *)((char *)wait - offsetof(struct http_pump, wait));
}

static void pump_wake(struct http_pump *p)
{
	p->ops->stream.wake(p->ctx);
}

static void pump_fail(struct http_pump *p)
{
	p->failed = true;
	pump_wake(p);
}

/* Submits the read of a block to a worker. The connection is paused. */
static void pump_submit(struct http_pump *p)
{
	if (cairn_workers_submit(p->workers, &p->work) != CAIRN_OK)
		pump_fail(p);
}

static void pump_wait_ended(struct http_wait *wait, bool has_bytes)
{
	struct http_pump *p = pump_of_wait(wait);
	p->ops->wait_ends(p->ctx);
	if (has_bytes)
		pump_submit(p);
	else
		pump_fail(p);
}

/* Waits for the source. Without its block a waiting client takes little memory. */
static void pump_wait(struct http_pump *p)
{
	free(p->block);
	p->block = NULL;
	p->ops->wait_begins(p->ctx);
	enum http_wait_begin begin = http_waits_begin(p->waits, &p->wait, p->at);
	if (begin != HTTP_WAIT_BEGUN)
		pump_wait_ended(&p->wait, begin == HTTP_WAIT_NO_NEED);
}

static void pump_work(struct cairn_work *work)
{
	struct http_pump *p = (struct http_pump *)work;
	uint64_t left = p->source.bytes - p->at;
	if (!p->block && !(p->block = malloc(HTTP_PUMP_BYTES))) {
		pump_fail(p);
		return;
	}
	ssize_t n =
		p->source.read(p->source.ctx, p->at, p->block, left < HTTP_PUMP_BYTES ? (size_t)left : HTTP_PUMP_BYTES);
	if (n == HTTP_NOT_YET && p->source.wait) {
		pump_wait(p);
		return;
	}
	p->failed = n <= 0;
	p->n = p->failed ? 0 : (size_t)n;
	pump_wake(p);
}

struct http_pump *http_pump_new(const struct http_pump_ops *ops, void *ctx, const struct http_source *source,
				struct cairn_workers *workers, struct http_waits *waits, uint64_t turn)
{
	struct http_pump *p = calloc(1, sizeof(*p));
	if (!p) {
		if (source->release)
			source->release(source->ctx);
		return NULL;
	}
	p->work = (struct cairn_work){.run = pump_work, .turn = turn};
	p->workers = workers;
	p->waits = waits;
	p->ops = ops;
	p->ctx = ctx;
	p->source = *source;
	p->wait.source = &p->source;
	p->wait.ended = pump_wait_ended;
	p->wait.is_left = ops->is_left;
	p->wait.ctx = ctx;
	return p;
}

/* Pauses the connection and reads the next block. The pause comes first, because the worker may finish the block before
 * the submission returns. */
static enum http_stream_read pump_fetch(struct http_pump *p, uint64_t pos)
{
	p->at = pos;
	p->n = 0;
	if (!p->ops->stream.pause(p->ctx))
		return HTTP_STREAM_FAILED;
	pump_submit(p);
	return HTTP_STREAM_PAUSED;
}

enum http_stream_read http_pump_read(struct http_pump *p, uint64_t pos, uint8_t *out, size_t max, size_t *n_read)
{
	*n_read = 0;
	if (p->failed)
		return HTTP_STREAM_FAILED;
	if (pos == p->source.bytes)
		return HTTP_STREAM_END;
	if (pos < p->at || pos - p->at >= p->n)
		return pump_fetch(p, pos);
	size_t skip = (size_t)(pos - p->at);
	*n_read = p->n - skip < max ? p->n - skip : max;
	memcpy(out, p->block + skip, *n_read);
	return HTTP_STREAM_BYTES;
}

void http_pump_free(struct http_pump *p)
{
	if (!p)
		return;
	if (p->source.release)
		p->source.release(p->source.ctx);
	free(p->block);
	free(p);
}
