#include "cli/pull/pull_window.h"

#include "base/buf.h"
#include "xorb/codec.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW_CHUNK_BYTES_MAX = 2 * (CAIRN_XORB_CHUNK_HEADER_BYTES + CAIRN_CHUNK_READ_BYTES_MAX) };

/* The state shared by the threads. */
struct window_run {
	struct pull_window *w;
	pthread_mutex_t lock; /* guards all members below, the state, the counters and the progress bar */
	size_t next_unit;
	unsigned next_client;
	enum cairn_status status; /* the first failure */
	struct cairn_diag diag;
	atomic_bool stop;
};

/* A unit while it is fetched: the bytes of its range, cut into chunks. */
struct window_unit {
	struct window_run *run;
	const struct pull_unit *unit;
	struct cairn_codec *codec;
	struct cairn_buf buf; /* the beginning of an incomplete chunk */
	uint32_t chunk;       /* number of the next chunk */
	uint64_t xorb_at;     /* offset of the next chunk in the xorb */
	size_t first_use;     /* uses before this one are complete */
	uint64_t done_bytes;  /* bytes written but not yet counted */
};

void pull_window_fini(struct pull_window *w)
{
	pull_plan_fini(&w->plan);
	free(w->chunks);
	*w = (struct pull_window){0};
}

/* Takes the term's chunks from have, if they are there without a gap. */
static bool window_have_term(struct pull_window *w, const struct pull_term *t, const struct pull_chunks *have)
{
	size_t low = 0, high = have->n, n = t->end - t->start;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (have->at[middle].at < t->at)
			low = middle + 1;
		else
			high = middle;
	}
	uint64_t at = t->at;
	for (size_t i = 0; i < n; i++) {
		if (low + i >= have->n || have->at[low + i].at != at)
			return false;
		w->chunks[t->slot + i] = have->at[low + i];
		at += have->at[low + i].bytes;
	}
	return at == t->at + t->bytes;
}

enum cairn_status pull_window_prepare(struct pull_window *w, const struct pull_chunks *have)
{
	w->chunks = calloc(w->plan.n_chunks + 1, sizeof(*w->chunks));
	if (!w->chunks)
		return CAIRN_E_NOMEM;
	for (size_t i = 0; i < w->plan.n_terms; i++)
		w->plan.terms[i].complete = window_have_term(w, &w->plan.terms[i], have);
	return CAIRN_OK;
}

/* Writes the requested part of a chunk to its place in the file. */
static enum cairn_status window_write(const struct pull_window *w, uint64_t at, const uint8_t *raw, size_t len,
				      struct cairn_diag *diag)
{
	uint64_t from = at < w->first ? w->first : at, to = at + len > w->end ? w->end : at + len;
	if (from >= to)
		return CAIRN_OK;
	return pull_write_at(w->part_fd, from - w->part_at, raw + (from - at), (size_t)(to - from), diag);
}

