/* Requests blocks of long files from the upstream, by ranges, and writes them into the spool. */
#include "base/clock.h"
#include "base/fd.h"
#include "mirror/hub/ask_refused.h"
#include "mirror/stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	SOURCE_WORDS_BYTES_MAX = 65536, /* most bytes of the text of an error or a redirect */
	SOURCE_BLOCK_MS = 2000,         /* time that a block should take */
};

static void source_send(struct mirror_slot *slot);
static void source_brought(struct mirror_slot *slot);

/* --- choosing a block --------------------------------------------------------------------------------------------- */

static unsigned source_count(const struct mirror_stream *s)
{
	unsigned n = 0;
	for (unsigned i = 0; i < MIRROR_BLOCKS_AT_ONCE; i++)
		n += s->slots[i].asking;
	return n;
}

/* May a stream request a further block? The first is always allowed. Before its bytes have arrived it is the only one,
 * because the upstream may refuse, and its redirects are not known yet. */
static bool source_may_ask(const struct cairn_mirror *m, const struct mirror_stream *asker)
{
	unsigned n = 0, n_idle = 0, own = source_count(asker);
	for (const struct mirror_stream *s = m->streams; s; s = s->next) {
		unsigned of_it = source_count(s);
		n += of_it;
		n_idle += mirror_stream_fetches(s) && of_it == 0;
	}
	return own == 0 || (asker->has_begun && own < MIRROR_BLOCKS_AT_ONCE && n + n_idle < MIRROR_BLOCKS_OF_ALL);
}

/* Returns a failed block that may be tried again. */
static struct mirror_slot *source_retry(struct mirror_stream *s, int64_t now_ms)
{
	for (unsigned i = 0; i < MIRROR_BLOCKS_AT_ONCE; i++)
		if (s->slots[i].used && !s->slots[i].asking && s->slots[i].not_before_ms <= now_ms)
			return &s->slots[i];
	return NULL;
}

static size_t source_wanted(const struct mirror_stream *s, uint64_t wanted[static MIRROR_BLOCKS_AT_ONCE])
{
	size_t n = 0;
	for (const struct cairn_mirror_reader *r = s->readers; r && n < MIRROR_BLOCKS_AT_ONCE; r = r->next)
		if (r->wake && mirror_blocks_reach(&s->blocks, r->at) == r->at &&
		    !mirror_blocks_is_asked(&s->blocks, r->at))
			wanted[n++] = r->at;
	return n;
}

/* Returns how far past its front each stream may request, so that all together use at most half of the spools' room. */
static uint64_t source_ahead(const struct cairn_mirror *m)
{
	uint64_t most = UINT64_C(8) * MIRROR_BLOCK_BYTES_MAX;
	uint64_t share = m->spool_bytes_max / (UINT64_C(2) * CAIRN_MIRROR_FILES_MAX);
	return share < most ? share : most;
}

/* Finds a free slot. @return NULL: all are in use */
static struct mirror_slot *source_free_slot(struct mirror_stream *s)
{
	for (unsigned i = 0; i < MIRROR_BLOCKS_AT_ONCE; i++)
		if (!s->slots[i].used && !s->slots[i].asking)
			return &s->slots[i];
	return NULL;
}

/* Cuts a block. A block of ranges of xorbs is longer, because it takes one more call; a client that waits gets a plain
 * one. While the plan may still show that a block is shorter as ranges of xorbs, blocks are short.
 * @return false: it cannot be requested yet */
static bool source_cut(struct mirror_stream *s, struct mirror_run *run, uint64_t most, bool is_wanted, bool *is_packed)
{
	const struct mirror_known *k = &s->known;
	bool is_open = k->state == MIRROR_KNOWN_ASKING && run->first >= k->planned;
	uint64_t plain = is_open ? MIRROR_BLOCK_BYTES_MIN : s->block_bytes;
	plain = plain < most ? plain : most;
	if (!mirror_known_cut(s, run))
		return false;
	*is_packed = !is_wanted && mirror_known_is_packed(s, run);
	if (!*is_packed && run->end - run->first > plain)
		run->end = run->first + plain;
	return true;
}

static bool source_has(const uint64_t *wanted, size_t n, uint64_t at)
{
	for (size_t i = 0; i < n; i++)
		if (wanted[i] == at)
			return true;
	return false;
}

