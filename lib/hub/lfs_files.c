#include "hub/lfs_files.h"

#include "cas/file.h"
#include "cas/keep/garbage.h"
#include "hub/commit.h"
#include "hub/lfs.h"
#include "hub/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cairn_hub_lfs_files_fini(struct cairn_hub_lfs_files *files)
{
	for (uint32_t i = 0; i < files->n; i++) {
		free(files->all[i].path);
		free(files->all[i].ref);
	}
	free(files->all);
	*files = (struct cairn_hub_lfs_files){0};
}

/* --- the list ----------------------------------------------------------------------------------------------------- */

static void files_take(void *ctx, const struct cairn_cas_owned *file)
{
	struct cairn_hub_lfs_files *files = ctx;
	struct cairn_hub_lfs_file *one = &files->all[files->n];
	files->last = file->hash;
	if (!file->has_sha256)
		return;
	*one = (struct cairn_hub_lfs_file){.hash = file->hash, .size_bytes = file->size_bytes};
	memcpy(one->sha256, file->sha256, sizeof(one->sha256));
	files->n++;
}

enum {
	FILES_OF_COMMIT = 10,    /* reading so many paths takes as long as finding a commit */
	FILES_COMMITS_PAGE = 64, /* commits that are looked up at once */
};

struct files_paths {
	struct cairn_hub_lfs_files *files;
	int64_t *commits; /* for each of files->all, the commit that added it */
	const char *ref;  /* ref of the current commit */
	uint32_t n_seen, n_named;
	bool no_memory;
};

static bool files_needs_more(const struct files_paths *p)
{
	return p->n_named < p->files->n && p->n_seen < CAIRN_HUB_LFS_PATHS_MAX && !p->no_memory;
}

static bool files_take_path(void *ctx, const struct cairn_index_entry *entry)
{
	struct files_paths *p = ctx;
	p->n_seen++;
	for (uint32_t i = 0; entry->kind == CAIRN_INDEX_XET && i < p->files->n; i++) {
		struct cairn_hub_lfs_file *one = &p->files->all[i];
		if (one->path || memcmp(one->sha256, entry->sha256, sizeof(one->sha256)) != 0)
			continue;
		one->path = cairn_hub_entry_path_new(entry);
		one->ref = strdup(p->ref);
		p->no_memory |= !one->path || !one->ref;
		p->commits[i] = entry->commit;
		p->n_named++;
	}
	return files_needs_more(p);
}

static enum cairn_status files_name(const struct cairn_hub *hub, const struct cairn_index_commit *commit,
				    struct files_paths *p, struct cairn_diag *diag)
{
	p->n_seen += FILES_OF_COMMIT;
	enum cairn_status status = cairn_hub_list_all(hub, commit, files_take_path, p, diag);
	if (status == CAIRN_E_NOT_FOUND) /* it has no entries, or is gone */
		status = CAIRN_OK;
	return status == CAIRN_OK && p->no_memory ? CAIRN_E_NOMEM : status;
}

struct files_commits {
	struct cairn_index_commit all[FILES_COMMITS_PAGE];
	uint32_t n;
};

static void files_take_commit(void *ctx, const struct cairn_index_commit *commit, const char *message)
{
	struct files_commits *page = ctx;
	(void)message;
	if (page->n < FILES_COMMITS_PAGE)
		page->all[page->n++] = *commit;
}

/* Finds the paths of the files in the commits before a head. */
static enum cairn_status files_name_before(const struct cairn_hub *hub, const struct cairn_index_commit *head,
					   struct files_paths *p, struct cairn_diag *diag)
{
	struct files_commits *page = malloc(sizeof(*page));
	enum cairn_status status = page ? CAIRN_OK : CAIRN_E_NOMEM;
	uint64_t skip = 1;
	do {
		if (status != CAIRN_OK || !files_needs_more(p))
			break;
		page->n = 0;
		status = cairn_hub_each_commit(hub, head, skip, FILES_COMMITS_PAGE, files_take_commit, page);
		for (uint32_t i = 0; i < page->n && status == CAIRN_OK && files_needs_more(p); i++)
			status = files_name(hub, &page->all[i], p, diag);
		skip += page->n;
	} while (page->n == FILES_COMMITS_PAGE);
	free(page);
	return status;
}

