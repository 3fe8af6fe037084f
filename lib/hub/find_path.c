#include "hub/find_path.h"

#include "hub/tree.h"

#include <stdio.h>
#include <string.h>

struct find_walk {
	const struct cairn_hub_find_path *find;
	const struct cairn_index_repo *repo;
	uint32_t found_left, seen_left; /* how many more paths may be found, and read */
	bool is_over;                   /* the walk ended after last, and there are more paths */
	char last[CAIRN_INDEX_PATH_MAX + 1];
};

/* Compares a path with the text. @return false: the walk ended before this path */
static bool find_match(struct find_walk *w, const char *path, bool is_file, uint64_t size_bytes)
{
	w->is_over = w->found_left == 0 || w->seen_left == 0;
	if (w->is_over)
		return false;
	w->seen_left--;
	(void)snprintf(w->last, sizeof(w->last), "%s", path);
	if (is_file && strcasestr(path, w->find->text)) {
		const struct cairn_hub_path found = {w->repo, path, size_bytes};
		w->found_left--;
		w->find->visit(w->find->ctx, &found);
	}
	return true;
}

static bool find_take_entry(void *ctx, const struct cairn_index_entry *entry)
{
	char path[CAIRN_INDEX_PATH_MAX + 1];
	cairn_hub_entry_path(path, entry);
	return find_match(ctx, path, entry->kind != CAIRN_INDEX_FOLDER, entry->size_bytes);
}

static bool find_take_object(void *ctx, const struct cairn_index_object *object)
{
	return find_match(ctx, object->path, true, object->size_bytes);
}

static struct find_walk find_walk_of(const struct cairn_hub_find_path *find, const struct cairn_index_repo *repo)
{
	return (struct find_walk){
		.find = find, .repo = repo, .found_left = find->found_max, .seen_left = CAIRN_HUB_FIND_LOOKED_MAX};
}

static void find_leave(const struct find_walk *w, char next[static CAIRN_INDEX_PATH_MAX + 1])
{
	(void)snprintf(next, CAIRN_INDEX_PATH_MAX + 1, "%s", w->is_over ? w->last : "");
}

enum cairn_status cairn_hub_find_in_tree(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
					 const struct cairn_index_commit *commit, const char *folder,
					 const struct cairn_hub_find_path *find, const char *after,
					 char next[static CAIRN_INDEX_PATH_MAX + 1])
{
	const struct cairn_index_listing all = {.folder = folder, .recursive = true, .after = after};
	struct find_walk w = find_walk_of(find, repo);
	enum cairn_status status = cairn_index_each_entry(hub->index, commit, &all, find_take_entry, &w);
	find_leave(&w, next);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status cairn_hub_find_in_bucket(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
					   const char *prefix, const struct cairn_hub_find_path *find,
					   const char *after, char next[static CAIRN_INDEX_PATH_MAX + 1])
{
	struct find_walk w = find_walk_of(find, repo);
	char from[CAIRN_INDEX_PATH_MAX + 2]; /* the first path to list: the least path after the last page */
	(void)snprintf(from, sizeof(from), after[0] ? "%s\x01" : "%s", after);
	enum cairn_status status = cairn_index_each_object(hub->index, repo->id, prefix, from, find_take_object, &w);
	find_leave(&w, next);
	return status;
}

/* Searches a whole repository. The limits hold for all repositories together. */
static enum cairn_status find_in_repo(const struct cairn_hub *hub, struct find_walk *w,
				      const struct cairn_index_repo *repo)
{
	const struct cairn_index_listing all = {.folder = "", .recursive = true, .after = ""};
	struct cairn_index *index = hub->index;
	struct cairn_index_commit head;
	w->repo = repo;
	if (repo->kind == CAIRN_INDEX_BUCKET)
		return cairn_index_each_object(index, repo->id, "", "", find_take_object, w);
	enum cairn_status status = cairn_index_ref(index, repo->id, CAIRN_INDEX_BRANCH, CAIRN_HUB_MAIN, &head);
	if (status == CAIRN_OK)
		status = cairn_index_each_entry(index, &head, &all, find_take_entry, w);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

static enum cairn_status find_visit_repo(struct cairn_hub_reach *reach, struct find_walk *w,
					 const struct cairn_index_repo *repo, struct cairn_hub_find_end *end)
{
	bool may_read = true;
	enum cairn_status status = CAIRN_OK;
	if (repo->kind == CAIRN_INDEX_BUCKET)
		status = cairn_hub_reach_may_read(reach, repo, &may_read);
	if (status != CAIRN_OK || !may_read)
		return status;
	if (repo->n_files > w->seen_left) {
		end->n_passed++;
		return CAIRN_OK;
	}
	return find_in_repo(reach->hub, w, repo);
}

enum cairn_status cairn_hub_find_paths(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
				       const struct cairn_hub_find_path *find, struct cairn_hub_find_end *end)
{
	CLEANUP(cairn_hub_reach_fini) struct cairn_hub_reach reach = {.hub = hub, .asker = asker};
	struct find_walk w = find_walk_of(find, NULL);
	const struct cairn_index_repo *repo;
	uint32_t n = 0;
	*end = (struct cairn_hub_find_end){0};
	for (;;) {
		enum cairn_status status = cairn_hub_reach_next(&reach, &repo);
		if (status != CAIRN_OK || !repo)
			return status;
		end->more_repos = n++ == CAIRN_HUB_FIND_REPOS_MAX;
		if (end->more_repos)
			return CAIRN_OK;
		status = find_visit_repo(&reach, &w, repo, end);
		end->more_files = w.is_over;
		if (status != CAIRN_OK || w.is_over)
			return status;
	}
}
