#include "mirror/evict.h"

#include "base/clock.h"
#include "cas/keep/withdraw.h"
#include "index/operate.h"
#include "index/owner.h"
#include "mirror/parts.h"

#include <stdlib.h>

enum { EVICT_PAGE = CAIRN_INDEX_PAGE_MAX, EVICT_DAY_S = 86400 };

/* --- the choice --------------------------------------------------------------------------------------------------- */

static int evict_compare(const void *a, const void *b)
{
	const struct cairn_index_evictable *one = a, *other = b;
	if (one->day != other->day)
		return one->day < other->day ? -1 : 1;
	if (one->size_bytes != other->size_bytes)
		return one->size_bytes > other->size_bytes ? -1 : 1;
	return one->content < other->content ? -1 : one->content > other->content;
}

uint32_t cairn_mirror_evict_choose(struct cairn_index_evictable *files, uint32_t n, uint64_t bytes)
{
	uint32_t chosen = 0;
	if (n > 0)
		qsort(files, n, sizeof(*files), evict_compare);
	for (uint64_t sum = 0; chosen < n && sum < bytes; chosen++)
		sum += files[chosen].size_bytes;
	return chosen;
}

enum cairn_status cairn_mirror_sum(const struct cairn_hub *hub, uint64_t *bytes, uint64_t *n_files)
{
	return cairn_index_mirror_sum(hub->index, bytes, n_files);
}

/* --- evicting ----------------------------------------------------------------------------------------------------- */

struct evict_page {
	struct cairn_index_evictable file[EVICT_PAGE], last;
	uint32_t n, n_seen;
	int64_t repo; /* 0: all */
};

static void evict_note(void *ctx, const struct cairn_index_evictable *file)
{
	struct evict_page *page = ctx;
	page->last = *file;
	page->n_seen++;
	if (page->repo == 0 || file->repo == page->repo)
		page->file[page->n++] = *file;
}

/* Visits the files to evict first. */
struct evict_walk {
	const struct cairn_hub *hub;
	enum cairn_status (*one)(const struct evict_walk *walk, const struct cairn_index_evictable *file);
	uint64_t bytes; /* of files, at which the walk ends */
	int64_t before_day;
	uint32_t keep_s;
	int64_t repo; /* 0: all */
	bool (*stops)(void *ctx);
	void *ctx;
};

/* Evicts a file. Removes the row of its day last: if a crash leaves that, nobody needs it, and a fetch replaces it. */
static enum cairn_status evict_one(const struct evict_walk *walk, const struct cairn_index_evictable *file)
{
	char owner[CAIRN_INDEX_OWNER_BYTES];
	cairn_index_repo_owner(owner, file->repo);
	enum cairn_status status = cairn_cas_evict(walk->hub->cas, &file->file, owner, walk->keep_s);
	if (status != CAIRN_OK)
		return status;
	struct cairn_index_forget_use forget = {.content = file->content};
	return cairn_index_forget_use(walk->hub->index, &forget);
}

static enum cairn_status evict_withdraw(const struct evict_walk *walk, const struct cairn_index_evictable *file)
{
	return cairn_cas_withdraw(walk->hub->cas, &file->file, walk->before_day);
}

static enum cairn_status evict_page(const struct evict_walk *walk, struct evict_page *page,
				    struct cairn_mirror_evicted *out)
{
	uint32_t chosen = cairn_mirror_evict_choose(page->file, page->n, walk->bytes - out->bytes);
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; i < chosen && status == CAIRN_OK && !walk->stops(walk->ctx); i++) {
		status = walk->one(walk, &page->file[i]);
		if (status == CAIRN_OK) {
			out->n++;
			out->bytes += page->file[i].size_bytes;
		}
	}
	return status;
}

static enum cairn_status evict_walk(const struct evict_walk *walk, struct cairn_mirror_evicted *out)
{
	struct evict_page *page = calloc(1, sizeof(*page));
	enum cairn_status status = page ? CAIRN_OK : CAIRN_E_NOMEM;
	*out = (struct cairn_mirror_evicted){0};
	while (status == CAIRN_OK && out->bytes < walk->bytes && !walk->stops(walk->ctx)) {
		const struct cairn_index_evictable after = page->last;
		page->repo = walk->repo;
		page->n = page->n_seen = 0;
		status = cairn_index_each_evictable(walk->hub->index, &after, walk->before_day, EVICT_PAGE, evict_note,
						    page);
		if (status != CAIRN_OK || page->n_seen == 0)
			break;
		status = evict_page(walk, page, out);
	}
	free(page);
	return status;
}

enum cairn_status cairn_mirror_evict(const struct cairn_hub *hub, uint64_t bytes, int64_t before_day, uint32_t keep_s,
				     bool (*stops)(void *ctx), void *ctx, struct cairn_mirror_evicted *out)
{
	const struct evict_walk walk = {.hub = hub,
					.one = evict_one,
					.bytes = bytes,
					.before_day = before_day,
					.keep_s = keep_s,
					.stops = stops,
					.ctx = ctx};
	return evict_walk(&walk, out);
}

/* Visits files in the order of eviction, so that those evicted first are withdrawn first. */
enum cairn_status cairn_mirror_withdraw(const struct cairn_hub *hub, uint64_t bytes, uint64_t offer_bytes,
					int64_t before_day, bool (*stops)(void *ctx), void *ctx)
{
	const struct evict_walk walk = {.hub = hub,
					.one = evict_withdraw,
					.bytes = bytes,
					.before_day = before_day,
					.stops = stops,
					.ctx = ctx};
	struct cairn_mirror_evicted withdrawn;
	enum cairn_status status = cairn_cas_offer_again(hub->cas, before_day, offer_bytes, stops, ctx);
	return status == CAIRN_OK ? evict_walk(&walk, &withdrawn) : status;
}

enum cairn_status cairn_mirror_evict_repo(const struct cairn_hub *hub, int64_t repo, bool (*stops)(void *ctx),
					  void *ctx, struct cairn_mirror_evicted *out)
{
	const struct evict_walk walk = {.hub = hub,
					.one = evict_one,
					.bytes = UINT64_MAX,
					.before_day = INT64_MAX,
					.keep_s = EVICT_DAY_S,
					.repo = repo,
					.stops = stops,
					.ctx = ctx};
	return evict_walk(&walk, out);
}

/* --- the day of the last read ------------------------------------------------------------------------------------- */

static void evict_noted(struct cairn_index_write *write)
{
	free(write);
}

/* Packs a content and a day into one number, in one of a fixed number of slots. Contents share slots: a later one
 * replaces an earlier one. */
void cairn_mirror_note_use(struct cairn_mirror *mirror, int64_t content)
{
	int64_t day = cairn_clock_unix_s() / EVICT_DAY_S;
	uint64_t note = (uint64_t)content << 20 ^ (uint64_t)day;
	_Atomic uint64_t *place = &mirror->uses[(uint64_t)content % MIRROR_USES];
	if (atomic_exchange(place, note) == note)
		return;
	struct cairn_index_use_content *use = calloc(1, sizeof(*use));
	if (!use)
		return;
	*use = (struct cairn_index_use_content){.write.done = evict_noted, .content = content, .day = day};
	if (cairn_index_use_content(mirror->hub->index, use) == CAIRN_OK)
		return;
	free(use);
	atomic_store(place, 0);
}