struct files_refs {
	char (*names)[CAIRN_INDEX_REF_NAME_MAX + 16]; /* owned: names in the form of revisions */
	uint32_t n;
	bool no_memory;
};

static bool files_take_ref(void *ctx, const struct cairn_index_ref_row *ref)
{
	static const char *const PLACES[] = {
		[CAIRN_INDEX_BRANCH] = "", [CAIRN_INDEX_TAG] = "refs/tags/", [CAIRN_INDEX_PULL] = "refs/pr/"};
	struct files_refs *refs = ctx;
	void *more = reallocarray(refs->names, refs->n + 1, sizeof(*refs->names));
	refs->no_memory = !more;
	if (!more)
		return false;
	refs->names = more;
	(void)snprintf(refs->names[refs->n++], sizeof(*refs->names), "%s%s", PLACES[ref->kind], ref->name);
	return refs->n < CAIRN_HUB_LFS_PATHS_MAX / FILES_OF_COMMIT;
}

/* Reads the heads of all refs, main first, or the commits before them. */
static enum cairn_status files_name_refs(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
					 const struct files_refs *refs, bool before, struct files_paths *p,
					 struct cairn_diag *diag)
{
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; i <= refs->n && status == CAIRN_OK && files_needs_more(p); i++) {
		struct cairn_index_commit head;
		struct cairn_diag gone = {0};
		p->ref = i == 0 ? CAIRN_HUB_MAIN : refs->names[i - 1];
		if (i > 0 && strcmp(p->ref, CAIRN_HUB_MAIN) == 0)
			continue;
		status = cairn_hub_find_ref(hub, repo, p->ref, &head, &gone);
		if (status == CAIRN_OK)
			status = before ? files_name_before(hub, &head, p, diag) : files_name(hub, &head, p, diag);
		else if (status == CAIRN_E_NOT_FOUND) /* it was deleted meanwhile */
			status = CAIRN_OK;
	}
	return status;
}

static enum cairn_status files_name_all(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
					struct files_paths *p, struct cairn_diag *diag)
{
	struct files_refs refs = {.n = 0};
	enum cairn_status status = cairn_hub_each_ref(hub, repo, files_take_ref, &refs);
	if (status == CAIRN_OK && refs.no_memory)
		status = CAIRN_E_NOMEM;
	if (status == CAIRN_OK)
		status = files_name_refs(hub, repo, &refs, false, p, diag);
	if (status == CAIRN_OK)
		status = files_name_refs(hub, repo, &refs, true, p, diag);
	free(refs.names);
	return status;
}

static enum cairn_status files_date(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
				    struct files_paths *p)
{
	struct cairn_index_commit commit = {.id = 0};
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; i < p->files->n && status == CAIRN_OK; i++) {
		struct cairn_hub_lfs_file *one = &p->files->all[i];
		one->pushed_unix_ms = repo->created_unix_ms;
		if (p->commits[i] == 0)
			continue;
		if (commit.id != p->commits[i])
			status = cairn_index_commit_by_id(hub->index, p->commits[i], &commit);
		one->pushed_unix_ms = status == CAIRN_OK ? commit.at_unix_s * 1000 : one->pushed_unix_ms;
		status = status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status; /* the commit was deleted meanwhile */
	}
	return status;
}

