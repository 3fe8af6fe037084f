#include "server/http/http_pump.h"

#include <stdlib.h>
#include <string.h>

struct http_pump {
	struct cairn_work work;
	struct cairn_workers *workers;
	const struct http_stream_ops *ops;
	void *ctx;
	struct http_pump_source source;
	uint64_t at; /* offset of the block in the body */
	size_t n;    /* bytes in it */
	bool failed;
	uint8_t block[HTTP_PUMP_BYTES];
};

static void pump_work(struct cairn_work *work)
{
	struct http_pump *p = (struct http_pump *)work;
	uint64_t left = p->source.bytes - p->at;
	ssize_t n = p->source.read(p->source.ctx, p->at, p->block,
				   left < sizeof(p->block) ? (size_t)left : sizeof(p->block));
	p->failed = n <= 0;
	p->n = p->failed ? 0 : (size_t)n;
	p->ops->wake(p->ctx);
}

struct http_pump *http_pump_new(const struct http_stream_ops *ops, void *ctx, const struct http_pump_source *source,
				struct cairn_workers *workers, uint64_t turn)
{
	struct http_pump *p = malloc(sizeof(*p));
	if (!p) {
		if (source->release)
			source->release(source->ctx);
		return NULL;
	}
	p->work = (struct cairn_work){.run = pump_work, .turn = turn};
	p->workers = workers;
	p->ops = ops;
	p->ctx = ctx;
	p->source = *source;
	p->at = 0;
	p->n = 0;
	p->failed = false;
	return p;
}

/* The connection is paused first, since the worker may finish the block before the submission returns. */
static enum http_stream_read pump_fetch(struct http_pump *p, uint64_t pos)
{
	p->at = pos;
	p->n = 0;
	if (!p->ops->pause(p->ctx))
		return HTTP_STREAM_FAILED;
	if (cairn_workers_submit(p->workers, &p->work) != CAIRN_OK) {
		p->failed = true;
		p->ops->wake(p->ctx);
	}
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
	free(p);
}
