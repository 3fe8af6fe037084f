/* Requests the upstream's plan of a long file, finds which of its bytes are in other files of the store, and records
 * where chunks lie in the file when it is proved. */
#include "mirror/known.h"

#include "cas/serve/chunk_walk.h"
#include "hub/lfs.h"
#include "mirror/stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the repository whose places count; 0: those of all public repositories. */
static int64_t known_repo(const struct cairn_mirror_want *what)
{
	return what->is_alone ? what->repo : 0;
}

enum { KNOWN_KEY_BYTES = 64 };

/* Makes the key under which the mirror remembers to fetch a file without its plan. */
static void known_key(const struct cairn_mirror_want *what, char key[static KNOWN_KEY_BYTES])
{
	(void)snprintf(key, KNOWN_KEY_BYTES, "whole/%" PRId64 "/%" PRId64, what->repo, what->entry.content);
}

void mirror_known_begin(struct mirror_stream *s)
{
	char key[KNOWN_KEY_BYTES];
	bool failed;
	known_key(&s->what, key);
	bool asks = !mirror_remembers(s->m, key, 0, &failed);
	bool awaits = asks && cairn_index_any_place(s->m->hub->index, known_repo(&s->what)) == CAIRN_OK;
	pthread_mutex_lock(&s->m->lock);
	s->known.state = asks ? MIRROR_KNOWN_NOT_ASKED : MIRROR_KNOWN_OVER;
	s->known.is_awaited = awaits;
	pthread_mutex_unlock(&s->m->lock);
}

static bool known_goes(const struct mirror_stream *s)
{
	pthread_mutex_lock(&s->m->lock);
	bool goes = mirror_stream_goes(s);
	pthread_mutex_unlock(&s->m->lock);
	return goes;
}

/* --- bytes in the store ------------------------------------------------------------------------------------------- */

enum {
	KNOWN_WALKS = 2,        /* chunks of a file and of its former version may alternate */
	KNOWN_GOES_TERMS = 256, /* after so many terms the look-up checks whether the stream has ended */
};

/* The state of a look-up: the places of the last xorb, and walks over the last files with its chunks. */
struct known_sight {
	const struct mirror_stream *s;
	struct cairn_hash xorb;
	uint32_t n; /* 0: there is no last xorb */
	struct cairn_index_chunk_place places[CAIRN_INDEX_PLACES_FOUND];
	struct cairn_chunk_walk walks[KNOWN_WALKS];
	unsigned last; /* the walk that was used last */
};

static uint32_t known_places(void *ctx, const struct cairn_hash *xorb, const struct cairn_index_chunk_place **out)
{
	struct known_sight *sight = ctx;
	*out = sight->places;
	if (sight->n > 0 && cairn_hash_equal(&sight->xorb, xorb))
		return sight->n;
	sight->xorb = *xorb;
	if (cairn_index_find_places(sight->s->m->hub->index, xorb, known_repo(&sight->s->what), sight->places,
				    &sight->n) != CAIRN_OK)
		sight->n = 0;
	return sight->n;
}

/* Adds up the lengths of the next n chunks. @return false: there are fewer */
static bool known_add_up(struct cairn_chunk_walk *walk, uint32_t n, uint64_t *bytes)
{
	*bytes = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t len;
		if (cairn_chunk_walk_next(walk, &len) != CAIRN_OK || len == 0)
			return false;
		*bytes += len;
	}
	return true;
}

/* Finds the walk over a file, or begins one instead of the walk that was not used last. @return NULL: it cannot be
 * read */
static struct cairn_chunk_walk *known_walk(struct known_sight *sight, const struct cairn_hash *file)
{
	for (unsigned i = 0; i < KNOWN_WALKS; i++) {
		if (cairn_hash_equal(&sight->walks[i].file.hash, file)) {
			sight->last = i;
			return &sight->walks[i];
		}
	}
	sight->last = (sight->last + 1) % KNOWN_WALKS;
	struct cairn_chunk_walk *walk = &sight->walks[sight->last];
	return cairn_chunk_walk_begin(walk, sight->s->m->hub->cas, file) == CAIRN_OK ? walk : NULL;
}

static bool known_measure(void *ctx, const struct cairn_index_chunk_place *place, uint32_t at, uint32_t past,
			  uint64_t *before, uint64_t *bytes)
{
	struct known_sight *sight = ctx;
	struct cairn_chunk_walk *walk = known_walk(sight, &place->file);
	return walk && cairn_chunk_walk_seek(walk, place->at) == CAIRN_OK &&
	       known_add_up(walk, at - place->first, before) && known_add_up(walk, past - at, bytes);
}