enum cairn_status cairn_hub_lfs_files(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
				      const struct cairn_hash *after, struct cairn_hub_lfs_files *out,
				      struct cairn_diag *diag)
{
	char owner[CAIRN_INDEX_OWNER_BYTES];
	const struct cairn_cas_files_after behind = {.hash = after};
	struct files_paths paths = {.files = out};
	*out = (struct cairn_hub_lfs_files){0};
	out->all = calloc(CAIRN_FILES_PAGE_MAX, sizeof(*out->all));
	if (!out->all)
		return CAIRN_E_NOMEM;
	cairn_index_repo_owner(owner, repo->id);
	enum cairn_status status =
		cairn_cas_each_file(hub->cas, owner, &behind, CAIRN_HUB_LFS_FILES_MAX, files_take, out, &out->more);
	paths.commits = calloc(out->n + 1, sizeof(*paths.commits));
	if (status == CAIRN_OK)
		status = paths.commits ? files_name_all(hub, repo, &paths, diag) : CAIRN_E_NOMEM;
	if (status == CAIRN_OK)
		status = files_date(hub, repo, &paths);
	free(paths.commits);
	return status;
}

/* --- deleting ----------------------------------------------------------------------------------------------------- */

/* The paths of the files on one branch. */
struct files_deletion {
	const uint8_t (*sha256)[CAIRN_SHA256_BYTES]; /* the n hashes, sorted */
	uint32_t n;
	struct cairn_index_operation *operations; /* owned, with their paths */
	uint32_t n_operations;
	uint64_t n_seen; /* entries read on all branches */
	bool no_memory;
};

static void files_deletion_clear(struct files_deletion *d)
{
	for (uint32_t i = 0; i < d->n_operations; i++)
		free((void *)(uintptr_t)d->operations[i].path);
	d->n_operations = 0;
}

static void files_deletion_fini(struct files_deletion *d)
{
	files_deletion_clear(d);
	free(d->operations);
}

static int files_compare(const void *a, const void *b)
{
	return memcmp(a, b, CAIRN_SHA256_BYTES);
}

static void files_take_deletion(void *ctx, const struct cairn_index_entry *entry)
{
	struct files_deletion *d = ctx;
	d->n_seen++;
	if (entry->kind != CAIRN_INDEX_XET || d->n_operations == CAIRN_INDEX_OPERATIONS_MAX ||
	    !bsearch(entry->sha256, d->sha256, d->n, 32, files_compare))
		return;
	char *path = cairn_hub_entry_path_new(entry);
	d->no_memory |= !path;
	if (path)
		d->operations[d->n_operations++] =
			(struct cairn_index_operation){.kind = CAIRN_INDEX_DELETE, .path = path};
}

static enum cairn_status files_find_paths(const struct cairn_hub *hub, const struct cairn_index_commit *head,
					  struct files_deletion *d, struct cairn_diag *diag)
{
	char after[CAIRN_INDEX_PATH_MAX + 1] = "", next[CAIRN_INDEX_PATH_MAX + 1] = "";
	enum cairn_status status = CAIRN_OK;
	do {
		const struct cairn_hub_tree_page page = {
			.folder = "", .recursive = true, .after = after, .limit = CAIRN_HUB_TREE_PAGE_MAX};
		if (d->n_seen > CAIRN_HUB_LFS_SCAN_MAX)
			return cairn_fail(
				diag, CAIRN_E_LIMIT, "lfs.scan", CAIRN_NO_OFFSET,
				"the branches have more than %d paths: delete without rewriteHistory, and the "
				"paths in commits",
				CAIRN_HUB_LFS_SCAN_MAX);
		status = cairn_hub_list_tree(hub, head, &page, files_take_deletion, d, next, diag);
		memcpy(after, next, sizeof(after));
	} while (status == CAIRN_OK && next[0]);
	return status == CAIRN_OK && d->no_memory ? CAIRN_E_NOMEM : status;
}

