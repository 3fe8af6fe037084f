#include "base/clock.h"
#include "base/cond.h"
#include "base/crash_point.h"
#include "base/workers.h"
#include "index/backend.h"
#include "index/stage.h"

enum {
	WRITER_BATCH_MAX = 64,
	WRITER_QUEUE_MAX = 4096,
	/* most bytes of lists and shards in one transaction, to keep commits short */
	WRITER_BATCH_BYTES = 4 * 1024 * 1024,
	WRITER_HEAVY_BYTES = 256 * 1024, /* a larger write is a batch of its own */
};

static uint64_t writer_bytes(const struct cairn_index_write *write)
{
	if (write->stage)
		return WRITER_HEAVY_BYTES + 1;
	return write->kind->bytes ? write->kind->bytes(write) : 0;
}

/* --- waiting writes ----------------------------------------------------------------------------------------------- */

/* Called with the lock, as all functions of this section. */
static void writer_line_up(struct cairn_writer *w, struct cairn_writer_turn *turn)
{
	turn->next = NULL;
	*w->line_tail = turn;
	w->line_tail = &turn->next;
}

static void writer_push(struct cairn_writer *w, struct cairn_index_write *write)
{
	struct cairn_writer_turn *turn = &w->turns[cairn_workers_turn() % CAIRN_WRITER_TURNS];
	if (!turn->head) {
		turn->tail = &turn->head;
		writer_line_up(w, turn);
	}
	write->turn = turn;
	*turn->tail = write;
	turn->tail = &write->next;
	w->n_queued++;
}

/* Puts a write back before all others of its sender, which keep their order. Other senders have their turns first. */
static void writer_push_back(struct cairn_writer *w, struct cairn_index_write *write)
{
	struct cairn_writer_turn *turn = write->turn;
	write->next = turn->head;
	if (!turn->head) {
		turn->tail = &write->next;
		writer_line_up(w, turn);
	}
	turn->head = write;
	w->n_queued++;
}

/* Takes a write of the first sender in line, who becomes the last. The line must not be empty. */
static struct cairn_index_write *writer_pop(struct cairn_writer *w)
{
	struct cairn_writer_turn *turn = w->line;
	struct cairn_index_write *write = turn->head;
	w->line = turn->next;
	if (!w->line)
		w->line_tail = &w->line;
	turn->head = write->next;
	if (turn->head)
		writer_line_up(w, turn);
	write->next = NULL;
	w->n_queued--;
	return write;
}

/* Is the probe's turn now? It waits for all writes queued before it, from any sender. */
static bool writer_probe_is_due(const struct cairn_writer *w)
{
	if (!w->probe_waits)
		return false;
	for (const struct cairn_writer_turn *turn = w->line; turn; turn = turn->next)
		if (turn->head->place < w->probe.write.place)
			return false;
	return true;
}

/* The load of a batch. */
struct writer_load {
	unsigned n;
	uint64_t bytes;
	bool is_heavy; /* it is one heavy write: others in its batch would wait for it, and be retried if it fails */
};

static void writer_load_add(struct writer_load *load, uint64_t bytes)
{
	load->n++;
	load->bytes += bytes;
	load->is_heavy = load->is_heavy || bytes > WRITER_HEAVY_BYTES;
}

static bool writer_has_room(const struct cairn_writer *w, const struct writer_load *load, uint64_t bytes)
{
	if (load->n == 0)
		return true;
	return load->n < w->batch_max && !load->is_heavy && bytes <= WRITER_HEAVY_BYTES &&
	       load->bytes + bytes <= WRITER_BATCH_BYTES;
}

/* Takes a batch: the writes that queued up during the last commit, as far as they fit. There is no timer. */
static struct cairn_index_write *writer_take(struct cairn_writer *w, struct writer_load *load)
{
	struct cairn_index_write *first = NULL, **end = &first;
	if (load->n == 0 && writer_probe_is_due(w)) {
		writer_load_add(load, 0);
		w->probe_waits = false;
		w->n_queued--;
		*end = &w->probe.write;
		end = &w->probe.write.next;
	}
	while (w->line && writer_has_room(w, load, writer_bytes(w->line->head))) {
		struct cairn_index_write *write = writer_pop(w);
		writer_load_add(load, writer_bytes(write));
		*end = write;
		end = &write->next;
	}
	return first;
}

