#include "hub/kept_card.h"

#include "index/operate.h"

#include <stdlib.h>
#include <string.h>

#define CARD_README "README.md"
#define CARD_CONFIG "config.json"

struct card_file {
	bool found;
	struct cairn_index_entry entry;
	struct cairn_buf text;
};

struct card_files {
	struct card_file readme, config;
};

static void card_files_fini(struct card_files *files)
{
	cairn_buf_fini(&files->readme.text);
	cairn_buf_fini(&files->config.text);
}

static enum cairn_status card_find_file(const struct cairn_hub *hub, const struct cairn_index_commit *commit,
					const char *path, struct card_file *out)
{
	enum cairn_status status = cairn_index_entry(hub->index, commit, path, &out->entry);
	out->text = cairn_buf_init(CAIRN_HUB_METADATA_BYTES_MAX);
	out->found = status == CAIRN_OK && out->entry.kind != CAIRN_INDEX_FOLDER;
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

static enum cairn_status card_find(const struct cairn_hub *hub, const struct cairn_index_commit *commit,
				   struct card_files *out)
{
	enum cairn_status status = card_find_file(hub, commit, CARD_README, &out->readme);
	return status == CAIRN_OK ? card_find_file(hub, commit, CARD_CONFIG, &out->config) : status;
}

static struct cairn_index_card_source card_source(const struct card_files *files)
{
	struct cairn_index_card_source source = {0};
	if (files->readme.found)
		source.readme = files->readme.entry.oid;
	if (files->config.found)
		source.config = files->config.entry.oid;
	return source;
}

/* Reads a file. It counts as absent if its bytes were deleted, or differ from the commit. */
static enum cairn_status card_read_file(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
					struct card_file *file)
{
	struct cairn_diag unsaid = {0};
	if (!file->found)
		return CAIRN_OK;
	enum cairn_status status = cairn_hub_read_start(hub, repo, &file->entry, &file->text, &unsaid);
	file->found = status == CAIRN_OK;
	return status == CAIRN_E_NOT_FOUND || status == CAIRN_E_CONFLICT ? CAIRN_OK : status;
}

static enum cairn_status card_read(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
				   struct card_files *files, struct cairn_hub_metadata *out)
{
	enum cairn_status status = card_read_file(hub, repo, &files->readme);
	if (status == CAIRN_OK)
		status = card_read_file(hub, repo, &files->config);
	if (status != CAIRN_OK)
		return status;
	const struct cairn_buf *readme = &files->readme.text, *config = &files->config.text;
	const struct cairn_hub_described described = {
		.readme = files->readme.found && readme->len > 0 ? (const char *)readme->bytes : NULL,
		.readme_len = readme->len,
		.config = files->config.found && config->len > 0 ? (const char *)config->bytes : NULL,
		.config_len = config->len,
	};
	return cairn_hub_metadata_read(out, repo->kind, &described);
}

enum cairn_status cairn_hub_read_metadata(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
					  const struct cairn_index_commit *commit, struct cairn_hub_metadata *out)
{
	CLEANUP(card_files_fini) struct card_files files = {0};
	*out = (struct cairn_hub_metadata){0};
	enum cairn_status status = card_find(hub, commit, &files);
	return status == CAIRN_OK ? card_read(hub, repo, &files, out) : status;
}

enum cairn_status cairn_hub_kept_card(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
				      void (*visit)(void *ctx, const struct cairn_index_card *card), void *ctx)
{
	return cairn_index_card(hub->index, repo->id, visit, ctx);
}

static enum cairn_status card_write(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
				    const struct cairn_index_commit *commit, struct card_files *files)
{
	CLEANUP(cairn_hub_metadata_fini) struct cairn_hub_metadata metadata = {0};
	struct cairn_index_set_card set = {
		.repo = repo->id, .commit = commit->id, .source = card_source(files), .card = &metadata.card};
	enum cairn_status status = card_read(hub, repo, files, &metadata);
	return status == CAIRN_OK ? cairn_index_set_card(hub->index, &set) : status;
}

static enum cairn_status card_keep(const struct cairn_hub *hub, const struct cairn_index_repo *repo)
{
	CLEANUP(card_files_fini) struct card_files files = {0};
	struct cairn_index *ix = hub->index;
	struct cairn_index_card_source kept;
	struct cairn_index_commit head;
	enum cairn_status status = cairn_index_ref(ix, repo->id, CAIRN_INDEX_BRANCH, CAIRN_HUB_MAIN, &head);
	if (status == CAIRN_OK)
		status = card_find(hub, &head, &files);
	if (status == CAIRN_OK)
		status = cairn_index_card_source(ix, repo->id, &kept);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status; /* the repository is gone */
	const struct cairn_index_card_source now = card_source(&files);
	return memcmp(&now, &kept, sizeof(now)) == 0 ? CAIRN_OK : card_write(hub, repo, &head, &files);
}

void cairn_hub_keep_card(const struct cairn_hub *hub, const struct cairn_index_repo *repo)
{
	if (repo->kind != CAIRN_INDEX_BUCKET)
		(void)!card_keep(hub, repo);
}

void cairn_hub_keep_card_after(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
			       const struct cairn_index_operation *operations, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const char *path = operations[i].path;
		if (strcmp(path, CARD_README) == 0 || strcmp(path, CARD_CONFIG) == 0) {
			cairn_hub_keep_card(hub, repo);
			return;
		}
	}
}

/* A page of repositories. */
struct card_page {
	struct cairn_index_repo *all; /* owned */
	uint32_t n;
};

static void card_page_fini(struct card_page *page)
{
	free(page->all);
}

static void card_page_take(void *ctx, const struct cairn_index_repo *repo)
{
	struct card_page *page = ctx;
	if (page->n < CAIRN_INDEX_PAGE_MAX)
		page->all[page->n++] = *repo;
}

enum cairn_status cairn_hub_keep_cards(const struct cairn_hub *hub, bool (*stop)(void *ctx), void *ctx)
{
	CLEANUP(card_page_fini) struct card_page page = {.all = calloc(CAIRN_INDEX_PAGE_MAX, sizeof(*page.all))};
	int64_t from = 0;
	enum cairn_status status = page.all ? CAIRN_OK : CAIRN_E_NOMEM;
	while (status == CAIRN_OK && !stop(ctx)) {
		page.n = 0;
		status = cairn_index_each_described(hub->index, from, card_page_take, &page, &from);
		for (uint32_t i = 0; i < page.n && status == CAIRN_OK && !stop(ctx); i++)
			status = card_keep(hub, &page.all[i]);
		if (from == 0)
			break;
	}
	return status;
}