/* Removes the paths from a branch with a commit. */
static enum cairn_status files_leave_branch(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					    const struct cairn_index_repo *repo, const char *branch,
					    struct files_deletion *d, struct cairn_diag *diag)
{
	struct cairn_index_commit head;
	char revision[CAIRN_INDEX_REF_NAME_MAX + 16] = "refs/heads/";
	size_t at = strlen(revision);
	struct cairn_git_oid oid;
	memcpy(revision + at, branch, strlen(branch) + 1);
	files_deletion_clear(d);
	enum cairn_status status = cairn_hub_find_ref(hub, repo, revision, &head, diag);
	if (status == CAIRN_OK)
		status = files_find_paths(hub, &head, d, diag);
	if (status != CAIRN_OK || d->n_operations == 0)
		return status;
	const struct cairn_hub_commit commit = {.title = "Delete large files for good",
						.message = "",
						.operations = d->operations,
						.n = d->n_operations};
	return cairn_hub_commit(hub, asker, repo, revision, &commit, &oid, diag);
}

struct files_branches {
	char (*names)[CAIRN_INDEX_REF_NAME_MAX + 1]; /* owned */
	uint32_t n;
	bool no_memory;
};

static bool files_take_branch(void *ctx, const struct cairn_index_ref_row *ref)
{
	struct files_branches *b = ctx;
	if (ref->kind != CAIRN_INDEX_BRANCH)
		return false; /* branches come first */
	void *more = realloc(b->names, (b->n + 1) * sizeof(*b->names));
	b->no_memory |= !more;
	if (!more)
		return false;
	b->names = more;
	memcpy(b->names[b->n++], ref->name, strlen(ref->name) + 1);
	return true;
}

static enum cairn_status files_leave_branches(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					      const struct cairn_index_repo *repo, struct files_deletion *d,
					      struct cairn_diag *diag)
{
	struct files_branches branches = {.n = 0};
	d->operations = calloc(CAIRN_INDEX_OPERATIONS_MAX, sizeof(*d->operations));
	enum cairn_status status = cairn_hub_each_ref(hub, repo, files_take_branch, &branches);
	if (status == CAIRN_OK && (!d->operations || branches.no_memory))
		status = CAIRN_E_NOMEM;
	for (uint32_t i = 0; i < branches.n && status == CAIRN_OK; i++)
		status = files_leave_branch(hub, asker, repo, branches.names[i], d, diag);
	free(branches.names);
	return status;
}

enum cairn_status cairn_hub_lfs_delete(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
				       const struct cairn_index_repo *repo, const uint8_t (*sha256)[CAIRN_SHA256_BYTES],
				       uint32_t n, bool paths, struct cairn_diag *diag)
{
	CLEANUP(files_deletion_fini) struct files_deletion d = {.n = n};
	char owner[CAIRN_INDEX_OWNER_BYTES];
	cairn_index_repo_owner(owner, repo->id);
	uint8_t(*sorted)[CAIRN_SHA256_BYTES] = malloc((n + 1) * sizeof(*sorted));
	enum cairn_status status = sorted ? CAIRN_OK : CAIRN_E_NOMEM;
	if (sorted) {
		memcpy(sorted, sha256, n * sizeof(*sorted));
		qsort(sorted, n, sizeof(*sorted), files_compare);
	}
	d.sha256 = (const uint8_t(*)[CAIRN_SHA256_BYTES])sorted;
	/* Paths go first: if this breaks off, no path without bytes is left that a commit could have removed. */
	if (status == CAIRN_OK && paths)
		status = files_leave_branches(hub, asker, repo, &d, diag);
	for (uint32_t i = 0; i < n && status == CAIRN_OK; i++) {
		struct cairn_index_file file = {0};
		bool forgotten;
		status = cairn_hub_lfs_find(hub, repo->id, sha256[i], &file);
		if (status == CAIRN_OK)
			status = cairn_cas_forget(hub->cas, &file.hash, owner, &forgotten);
		cairn_index_file_fini(&file);
		status = status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	}
	free(sorted);
	return status;
}
