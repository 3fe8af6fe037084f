#include "hub/changes.h"

#include <stdlib.h>
#include <string.h>

enum { CHANGES_PAGE = 256 }; /* entries of a folder read at once */

struct changes_row {
	struct cairn_index_entry entry;
	char *name; /* owned */
};

/* The entries of a folder at one commit, read a page at a time. */
struct changes_side {
	const struct cairn_index_commit *commit;
	const char *folder;
	struct changes_row rows[CHANGES_PAGE];
	uint32_t n, at;
	bool more, is_short; /* more: there is a next page; is_short: memory ran out */
};

struct changes_run {
	const struct cairn_hub *hub;
	struct cairn_hub_changes *out;
	struct changes_folder {
		char *path;               /* owned */
		bool is_before, is_after; /* the commit before (after) has the folder */
	} * folders;                      /* owned; a stack of folders to compare */
	uint32_t n, room, read, max;
	struct changes_side before, after;
};

void cairn_hub_changes_fini(struct cairn_hub_changes *changes)
{
	for (uint32_t i = 0; i < changes->n; i++)
		free(changes->all[i].path);
	free(changes->all);
	*changes = (struct cairn_hub_changes){0};
}

/* --- one commit --------------------------------------------------------------------------------------------------- */

static void changes_close(struct changes_side *side)
{
	for (uint32_t i = 0; i < side->n; i++)
		free(side->rows[i].name);
	side->n = side->at = 0;
	side->more = false;
}

static bool changes_take(void *ctx, const struct cairn_index_entry *entry)
{
	struct changes_side *side = ctx;
	side->more = side->n == CHANGES_PAGE;
	if (side->more)
		return false;
	char *name = strdup(entry->name);
	side->is_short = side->is_short || !name;
	if (!name)
		return false;
	side->rows[side->n] = (struct changes_row){.entry = *entry, .name = name};
	side->rows[side->n].entry.folder = side->rows[side->n].entry.name = NULL;
	side->n++;
	return true;
}

static enum cairn_status changes_read(struct changes_run *run, struct changes_side *side, const char *after)
{
	const struct cairn_index_listing listing = {.folder = side->folder, .after = after};
	changes_close(side);
	enum cairn_status status = cairn_index_each_entry(run->hub->index, side->commit, &listing, changes_take, side);
	run->read += side->n;
	return side->is_short ? CAIRN_E_NOMEM : status;
}

/* Finds the next entry; NULL: none is left. */
static enum cairn_status changes_next(struct changes_run *run, struct changes_side *side, struct changes_row **out)
{
	char last[CAIRN_INDEX_PATH_MAX + 1];
	enum cairn_status status = CAIRN_OK;
	if (side->at == side->n && side->more) {
		struct cairn_index_entry entry = side->rows[side->n - 1].entry;
		entry.folder = side->folder;
		entry.name = side->rows[side->n - 1].name;
		cairn_hub_entry_path(last, &entry);
		status = changes_read(run, side, last);
	}
	*out = status == CAIRN_OK && side->at < side->n ? &side->rows[side->at] : NULL;
	return status;
}

/* --- differences -------------------------------------------------------------------------------------------------- */

static char *changes_path(const char *folder, const char *name)
{
	const struct cairn_index_entry entry = {.folder = folder, .name = name};
	return cairn_hub_entry_path_new(&entry);
}

static bool changes_grow(void **all, uint32_t n, uint32_t *room, size_t each_bytes)
{
	if (n < *room)
		return true;
	uint32_t more = *room ? 2 * *room : 16;
	void *grown = realloc(*all, more * each_bytes);
	if (!grown)
		return false;
	*all = grown;
	*room = more;
	return true;
}

static enum cairn_status changes_add_folder(struct changes_run *run, const char *folder, const char *name,
					    bool is_before, bool is_after)
{
	run->out->more = run->out->more || run->n == run->max;
	if (run->out->more)
		return CAIRN_OK;
	char *path = changes_path(folder, name);
	void *all = run->folders;
	bool good = path && changes_grow(&all, run->n, &run->room, sizeof(*run->folders));
	run->folders = all;
	if (good)
		run->folders[run->n++] = (struct changes_folder){path, is_before, is_after};
	else
		free(path);
	return good ? CAIRN_OK : CAIRN_E_NOMEM;
}

static enum cairn_status changes_add_file(struct changes_run *run, const char *folder, const struct changes_row *before,
					  const struct changes_row *after)
{
	struct cairn_hub_changes *out = run->out;
	out->more = out->more || out->n == run->max;
	if (out->more)
		return CAIRN_OK;
	char *path = changes_path(folder, before ? before->name : after->name);
	void *all = out->all;
	bool good = path && changes_grow(&all, out->n, &out->room, sizeof(*out->all));
	out->all = all;
	if (!good) {
		free(path);
		return CAIRN_E_NOMEM;
	}
	struct cairn_hub_change *change = &out->all[out->n++];
	*change = (struct cairn_hub_change){.kind = !before  ? CAIRN_HUB_ADDED
						    : !after ? CAIRN_HUB_REMOVED
							     : CAIRN_HUB_CHANGED,
					    .path = path};
	if (before)
		change->before = before->entry;
	if (after)
		change->after = after->entry;
	return CAIRN_OK;
}

