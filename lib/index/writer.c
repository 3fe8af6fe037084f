#include "base/crash_point.h"
#include "index/internal.h"

#include <time.h>

enum {
	WRITER_BATCH_MAX = 64,
	WRITER_QUEUE_MAX = 4096,
	WRITER_BATCH_BYTES = 4 * 1024 * 1024, /* of lists and shards in one transaction: keeps commits short */
	WRITER_CHUNK_BYTES = 40,              /* of a list, for each chunk */
};

/* How much there is to be written, about: a large shard takes seconds, and all of a batch wait for its last. */
static uint64_t writer_bytes(const struct cairn_index_write *write)
{
	if (write->kind == CAIRN_INDEX_PUT_XORB)
		return (uint64_t)write->xorb.list->n * WRITER_CHUNK_BYTES;
	return write->kind == CAIRN_INDEX_PUT_SHARD ? write->shard.body_bytes : 0;
}

/* Under the lock. What queued up during the last commit is the batch, as far as it is not too much: there is no timer.
 */
static struct cairn_index_write *writer_take(struct cairn_writer *w)
{
	struct cairn_index_write *first = w->head, **end = &w->head;
	uint64_t bytes = 0;
	for (unsigned n = 0; *end && n < w->batch_max; n++) {
		bytes += writer_bytes(*end);
		if (n > 0 && bytes > WRITER_BATCH_BYTES)
			break;
		end = &(*end)->next;
		w->n_queued--;
	}
	w->head = *end;
	*end = NULL;
	if (!w->head)
		w->tail = &w->head;
	return first;
}

/* One transaction of the whole batch. @param alone  a write that fails is undone by itself
 * @param[out] bad  a write failed, and that is why the batch did */
static enum cairn_status writer_try(struct cairn_writer *w, struct cairn_index_write *batch, bool alone, bool *bad,
				    struct cairn_diag *diag)
{
	*bad = false;
	enum cairn_status status = cairn_tx_begin(&w->tx);
	cairn_crash_point(CAIRN_CRASH_INDEX_BEGUN);
	for (struct cairn_index_write *write = batch; write && status == CAIRN_OK; write = write->next) {
		bool applied = alone ? cairn_tx_apply_alone(&w->tx, write) : cairn_tx_apply(&w->tx, write);
		cairn_crash_point(CAIRN_CRASH_INDEX_APPLIED);
		if (applied)
			continue;
		*bad = cairn_tx_is_open(&w->tx);
		*diag = write->diag;
		status = write->status != CAIRN_OK ? write->status : CAIRN_E_IO;
	}
	if (status == CAIRN_OK)
		status = cairn_tx_commit(&w->tx);
	if (status != CAIRN_OK && !diag->rule)
		(void)cairn_sql_fail(w->tx.db, diag, "the index cannot be written");
	if (status != CAIRN_OK)
		cairn_tx_rollback(&w->tx);
	return status;
}

/* Savepoints let one bad write fail alone, but copy each page that is changed: 1,300 shards/s against 1,600. Bad writes
 * are rare, so they are used only for a batch that has one. It still is one transaction: else whoever sends many bad
 * uploads would cost everybody a sync each. */
static void writer_commit(struct cairn_writer *w, struct cairn_index_write *batch)
{
	struct cairn_diag diag = {0};
	bool bad;
	enum cairn_status status = writer_try(w, batch, false, &bad, &diag);
	if (status != CAIRN_OK && bad) {
		diag = (struct cairn_diag){0};
		status = writer_try(w, batch, true, &bad, &diag);
	}
	if (status == CAIRN_OK)
		return;
	/* All or nothing: what was done within a lost transaction has failed. */
	for (struct cairn_index_write *write = batch; write; write = write->next) {
		write->status = status;
		write->added = false;
		write->diag = diag;
	}
}