/* Adds writes that were queued while the transaction waited to begin, as it may if several daemons write. Adds no
 * probe: a write of the batch may continue in another transaction, and a probe waits for it. */
static void writer_top_up(struct cairn_writer *w, struct cairn_index_write *batch)
{
	struct writer_load load = {0};
	struct cairn_index_write **end = &batch;
	for (; *end; end = &(*end)->next)
		writer_load_add(&load, writer_bytes(*end));
	pthread_mutex_lock(&w->lock);
	*end = writer_take(w, &load);
	pthread_mutex_unlock(&w->lock);
}

/* --- a batch ------------------------------------------------------------------------------------------------------ */

/* Gives a write that failed a reason, unless it has one. */
static bool writer_explain(struct cairn_index *ix, struct cairn_index_write *write)
{
	if (!ix->backend->explain(ix, &write->diag))
		(void)cairn_fail(&write->diag, write->status, "index.write", CAIRN_NO_OFFSET,
				 "what was to be registered: %s", cairn_status_name(write->status));
	return false;
}

/* Applies a write, and checks the quotas of all owners that grew. */
static bool writer_apply_one(struct cairn_index *ix, struct cairn_index_write *write)
{
	const struct cairn_index_backend *engine = ix->backend;
	struct cairn_index_tx *tx = engine->tx(ix);
	write->diag = (struct cairn_diag){0};
	tx->growth = (struct cairn_index_growth){0};
	write->status = engine->begin_write ? engine->begin_write(ix, write->lease, &write->diag) : CAIRN_OK;
	if (write->status == CAIRN_OK)
		write->status = write->kind->apply(ix, write);
	if (write->status == CAIRN_OK)
		write->status = cairn_records_check_quota(tx, &write->diag);
	return write->status == CAIRN_OK || writer_explain(ix, write);
}

/* Fails a write because its savepoint failed, even if the write was applied. */
static bool writer_lose(struct cairn_index *ix, struct cairn_index_write *write, enum cairn_status status)
{
	write->diag = (struct cairn_diag){0};
	write->status = status;
	return writer_explain(ix, write);
}

/* @return false: the whole transaction must be rolled back; the write has the reason */
static bool writer_apply_alone(struct cairn_index *ix, struct cairn_index_write *write)
{
	struct cairn_index_tx *tx = ix->backend->tx(ix);
	enum cairn_status status = cairn_records_save(tx);
	if (status != CAIRN_OK)
		return writer_lose(ix, write, status);
	/* some failures end the whole transaction by themselves */
	if (!writer_apply_one(ix, write) && (!ix->backend->is_open(ix) || cairn_records_undo(tx) != CAIRN_OK))
		return false;
	status = cairn_records_release(tx);
	return status == CAIRN_OK || writer_lose(ix, write, status);
}

/* A probe succeeds even while the index is frozen, because reads still work.
 * @param alone  a write that fails is undone by itself, and the transaction continues @return as
 * writer_apply_alone() */
static bool writer_apply(struct cairn_index *ix, struct cairn_index_write *write, bool alone)
{
	enum cairn_index_frozen frozen = ix->backend->tx(ix)->frozen;
	if (write->kind->probes || frozen == CAIRN_INDEX_THAWED)
		return alone ? writer_apply_alone(ix, write) : writer_apply_one(ix, write);
	write->diag = (struct cairn_diag){0};
	write->status = cairn_fail(&write->diag, CAIRN_E_BUSY, "index.frozen", CAIRN_NO_OFFSET,
				   "this store takes nothing new: it %s", cairn_index_frozen_words(frozen));
	return alone;
}

/* The outcome of a transaction. */
struct writer_outcome {
	bool bad;   /* the batch failed because a write failed */
	bool joint; /* one of the joined writes failed, but it is unknown which */
	bool ahead; /* committed ahead, to be settled */
};

/* Joins the shards of a batch if the engine is on another machine. Shards that it does not accept are applied one by
 * one; if one fails, so are all. A batch is committed ahead only if it has nothing but joined shards: only these can be
 * recognized later. Does not commit ahead while the settler fails: few unanswered writes should be visible. */