static struct mirror_slot *source_next(struct mirror_stream *s)
{
	struct mirror_run run;
	struct mirror_slot *slot = source_free_slot(s);
	uint64_t wanted[MIRROR_BLOCKS_AT_ONCE], ahead = source_ahead(s->m), spooled = mirror_spool_bytes(s->m);
	uint64_t most = ahead / MIRROR_BLOCKS_AT_ONCE;
	uint64_t longest = s->block_bytes > MIRROR_PACKED_BLOCK_MIN ? s->block_bytes : MIRROR_PACKED_BLOCK_MIN;
	size_t n = spooled <= s->m->spool_bytes_max / 2 ? source_wanted(s, wanted) : 0;
	if (!slot || !mirror_blocks_next(&s->blocks, mirror_stream_stored(s), ahead, longest < most ? longest : most,
					 wanted, n, &run))
		return NULL;
	bool is_packed;
	if (!source_cut(s, &run, most, source_has(wanted, n, run.first), &is_packed) ||
	    spooled + run.end - run.first > s->m->spool_bytes_max)
		return NULL;
	mirror_blocks_ask(&s->blocks, slot->number, &run);
	slot->used = true;
	slot->is_packed = is_packed;
	slot->tries = 0;
	s->asked_bytes += run.end - run.first;
	return slot;
}

/* Finds a block to request, of the stream with the fewest calls. Called with the lock.
 * @param is_ahead  of streams for which no client waits  @return NULL: none */
static struct mirror_slot *source_find(struct cairn_mirror *m, bool is_ahead, int64_t now_ms)
{
	struct mirror_slot *slot = NULL;
	for (unsigned fewest = 0; !slot && fewest < MIRROR_BLOCKS_AT_ONCE; fewest++)
		for (struct mirror_stream *s = m->streams; !slot && s; s = s->next) {
			if (!mirror_stream_fetches(s) || s->f->what.is_ahead != is_ahead || source_count(s) != fewest ||
			    !source_may_ask(m, s))
				continue;
			slot = source_retry(s, now_ms);
			slot = slot ? slot : source_next(s);
		}
	return slot;
}

/* Takes a block to request. Called with the lock. @return NULL: none */
static struct mirror_slot *source_take(struct cairn_mirror *m)
{
	int64_t now_ms = cairn_clock_mono_ms();
	if (m->later_ms > now_ms || m->is_stopping)
		return NULL;
	struct mirror_slot *slot = source_find(m, false, now_ms);
	slot = slot ? slot : source_find(m, true, now_ms);
	if (slot) {
		slot->asking = true;
		const struct mirror_run *block = &slot->s->blocks.asked[slot->number];
		slot->is_here = mirror_known_runs_cover(&slot->s->known.runs, block->first, block->end) != NULL;
		slot->brought = source_brought;
		slot->began_ms = now_ms;
		slot->n_hops = 0;
		slot->known_hop = slot->s->hop.url[0] != '\0';
		slot->hop = slot->s->hop;
		slot->s->n_refs++;
	}
	return slot;
}

void mirror_ask_blocks(struct cairn_mirror *m)
{
	for (;;) {
		pthread_mutex_lock(&m->lock);
		struct mirror_slot *slot = source_take(m);
		pthread_mutex_unlock(&m->lock);
		if (!slot)
			return;
		bool is_brought = slot->is_here     ? mirror_copy_block(slot)
				  : slot->is_packed ? mirror_pack_block(slot)
						    : false;
		if (!is_brought)
			source_send(slot);
	}
}

/* --- a call ------------------------------------------------------------------------------------------------------- */

/* Does the answer have the requested range, of a file as long as in the tree? */
static bool source_fits(const struct mirror_slot *slot)
{
	char wanted[MIRROR_VALUE_BYTES];
	(void)snprintf(wanted, sizeof(wanted), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, slot->call.range_first,
		       slot->call.range_end - 1, slot->s->blocks.size_bytes);
	return strcmp(wanted, slot->call.content_range) == 0;
}

/* Returns the offset of the next bytes in the file. @param[out] left  missing bytes of the block; 0: the stream has
 * ended */
