/* Evicts the parts of long files whose fetch was not resumed for long. */
#include "cas/keep/garbage.h"
#include "index/daemon/lease.h"
#include "index/hub/parts.h"
#include "index/operate.h"
#include "index/owner.h"
#include "mirror/evict.h"

#include <stdlib.h>

struct old_parts_page {
	struct cairn_index_idle_parts all[CAIRN_INDEX_PAGE_MAX];
	uint32_t n;
};

static void old_parts_note(void *ctx, const struct cairn_index_idle_parts *parts)
{
	struct old_parts_page *page = ctx;
	page->all[page->n++] = *parts;
}

/* Does another daemon or this one hold the lease of the content? */
static bool old_parts_are_resumed(const struct cairn_hub *hub, const struct cairn_index_idle_parts *idle)
{
	struct cairn_index_fetch fetch;
	return cairn_index_fetch(hub->index, idle->repo, idle->content, &fetch) == CAIRN_OK && fetch.is_taken;
}

/* Takes the files of parts from the repository, the last one first: if this ends early, the others are found again. A
 * fetch that is resumed just now begins anew. */
static enum cairn_status old_parts_forget(const struct cairn_hub *hub, const struct cairn_index_idle_parts *idle)
{
	char owner[CAIRN_INDEX_OWNER_BYTES];
	struct cairn_index_part part;
	bool forgotten;
	enum cairn_status status;
	cairn_index_repo_owner(owner, idle->repo);
	for (uint64_t at = INT64_MAX;; at = part.first - 1) {
		status = cairn_index_part(hub->index, idle->content, at, &part);
		if (status == CAIRN_OK)
			status = cairn_cas_forget(hub->cas, &part.file, owner, &forgotten);
		if (status != CAIRN_OK || part.first == 0)
			break;
	}
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

static enum cairn_status old_parts_evict(const struct cairn_hub *hub, const struct cairn_index_idle_parts *idle)
{
	struct cairn_index_drop_parts drop = {.repo = idle->repo, .content = idle->content};
	enum cairn_status status = old_parts_forget(hub, idle);
	return status == CAIRN_OK ? cairn_index_drop_parts(hub->index, &drop) : status;
}

enum cairn_status cairn_mirror_evict_parts(const struct cairn_hub *hub, uint64_t bytes, int64_t before_unix_s,
					   bool (*stops)(void *ctx), void *ctx, struct cairn_mirror_evicted *out)
{
	struct old_parts_page *page = calloc(1, sizeof(*page));
	*out = (struct cairn_mirror_evicted){0};
	enum cairn_status status = page ? cairn_index_each_idle_parts(hub->index, before_unix_s, CAIRN_INDEX_PAGE_MAX,
								      old_parts_note, page)
					: CAIRN_E_NOMEM;
	for (uint32_t i = 0; page && i < page->n && status == CAIRN_OK && out->bytes < bytes && !stops(ctx); i++) {
		if (old_parts_are_resumed(hub, &page->all[i]))
			continue;
		status = old_parts_evict(hub, &page->all[i]);
		if (status == CAIRN_OK) {
			out->n++;
			out->bytes += page->all[i].bytes;
		}
	}
	free(page);
	return status;
}
