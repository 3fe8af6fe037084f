#include "hub/tree.h"

#include <stdlib.h>
#include <string.h>

static enum cairn_status tree_no_entry(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_NOT_FOUND, "entry.unknown", CAIRN_NO_OFFSET, "Entry not found");
}

void cairn_hub_entry_path(char out[static CAIRN_INDEX_PATH_MAX + 1], const struct cairn_index_entry *entry)
{
	/* no printf() here, because a repository may list 60,000 files */
	size_t folder_len = strnlen(entry->folder, CAIRN_INDEX_PATH_MAX);
	size_t slash_len = folder_len > 0 && folder_len < CAIRN_INDEX_PATH_MAX;
	size_t name_len = strnlen(entry->name, CAIRN_INDEX_PATH_MAX - folder_len - slash_len);
	memcpy(out, entry->folder, folder_len);
	memset(out + folder_len, '/', slash_len);
	memcpy(out + folder_len + slash_len, entry->name, name_len);
	out[folder_len + slash_len + name_len] = '\0';
}

struct tree_list {
	const struct cairn_hub_tree_page *page;
	uint32_t n;
	char last[CAIRN_INDEX_PATH_MAX + 1];
	bool more; /* there are more entries after it */
	void (*visit)(void *ctx, const struct cairn_index_entry *entry);
	void *ctx;
};

static bool tree_take(void *ctx, const struct cairn_index_entry *entry)
{
	struct tree_list *list = ctx;
	list->more = list->n == list->page->limit;
	if (list->more)
		return false;
	list->n++;
	cairn_hub_entry_path(list->last, entry);
	list->visit(list->ctx, entry);
	return true;
}

enum cairn_status cairn_hub_list_tree(const struct cairn_hub *hub, const struct cairn_index_commit *commit,
				      const struct cairn_hub_tree_page *page,
				      void (*visit)(void *ctx, const struct cairn_index_entry *entry), void *ctx,
				      char next[static CAIRN_INDEX_PATH_MAX + 1], struct cairn_diag *diag)
{
	struct tree_list list = {.page = page, .visit = visit, .ctx = ctx};
	const struct cairn_index_listing listing = {
		.folder = page->folder, .recursive = page->recursive, .after = page->after};
	struct cairn_index_entry folder = {.kind = CAIRN_INDEX_FOLDER};
	enum cairn_status status = CAIRN_OK;
	next[0] = '\0';
	if (page->folder[0])
		status = cairn_hub_find_entry(hub, commit, page->folder, &folder, diag);
	if (status == CAIRN_OK && folder.kind != CAIRN_INDEX_FOLDER)
		return tree_no_entry(diag);
	if (status == CAIRN_OK)
		status = cairn_index_each_entry(hub->index, commit, &listing, tree_take, &list);
	if (status == CAIRN_OK && list.more)
		memcpy(next, list.last, sizeof(list.last));
	return status == CAIRN_E_NOT_FOUND ? tree_no_entry(diag) : status;
}

struct tree_all {
	bool (*take)(void *ctx, const struct cairn_index_entry *entry);
	void *ctx;
	bool goes_on;
};

static void tree_take_all(void *ctx, const struct cairn_index_entry *entry)
{
	struct tree_all *all = ctx;
	all->goes_on = all->goes_on && all->take(all->ctx, entry);
}

enum cairn_status cairn_hub_list_all(const struct cairn_hub *hub, const struct cairn_index_commit *commit,
				     bool (*take)(void *ctx, const struct cairn_index_entry *entry), void *ctx,
				     struct cairn_diag *diag)
{
	struct tree_all all = {take, ctx, true};
	char after[CAIRN_INDEX_PATH_MAX + 1], next[CAIRN_INDEX_PATH_MAX + 1] = "";
	const struct cairn_hub_tree_page page = {
		.folder = "", .recursive = true, .after = after, .limit = CAIRN_HUB_TREE_PAGE_MAX};
	enum cairn_status status;
	do {
		memcpy(after, next, sizeof(after));
		status = cairn_hub_list_tree(hub, commit, &page, tree_take_all, &all, next, diag);
	} while (status == CAIRN_OK && all.goes_on && next[0]);
	return status;
}

enum cairn_status cairn_hub_find_entry(const struct cairn_hub *hub, const struct cairn_index_commit *commit,
				       const char *path, struct cairn_index_entry *out, struct cairn_diag *diag)
{
	enum cairn_status status = cairn_index_entry(hub->index, commit, path, out);
	return status == CAIRN_E_NOT_FOUND ? tree_no_entry(diag) : status;
}

enum cairn_status cairn_hub_believe_entry(const struct cairn_index_entry *entry, struct cairn_diag *diag)
{
	if (entry->kind != CAIRN_INDEX_XET || entry->belief != CAIRN_INDEX_FALSE)
		return CAIRN_OK;
	return cairn_fail(
		diag, CAIRN_E_CONFLICT, "claim.false", CAIRN_NO_OFFSET,
		"the bytes that were uploaded for this file have another SHA-256 than the commit says: upload "
		"it again");
}

static enum cairn_status tree_absent(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_NOT_FOUND, "mirror.absent", CAIRN_NO_OFFSET,
			  "the bytes of this file have not come from the mirrored hub yet: download the file");
}