static uint64_t source_place(const struct mirror_slot *slot, uint64_t *left)
{
	const struct mirror_stream *s = slot->s;
	const struct mirror_run *block = &s->blocks.asked[slot->number];
	pthread_mutex_lock(&s->m->lock);
	uint64_t at = block->first;
	*left = mirror_stream_goes(s) ? block->end - at : 0;
	pthread_mutex_unlock(&s->m->lock);
	return at;
}

static bool source_took(struct mirror_call *call, const uint8_t *bytes, size_t len)
{
	struct mirror_slot *slot = (struct mirror_slot *)call;
	struct mirror_stream *s = slot->s;
	uint64_t left, at = source_place(slot, &left);
	if (left == 0)
		return false;
	slot->fits = slot->fits || source_fits(slot);
	slot->is_wrong = !slot->fits || len > left;
	if (slot->is_wrong)
		return false;
	mirror_known_hear(s, call, mirror_ask_blocks);
	pthread_mutex_lock(&s->m->lock);
	if (!slot->known_hop && slot->n_hops > 0)
		s->hop = slot->hop;
	if (at + len - slot->begin_at >= MIRROR_BLOCK_BYTES_MIN)
		slot->tries = 0;
	pthread_mutex_unlock(&s->m->lock);
	return mirror_stream_take(slot, at, bytes, len);
}

static bool source_is_redirected(const struct mirror_call *call)
{
	unsigned code = call->code;
	return (code == 301 || code == 302 || code == 303 || code == 307 || code == 308) && call->location[0];
}

/* --- the end of a call -------------------------------------------------------------------------------------------- */

/* Sets the length of the next blocks by the rate of this one. Called with the lock. */
static void source_learn(struct mirror_stream *s, uint64_t bytes, int64_t took_ms)
{
	bytes = bytes * SOURCE_BLOCK_MS / (took_ms > 0 ? (uint64_t)took_ms : 1);
	s->block_bytes = bytes < MIRROR_BLOCK_BYTES_MIN   ? MIRROR_BLOCK_BYTES_MIN
			 : bytes > MIRROR_BLOCK_BYTES_MAX ? MIRROR_BLOCK_BYTES_MAX
							  : bytes;
}

/* Should a failed block be tried again? Not if the stream has no bytes yet: then it ends with the reason. */
static bool source_tries_again(struct mirror_slot *slot, enum cairn_status status, const struct cairn_diag *diag)
{
	struct mirror_stream *s = slot->s;
	bool silent = cairn_diag_has(diag, "mirror.silent");
	bool stopped = cairn_diag_has(diag, "mirror.stopped");
	unsigned retry_after_s = slot->call.status == CAIRN_OK ? slot->call.retry_after_s : 0;
	if (status != CAIRN_E_BUSY || silent || stopped || retry_after_s > MIRROR_SILENCE_S)
		return false;
	pthread_mutex_lock(&s->m->lock);
	bool again = s->has_begun && mirror_stream_goes(s) && ++slot->tries <= MIRROR_BLOCK_TRIES;
	if (again) {
		int64_t wait_ms = (int64_t)MIRROR_BLOCK_AGAIN_MS << (slot->tries - 1);
		wait_ms = retry_after_s > 0 ? (int64_t)retry_after_s * 1000 : wait_ms;
		slot->not_before_ms = cairn_clock_mono_ms() + wait_ms;
		slot->asking = false;
	}
	pthread_mutex_unlock(&s->m->lock);
	return again;
}

/* Follows a redirect by hand. */
static enum cairn_status source_follow(struct mirror_slot *slot, struct cairn_diag *diag)
{
	const struct mirror_hop before = slot->hop;
	bool is_first = slot->n_hops == 0 && !slot->known_hop; /* else the host of the hop has answered */
	if (slot->n_hops++ == MIRROR_HOPS_MAX)
		return cairn_fail(diag, CAIRN_E_FORMAT, "mirror.redirect", CAIRN_NO_OFFSET,
				  "the upstream redirects more than %d times for a file", MIRROR_HOPS_MAX);
	return mirror_hop_judge(&slot->hop, &slot->s->m->upstream, is_first ? NULL : &before, slot->call.location,
				diag);
}

/* Has the target of earlier redirects expired? Then the upstream is asked for a new one. */
static bool source_is_over(const struct mirror_slot *slot)
{
	unsigned code = slot->call.code;
	return slot->known_hop && code >= 400 && code < 500 && code != 429;
}