static enum cairn_status window_bad_chunk(const struct window_unit *u, const struct cairn_diag *why,
					  struct cairn_diag *diag)
{
	char xorb[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(xorb, &u->unit->xorb);
	(void)cairn_fail(diag, CAIRN_E_FORMAT, why->rule ? why->rule : "pull.chunk", u->xorb_at,
			 "chunk %" PRIu32 " of xorb %s: %.120s", u->chunk, xorb, why->text);
	cairn_diag_values(diag, why->expected, why->actual);
	return CAIRN_E_FORMAT;
}

/* Reports that the server lacks these bytes. The file itself exists, so it must not be reported as missing. */
static enum cairn_status window_absent(const struct window_unit *u, const struct cairn_diag *why,
				       struct cairn_diag *diag)
{
	char xorb[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(xorb, &u->unit->xorb);
	return cairn_fail(diag, CAIRN_E_NOT_FOUND, why->rule, why->offset, "xorb %s: %.200s", xorb, why->text);
}

static enum cairn_status window_use_chunk(struct window_unit *u, const uint8_t *raw, size_t len,
					  struct cairn_diag *diag)
{
	struct pull_window *w = u->run->w;
	const struct pull_unit *unit = u->unit;
	struct cairn_hash hash;
	cairn_hash_chunk(&hash, raw, len);
	enum cairn_status status = CAIRN_OK;
	for (size_t i = u->first_use; i < unit->n_uses && status == CAIRN_OK; i++) {
		struct pull_term *t = &w->plan.terms[w->plan.uses[unit->first_use + i]];
		if (t->start > u->chunk)
			break;
		if (t->end <= u->chunk) {
			u->first_use += i == u->first_use;
			continue;
		}
		if (len > t->at + t->bytes - t->next_at) {
			const struct cairn_diag why = {.text = "its term has fewer bytes than its chunks"};
			return window_bad_chunk(u, &why, diag);
		}
		w->chunks[t->slot + (u->chunk - t->start)] =
			(struct pull_chunk){.at = t->next_at, .bytes = len, .hash = hash};
		status = window_write(w, t->next_at, raw, len, diag);
		t->next_at += len;
		u->done_bytes += t->complete ? 0 : len;
	}
	return status;
}

/* Takes a complete chunk from the front. @return its serialized length in taken; 0: incomplete */
static enum cairn_status window_take_chunk(struct window_unit *u, const uint8_t *bytes, size_t len, size_t *taken,
					   struct cairn_diag *diag)
{
	struct cairn_xorb_chunk_header header;
	struct cairn_diag why = {0};
	const uint8_t *raw = NULL;
	*taken = 0;
	if (len < CAIRN_XORB_CHUNK_HEADER_BYTES)
		return CAIRN_OK;
	enum cairn_status status =
		cairn_xorb_chunk_header_parse(&header, bytes, u->xorb_at, CAIRN_CHUNK_READ_BYTES_MAX, &why);
	if (status == CAIRN_OK && u->chunk >= u->unit->end)
		status = cairn_fail(&why, CAIRN_E_FORMAT, "pull.chunks", u->xorb_at,
				    "the range has more chunks than the plan says");
	size_t compressed = status == CAIRN_OK ? CAIRN_XORB_CHUNK_HEADER_BYTES + (size_t)header.compressed_bytes : 0;
	if (status == CAIRN_OK && len < compressed)
		return CAIRN_OK;
	if (status == CAIRN_OK)
		status = cairn_codec_unpack(u->codec, &raw, &header, bytes + CAIRN_XORB_CHUNK_HEADER_BYTES, u->xorb_at,
					    &why);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOMEM ? status : window_bad_chunk(u, &why, diag);
	status = window_use_chunk(u, raw, header.unpacked_bytes, diag);
	*taken = compressed;
	u->xorb_at += compressed;
	u->chunk++;
	return status;
}

static void window_count(struct window_unit *u, uint64_t fetched_bytes)
{
	struct pull_crew *crew = u->run->w->crew;
	pthread_mutex_lock(&u->run->lock);
	crew->fetched_bytes += fetched_bytes;
	crew->done_bytes += u->done_bytes;
	progress_draw(&crew->progress, crew->done_bytes, crew->fetched_bytes);
	pthread_mutex_unlock(&u->run->lock);
	u->done_bytes = 0;
}

static enum cairn_status window_take(void *ctx, const uint8_t *bytes, size_t len, struct cairn_diag *diag)
{
	struct window_unit *u = ctx;
	if (atomic_load(&u->run->stop))
		return CAIRN_E_BUSY;
	cairn_buf_add(&u->buf, bytes, len);
	enum cairn_status status = u->buf.status;
	size_t at = 0, taken = 1;
	while (status == CAIRN_OK && taken > 0) {
		status = window_take_chunk(u, u->buf.bytes + at, u->buf.len - at, &taken, diag);
		at += taken;
	}
	if (at > 0) {
		u->buf.len -= at;
		memmove(u->buf.bytes, u->buf.bytes + at, u->buf.len);
	}
	window_count(u, len);
	return status;
}

/* Checks, at the end of a range, that every term has all its chunks and its length. */
static enum cairn_status window_end_unit(struct window_unit *u, struct cairn_diag *diag)
{
	struct pull_window *w = u->run->w;
	const struct cairn_diag early = {.text = "the range ends within it, or before it"},
				short_term = {.text = "its term has more bytes than its chunks"};
	if (u->buf.len > 0 || u->chunk != u->unit->end)
		return window_bad_chunk(u, &early, diag);
	for (size_t i = 0; i < u->unit->n_uses; i++) {
		struct pull_term *t = &w->plan.terms[w->plan.uses[u->unit->first_use + i]];
		if (t->next_at != t->at + t->bytes) {
			u->chunk = t->end - 1;
			return window_bad_chunk(u, &short_term, diag);
		}
	}
	enum cairn_status status = CAIRN_OK;
	pthread_mutex_lock(&u->run->lock);
	for (size_t i = 0; i < u->unit->n_uses && status == CAIRN_OK; i++) {
		struct pull_term *t = &w->plan.terms[w->plan.uses[u->unit->first_use + i]];
		if (t->complete)
			continue;
		t->complete = true;
		status = pull_state_add(w->state, &w->chunks[t->slot], t->end - t->start, diag);
	}
	pthread_mutex_unlock(&u->run->lock);
	return status;
}

static enum cairn_status window_fetch(struct window_run *run, struct client *client, struct cairn_codec *codec,
				      const struct pull_unit *unit, struct cairn_diag *diag)
{
	struct window_unit u = {.run = run,
				.unit = unit,
				.codec = codec,
				.buf = cairn_buf_init(WINDOW_CHUNK_BYTES_MAX),
				.chunk = unit->start,
				.xorb_at = unit->range.first};
	for (size_t i = 0; i < unit->n_uses; i++) {
		struct pull_term *t = &run->w->plan.terms[run->w->plan.uses[unit->first_use + i]];
		t->next_at = t->at;
	}
	struct cairn_diag why = {0};
	enum cairn_status status = client_fetch(client, &unit->range, window_take, &u, &why);
	if (status == CAIRN_E_NOT_FOUND)
		status = window_absent(&u, &why, diag);
	else if (status != CAIRN_OK)
		*diag = why;
	else
		status = window_end_unit(&u, diag);
	cairn_buf_fini(&u.buf);
	return status;
}

static bool window_unit_complete(const struct pull_plan *plan, const struct pull_unit *unit)
{
	for (size_t i = 0; i < unit->n_uses; i++)
		if (!plan->terms[plan->uses[unit->first_use + i]].complete)
			return false;
	return true;
}

static const struct pull_unit *window_next(struct window_run *run)
{
	const struct pull_plan *plan = &run->w->plan;
	const struct pull_unit *next = NULL;
	pthread_mutex_lock(&run->lock);
	while (!next && run->next_unit < plan->n_units && run->status == CAIRN_OK) {
		next = &plan->units[run->next_unit++];
		if (window_unit_complete(plan, next))
			next = NULL;
	}
	pthread_mutex_unlock(&run->lock);
	return next;
}

static void *window_work(void *ctx)
{
	struct window_run *run = ctx;
	CLEANUP(cairn_codec_freep) struct cairn_codec *codec = cairn_codec_new();
	struct cairn_diag diag = {0};
	enum cairn_status status = codec ? CAIRN_OK : CAIRN_E_NOMEM;
	pthread_mutex_lock(&run->lock);
	struct client *client = run->w->crew->clients[run->next_client++];
	pthread_mutex_unlock(&run->lock);
	for (const struct pull_unit *unit; status == CAIRN_OK && (unit = window_next(run));)
		status = window_fetch(run, client, codec, unit, &diag);
	if (status == CAIRN_OK)
		return NULL;
	pthread_mutex_lock(&run->lock);
	if (run->status == CAIRN_OK) {
		run->status = status;
		run->diag = diag;
	}
	pthread_mutex_unlock(&run->lock);
	atomic_store(&run->stop, true);
	return NULL;
}

enum cairn_status pull_window_run(struct pull_window *w, struct cairn_diag *diag)
{
	struct window_run run = {.w = w, .lock = PTHREAD_MUTEX_INITIALIZER};
	pthread_t threads[PULL_JOBS_MAX];
	unsigned n = 0;
	atomic_init(&run.stop, false);
	while (n + 1 < w->crew->n && n + 1 < w->plan.n_units &&
	       pthread_create(&threads[n], NULL, window_work, &run) == 0)
		n++;
	(void)window_work(&run); /* no more threads can start: continue with fewer */
	while (n > 0)
		(void)pthread_join(threads[--n], NULL);
	pthread_mutex_destroy(&run.lock);
	if (run.status != CAIRN_OK && diag && !diag->rule)
		*diag = run.diag;
	return run.status;
}