static enum cairn_status writer_join(struct cairn_index *ix, struct cairn_index_write *batch, bool alone,
				     struct writer_outcome *out, struct cairn_diag *diag)
{
	struct cairn_index_put_shard *puts[WRITER_BATCH_MAX];
	unsigned n = 0;
	bool ahead = ix->backend->commit_ahead && cairn_settler_is_well(&ix->writer.settler);
	for (struct cairn_index_write *write = batch; write; write = write->next) {
		bool joins = write->kind->shards && !write->lease && n < WRITER_BATCH_MAX;
		write->applied = false;
		if (joins)
			puts[n++] = (struct cairn_index_put_shard *)write;
		ahead = ahead && joins && !cairn_index_is_repo_owner(puts[n - 1]->owner);
	}
	if (alone || n == 0 || !ix->backend->put_shards || ix->backend->tx(ix)->frozen != CAIRN_INDEX_THAWED)
		return CAIRN_OK;
	enum cairn_status status = ix->backend->put_shards(ix, puts, n, ahead, diag);
	for (unsigned i = 0; i < n; i++)
		ahead = ahead && puts[i]->write.applied;
	out->ahead = ahead && status == CAIRN_OK;
	return status;
}

/* Writes the whole batch in one transaction. @param more  queued writes may be added  @param alone  a write that fails
 * is undone by itself */
static enum cairn_status writer_try(struct cairn_index *ix, struct cairn_index_write *batch, bool more, bool alone,
				    struct writer_outcome *out, struct cairn_diag *diag)
{
	const struct cairn_index_backend *engine = ix->backend;
	*out = (struct writer_outcome){.bad = false};
	enum cairn_status status = engine->begin(ix, diag);
	cairn_crash_point(CAIRN_CRASH_INDEX_BEGUN);
	if (status == CAIRN_OK && engine->remote && more)
		writer_top_up(&ix->writer, batch);
	if (status == CAIRN_OK) {
		status = writer_join(ix, batch, alone, out, diag);
		out->bad = out->joint = status != CAIRN_OK && engine->is_open(ix);
	}
	for (struct cairn_index_write *write = batch; write && status == CAIRN_OK; write = write->next) {
		bool applied = write->applied || writer_apply(ix, write, alone);
		cairn_crash_point(CAIRN_CRASH_INDEX_APPLIED);
		if (applied)
			continue;
		out->bad = engine->is_open(ix);
		*diag = write->diag;
		status = write->status;
	}
	if (status == CAIRN_OK && out->ahead) {
		status = engine->commit_ahead(ix, diag);
		out->bad = out->joint = status != CAIRN_OK && engine->is_open(ix);
	} else if (status == CAIRN_OK) {
		status = engine->commit(ix, diag);
	}
	if (status != CAIRN_OK)
		engine->roll_back(ix);
	return status;
}

/* Discards the lookups of shards, which may be stale. @return true: there were any */
static bool writer_forget_seen(struct cairn_index_write *batch)
{
	bool seen = false;
	for (struct cairn_index_write *write = batch; write; write = write->next) {
		if (!write->kind->shards)
			continue;
		struct cairn_index_put_shard *put = (struct cairn_index_put_shard *)write;
		seen = seen || put->seen.plain;
		put->seen.plain = false;
	}
	return seen;
}

/* Fails the writes of a batch whose transaction failed. */
static void writer_fail(struct cairn_index_write *batch, enum cairn_status status, const struct cairn_diag *diag)
{
	for (struct cairn_index_write *write = batch; write; write = write->next) {
		write->status = status;
		write->diag = *diag;
	}
}

/* Commits a batch. Savepoints let one bad write fail alone, but copy each changed page: 1,300 shards/s against 1,600.
 * Bad writes are rare, so only a batch with a bad write uses savepoints. It stays one transaction: otherwise each bad
 * upload would cost everybody a sync. @return it was committed ahead */
static bool writer_commit(struct cairn_index *ix, struct cairn_index_write *batch, bool more)
{
	struct cairn_diag diag = {0};
	enum cairn_status status;
	struct writer_outcome out;
	do {
		diag = (struct cairn_diag){0};
		status = writer_try(ix, batch, more, false, &out, &diag);
		bool alone = false;
		while (status != CAIRN_OK && out.bad && !alone) {
			/* Retry joined shards only once: each retry could find more lookups to discard. */
			alone = !out.joint || !writer_forget_seen(batch);
			if (alone && !batch->next && !out.joint)
				break; /* a single write would only fail again */
			diag = (struct cairn_diag){0};
			status = writer_try(ix, batch, more && alone, alone, &out, &diag);
		}
	} while (status != CAIRN_OK && ix->backend->again && ix->backend->again(ix));
	if (status != CAIRN_OK)
		writer_fail(batch, status, &diag);
	return status == CAIRN_OK && out.ahead;
}