static bool known_looks_on(const struct mirror_stream *s, const struct mirror_plan_sight *look, uint32_t n_done)
{
	return look->looks > 0 && (n_done % KNOWN_GOES_TERMS != 0 || known_goes(s));
}

/* Looks up the terms of a plan, from one on. Terms not looked up count as missing. */
static enum cairn_status known_look_up(const struct mirror_stream *s, uint32_t from, uint64_t offset,
				       struct mirror_known_runs *out)
{
	struct known_sight sight = {.s = s};
	const struct mirror_plan *plan = &s->known.plan;
	struct mirror_known_run runs[MIRROR_PLAN_TERM_RUNS];
	struct mirror_plan_sight look = {
		.ctx = &sight, .looks = MIRROR_PLAN_LOOKS_MAX, .places = known_places, .measure = known_measure};
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = from; i < plan->n && status == CAIRN_OK && known_looks_on(s, &look, i - from); i++) {
		uint32_t n = mirror_plan_look_up(&plan->terms[i], offset, &look, runs);
		for (uint32_t j = 0; j < n && status == CAIRN_OK; j++)
			status = mirror_known_runs_add(out, &runs[j]);
		offset += plan->terms[i].bytes;
	}
	mirror_known_runs_thin(out);
	for (unsigned i = 0; i < KNOWN_WALKS; i++)
		cairn_chunk_walk_fini(&sight.walks[i]);
	return status;
}

/* Adds runs to others. Without memory, some are dropped. */
static void known_add_all(struct mirror_known_runs *runs, const struct mirror_known_runs *more)
{
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; i < more->n && status == CAIRN_OK; i++)
		status = mirror_known_runs_add(runs, &more->all[i]);
}

/* Publishes runs that were found, so that blocks of them can be made. */
static void known_tell(struct mirror_stream *s, const struct mirror_known_runs *more,
		       const struct mirror_known_runs *packed, uint64_t planned)
{
	struct mirror_known *k = &s->known;
	pthread_mutex_lock(&s->m->lock);
	known_add_all(&k->runs, more);
	known_add_all(&k->packed, packed);
	k->packed_cas = k->cas;
	k->planned = planned;
	pthread_mutex_unlock(&s->m->lock);
	k->go_on(s->m);
}

/* --- requesting the plan ------------------------------------------------------------------------------------------ */

/* Ends the work on the plan. The stream may be freed by this. @param is_whole  the plan was read to its end; else drop
 * it */
static void known_end(struct mirror_stream *s, bool is_whole)
{
	struct mirror_known *k = &s->known;
	struct cairn_mirror *m = s->m;
	void (*go_on)(struct cairn_mirror * m) = k->go_on;
	mirror_call_fini(&k->call);
	explicit_bzero(&k->cas, sizeof(k->cas));
	if (!is_whole)
		mirror_plan_fini(&k->plan);
	pthread_mutex_lock(&m->lock);
	k->state = MIRROR_KNOWN_OVER;
	pthread_mutex_unlock(&m->lock);
	mirror_stream_drop(s);
	go_on(m);
}

static void known_work(struct cairn_work *work)
{
	struct mirror_known *k = (struct mirror_known *)work;
	k->step((struct mirror_stream *)((char *)k - offsetof(struct mirror_stream, known)));
}

/* Handles the answer of a call. If anything fails, the file is fetched without its plan, so blocks wait for one call at
 * most. */
static void known_came(struct mirror_call *call)
{
	struct mirror_known *k = (struct mirror_known *)((char *)call - offsetof(struct mirror_known, call));
	struct mirror_stream *s = (struct mirror_stream *)((char *)k - offsetof(struct mirror_stream, known));
	k->work = (struct cairn_work){.run = known_work, .lane = CAIRN_LANE_HEAVY, .turn = s->what.sender};
	if (call->status != CAIRN_OK || cairn_workers_submit(s->m->workers, &k->work) != CAIRN_OK)
		known_end(s, false);
}

static void known_send(struct mirror_stream *s, void (*step)(struct mirror_stream *s))
{
	struct mirror_known *k = &s->known;
	struct cairn_diag diag = {0};
	k->step = step;
	k->call.done = known_came;
	if (mirror_net_ask(s->m->net, &k->call, &diag) != CAIRN_OK)
		known_end(s, false);
}

static void known_read_plan(struct mirror_stream *s);