static void writer_count(struct cairn_writer *w, const struct cairn_index_write *batch)
{
	uint64_t n_written = 0;
	for (const struct cairn_index_write *write = batch; write; write = write->next)
		n_written += write->status == CAIRN_OK && write->kind != CAIRN_INDEX_PROBE;
	pthread_mutex_lock(&w->lock);
	w->counts = w->tx.counts;
	w->n_commits += n_written > 0;
	w->n_writes += n_written;
	pthread_mutex_unlock(&w->lock);
}

static void writer_serve(struct cairn_writer *w, struct cairn_index_write *batch)
{
	writer_commit(w, batch);
	cairn_crash_point(CAIRN_CRASH_INDEX_COMMITTED);
	writer_count(w, batch);
	/* Also "known already" is only said of what is durable, hence after the commit. */
	for (struct cairn_index_write *write = batch, *next; write; write = next) {
		next = write->next;
		write->done(write);
		cairn_crash_point(CAIRN_CRASH_INDEX_ANSWERED);
	}
}

static void *writer_loop(void *arg)
{
	struct cairn_writer *w = arg;
	bool filling = true;
	pthread_mutex_lock(&w->lock);
	for (;;) {
		while (!w->head && !w->closing && !filling)
			pthread_cond_wait(&w->work, &w->lock);
		if (!w->head && w->closing)
			break;
		struct cairn_index_write *batch = writer_take(w);
		pthread_mutex_unlock(&w->lock);
		if (batch)
			writer_serve(w, batch);
		if (filling)
			filling = cairn_tx_fill_filter(&w->tx);
		pthread_mutex_lock(&w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void writer_init_locks(struct cairn_writer *w)
{
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->work, NULL);
	pthread_cond_init(&w->probed, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

enum cairn_status cairn_writer_open(struct cairn_writer *w, const char *path, const struct cairn_index_options *options,
				    struct cairn_diag *diag)
{
	writer_init_locks(w);
	w->batch_max = options && options->batch_max ? options->batch_max : WRITER_BATCH_MAX;
	w->queue_max = options && options->queue_max ? options->queue_max : WRITER_QUEUE_MAX;
	w->tail = &w->head;
	enum cairn_status status = path ? cairn_tx_open(&w->tx, path, diag) : CAIRN_E_NOMEM;
	if (status == CAIRN_OK)
		status = cairn_checkpoint_open(&w->checkpoint, path, w->tx.db, diag);
	if (status != CAIRN_OK)
		return status;
	w->counts = w->tx.counts;
	if (pthread_create(&w->thread, NULL, writer_loop, w) != 0)
		return cairn_fail(diag, CAIRN_E_NOMEM, "index.thread", CAIRN_NO_OFFSET,
				  "the thread that writes the index cannot be started; raise the limit on threads");
	w->started = true;
	return CAIRN_OK;
}

void cairn_writer_close(struct cairn_writer *w)
{
	pthread_mutex_lock(&w->lock);
	w->closing = true;
	pthread_cond_signal(&w->work);
	pthread_mutex_unlock(&w->lock);
	if (w->started)
		pthread_join(w->thread, NULL);
	cairn_checkpoint_close(&w->checkpoint);
	cairn_tx_close(&w->tx);
	pthread_cond_destroy(&w->probed);
	pthread_cond_destroy(&w->work);
	pthread_mutex_destroy(&w->lock);
}

void cairn_writer_stats(struct cairn_writer *w, struct cairn_index_stats *out)
{
	pthread_mutex_lock(&w->lock);
	out->n_files = (uint64_t)w->counts.files;
	out->n_xorbs = (uint64_t)w->counts.xorbs;
	out->n_shards = (uint64_t)w->counts.shards;
	out->n_eligible = (uint64_t)w->counts.eligible;
	out->stored_bytes = (uint64_t)w->counts.stored_bytes;
	out->n_commits = w->n_commits;
	out->n_writes = w->n_writes;
	out->n_queued = w->n_queued;
	pthread_mutex_unlock(&w->lock);
	out->filter_bytes = atomic_load(&w->tx.filter.bytes);
	out->filter_complete = atomic_load(&w->tx.filter.complete);
}

/* Under the lock. */
static void writer_queue(struct cairn_writer *w, struct cairn_index_write *write)
{
	write->status = CAIRN_OK;
	write->added = false;
	write->diag = (struct cairn_diag){0};
	write->next = NULL;
	*w->tail = write;
	w->tail = &write->next;
	w->n_queued++;
	pthread_cond_signal(&w->work);
}

enum cairn_status cairn_index_submit(struct cairn_index *ix, struct cairn_index_write *write)
{
	struct cairn_writer *w = &ix->writer;
	pthread_mutex_lock(&w->lock);
	bool room = w->n_queued < w->queue_max;
	if (room)
		writer_queue(w, write);
	pthread_mutex_unlock(&w->lock);
	return room ? CAIRN_OK : CAIRN_E_BUSY;
}

/* A write somebody waits for: a copy of the caller's, so that done() finds its way to the one who waits. */
struct writer_waiting {
	struct cairn_index_write write; /* first: done() is handed its address */
	pthread_mutex_t lock;
	pthread_cond_t answered;
	bool is_done;
};

static void writer_wake(struct cairn_index_write *write)
{
	struct writer_waiting *waiting = (struct writer_waiting *)write;
	pthread_mutex_lock(&waiting->lock);
	waiting->is_done = true;
	pthread_cond_signal(&waiting->answered);
	pthread_mutex_unlock(&waiting->lock);
}

enum cairn_status cairn_index_write(struct cairn_index *ix, struct cairn_index_write *write)
{
	write->done = writer_wake;
	struct writer_waiting waiting = {.write = *write};
	pthread_mutex_init(&waiting.lock, NULL);
	pthread_cond_init(&waiting.answered, NULL);
	enum cairn_status status = cairn_index_submit(ix, &waiting.write);
	pthread_mutex_lock(&waiting.lock);
	while (status == CAIRN_OK && !waiting.is_done)
		pthread_cond_wait(&waiting.answered, &waiting.lock);
	pthread_mutex_unlock(&waiting.lock);
	pthread_cond_destroy(&waiting.answered);
	pthread_mutex_destroy(&waiting.lock);
	*write = waiting.write;
	return status == CAIRN_OK ? write->status : status;
}

static void writer_probed(struct cairn_index_write *write)
{
	struct cairn_writer *w = write->probe.writer;
	pthread_mutex_lock(&w->lock);
	w->probing = false;
	w->probe_status = write->status;
	w->n_probes++;
	pthread_cond_broadcast(&w->probed);
	pthread_mutex_unlock(&w->lock);
}

/* Under the lock. */
static void writer_queue_probe(struct cairn_writer *w)
{
	w->probing = true;
	w->probe.kind = CAIRN_INDEX_PROBE;
	w->probe.probe.writer = w;
	w->probe.done = writer_probed;
	writer_queue(w, &w->probe);
}

/* A probe that is under way may be ahead of writes that wait, so it is the next one that counts. */
enum cairn_status cairn_index_writable(struct cairn_index *ix)
{
	struct cairn_writer *w = &ix->writer;
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += CAIRN_INDEX_PROBE_MS / 1000;
	pthread_mutex_lock(&w->lock);
	uint64_t wanted = w->n_probes + 1 + w->probing;
	int waited = 0;
	while (w->n_probes < wanted && waited == 0) {
		if (!w->probing)
			writer_queue_probe(w);
		waited = pthread_cond_timedwait(&w->probed, &w->lock, &until);
	}
	enum cairn_status status = w->n_probes < wanted ? CAIRN_E_BUSY : w->probe_status;
	pthread_mutex_unlock(&w->lock);
	return status;
}

enum cairn_status cairn_index_folds(struct cairn_index *ix, struct cairn_diag *diag)
{
	if (!cairn_checkpoint_failed(&ix->writer.checkpoint))
		return CAIRN_OK;
	return cairn_fail(
		diag, CAIRN_E_IO, "index.not_folded", CAIRN_NO_OFFSET,
		"the disk failed while the index's log was folded in; nothing is lost, but the log grows: look "
		"at the disk and restart the daemon, which folds all of it in again");
}