/* Compares the entries with one name. NULL: that commit has none. */
static enum cairn_status changes_compare(struct changes_run *run, const char *folder, const struct changes_row *before,
					 const struct changes_row *after)
{
	bool was_folder = before && before->entry.kind == CAIRN_INDEX_FOLDER;
	bool is_folder = after && after->entry.kind == CAIRN_INDEX_FOLDER;
	bool was_file = before && !was_folder, is_file = after && !is_folder;
	enum cairn_status status = CAIRN_OK;
	if (before && after && before->entry.kind == after->entry.kind &&
	    memcmp(&before->entry.oid, &after->entry.oid, sizeof(before->entry.oid)) == 0)
		return CAIRN_OK;
	if (was_file || is_file)
		status = changes_add_file(run, folder, was_file ? before : NULL, is_file ? after : NULL);
	if (status == CAIRN_OK && (was_folder || is_folder))
		status =
			changes_add_folder(run, folder, was_folder ? before->name : after->name, was_folder, is_folder);
	return status;
}

/* --- folders ------------------------------------------------------------------------------------------------------ */

static enum cairn_status changes_open(struct changes_run *run, struct changes_side *side, const char *folder, bool is)
{
	side->folder = folder;
	return is ? changes_read(run, side, "") : CAIRN_OK;
}

static enum cairn_status changes_merge(struct changes_run *run, const char *folder)
{
	for (;;) {
		struct changes_row *before = NULL, *after = NULL;
		enum cairn_status status = changes_next(run, &run->before, &before);
		if (status == CAIRN_OK)
			status = changes_next(run, &run->after, &after);
		if (status != CAIRN_OK || (!before && !after))
			return status;
		run->out->more = run->out->more || run->read > CAIRN_HUB_CHANGES_READ_MAX;
		if (run->out->more)
			return CAIRN_OK;
		int order = before && after ? strcmp(before->name, after->name) : before ? -1 : 1;
		if (order > 0)
			before = NULL;
		if (order < 0)
			after = NULL;
		status = changes_compare(run, folder, before, after);
		if (status != CAIRN_OK)
			return status;
		run->before.at += before != NULL;
		run->after.at += after != NULL;
	}
}

static enum cairn_status changes_compare_folder(struct changes_run *run, const struct changes_folder *folder)
{
	enum cairn_status status = changes_open(run, &run->before, folder->path, folder->is_before);
	if (status == CAIRN_OK)
		status = changes_open(run, &run->after, folder->path, folder->is_after);
	if (status == CAIRN_OK)
		status = changes_merge(run, folder->path);
	changes_close(&run->before);
	changes_close(&run->after);
	return status;
}

static int changes_order(const void *a, const void *b)
{
	return strcmp(((const struct cairn_hub_change *)a)->path, ((const struct cairn_hub_change *)b)->path);
}

static void changes_run_free(struct changes_run **run)
{
	if (!*run)
		return;
	for (uint32_t i = 0; i < (*run)->n; i++)
		free((*run)->folders[i].path);
	free((*run)->folders);
	free(*run);
}

enum cairn_status cairn_hub_compare(const struct cairn_hub *hub, const struct cairn_index_commit *before,
				    const struct cairn_index_commit *after, uint32_t max, struct cairn_hub_changes *out)
{
	CLEANUP(changes_run_free) struct changes_run *run = calloc(1, sizeof(*run));
	*out = (struct cairn_hub_changes){0};
	if (!run)
		return CAIRN_E_NOMEM;
	run->hub = hub;
	run->out = out;
	run->max = max;
	run->before.commit = before;
	run->after.commit = after;
	enum cairn_status status = changes_add_folder(run, "", "", before != NULL, true);
	while (status == CAIRN_OK && run->n > 0 && !out->more) {
		struct changes_folder folder = run->folders[--run->n];
		status = changes_compare_folder(run, &folder);
		free(folder.path);
	}
	if (status == CAIRN_OK && out->n > 0)
		qsort(out->all, out->n, sizeof(*out->all), changes_order);
	if (status != CAIRN_OK)
		cairn_hub_changes_fini(out);
	return status;
}

enum cairn_status cairn_hub_find_parent(const struct cairn_hub *hub, const struct cairn_index_commit *commit,
					struct cairn_index_commit *out)
{
	return commit->parent == 0 ? CAIRN_E_NOT_FOUND : cairn_index_commit_by_id(hub->index, commit->parent, out);
}