/* Sends the second call. Only the host of plans gets the token for plans, and it does not get the upstream's own
 * tokens. */
static void known_ask_plan(struct mirror_stream *s)
{
	struct mirror_known *k = &s->known;
	mirror_call_fini(&k->call);
	k->call = (struct mirror_call){.path = k->path, .hop = &k->hop, .hop_token = k->cas.token};
	mirror_ask_plan(&k->call, &k->plan);
	known_send(s, known_read_plan);
}

static void known_read_plan(struct mirror_stream *s)
{
	struct mirror_known *k = &s->known;
	struct mirror_known_runs more = {0}, packed = {0};
	struct cairn_diag diag = {0};
	uint32_t n = k->plan.n;
	uint64_t offset = k->plan.bytes;
	enum cairn_status status = mirror_read_plan(&k->plan, &k->call, &diag);
	if (status == CAIRN_OK && k->is_awaited)
		status = known_look_up(s, n, offset, &more);
	if (status == CAIRN_OK)
		status = mirror_plan_packed(&k->plan, n, offset, &packed);
	if (status == CAIRN_OK)
		known_tell(s, &more, &packed, k->plan.bytes);
	mirror_known_runs_fini(&more);
	mirror_known_runs_fini(&packed);
	if (status == CAIRN_OK && k->plan.bytes < k->plan.file_bytes && known_goes(s))
		known_ask_plan(s);
	else
		known_end(s, status == CAIRN_OK && k->plan.bytes == k->plan.file_bytes);
}

enum cairn_status mirror_known_hop(const struct mirror_stream *s, const struct mirror_cas *cas, const char *form,
				   struct mirror_hop *out, struct cairn_diag *diag)
{
	char hash[CAIRN_HASH_TEXT_BYTES], url[sizeof(cas->url) + sizeof(hash) + 32];
	cairn_hash_text(hash, &s->known.file);
	(void)snprintf(url, sizeof(url), "%s/%s/reconstructions/%s", cas->url, form, hash);
	return mirror_hop_judge(out, &s->m->upstream, NULL, url, diag);
}

static void known_read_cas(struct mirror_stream *s)
{
	struct mirror_known *k = &s->known;
	struct cairn_diag diag = {0};
	enum cairn_status status = mirror_read_cas(&k->cas, &k->call, &diag);
	if (status == CAIRN_OK)
		status = mirror_known_hop(s, &k->cas, "v2", &k->hop, &diag);
	if (status == CAIRN_OK)
		known_ask_plan(s);
	else
		known_end(s, false);
}

void mirror_known_cas_path(const struct mirror_stream *s, char path[static MIRROR_ADDRESS_BYTES])
{
	char commit[CAIRN_GIT_OID_CHARS + 1];
	cairn_git_oid_text(commit, &s->what.commit);
	(void)snprintf(path, MIRROR_ADDRESS_BYTES, "/api/%s/%s/xet-read-token/%s", cairn_mirror_type(s->what.kind),
		       s->what.name, commit);
}

static void known_ask_cas(struct mirror_stream *s)
{
	struct mirror_known *k = &s->known;
	mirror_known_cas_path(s, k->path);
	k->call = (struct mirror_call){.path = k->path, .token = s->what.token};
	mirror_ask_cas(&k->call);
	known_send(s, known_read_cas);
}

void mirror_known_hear(struct mirror_stream *s, const struct mirror_call *call, void (*go_on)(struct cairn_mirror *m))
{
	struct mirror_known *k = &s->known;
	struct cairn_hash file;
	bool is_said = cairn_hash_parse(&file, call->xet_hash, strlen(call->xet_hash)) == CAIRN_OK;
	pthread_mutex_lock(&s->m->lock);
	bool asks = is_said && k->state == MIRROR_KNOWN_NOT_ASKED && mirror_stream_goes(s);
	if (asks) {
		k->file = file;
		k->go_on = go_on;
		k->state = MIRROR_KNOWN_ASKING;
		s->n_refs++;
	} else if (k->state == MIRROR_KNOWN_NOT_ASKED && call->code == 206) {
		k->state = MIRROR_KNOWN_OVER; /* and no redirect named a hash */
	}
	pthread_mutex_unlock(&s->m->lock);
	if (asks)
		known_ask_cas(s);
}