enum cairn_status cairn_hub_open_entry(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
				       const struct cairn_index_entry *entry, const struct cairn_byte_range *range,
				       struct cairn_file_extent *extent, struct cairn_file_reader **out,
				       struct cairn_diag *diag)
{
	char owner[CAIRN_INDEX_OWNER_BYTES];
	enum cairn_status belief = cairn_hub_believe_entry(entry, diag);
	if (belief != CAIRN_OK)
		return belief;
	if (repo->is_mirrored && entry->is_absent)
		return tree_absent(diag);
	if (!entry->has_file)
		return tree_no_entry(diag);
	cairn_index_repo_owner(owner, repo->id);
	enum cairn_status status = cairn_file_reader_open(hub->cas, owner, &entry->file, range, extent, out, diag);
	return status == CAIRN_E_NOT_FOUND ? tree_no_entry(diag) : status;
}

/* Detects inline bytes that changed on the disk: the engine does not. */
static enum cairn_status tree_compare_inline(const struct cairn_hub *hub, const struct cairn_index_entry *entry,
					     const uint8_t *bytes, size_t len, struct cairn_diag *diag)
{
	struct cairn_git_oid oid;
	char text[CAIRN_GIT_OID_CHARS + 1];
	enum cairn_status status = cairn_git_blob(&oid, bytes, len);
	if (status != CAIRN_OK || (len == entry->size_bytes && cairn_git_oid_equal(&oid, &entry->oid)))
		return status;
	cairn_git_oid_text(text, &entry->oid);
	status = cairn_fail(diag, CAIRN_E_DAMAGED, "content.damaged", CAIRN_NO_OFFSET,
			    "the index has other bytes than were committed as %s: they are not sent; commit the file "
			    "again, and look at the disk",
			    text);
	cairn_cas_report_content(hub->cas, diag);
	return status;
}

enum cairn_status cairn_hub_read_inline(const struct cairn_hub *hub, const struct cairn_index_entry *entry,
					uint8_t **out, size_t *len, struct cairn_diag *diag)
{
	*out = NULL;
	*len = 0;
	if (entry->is_absent)
		return tree_absent(diag);
	uint8_t *room = malloc(CAIRN_INDEX_INLINE_MAX);
	if (!room)
		return CAIRN_E_NOMEM;
	enum cairn_status status = cairn_index_inline(hub->index, entry->content, room, len);
	if (status == CAIRN_OK)
		status = tree_compare_inline(hub, entry, room, *len, diag);
	if (status != CAIRN_OK) {
		free(room);
		return status;
	}
	uint8_t *fits = realloc(room, *len + 1);
	*out = fits ? fits : room;
	return CAIRN_OK;
}

static enum cairn_status tree_start_inline(const struct cairn_hub *hub, const struct cairn_index_entry *entry,
					   struct cairn_buf *out, struct cairn_diag *diag)
{
	size_t len;
	uint8_t *bytes;
	enum cairn_status status = cairn_hub_read_inline(hub, entry, &bytes, &len, diag);
	if (status == CAIRN_OK)
		cairn_buf_add(out, bytes, len < out->max ? len : out->max);
	free(bytes);
	return status == CAIRN_OK ? out->status : status;
}

static enum cairn_status tree_start_stored(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
					   const struct cairn_index_entry *entry, struct cairn_buf *out,
					   struct cairn_diag *diag)
{
	CLEANUP(cairn_file_reader_freep) struct cairn_file_reader *reader = NULL;
	struct cairn_file_extent extent;
	struct cairn_byte_range range = {.kind = CAIRN_RANGE_FROM_TO, .first = 0, .last = out->max - 1};
	enum cairn_status status = cairn_hub_open_entry(hub, repo, entry, &range, &extent, &reader, diag);
	for (size_t n = 1; status == CAIRN_OK && n > 0 && out->len < out->max;) {
		size_t room = out->max - out->len;
		uint8_t *at = cairn_buf_extend(out, room);
		if (!at)
			return out->status;
		status = cairn_file_reader_read(reader, at, room, &n, diag);
		out->len -= status == CAIRN_OK ? room - n : room;
	}
	return status;
}

enum cairn_status cairn_hub_read_start(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
				       const struct cairn_index_entry *entry, struct cairn_buf *out,
				       struct cairn_diag *diag)
{
	if (entry->size_bytes == 0)
		return CAIRN_OK;
	return entry->kind == CAIRN_INDEX_INLINE ? tree_start_inline(hub, entry, out, diag)
						 : tree_start_stored(hub, repo, entry, out, diag);
}

enum cairn_status cairn_hub_read_patterns(const struct cairn_hub *hub, const struct cairn_index_commit *commit,
					  const char *path, uint8_t **text, struct cairn_hub_patterns *out)
{
	struct cairn_index_entry entry;
	struct cairn_diag unsaid = {0};
	*text = NULL;
	*out = (struct cairn_hub_patterns){.text = "", .steps_left = CAIRN_HUB_PATTERN_STEPS};
	enum cairn_status status = cairn_hub_find_entry(hub, commit, path, &entry, &unsaid);
	if (status != CAIRN_OK || entry.kind != CAIRN_INDEX_INLINE)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	status = cairn_hub_read_inline(hub, &entry, text, &out->len, &unsaid);
	out->text = *text ? (const char *)*text : "";
	return status;
}

enum cairn_status cairn_hub_last_commit(const struct cairn_hub *hub, const struct cairn_index_entry *entry,
					struct cairn_index_commit *out)
{
	return cairn_index_commit_by_id(hub->index, entry->commit, out);
}

char *cairn_hub_entry_path_new(const struct cairn_index_entry *entry)
{
	char path[CAIRN_INDEX_PATH_MAX + 1];
	cairn_hub_entry_path(path, entry);
	return strdup(path);
}
