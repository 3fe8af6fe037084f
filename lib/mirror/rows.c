/* Writes what the upstream says of a repository into the index: its namespace, its commit, and its tree. */
#include "hub/path.h"
#include "hub/revision.h"
#include "hub/tree.h"
#include "mirror/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cairn_index *rows_index(const struct mirror_fetch *f)
{
	return f->m->hub->index;
}

/* --- what is here ------------------------------------------------------------------------------------------------- */

/* Splits "account/name". Both parts were checked when the fetch began. */
static const char *rows_split(const struct mirror_fetch *f, char account[static CAIRN_INDEX_ACCOUNT_NAME_MAX + 1])
{
	const char *slash = strchr(f->repo.id, '/');
	(void)snprintf(account, CAIRN_INDEX_ACCOUNT_NAME_MAX + 1, "%.*s", (int)(slash - f->repo.id), f->repo.id);
	return slash + 1;
}

static enum cairn_status rows_local(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_NOT_FOUND, "mirror.local", CAIRN_NO_OFFSET,
			  "the namespace is an account of this server, which is not looked for upstream");
}

/* @param[out] id  0: nobody has the namespace yet */
static enum cairn_status rows_account(const struct mirror_fetch *f, int64_t *id, struct cairn_diag *diag)
{
	char name[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1];
	struct cairn_index_account account = {0};
	(void)rows_split(f, name);
	enum cairn_status status = cairn_index_account(rows_index(f), name, &account);
	*id = account.id;
	if (status == CAIRN_OK && !account.is_mirrored)
		return rows_local(diag);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status mirror_rows_find(struct mirror_fetch *f, struct cairn_index_repo *here,
				   struct cairn_index_commit *commit, struct cairn_diag *diag)
{
	char account[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1];
	const char *name = rows_split(f, account);
	int64_t id;
	*here = (struct cairn_index_repo){0};
	*commit = (struct cairn_index_commit){0};
	enum cairn_status status = rows_account(f, &id, diag);
	if (status != CAIRN_OK || id == 0)
		return status;
	status = cairn_index_repo(rows_index(f), f->what.kind, account, name, here);
	if (status == CAIRN_OK)
		status = cairn_index_find_commit(rows_index(f), here->id, f->repo.sha, CAIRN_INDEX_ALL_COMMITS, commit);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

/* --- names of commits --------------------------------------------------------------------------------------------- */

/* The gate keeps files that the upstream gives to few from everybody here: this daemon has no token of theirs. */
static enum cairn_status rows_set_gate(const struct mirror_fetch *f, const struct cairn_index_repo *here,
				       struct cairn_diag *diag)
{
	enum cairn_index_gate gate = f->repo.is_gated ? CAIRN_INDEX_GATE_MANUAL : CAIRN_INDEX_GATE_NONE;
	struct cairn_index_set_repo set = {.id = here->id, .keeps_private = true, .gate = gate};
	if (here->gate == gate)
		return CAIRN_OK;
	enum cairn_status status = cairn_index_set_repo(rows_index(f), &set);
	*diag = set.write.diag;
	return status;
}

static struct cairn_index_message rows_message(const struct mirror_fetch *f, char *title, size_t size,
					       const char *author)
{
	(void)snprintf(title, size, "%.200s, as %.200s has it", f->what.revision, f->m->upstream.host);
	return (struct cairn_index_message){.author = author, .email = "", .title = title, .message = ""};
}

static enum cairn_status rows_set_ref(const struct mirror_fetch *f, int64_t repo, int64_t commit,
				      struct cairn_diag *diag)
{
	struct cairn_index_add_ref add = {.repo = repo,
					  .kind = CAIRN_INDEX_BRANCH,
					  .name = f->what.revision,
					  .commit = commit,
					  .overwrite = true,
					  .first = {.author = "", .email = "", .title = "", .message = ""}};
	enum cairn_status status = cairn_index_add_ref(rows_index(f), &add);
	*diag = add.write.diag;
	return status;
}

enum cairn_status mirror_rows_name(struct mirror_fetch *f, const struct cairn_index_repo *here,
				   const struct cairn_index_commit *commit, struct cairn_diag *diag)
{
	struct cairn_index_commit now, reached;
	struct cairn_index *ix = rows_index(f);
	enum cairn_status status = rows_set_gate(f, here, diag);
	if (status != CAIRN_OK)
		return status;
	status = cairn_index_ref(ix, here->id, CAIRN_INDEX_BRANCH, f->what.revision, &now);
	if (status == CAIRN_OK && now.id == commit->id)
		return CAIRN_OK;
	/* A commit that was asked for by its id needs a name only if nothing else leads to it. */
	if (status == CAIRN_E_NOT_FOUND && strcmp(f->what.revision, f->repo.sha) == 0 &&
	    cairn_index_find_commit(ix, here->id, f->repo.sha, CAIRN_INDEX_REACHED, &reached) == CAIRN_OK)
		return CAIRN_OK;
	if (status != CAIRN_OK && status != CAIRN_E_NOT_FOUND)
		return status;
	return rows_set_ref(f, here->id, commit->id, diag);
}

/* --- differences of trees ----------------------------------------------------------------------------------------- */

/* A file of a commit that is here. */
struct rows_old {
	char *path; /* owned */
	struct cairn_git_oid oid;
	bool has_pointer;
	uint8_t sha256[CAIRN_SHA256_BYTES];
};

struct rows_diff {
	struct rows_old *old; /* owned */
	uint32_t n_old, old_cap;
	struct cairn_index_operation *operations; /* owned; their paths are those of both trees */
	uint32_t n;
	enum cairn_status status;
};

static void rows_diff_fini(struct rows_diff *d)
{
	for (uint32_t i = 0; i < d->n_old; i++)
		free(d->old[i].path);
	free(d->old);
	free(d->operations);
}

static bool rows_old_has_room(struct rows_diff *d)
{
	if (d->n_old < d->old_cap)
		return true;
	uint32_t cap = d->old_cap ? 2 * d->old_cap : 256;
	struct rows_old *old = realloc(d->old, cap * sizeof(*old));
	if (!old)
		return false;
	d->old = old;
	d->old_cap = cap;
	return true;
}

static bool rows_take_old(void *ctx, const struct cairn_index_entry *entry)
{
	struct rows_diff *d = ctx;
	if (entry->kind == CAIRN_INDEX_FOLDER)
		return true;
	char *path = rows_old_has_room(d) ? cairn_hub_entry_path_new(entry) : NULL;
	if (!path) {
		d->status = CAIRN_E_NOMEM;
		return false;
	}
	struct rows_old *old = &d->old[d->n_old++];
	*old = (struct rows_old){.path = path, .oid = entry->oid, .has_pointer = entry->kind == CAIRN_INDEX_XET};
	memcpy(old->sha256, entry->sha256, sizeof(old->sha256));
	return true;
}

static int rows_compare_old(const void *a, const void *b)
{
	return strcmp(((const struct rows_old *)a)->path, ((const struct rows_old *)b)->path);
}

static int rows_compare_new(const void *a, const void *b)
{
	return strcmp(((const struct mirror_file *)a)->path, ((const struct mirror_file *)b)->path);
}

static bool rows_same(const struct rows_old *old, const struct mirror_file *file)
{
	if (old->has_pointer != file->has_pointer)
		return false;
	return file->has_pointer ? memcmp(old->sha256, file->sha256, sizeof(old->sha256)) == 0
				 : cairn_git_oid_equal(&old->oid, &file->oid);
}

static void rows_put(struct rows_diff *d, const struct mirror_file *file)
{
	struct cairn_index_operation *o = &d->operations[d->n++];
	*o = (struct cairn_index_operation){.kind = CAIRN_INDEX_PUT_ABSENT,
					    .path = file->path,
					    .oid = file->oid,
					    .has_pointer = file->has_pointer,
					    .size_bytes = file->size_bytes};
	memcpy(o->sha256, file->sha256, sizeof(o->sha256));
}

/* Walks over both trees, in the order of paths. Deletions come first, since a file may become a folder. */
static void rows_compare(struct rows_diff *d, const struct mirror_tree *tree, bool deletes)
{
	uint32_t i = 0, j = 0;
	while (i < d->n_old || j < tree->n) {
		int order = i == d->n_old ? 1 : j == tree->n ? -1 : strcmp(d->old[i].path, tree->all[j].path);
		if (order < 0 && deletes)
			d->operations[d->n++] =
				(struct cairn_index_operation){.kind = CAIRN_INDEX_DELETE, .path = d->old[i].path};
		bool is_new = order > 0 || (order == 0 && !rows_same(&d->old[i], &tree->all[j]));
		if (is_new && !deletes)
			rows_put(d, &tree->all[j]);
		i += order <= 0;
		j += order >= 0;
	}
}

/* Paths come from outside: they must be such as clients may send. */
static enum cairn_status rows_check_paths(const struct mirror_tree *tree, struct cairn_diag *diag)
{
	for (uint32_t i = 0; i < tree->n; i++) {
		const char *fault = cairn_hub_file_fault(tree->all[i].path);
		if (!fault && i > 0 && strcmp(tree->all[i - 1].path, tree->all[i].path) == 0)
			fault = "it is there twice";
		if (fault)
			return cairn_fail(diag, CAIRN_E_FORMAT, "mirror.path", CAIRN_NO_OFFSET,
					  "the upstream has a file \"%.100s\" that is not taken: %.80s",
					  tree->all[i].path, fault);
	}
	return CAIRN_OK;
}

/* @param head  the commit from which the tree differs; NULL: none */
static enum cairn_status rows_diff(struct mirror_fetch *f, const struct cairn_index_commit *head, struct rows_diff *d,
				   struct cairn_diag *diag)
{
	qsort(f->tree.all, f->tree.n, sizeof(*f->tree.all), rows_compare_new);
	enum cairn_status status = rows_check_paths(&f->tree, diag);
	if (status == CAIRN_OK && head)
		status = cairn_hub_list_all(f->m->hub, head, rows_take_old, d, diag);
	if (status == CAIRN_OK)
		status = d->status;
	if (status != CAIRN_OK)
		return status;
	if (d->n_old > 0)
		qsort(d->old, d->n_old, sizeof(*d->old), rows_compare_old);
	d->operations = calloc((size_t)d->n_old + f->tree.n + 1, sizeof(*d->operations));
	if (!d->operations)
		return CAIRN_E_NOMEM;
	rows_compare(d, &f->tree, true);
	rows_compare(d, &f->tree, false);
	return CAIRN_OK;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

/* Somebody may take the name at this moment: then the namespace is theirs. */
static enum cairn_status rows_make_account(const struct mirror_fetch *f, int64_t *id, struct cairn_diag *diag)
{
	char name[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1];
	enum cairn_status status = rows_account(f, id, diag);
	if (status != CAIRN_OK || *id != 0)
		return status;
	(void)rows_split(f, name);
	struct cairn_index_add_account add = {
		.kind = CAIRN_INDEX_ORGANISATION, .name = name, .fullname = "", .email = "", .is_mirrored = true};
	status = cairn_index_add_account(rows_index(f), &add);
	*id = add.id;
	*diag = add.write.diag;
	return status == CAIRN_E_CONFLICT ? rows_account(f, id, diag) : status;
}

static bool rows_id(const struct mirror_fetch *f, struct cairn_git_oid *out)
{
	return cairn_hex_parse(out->b, sizeof(out->b), f->repo.sha, strlen(f->repo.sha)) == CAIRN_OK;
}

/* Another daemon may make the same repository at this moment. */
static enum cairn_status rows_make_repo(struct mirror_fetch *f, struct cairn_index_repo *made, struct cairn_diag *diag)
{
	CLEANUP(rows_diff_fini) struct rows_diff d = {0};
	char account[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1], title[CAIRN_INDEX_TITLE_MAX + 1];
	const char *name = rows_split(f, account);
	struct cairn_git_oid id;
	struct cairn_index_add_repo add = {.kind = f->what.kind, .name = name, .first_id = &id};
	enum cairn_status status = rows_id(f, &id) ? rows_make_account(f, &add.account, diag) : CAIRN_E_FORMAT;
	if (status == CAIRN_OK)
		status = rows_diff(f, NULL, &d, diag);
	if (status != CAIRN_OK)
		return status;
	add.first = rows_message(f, title, sizeof(title), account);
	add.operations = d.operations;
	add.n = d.n;
	status = cairn_index_add_repo(rows_index(f), &add);
	*diag = add.write.diag;
	bool is_known = status == CAIRN_E_CONFLICT && cairn_diag_has(diag, "repo.known");
	return status == CAIRN_OK || is_known ? cairn_index_repo(rows_index(f), f->what.kind, account, name, made)
					      : status;
}

/* Finds the head of the branch that gets the commit. A branch that is not here begins at the head of main. */
static enum cairn_status rows_head(const struct mirror_fetch *f, const struct cairn_index_repo *here,
				   struct cairn_index_commit *head, struct cairn_diag *diag)
{
	struct cairn_index *ix = rows_index(f);
	enum cairn_status status = cairn_index_ref(ix, here->id, CAIRN_INDEX_BRANCH, f->what.revision, head);
	if (status != CAIRN_E_NOT_FOUND)
		return status;
	status = cairn_index_ref(ix, here->id, CAIRN_INDEX_BRANCH, CAIRN_HUB_MAIN, head);
	return status == CAIRN_OK ? rows_set_ref(f, here->id, head->id, diag) : status;
}

static enum cairn_status rows_commit(struct mirror_fetch *f, const struct cairn_index_repo *here,
				     struct cairn_diag *diag)
{
	CLEANUP(rows_diff_fini) struct rows_diff d = {0};
	char title[CAIRN_INDEX_TITLE_MAX + 1], parent[CAIRN_GIT_OID_CHARS + 1];
	struct cairn_index_commit head;
	struct cairn_git_oid id;
	enum cairn_status status = rows_id(f, &id) ? rows_head(f, here, &head, diag) : CAIRN_E_FORMAT;
	if (status == CAIRN_OK)
		status = rows_diff(f, &head, &d, diag);
	if (status != CAIRN_OK)
		return status;
	cairn_git_oid_text(parent, &head.oid);
	struct cairn_index_add_commit add = {.repo = here->id,
					     .kind = CAIRN_INDEX_BRANCH,
					     .ref = f->what.revision,
					     .parent = parent,
					     .id = &id,
					     .message = rows_message(f, title, sizeof(title), here->account_name),
					     .operations = d.operations,
					     .n = d.n};
	if (d.n == 0)
		return CAIRN_OK;
	status = cairn_index_add_commit(rows_index(f), &add);
	*diag = add.write.diag;
	return status;
}

/* The index refuses what no commit may have. */
static enum cairn_status rows_bad_tree(struct cairn_diag *diag)
{
	char why[sizeof(diag->text)];
	(void)snprintf(why, sizeof(why), "%s", diag->text);
	cairn_diag_clear(diag);
	return cairn_fail(diag, CAIRN_E_FORMAT, "mirror.tree", CAIRN_NO_OFFSET,
			  "the upstream has a tree that is not taken: %.150s", why);
}

enum cairn_status mirror_rows_write(struct mirror_fetch *f, const struct cairn_index_repo *here,
				    struct cairn_diag *diag)
{
	struct cairn_index_repo repo = *here;
	enum cairn_status status = here->id == 0 ? rows_make_repo(f, &repo, diag) : rows_commit(f, here, diag);
	if (status != CAIRN_OK && diag->rule && strncmp(diag->rule, "commit.", 7) == 0)
		return rows_bad_tree(diag);
	if (status == CAIRN_OK)
		status = rows_set_gate(f, &repo, diag);
	if (status == CAIRN_OK && strcmp(f->what.revision, CAIRN_HUB_MAIN) == 0)
		mirror_card_keep(f, repo.id);
	return status;
}