/* Retries a write alone, with the reserve of disk space, because the disk was full. */
static void writer_commit_kept(struct cairn_index *ix, struct cairn_index_write *write)
{
	struct cairn_index_write *next = write->next;
	write->next = NULL;
	if (ix->backend->use_reserve)
		ix->backend->use_reserve(ix);
	(void)writer_commit(ix, write, false); /* a single write is never committed ahead */
	write->next = next;
}

/* Frees disk space if a write of the batch found the disk full. */
static void writer_make_room(struct cairn_index *ix, struct cairn_index_write *batch)
{
	bool full = false;
	for (const struct cairn_index_write *write = batch; write; write = write->next)
		full = full || write->status == CAIRN_E_FULL;
	if (full && ix->backend->make_room)
		ix->backend->make_room(ix);
	for (struct cairn_index_write *write = batch; write; write = write->next)
		if (write->status == CAIRN_E_FULL && write->kind->frees)
			writer_commit_kept(ix, write);
	if (!full && ix->backend->keep_reserve)
		ix->backend->keep_reserve(ix);
}

static void writer_count(struct cairn_writer *w, const struct cairn_index_write *batch)
{
	uint64_t n_written = 0;
	for (const struct cairn_index_write *write = batch; write; write = write->next)
		n_written += write->status == CAIRN_OK && !write->kind->probes;
	pthread_mutex_lock(&w->lock);
	w->n_commits += n_written > 0;
	w->n_writes += n_written;
	cairn_health_note(&w->health, batch, cairn_clock_mono_ms());
	pthread_mutex_unlock(&w->lock);
}

/* Ends the transaction of a write that takes several. If it failed, further transactions remove the rows of earlier
 * ones; if that fails, too, the next collection does. @return the write continues */
static bool writer_goes_on(struct cairn_writer *w, struct cairn_index_write *write)
{
	struct cairn_index_stage *stage = write->stage;
	bool failed = write->status != CAIRN_OK;
	if (!stage)
		return false;
	bool ends = failed ? stage->undoes || !stage->is_kept : stage->done;
	if (failed && !stage->undoes) {
		stage->undoes = true;
		stage->done = false; /* the failed transaction may have set it */
		stage->status = write->status;
		stage->diag = write->diag;
	}
	stage->is_kept = stage->is_kept || !failed;
	stage->in_try = false;
	if (!ends) {
		pthread_mutex_lock(&w->lock);
		writer_push_back(w, write);
		pthread_mutex_unlock(&w->lock);
		return true;
	}
	if (stage->undoes) {
		write->status = stage->status;
		write->diag = stage->diag;
	}
	write->stage = NULL;
	stage->free(stage);
	return false;
}

static void writer_serve(struct cairn_writer *w, struct cairn_index_write *batch)
{
	bool ahead = writer_commit(w->index, batch, true);
	writer_make_room(w->index, batch);
	cairn_crash_point(ahead ? CAIRN_CRASH_INDEX_AHEAD : CAIRN_CRASH_INDEX_COMMITTED);
	writer_count(w, batch);
	if (ahead) {
		cairn_settler_take(&w->settler, batch);
		return;
	}
	/* Even "known already" is answered only after the commit, when it is durable. */
	for (struct cairn_index_write *write = batch, *next; write; write = next) {
		next = write->next;
		if (writer_goes_on(w, write))
			continue;
		write->done(write);
		cairn_crash_point(CAIRN_CRASH_INDEX_ANSWERED);
	}
}

