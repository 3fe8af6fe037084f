/* Writes a repository of the upstream into the index: its namespace, state and gate, its commit, and its tree. */
#include "base/clock.h"
#include "hub/path.h"
#include "hub/repo.h"
#include "hub/revision.h"
#include "hub/tree.h"
#include "index/hub/mirror_list.h"
#include "mirror/ahead.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static struct cairn_index *rows_index(const struct mirror_fetch *f)
{
	return f->m->hub->index;
}

/* --- the state in the index --------------------------------------------------------------------------------------- */

/* Splits "account/name", which was checked when the fetch began. @return the name */
static const char *rows_split(const char *id, char account[static CAIRN_INDEX_ACCOUNT_NAME_MAX + 1])
{
	const char *slash = strchr(id, '/');
	(void)snprintf(account, CAIRN_INDEX_ACCOUNT_NAME_MAX + 1, "%.*s", (int)(slash - id), id);
	return slash + 1;
}

static enum cairn_status rows_local(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_NOT_FOUND, "mirror.local", CAIRN_NO_OFFSET,
			  "the namespace is an account of this server, so it is not looked up upstream");
}

/* Finds the account of a namespace. @param[out] id  0: it does not exist yet */
static enum cairn_status rows_account(const struct mirror_fetch *f, const char *name, int64_t *id,
				      struct cairn_diag *diag)
{
	struct cairn_index_account account = {0};
	enum cairn_status status = cairn_index_account(rows_index(f), name, &account);
	*id = account.id;
	if (status == CAIRN_OK && !account.is_mirrored)
		return rows_local(diag);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status mirror_rows_find_repo(struct mirror_fetch *f, const char *name, struct cairn_index_repo *here,
					struct cairn_diag *diag)
{
	char account[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1];
	int64_t id;
	*here = (struct cairn_index_repo){0};
	if (!strchr(name, '/'))
		return CAIRN_OK;
	const char *rest = rows_split(name, account);
	enum cairn_status status = rows_account(f, account, &id, diag);
	if (status != CAIRN_OK || id == 0)
		return status;
	status = cairn_index_repo(rows_index(f), f->what.kind, account, rest, here);
	/* found by a former name: the upstream's repository of this name is another one */
	if (status == CAIRN_OK && (strcasecmp(here->account_name, account) != 0 || strcasecmp(here->name, rest) != 0))
		*here = (struct cairn_index_repo){0};
	f->what.repo = here->id;
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status mirror_rows_find(struct mirror_fetch *f, struct cairn_index_repo *here,
				   struct cairn_index_commit *commit, struct cairn_diag *diag)
{
	*commit = (struct cairn_index_commit){0};
	enum cairn_status status = mirror_rows_find_repo(f, f->repo.id, here, diag);
	if (status != CAIRN_OK || here->id == 0)
		return status;
	status = cairn_index_find_commit(rows_index(f), here->id, f->repo.sha, CAIRN_INDEX_ALL_COMMITS, commit);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

static enum cairn_status rows_see(const struct mirror_fetch *f, const struct cairn_index_repo *here,
				  struct cairn_index_mirror_seen *out)
{
	*out = (struct cairn_index_mirror_seen){.is_private = here->is_private, .gate = here->gate};
	return cairn_index_mirror_state(rows_index(f), here->id, &out->state, &out->looked_unix_s);
}

enum cairn_status mirror_rows_see(struct mirror_fetch *f, struct cairn_diag *diag)
{
	struct cairn_index_repo here;
	enum cairn_status status = mirror_rows_find_repo(f, f->what.name, &here, diag);
	return status == CAIRN_OK && here.id != 0 ? rows_see(f, &here, &f->seen) : status;
}

bool mirror_fetch_is_of_main(const struct mirror_fetch *f)
{
	return strcmp(f->what.revision, CAIRN_HUB_MAIN) == 0;
}

/* --- names of commits --------------------------------------------------------------------------------------------- */

static enum cairn_index_gate rows_gate(const struct mirror_fetch *f)
{
	return f->repo.is_gated ? CAIRN_INDEX_GATE_MANUAL : CAIRN_INDEX_GATE_NONE;
}

enum cairn_status mirror_rows_close(struct mirror_fetch *f, const struct cairn_index_repo *here,
				    struct cairn_diag *diag)
{
	struct cairn_index_set_repo set = {.id = here->id,
					   .is_private = here->is_private || f->repo.is_private,
					   .gate = f->repo.is_gated ? rows_gate(f) : here->gate};
	bool is_as_seen = f->seen.is_private == here->is_private && f->seen.gate == here->gate;
	if (here->gate == set.gate && here->is_private == set.is_private)
		return CAIRN_OK;
	enum cairn_status status = cairn_index_set_repo(rows_index(f), &set);
	*diag = set.write.diag;
	if (status == CAIRN_OK && is_as_seen) { /* else another look-up has written it, which must not be undone */
		f->seen.is_private = set.is_private;
		f->seen.gate = set.gate;
	}
	return status;
}

/* Sets the state of a repository and who may read it, and reports to operators if the state changed. This is one write,
 * so that a daemon that dies leaves no repository that few may read open to others. */
static enum cairn_status rows_set_state(const struct mirror_fetch *f, const struct cairn_index_repo *here,
					bool is_private, enum cairn_index_gate gate,
					enum cairn_index_mirror_state state, struct cairn_diag *diag)
{
	enum cairn_index_mirror_state before;
	int64_t looked;
	struct cairn_index_set_mirror_state set = {.repo = here->id,
						   .state = state,
						   .looked_unix_s = cairn_clock_unix_s(),
						   .sets_access = here->gate != gate || here->is_private != is_private,
						   .is_private = is_private,
						   .gate = gate};
	enum cairn_status status = cairn_index_mirror_state(rows_index(f), here->id, &before, &looked);
	bool is_look = state == CAIRN_INDEX_MIRROR_THERE && mirror_fetch_is_of_main(f);
	if (status != CAIRN_OK || (before == state && looked != 0 && !is_look && !set.sets_access))
		return status; /* so that looking up a hidden repository takes no longer than a missing one */
	set.seen = mirror_fetch_is_of_main(f) ? &f->seen : NULL;
	status = cairn_index_set_mirror_state(rows_index(f), &set);
	if (status == CAIRN_E_CONFLICT)
		return cairn_mirror_later(diag);
	*diag = set.write.diag;
	if (status == CAIRN_OK && before != state)
		mirror_tell_state(f, state);
	return status;
}

/* Sets whether a repository has a gate or is private, so that files which the upstream shows to few askers are not read
 * by others here. */
static enum cairn_status rows_set_gate(struct mirror_fetch *f, const struct cairn_index_repo *here,
				       struct cairn_diag *diag)
{
	enum cairn_index_gate gate = rows_gate(f);
	/* Only a look-up of main opens a repository. A look-up of another revision may be slow, and main may have been
	 * closed since it began. */
	bool may_open = mirror_fetch_is_of_main(f);
	if (!may_open && here->gate != CAIRN_INDEX_GATE_NONE)
		gate = here->gate;
	if (!may_open && here->is_private && !f->repo.is_private)
		return mirror_rows_close(f, here, diag);
	return rows_set_state(f, here, f->repo.is_private, gate,
			      f->repo.is_private ? CAIRN_INDEX_MIRROR_PRIVATE : CAIRN_INDEX_MIRROR_THERE, diag);
}

enum cairn_status mirror_rows_leave(struct mirror_fetch *f, const struct cairn_index_repo *here,
				    enum cairn_index_mirror_state state, struct cairn_diag *diag)
{
	bool stays = state == CAIRN_INDEX_MIRROR_GONE && here->gate == CAIRN_INDEX_GATE_NONE && !here->is_private;
	return rows_set_state(f, here, !stays, here->gate, state, diag);
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
	/* A commit that was looked up by its id gets a branch only if no other ref reaches it. */
	if (status == CAIRN_E_NOT_FOUND && strcmp(f->what.revision, f->repo.sha) == 0 &&
	    cairn_index_find_commit(ix, here->id, f->repo.sha, CAIRN_INDEX_REACHED, &reached) == CAIRN_OK)
		return CAIRN_OK;
	if (status != CAIRN_OK && status != CAIRN_E_NOT_FOUND)
		return status;
	return rows_set_ref(f, here->id, commit->id, diag);
}

/* --- differences of trees ----------------------------------------------------------------------------------------- */

/* A file of a commit in the index. */
struct rows_old {
	char *path; /* owned */
	struct cairn_git_oid oid;
	bool has_pointer;
	uint8_t sha256[CAIRN_SHA256_BYTES];
};

struct rows_diff {
	struct rows_old *old; /* owned */
	uint32_t n_old, old_cap;
	struct cairn_index_operation *operations; /* owned; paths are borrowed from both trees */
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

/* Compares both trees in the order of paths, and adds deletions or other operations. Deletions come first, because a
 * file may become a folder. */
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

/* Sorts the tree, and checks that clients could have sent its paths, which are untrusted. */
static enum cairn_status rows_check_paths(struct mirror_tree *tree, struct cairn_diag *diag)
{
	qsort(tree->all, tree->n, sizeof(*tree->all), rows_compare_new);
	for (uint32_t i = 0; i < tree->n; i++) {
		const char *fault = cairn_hub_file_fault(tree->all[i].path);
		if (!fault && i > 0 && strcmp(tree->all[i - 1].path, tree->all[i].path) == 0)
			fault = "it is there twice";
		if (fault)
			return cairn_fail(diag, CAIRN_E_FORMAT, "mirror.path", CAIRN_NO_OFFSET,
					  "the upstream has a file \"%.100s\", whose path is not allowed here: %.80s",
					  tree->all[i].path, fault);
	}
	return CAIRN_OK;
}

/* Makes the operations that lead from a commit to the tree. @param head  the commit; NULL: none */
static enum cairn_status rows_diff(struct mirror_fetch *f, const struct cairn_index_commit *head, struct rows_diff *d,
				   struct cairn_diag *diag)
{
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

/* Makes the account of the namespace. If somebody takes the name at this moment, it belongs to them. */
static enum cairn_status rows_make_account(const struct mirror_fetch *f, int64_t *id, struct cairn_diag *diag)
{
	char name[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1];
	(void)rows_split(f->repo.id, name);
	enum cairn_status status = rows_account(f, name, id, diag);
	if (status != CAIRN_OK || *id != 0)
		return status;
	struct cairn_index_add_account add = {
		.kind = CAIRN_INDEX_ORGANISATION, .name = name, .fullname = "", .email = "", .is_mirrored = true};
	status = cairn_index_add_account(rows_index(f), &add);
	*id = add.id;
	*diag = add.write.diag;
	return status == CAIRN_E_CONFLICT ? rows_account(f, name, id, diag) : status;
}

static bool rows_id(const struct mirror_fetch *f, struct cairn_git_oid *out)
{
	return cairn_hex_parse(out->b, sizeof(out->b), f->repo.sha, strlen(f->repo.sha)) == CAIRN_OK;
}

/* Makes the repository, unless another daemon has just made it. @param replaces  repository that it replaces; 0: none
 */
static enum cairn_status rows_make_repo(struct mirror_fetch *f, int64_t replaces, struct cairn_index_repo *made,
					struct cairn_diag *diag)
{
	CLEANUP(rows_diff_fini) struct rows_diff d = {0};
	char account[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1], title[CAIRN_INDEX_TITLE_MAX + 1];
	const char *name = rows_split(f->repo.id, account);
	struct cairn_git_oid id;
	struct cairn_index_add_repo add = {.kind = f->what.kind,
					   .name = name,
					   .is_private = f->repo.is_private,
					   .gate = rows_gate(f),
					   .first_id = &id,
					   .replaces = replaces,
					   .created_unix_ms = f->repo.created_unix_ms};
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
	if (status == CAIRN_OK) /* what the index has now */
		f->seen = (struct cairn_index_mirror_seen){.state = replaces != 0 ? f->seen.state
										  : CAIRN_INDEX_MIRROR_THERE,
							   .is_private = add.is_private,
							   .gate = add.gate};
	return status == CAIRN_OK || is_known ? cairn_index_repo(rows_index(f), f->what.kind, account, name, made)
					      : status;
}

/* Finds the head of the branch that gets the commit. A branch that the index lacks begins at the head of main. */
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
	/* First of all, since the new files may be for fewer askers than the old ones. */
	enum cairn_status status = rows_id(f, &id) ? mirror_rows_close(f, here, diag) : CAIRN_E_FORMAT;
	if (status == CAIRN_OK)
		status = rows_head(f, here, &head, diag);
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

/* Fails, because the index refused the tree. */
static enum cairn_status rows_bad_tree(struct cairn_diag *diag)
{
	char why[sizeof(diag->text)];
	(void)snprintf(why, sizeof(why), "%s", diag->text);
	cairn_diag_clear(diag);
	return cairn_fail(diag, CAIRN_E_FORMAT, "mirror.tree", CAIRN_NO_OFFSET,
			  "the upstream has a tree that is not allowed here: %.150s", why);
}

/* @param makes  makes a repository, which replaces `here` */
static enum cairn_status rows_write(struct mirror_fetch *f, const struct cairn_index_repo *here, bool makes,
				    struct cairn_diag *diag)
{
	struct cairn_index_repo repo = *here;
	enum cairn_status status = makes ? rows_make_repo(f, here->id, &repo, diag) : rows_commit(f, here, diag);
	if (status != CAIRN_OK && diag->rule && strncmp(diag->rule, "commit.", 7) == 0)
		return rows_bad_tree(diag);
	f->what.repo = repo.id;
	if (status == CAIRN_OK && makes)
		mirror_grant_brought(f, repo.id);
	if (status == CAIRN_OK)
		status = rows_set_gate(f, &repo, diag);
	if (status == CAIRN_OK && mirror_fetch_is_of_main(f))
		mirror_card_keep(f, repo.id);
	return status;
}

enum cairn_status mirror_rows_write(struct mirror_fetch *f, const struct cairn_index_repo *here,
				    struct cairn_diag *diag)
{
	return rows_write(f, here, here->id == 0, diag);
}

/* --- another name of the repository ------------------------------------------------------------------------------- */

/* Removes the repository under its former name, because today's name is here already. */
static enum cairn_status rows_drop_former(const struct mirror_fetch *f, const struct cairn_index_repo *former,
					  struct cairn_diag *diag)
{
	cairn_diag_clear(diag);
	enum cairn_status status = cairn_hub_drop_repo(f->m->hub, former, diag);
	if (status != CAIRN_E_NOT_FOUND)
		return status;
	cairn_diag_clear(diag); /* another daemon was faster */
	return CAIRN_OK;
}

enum cairn_status mirror_rows_move(struct mirror_fetch *f, const struct cairn_index_repo *former,
				   struct cairn_diag *diag)
{
	char account[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1];
	struct cairn_index_move_repo move = {.id = former->id, .name = rows_split(f->repo.id, account)};
	enum cairn_status status = rows_make_account(f, &move.account, diag);
	if (status == CAIRN_E_NOT_FOUND && cairn_diag_has(diag, "mirror.local")) {
		cairn_diag_clear(diag);
		return CAIRN_OK;
	}
	if (status != CAIRN_OK)
		return status;
	status = cairn_index_move_repo(rows_index(f), &move);
	*diag = move.write.diag;
	bool is_known = status == CAIRN_E_CONFLICT && cairn_diag_has(diag, "repo.known");
	return is_known ? rows_drop_former(f, former, diag) : status;
}

/* --- another repository with the name -----------------------------------------------------------------------------
 *  */

/* A commit that was fetched with a token may not have been public, even if the repository is now: its owner may have
 * removed it before. A name may be given up, and taken by somebody else. */
bool mirror_rows_is_another(const struct mirror_fetch *f, const struct cairn_index_repo *here)
{
	bool has_gate = here->gate != CAIRN_INDEX_GATE_NONE;
	if (here->id == 0 || !mirror_fetch_is_of_main(f) || !(here->is_private || has_gate))
		return false;
	bool opens = (here->is_private && !f->repo.is_private) || (has_gate && !f->repo.is_gated);
	return opens || (f->repo.created_unix_ms != 0 && f->repo.created_unix_ms != here->created_unix_ms);
}

/* Fails with mirror.later if another look-up has written the repository since this one began. */
static enum cairn_status rows_check_seen(const struct mirror_fetch *f, const struct cairn_index_repo *here,
					 struct cairn_diag *diag)
{
	struct cairn_index_mirror_seen now;
	enum cairn_status status = rows_see(f, here, &now);
	bool is_same = now.state == f->seen.state && now.looked_unix_s == f->seen.looked_unix_s &&
		       now.is_private == f->seen.is_private && now.gate == f->seen.gate;
	return status == CAIRN_OK && !is_same ? cairn_mirror_later(diag) : status;
}

/* The operator's settings hold for the name, so the new repository takes them over in the transaction that makes it. */
enum cairn_status mirror_rows_replace(struct mirror_fetch *f, const struct cairn_index_repo *here,
				      struct cairn_diag *diag)
{
	enum cairn_status status = rows_check_seen(f, here, diag);
	if (status == CAIRN_OK)
		status = rows_write(f, here, true, diag);
	if (status == CAIRN_OK)
		mirror_ahead_changed(f->m, f->what.repo);
	return status;
}