static enum cairn_status source_judge(struct mirror_slot *slot, struct cairn_diag *diag)
{
	const struct mirror_call *call = &slot->call;
	struct mirror_stream *s = slot->s;
	if (slot->is_wrong)
		return mirror_wrong_bytes(s->what.path, diag);
	if (call->code == 200)
		return cairn_fail(diag, CAIRN_E_FORMAT, "mirror.answer", CAIRN_NO_OFFSET,
				  "the upstream sends no ranges of \"%.120s\", which files of more than 32 MiB need",
				  s->what.path);
	if (call->status != CAIRN_OK) {
		*diag = call->diag;
		return call->status;
	}
	if (call->code == 404 && strcmp(call->error_code, "EntryNotFound") == 0)
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "mirror.unknown", CAIRN_NO_OFFSET,
				  "the upstream no longer has \"%.120s\"", s->what.path);
	if (call->code == 206)
		return cairn_fail(diag, CAIRN_E_BUSY, "mirror.unreachable", CAIRN_NO_OFFSET,
				  "the upstream closed the connection in the middle of \"%.120s\"", s->what.path);
	return mirror_read_refused(call, diag);
}

/* Ends the fetch of a file. If some of its bytes have come, clients can go on later, and are told so. */
static void source_end(struct mirror_stream *s, enum cairn_status status, const struct cairn_diag *diag)
{
	struct cairn_diag cut = {0};
	pthread_mutex_lock(&s->m->lock);
	bool is_cut = s->has_begun && cairn_diag_has(diag, "mirror.unreachable");
	pthread_mutex_unlock(&s->m->lock);
	if (is_cut)
		status = cairn_fail(&cut, CAIRN_E_BUSY, "mirror.cut", CAIRN_NO_OFFSET,
				    "the upstream was lost in the middle of the file: %.150s", diag->text);
	mirror_stream_end(s, status, is_cut ? &cut : diag);
}

static void source_failed(struct mirror_slot *slot, enum cairn_status status, const struct cairn_diag *diag)
{
	struct mirror_stream *s = slot->s;
	mirror_note_later(s->m, &s->what, &slot->call);
	if (!source_tries_again(slot, status, diag)) {
		source_end(s, status, diag);
		pthread_mutex_lock(&s->m->lock);
		slot->asking = false;
		pthread_mutex_unlock(&s->m->lock);
	}
}

static void source_answered(struct mirror_call *call)
{
	struct mirror_slot *slot = (struct mirror_slot *)call;
	struct mirror_stream *s = slot->s;
	struct cairn_mirror *m = s->m;
	struct cairn_diag diag = {0};
	enum cairn_status status = CAIRN_OK;
	pthread_mutex_lock(&m->lock);
	bool whole = !slot->used;
	if (whole)
		source_learn(s, call->range_end - slot->begin_at, call->took_ms);
	slot->asking = !whole;
	pthread_mutex_unlock(&m->lock);
	if (!whole && call->status == CAIRN_OK && source_is_redirected(call)) {
		mirror_known_hear(s, call, mirror_ask_blocks);
		status = source_follow(slot, &diag);
		if (status == CAIRN_OK) {
			slot->known_hop = false;
			source_send(slot);
			return;
		}
	} else if (!whole && call->status == CAIRN_OK && source_is_over(slot)) {
		slot->known_hop = false;
		source_send(slot);
		return;
	} else if (!whole) {
		status = source_judge(slot, &diag);
	}
	if (status != CAIRN_OK)
		source_failed(slot, status, &diag);
	mirror_stream_drop(s);
	mirror_ask_blocks(m);
}

/* Sends the call for the rest of a block: to the path, or to the target of earlier redirects. */
static void source_send(struct mirror_slot *slot)
{
	struct mirror_stream *s = slot->s;
	struct mirror_call *call = &slot->call;
	struct cairn_diag diag = {0};
	mirror_call_fini(call);
	*call = (struct mirror_call){.path = s->path,
				     .hop = slot->known_hop || slot->n_hops > 0 ? &slot->hop : NULL,
				     .token = s->what.token,
				     .body_bytes_max = SOURCE_WORDS_BYTES_MAX,
				     .silence_s = MIRROR_SILENCE_S,
				     .take = source_took,
				     .done = source_answered};
	pthread_mutex_lock(&s->m->lock);
	call->range_first = slot->begin_at = s->blocks.asked[slot->number].first;
	call->range_end = s->blocks.asked[slot->number].end;
	pthread_mutex_unlock(&s->m->lock);
	slot->fits = slot->is_wrong = false;
	enum cairn_status status = mirror_net_ask(s->m->net, call, &diag);
	if (status == CAIRN_OK)
		return;
	source_failed(slot, status, &diag);
	mirror_stream_drop(s);
}