bool mirror_known_cut(const struct mirror_stream *s, struct mirror_run *block)
{
	const struct mirror_known *k = &s->known;
	const struct mirror_known_run *run = mirror_known_runs_find(&k->runs, block->first);
	bool is_here = run && run->first <= block->first;
	bool is_open = !is_here && k->is_awaited && k->state == MIRROR_KNOWN_ASKING &&
		       block->first < k->planned + MIRROR_PLAN_WINDOW;
	uint64_t end = is_here ? run->end : run ? run->first : UINT64_MAX;
	if (k->is_awaited && k->state == MIRROR_KNOWN_NOT_ASKED)
		end = block->first + MIRROR_FIRST_BYTES;
	if (is_here && end - block->first > MIRROR_COPY_BYTES_MAX)
		end = block->first + MIRROR_COPY_BYTES_MAX;
	if (is_open && k->planned < end)
		end = k->planned;
	block->end = end < block->end ? end : block->end;
	return block->end > block->first;
}

bool mirror_known_is_packed(const struct mirror_stream *s, struct mirror_run *block)
{
	const struct mirror_known *k = &s->known;
	const struct mirror_known_run *run = mirror_known_runs_find(&k->packed, block->first);
	bool is_here = mirror_known_runs_cover(&k->runs, block->first, block->end) != NULL;
	if (!run || is_here || k->n_packed_failures >= MIRROR_PACKED_FAILURES_MAX)
		return false;
	bool is_packed = run->first <= block->first;
	uint64_t end = is_packed ? run->end : run->first;
	block->end = end < block->end ? end : block->end;
	return is_packed && block->end - block->first >= MIRROR_BLOCK_BYTES_MIN;
}

/* --- recording places --------------------------------------------------------------------------------------------- */

static uint32_t known_next(void *walk)
{
	uint32_t len;
	return cairn_chunk_walk_next(walk, &len) == CAIRN_OK ? len : 0;
}

static void known_write(const struct mirror_stream *s, const struct cairn_index_chunk_place *all, uint32_t n)
{
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; i < n && status == CAIRN_OK; i += CAIRN_INDEX_PLACES_MAX) {
		struct cairn_index_keep_places keep = {
			.file = s->known.file, .repo = known_repo(&s->what), .all = all + i};
		keep.n = n - i < CAIRN_INDEX_PLACES_MAX ? n - i : CAIRN_INDEX_PLACES_MAX;
		status = cairn_index_keep_places(s->m->hub->index, &keep);
	}
}

/* Has the file the upstream's chunks? It has if its hash is the one that the upstream reported. */
static bool known_has_chunks(const struct mirror_stream *s)
{
	struct cairn_index_file file;
	return cairn_hub_lfs_find(s->m->hub, s->what.repo, s->what.entry.sha256, &file) == CAIRN_OK &&
	       cairn_hash_equal(&file.hash, &s->known.file);
}

void mirror_known_keep(struct mirror_stream *s)
{
	struct mirror_known *k = &s->known;
	pthread_mutex_lock(&s->m->lock);
	bool is_over = k->state == MIRROR_KNOWN_OVER;
	pthread_mutex_unlock(&s->m->lock);
	if (!is_over || k->plan.n == 0 || k->plan.bytes < k->plan.file_bytes || !known_has_chunks(s))
		return;
	struct cairn_chunk_walk walk = {0};
	struct cairn_index_chunk_place *all = calloc(CAIRN_INDEX_FILE_PLACES_MAX, sizeof(*all));
	if (all && cairn_chunk_walk_begin(&walk, s->m->hub->cas, &k->file) == CAIRN_OK)
		known_write(s, all, mirror_plan_places(&k->plan, known_next, &walk, all, CAIRN_INDEX_FILE_PLACES_MAX));
	cairn_chunk_walk_fini(&walk);
	free(all);
}

bool mirror_known_was_false(struct mirror_stream *s)
{
	struct mirror_known *k = &s->known;
	char key[KNOWN_KEY_BYTES];
	pthread_mutex_lock(&s->m->lock);
	unsigned n = k->n_used;
	bool has_unpacked = k->has_unpacked;
	pthread_mutex_unlock(&s->m->lock);
	for (unsigned i = 0; i < n; i++) {
		struct cairn_index_drop_places drop = {.file = k->used[i]};
		if (cairn_index_drop_places(s->m->hub->index, &drop) != CAIRN_OK)
			break; /* a later fetch that turns out false drops them */
	}
	/* Earlier fetches may have copied or unpacked, too; that is not recorded. */
	bool may_be_plans = n > 0 || has_unpacked || s->old_end > 0;
	known_key(&s->what, key);
	if (may_be_plans)
		mirror_remember(s->m, key, CAIRN_MIRROR_WRONG_S);
	return may_be_plans;
}
