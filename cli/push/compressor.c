#include "cli/push/compressor.h"

#include "base/cond.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { COMPRESSOR_BLOCK_BYTES = 1024 * 1024 };

/* An entry of a block: a chunk with its bytes, or the end of a xorb. */
struct compressor_record {
	struct cairn_hash hash;
	uint32_t len;
};

_Static_assert(COMPRESSOR_BLOCK_BYTES >= CAIRN_CHUNK_BYTES_MAX + sizeof(struct compressor_record),
	       "a chunk fits into a block");

/* A block, which one thread fills and the other empties. */
struct compressor_block {
	uint8_t *bytes; /* owned */
	size_t len;
	bool full; /* the block is full, so it is the thread's; guarded by the lock */
};

struct compressor {
	struct senders *senders;
	struct compressor_block blocks[2];
	unsigned filling; /* index of the block that the caller fills */
	pthread_t thread;
	bool started;
	struct cairn_xorb_writer *writer; /* used by the thread; from the senders; NULL: none */
	uint64_t raw_bytes;
	struct watch watch;
	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t changed;
	bool stop;
	enum cairn_status status; /* the first failure; later entries are dropped */
	struct cairn_diag diag;
};

static enum cairn_status compressor_take(struct compressor *p, const struct compressor_record *record,
					 const uint8_t *raw, struct cairn_diag *diag)
{
	if (record->len == 0) {
		struct cairn_xorb_writer *writer = p->writer;
		uint64_t raw_bytes = p->raw_bytes;
		p->writer = NULL;
		p->raw_bytes = 0;
		return senders_send(p->senders, writer, &record->hash, raw_bytes, diag);
	}
	if (!p->writer)
		p->writer = senders_take(p->senders);
	p->raw_bytes += record->len;
	if (p->writer)
		return cairn_xorb_writer_add(p->writer, raw, record->len, &record->hash);
	enum cairn_status status = senders_failure(p->senders, diag);
	return status == CAIRN_OK ? CAIRN_E_NOMEM : status;
}

static enum cairn_status compressor_take_block(struct compressor *p, const struct compressor_block *block,
					       struct cairn_diag *diag)
{
	enum cairn_status status = CAIRN_OK;
	for (size_t at = 0; status == CAIRN_OK && at < block->len;) {
		struct compressor_record record;
		memcpy(&record, block->bytes + at, sizeof(record));
		at += sizeof(record);
		status = compressor_take(p, &record, block->bytes + at, diag);
		at += record.len;
	}
	return status;
}

static void *compressor_work(void *ctx)
{
	struct compressor *p = ctx;
	unsigned turn = 0;
	pthread_mutex_lock(&p->lock);
	for (;;) {
		struct compressor_block *block = &p->blocks[turn];
		while (!block->full && !p->stop)
			pthread_cond_wait(&p->changed, &p->lock);
		if (p->stop)
			break;
		if (p->status == CAIRN_OK) {
			struct cairn_diag diag = {0};
			pthread_mutex_unlock(&p->lock);
			enum cairn_status status = compressor_take_block(p, block, &diag);
			pthread_mutex_lock(&p->lock);
			p->status = status;
			p->diag = diag;
		}
		block->len = 0;
		block->full = false;
		turn = 1 - turn;
		pthread_cond_broadcast(&p->changed);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

enum cairn_status compressor_new(struct compressor **out, struct senders *senders)
{
	struct compressor *p = calloc(1, sizeof(*p));
	*out = p;
	if (!p)
		return CAIRN_E_NOMEM;
	p->senders = senders;
	pthread_mutex_init(&p->lock, NULL);
	cairn_cond_init(&p->changed);
	for (unsigned i = 0; i < 2; i++)
		p->blocks[i].bytes = malloc(COMPRESSOR_BLOCK_BYTES);
	if (p->blocks[0].bytes && p->blocks[1].bytes && pthread_create(&p->thread, NULL, compressor_work, p) == 0) {
		p->started = true;
		return CAIRN_OK;
	}
	compressor_freep(out);
	return CAIRN_E_NOMEM;
}

void compressor_watch(struct compressor *p, const struct watch *watch)
{
	p->watch = *watch;
}

void compressor_freep(struct compressor **out)
{
	struct compressor *p = *out;
	*out = NULL;
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	if (p->started)
		(void)pthread_join(p->thread, NULL);
	for (unsigned i = 0; i < 2; i++)
		free(p->blocks[i].bytes);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* Returns the first failure. Call with the lock held. */
static enum cairn_status compressor_status(const struct compressor *p, struct cairn_diag *diag)
{
	if (p->status != CAIRN_OK)
		*diag = p->diag;
	return p->status;
}

/* Hands over the filled block, and waits until the other block is free. */
static enum cairn_status compressor_hand_over(struct compressor *p, struct cairn_diag *diag)
{
	pthread_mutex_lock(&p->lock);
	p->blocks[p->filling].full = true;
	p->filling = 1 - p->filling;
	pthread_cond_broadcast(&p->changed);
	while (p->blocks[p->filling].full)
		watch_wait(&p->watch, &p->changed, &p->lock);
	enum cairn_status status = compressor_status(p, diag);
	pthread_mutex_unlock(&p->lock);
	return status;
}

static enum cairn_status compressor_put(struct compressor *p, const struct cairn_hash *hash, const uint8_t *raw,
					size_t len, struct cairn_diag *diag)
{
	const struct compressor_record record = {.hash = *hash, .len = (uint32_t)len};
	if (p->blocks[p->filling].len + sizeof(record) + len > COMPRESSOR_BLOCK_BYTES) {
		enum cairn_status status = compressor_hand_over(p, diag);
		if (status != CAIRN_OK)
			return status;
	}
	struct compressor_block *block = &p->blocks[p->filling];
	memcpy(block->bytes + block->len, &record, sizeof(record));
	block->len += sizeof(record);
	if (len > 0)
		memcpy(block->bytes + block->len, raw, len);
	block->len += len;
	return CAIRN_OK;
}

enum cairn_status compressor_add(struct compressor *p, const struct cairn_hash *chunk, const uint8_t *raw, size_t len,
				 struct cairn_diag *diag)
{
	return len == 0 || len > CAIRN_CHUNK_BYTES_MAX ? CAIRN_E_USAGE : compressor_put(p, chunk, raw, len, diag);
}

enum cairn_status compressor_close(struct compressor *p, const struct cairn_hash *xorb, struct cairn_diag *diag)
{
	return compressor_put(p, xorb, NULL, 0, diag);
}

enum cairn_status compressor_end(struct compressor *p, struct cairn_diag *diag)
{
	enum cairn_status status = compressor_hand_over(p, diag);
	pthread_mutex_lock(&p->lock);
	while (p->blocks[1 - p->filling].full)
		watch_wait(&p->watch, &p->changed, &p->lock);
	if (status == CAIRN_OK)
		status = compressor_status(p, diag);
	pthread_mutex_unlock(&p->lock);
	return status;
}