/* Continues after a copy, or after ranges of xorbs. If these failed, the rest of the block is fetched instead. */
static void source_brought(struct mirror_slot *slot)
{
	struct mirror_stream *s = slot->s;
	struct cairn_mirror *m = s->m;
	pthread_mutex_lock(&m->lock);
	if (!slot->used && slot->is_packed)
		source_learn(s, s->blocks.asked[slot->number].end - slot->begin_at,
			     cairn_clock_mono_ms() - slot->began_ms);
	slot->is_packed = false;
	slot->asking = false;
	slot->not_before_ms = 0;
	pthread_mutex_unlock(&m->lock);
	mirror_stream_drop(s);
	mirror_ask_blocks(m);
}

/* Takes references to the streams in progress. @return their number */
static size_t source_all(struct cairn_mirror *m, struct mirror_stream *out[static CAIRN_MIRROR_FILES_MAX])
{
	size_t n = 0;
	pthread_mutex_lock(&m->lock);
	for (struct mirror_stream *s = m->streams; s && n < CAIRN_MIRROR_FILES_MAX; s = s->next)
		if (mirror_stream_goes(s)) {
			s->n_refs++;
			out[n++] = s;
		}
	pthread_mutex_unlock(&m->lock);
	return n;
}

/* Ends a stream if the upstream wants no calls for longer than clients may wait. */
static void source_end_if_put_off(struct mirror_stream *s)
{
	struct cairn_mirror *m = s->m;
	struct cairn_diag diag = {0};
	pthread_mutex_lock(&m->lock);
	bool is_put_off = mirror_stream_fetches(s) && source_count(s) == 0 &&
			  mirror_blocks_reach(&s->blocks, s->front) < s->blocks.size_bytes &&
			  m->later_ms - cairn_clock_mono_ms() > INT64_C(1000) * MIRROR_SILENCE_S;
	pthread_mutex_unlock(&m->lock);
	if (!is_put_off)
		return;
	enum cairn_status status = cairn_fail(&diag, CAIRN_E_BUSY, "mirror.busy", CAIRN_NO_OFFSET,
					      "the upstream asked for a pause; try again later");
	mirror_stream_end(s, status, &diag);
}

/* Returns the time after which following the stream's file may be due. */
static int source_tick_ms(const struct mirror_stream *s)
{
	pthread_mutex_lock(&s->m->lock);
	bool follows = mirror_stream_goes(s) && s->follows;
	pthread_mutex_unlock(&s->m->lock);
	return follows ? MIRROR_FOLLOW_MS : MIRROR_TICK_MS;
}

int mirror_streams_tick(struct cairn_mirror *m)
{
	struct mirror_stream *all[CAIRN_MIRROR_FILES_MAX];
	size_t n = source_all(m, all);
	int next_ms = MIRROR_TICK_MS;
	for (size_t i = 0; i < n; i++) {
		source_end_if_put_off(all[i]);
		mirror_follow_end_if_left(all[i]);
		mirror_stream_feed(all[i]);
		mirror_stream_wake(all[i], false);
		int tick_ms = source_tick_ms(all[i]);
		next_ms = tick_ms < next_ms ? tick_ms : next_ms;
		mirror_stream_drop(all[i]);
	}
	mirror_ask_blocks(m);
	return next_ms;
}

void mirror_streams_stop(struct cairn_mirror *m)
{
	struct mirror_stream *all[CAIRN_MIRROR_FILES_MAX];
	struct cairn_diag diag = {0};
	enum cairn_status status = mirror_stopped(&diag);
	size_t n = source_all(m, all);
	for (size_t i = 0; i < n; i++) {
		mirror_stream_end(all[i], status, &diag);
		mirror_stream_drop(all[i]);
	}
}