static void *writer_loop(void *arg)
{
	struct cairn_writer *w = arg;
	bool idle_work = true;
	(void)pthread_setname_np(pthread_self(), "index-writer");
	pthread_mutex_lock(&w->lock);
	for (;;) {
		struct writer_load load = {0};
		while (w->n_queued == 0 && !w->closing && !idle_work)
			pthread_cond_wait(&w->work, &w->lock);
		if (w->n_queued == 0 && w->closing)
			break;
		struct cairn_index_write *batch = writer_take(w, &load);
		pthread_mutex_unlock(&w->lock);
		if (batch)
			writer_serve(w, batch);
		if (idle_work)
			idle_work = w->index->backend->idle_work && w->index->backend->idle_work(w->index);
		pthread_mutex_lock(&w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void writer_init_locks(struct cairn_writer *w)
{
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->work, NULL);
	cairn_cond_init(&w->probed);
}

enum cairn_status cairn_writer_start(struct cairn_writer *w, struct cairn_index *ix,
				     const struct cairn_index_options *options, struct cairn_diag *diag)
{
	writer_init_locks(w);
	w->line_tail = &w->line;
	enum cairn_status status = cairn_settler_start(&w->settler, ix, options->read_only, diag);
	if (status != CAIRN_OK || options->read_only)
		return status;
	w->batch_max = options->batch_max ? options->batch_max : WRITER_BATCH_MAX;
	w->queue_max = options->queue_max ? options->queue_max : WRITER_QUEUE_MAX;
	w->index = ix;
	if (pthread_create(&w->thread, NULL, writer_loop, w) == 0)
		return CAIRN_OK;
	w->index = NULL;
	return cairn_fail(diag, CAIRN_E_NOMEM, "index.thread", CAIRN_NO_OFFSET,
			  "the thread that writes the index cannot be started; raise the limit on threads");
}

void cairn_writer_stop(struct cairn_writer *w)
{
	pthread_mutex_lock(&w->lock);
	w->closing = true;
	pthread_cond_signal(&w->work);
	pthread_mutex_unlock(&w->lock);
	if (w->index)
		pthread_join(w->thread, NULL);
	cairn_settler_stop(&w->settler);
	pthread_cond_destroy(&w->probed);
	pthread_cond_destroy(&w->work);
	pthread_mutex_destroy(&w->lock);
}

void cairn_writer_stats(struct cairn_writer *w, struct cairn_index_stats *out)
{
	pthread_mutex_lock(&w->lock);
	out->n_commits = w->n_commits;
	out->n_writes = w->n_writes;
	out->n_queued = w->n_queued + cairn_settler_n(&w->settler);
	pthread_mutex_unlock(&w->lock);
}

/* Called with the lock. */
static void writer_queue(struct cairn_writer *w, struct cairn_index_write *write)
{
	write->status = CAIRN_OK;
	write->diag = (struct cairn_diag){0};
	write->next = NULL;
	write->stage = NULL;
	if (write->kind->settles) {
		cairn_settler_take(&w->settler, write);
		return;
	}
	write->place = w->n_placed++;
	if (write == &w->probe.write) {
		w->probe_waits = true;
		w->n_queued++;
	} else {
		writer_push(w, write);
	}
	pthread_cond_signal(&w->work);
}

static enum cairn_status writer_try_queue(struct cairn_writer *w, struct cairn_index_write *write)
{
	pthread_mutex_lock(&w->lock);
	bool room = w->n_queued + cairn_settler_n(&w->settler) < w->queue_max;
	if (room)
		writer_queue(w, write);
	pthread_mutex_unlock(&w->lock);
	return room ? CAIRN_OK : CAIRN_E_BUSY;
}

struct writer_waiting {
	pthread_mutex_t lock;
	pthread_cond_t answered;
	bool is_done;
};

static void writer_wake(struct cairn_index_write *write)
{
	struct writer_waiting *waiting = write->waiting;
	pthread_mutex_lock(&waiting->lock);
	waiting->is_done = true;
	pthread_cond_signal(&waiting->answered);
	pthread_mutex_unlock(&waiting->lock);
}

static enum cairn_status writer_wait(struct cairn_writer *w, struct cairn_index_write *write)
{
	struct writer_waiting waiting = {.is_done = false};
	write->done = writer_wake;
	write->waiting = &waiting;
	pthread_mutex_init(&waiting.lock, NULL);
	pthread_cond_init(&waiting.answered, NULL);
	enum cairn_status status = writer_try_queue(w, write);
	bool aside = status == CAIRN_OK && cairn_workers_step_aside();
	pthread_mutex_lock(&waiting.lock);
	while (status == CAIRN_OK && !waiting.is_done)
		pthread_cond_wait(&waiting.answered, &waiting.lock);
	pthread_mutex_unlock(&waiting.lock);
	if (aside)
		cairn_workers_step_back();
	pthread_cond_destroy(&waiting.answered);
	pthread_mutex_destroy(&waiting.lock);
	write->done = NULL;
	write->waiting = NULL;
	return status == CAIRN_OK ? write->status : status;
}

enum cairn_status cairn_writer_submit(struct cairn_writer *w, struct cairn_index_write *write,
				      const struct cairn_index_kind *kind)
{
	write->kind = kind;
	return write->done ? writer_try_queue(w, write) : writer_wait(w, write);
}

static enum cairn_status writer_apply_probe(struct cairn_index *ix, struct cairn_index_write *write)
{
	(void)write;
	return cairn_records_probe(ix->backend->tx(ix));
}

static void writer_probed(struct cairn_index_write *write)
{
	struct cairn_writer *w = ((struct cairn_writer_probe *)write)->writer;
	pthread_mutex_lock(&w->lock);
	w->probing = false;
	w->probe_status = write->status;
	w->n_probes++;
	pthread_cond_broadcast(&w->probed);
	pthread_mutex_unlock(&w->lock);
}

/* Called with the lock. */
static void writer_queue_probe(struct cairn_writer *w)
{
	static const struct cairn_index_kind PROBE = {.apply = writer_apply_probe, .probes = true};
	w->probing = true;
	w->probe.writer = w;
	w->probe.write.kind = &PROBE;
	w->probe.write.done = writer_probed;
	writer_queue(w, &w->probe.write);
}

/* Waits for the next probe: one in progress may have passed waiting writes.
 * @param[out] status  outcome of the probe @return false: timed out */
static bool writer_probe(struct cairn_writer *w, const struct timespec *until, enum cairn_status *status)
{
	pthread_mutex_lock(&w->lock);
	uint64_t wanted = w->n_probes + 1 + w->probing;
	bool waits = true;
	while (w->n_probes < wanted && waits) {
		if (!w->probing)
			writer_queue_probe(w);
		waits = cairn_cond_wait_until(&w->probed, &w->lock, until);
	}
	bool probed = w->n_probes >= wanted;
	*status = w->probe_status;
	pthread_mutex_unlock(&w->lock);
	return probed;
}

static uint64_t writer_n_commits(struct cairn_writer *w)
{
	pthread_mutex_lock(&w->lock);
	uint64_t n = w->n_commits;
	pthread_mutex_unlock(&w->lock);
	return n;
}

/* A write in many transactions may keep the probe waiting. Then a commit meanwhile proves as much as the probe. */
enum cairn_status cairn_index_writable(struct cairn_index *ix)
{
	enum cairn_status status;
	uint64_t n_before = writer_n_commits(&ix->writer);
	const struct timespec until = cairn_cond_in_ms(CAIRN_INDEX_PROBE_MS);
	if (writer_probe(&ix->writer, &until, &status))
		return status;
	return writer_n_commits(&ix->writer) != n_before ? CAIRN_OK : CAIRN_E_BUSY;
}

bool cairn_index_flush(struct cairn_index *ix, int64_t timeout_ms)
{
	enum cairn_status status;
	const struct timespec until = cairn_cond_in_ms(timeout_ms);
	/* After the probe, all writes queued before it are done or with the settler. */
	return writer_probe(&ix->writer, &until, &status) && cairn_settler_flush(&ix->writer.settler, &until);
}

enum cairn_status cairn_index_health(struct cairn_index *ix, struct cairn_diag *diag)
{
	struct cairn_writer *w = &ix->writer;
	pthread_mutex_lock(&w->lock);
	enum cairn_status status = w->health.status;
	if (status != CAIRN_OK && diag)
		*diag = w->health.diag;
	pthread_mutex_unlock(&w->lock);
	/* Report a failure of the writer or of the settler. */
	return status == CAIRN_OK ? cairn_settler_health(&w->settler, diag) : status;
}

void cairn_index_condemn(struct cairn_index *ix, const struct cairn_diag *diag)
{
	struct cairn_writer *w = &ix->writer;
	pthread_mutex_lock(&w->lock);
	cairn_health_condemn(&w->health, diag);
	pthread_mutex_unlock(&w->lock);
}
