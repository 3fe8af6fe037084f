#include "hub/pull.h"

#include "hub/changes.h"
#include "hub/kept_card.h"
#include "hub/revision.h"
#include "hub/stranger.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PULL_NUMBER_BYTES = 24 };

void cairn_hub_pull_fini(struct cairn_hub_pull *pull)
{
	free(pull->texts);
	*pull = (struct cairn_hub_pull){0};
}

static void pull_text(char out[static PULL_NUMBER_BYTES], int64_t number)
{
	(void)snprintf(out, PULL_NUMBER_BYTES, "%" PRId64, number);
}

/* @param base  the branch to merge into  @param commit  the proposal; its parent does not count */
static enum cairn_status pull_add(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
				  const struct cairn_index_repo *repo, const char *base,
				  const struct cairn_index_commit *start, const struct cairn_hub_commit *commit,
				  int64_t *number, struct cairn_git_oid *oid, struct cairn_diag *diag)
{
	char email[CAIRN_HUB_EMAIL_BYTES];
	const char *author = cairn_hub_author(asker);
	cairn_hub_email(email, author);
	struct cairn_index_add_ref add = {
		.repo = repo->id,
		.kind = CAIRN_INDEX_PULL,
		.commit = start->id,
		.first = {.author = author, .email = email, .title = commit->title, .message = commit->message},
		.base = base,
		.account = asker->account.id,
		.operations = commit->operations,
		.n = commit->n,
		.id = commit->has_id ? &commit->id : NULL,
		.is_stranger = commit->is_stranger,
	};
	enum cairn_status status = commit->is_stranger ? cairn_hub_check_proposal(repo, commit, diag) : CAIRN_OK;
	if (status != CAIRN_OK)
		return status;
	status = cairn_index_add_ref(hub->index, &add);
	*number = add.number;
	*oid = add.oid;
	*diag = add.write.diag;
	return status;
}

enum cairn_status cairn_hub_add_pull(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
				     const struct cairn_index_repo *repo, const char *base,
				     const struct cairn_index_commit *start, const char *title, const char *description,
				     bool is_stranger, int64_t *number, struct cairn_diag *diag)
{
	const struct cairn_hub_commit none = {.title = title, .message = description, .is_stranger = is_stranger};
	struct cairn_git_oid oid;
	return pull_add(hub, asker, repo, base, start, &none, number, &oid, diag);
}

/* Finds where a pull request starts: at the head of its branch, or at the commit that the client began with.
 * @param ref  ref of the revision */
static enum cairn_status pull_find_start(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					 const struct cairn_index_repo *repo, const struct cairn_hub_ref_name *ref,
					 const char *parent, struct cairn_index_commit *out, struct cairn_diag *diag)
{
	if (ref->kind != CAIRN_INDEX_BRANCH)
		return cairn_fail(diag, CAIRN_E_USAGE, "pr.base", CAIRN_NO_OFFSET,
				  "a pull request is for a branch, not for a tag or another pull request");
	/* Only refs are looked up: the id of a commit names no branch. */
	enum cairn_status status = cairn_index_ref(hub->index, repo->id, ref->kind, ref->name, out);
	if (status == CAIRN_E_NOT_FOUND)
		return cairn_fail(diag, status, "revision.unknown", CAIRN_NO_OFFSET, "Revision not found");
	return status == CAIRN_OK && parent ? cairn_hub_find_revision(hub, asker, repo, parent, out, diag) : status;
}

enum cairn_status cairn_hub_commit_pull(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					const struct cairn_index_repo *repo, const char *revision,
					const struct cairn_hub_commit *commit, int64_t *number,
					struct cairn_git_oid *oid, struct cairn_diag *diag)
{
	struct cairn_index_commit start;
	struct cairn_hub_ref_name ref;
	cairn_hub_ref_name(revision, &ref);
	enum cairn_status status = cairn_hub_may_name(asker, commit, diag);
	if (status == CAIRN_OK)
		status = pull_find_start(hub, asker, repo, &ref, commit->parent, &start, diag);
	return status == CAIRN_OK ? pull_add(hub, asker, repo, ref.name, &start, commit, number, oid, diag) : status;
}

/* --- finding ------------------------------------------------------------------------------------------------------ */

/* Copies a row, whose texts are borrowed during the visit. */
static void pull_take(void *ctx, const struct cairn_index_pull *row)
{
	struct cairn_hub_pull *pull = ctx;
	size_t message_bytes = strlen(row->message) + 1, comment_bytes = strlen(row->comment) + 1;
	pull->about = *row;
	pull->about.message = pull->about.comment = "";
	pull->texts = malloc(message_bytes + comment_bytes);
	if (!pull->texts)
		return;
	memcpy(pull->texts, row->message, message_bytes);
	memcpy(pull->texts + message_bytes, row->comment, comment_bytes);
	pull->about.message = pull->texts;
	pull->about.comment = pull->texts + message_bytes;
}

static enum cairn_status pull_read(const struct cairn_hub *hub, const struct cairn_index_repo *repo, int64_t number,
				   struct cairn_hub_pull *out)
{
	struct cairn_index *ix = hub->index;
	char name[PULL_NUMBER_BYTES];
	pull_text(name, number);
	enum cairn_status status = cairn_index_find_pull(ix, repo->id, number, pull_take, out);
	if (status == CAIRN_OK && !out->texts)
		return CAIRN_E_NOMEM;
	if (status == CAIRN_OK)
		status = cairn_index_ref(ix, repo->id, CAIRN_INDEX_PULL, name, &out->head);
	if (status != CAIRN_OK)
		return status;
	status = cairn_index_commit_by_id(ix, out->about.start, &out->start);
	out->has_start = status == CAIRN_OK;
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status cairn_hub_find_pull(const struct cairn_hub *hub, const struct cairn_index_repo *repo, int64_t number,
				      struct cairn_hub_pull *out, struct cairn_diag *diag)
{
	*out = (struct cairn_hub_pull){0};
	enum cairn_status status = pull_read(hub, repo, number, out);
	if (status != CAIRN_OK)
		cairn_hub_pull_fini(out);
	if (status == CAIRN_E_NOT_FOUND)
		return cairn_fail(diag, status, "pr.unknown", CAIRN_NO_OFFSET,
				  "there is no pull request of this number");
	return status;
}

enum cairn_status cairn_hub_each_pull(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
				      const struct cairn_index_pull_list *list, cairn_index_visit_pull *visit,
				      void *ctx, uint32_t *n)
{
	enum cairn_status status = cairn_index_each_pull(hub->index, repo->id, list, visit, ctx, n);
	if (*n > CAIRN_HUB_PULLS_MAX)
		*n = CAIRN_HUB_PULLS_MAX;
	return status;
}

/* --- ending ------------------------------------------------------------------------------------------------------- */

enum cairn_status cairn_hub_close_pull(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
				       const struct cairn_index_repo *repo, const struct cairn_hub_pull *pull,
				       const char *comment, bool is_stranger, struct cairn_diag *diag)
{
	char name[PULL_NUMBER_BYTES], parent[CAIRN_GIT_OID_CHARS + 1], email[CAIRN_HUB_EMAIL_BYTES];
	const char *author = cairn_hub_author(asker);
	pull_text(name, pull->about.number);
	cairn_git_oid_text(parent, &pull->head.oid);
	cairn_hub_email(email, author);
	struct cairn_index_add_commit last = {
		.repo = repo->id,
		.kind = CAIRN_INDEX_PULL,
		.ref = name,
		.parent = parent,
		.message = {.author = author, .email = email, .title = "", .message = comment},
		.ends = true,
		.stranger = is_stranger ? asker->account.id : 0,
	};
	enum cairn_status status = cairn_index_add_commit(hub->index, &last);
	*diag = last.write.diag;
	return status;
}

/* --- merging ------------------------------------------------------------------------------------------------------ */

struct pull_merge {
	const struct cairn_hub *hub;
	const struct cairn_hub_pull *pull;
	struct cairn_index_commit base; /* the head of its branch */
	struct cairn_hub_changes changes;
	struct cairn_index_operation *operations; /* owned, with the text of each */
	uint32_t n;
	size_t text_bytes;
};

static void pull_merge_fini(struct pull_merge *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		free((void *)(uintptr_t)m->operations[i].bytes);
	free(m->operations);
	cairn_hub_changes_fini(&m->changes);
}

static enum cairn_status pull_too_large(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_LIMIT, "pr.large", CAIRN_NO_OFFSET,
			  "the pull request changes more than %d files, or more than %d MiB of text: commit it to its "
			  "branch in parts",
			  CAIRN_INDEX_OPERATIONS_MAX, CAIRN_HUB_MERGE_TEXT_BYTES_MAX >> 20);
}

static bool pull_same(const struct cairn_index_entry *a, bool has_a, const struct cairn_index_entry *b, bool has_b)
{
	if (!has_a || !has_b)
		return has_a == has_b;
	return a->kind == b->kind && cairn_git_oid_equal(&a->oid, &b->oid);
}

static enum cairn_status pull_put_text(struct pull_merge *m, const struct cairn_index_entry *entry,
				       struct cairn_index_operation *o, struct cairn_diag *diag)
{
	uint8_t *bytes;
	enum cairn_status status = cairn_hub_read_inline(m->hub, entry, &bytes, &o->len, diag);
	o->bytes = bytes;
	m->text_bytes += o->len;
	return status == CAIRN_OK && m->text_bytes > CAIRN_HUB_MERGE_TEXT_BYTES_MAX ? pull_too_large(diag) : status;
}

static enum cairn_status pull_add_operation(struct pull_merge *m, const struct cairn_hub_change *change,
					    struct cairn_diag *diag)
{
	const struct cairn_index_entry *after = &change->after;
	struct cairn_index_operation *o = &m->operations[m->n++];
	*o = (struct cairn_index_operation){.kind = CAIRN_INDEX_DELETE, .path = change->path, .oid = after->oid};
	if (change->kind == CAIRN_HUB_REMOVED)
		return CAIRN_OK;
	o->kind = after->kind == CAIRN_INDEX_XET ? CAIRN_INDEX_PUT_FILE : CAIRN_INDEX_PUT_INLINE;
	memcpy(o->sha256, after->sha256, sizeof(o->sha256));
	return after->kind == CAIRN_INDEX_XET ? CAIRN_OK : pull_put_text(m, after, o, diag);
}

/* Merges one change. The branch may have it. If it has neither that nor the state before, there is a conflict. */
static enum cairn_status pull_merge_one(struct pull_merge *m, const struct cairn_hub_change *change,
					struct cairn_diag *diag)
{
	struct cairn_index_entry now;
	enum cairn_status status = cairn_index_entry(m->hub->index, &m->base, change->path, &now);
	bool has_now = status == CAIRN_OK;
	if (status != CAIRN_OK && status != CAIRN_E_NOT_FOUND)
		return status;
	if (pull_same(&now, has_now, &change->after, change->kind != CAIRN_HUB_REMOVED))
		return CAIRN_OK;
	if (pull_same(&now, has_now, &change->before, change->kind != CAIRN_HUB_ADDED))
		return pull_add_operation(m, change, diag);
	return cairn_fail(
		diag, CAIRN_E_CONFLICT, "pr.conflict", CAIRN_NO_OFFSET,
		"\"%.200s\" was changed on %.100s, too, since the pull request began: commit it there yourself, "
		"and close this one",
		change->path, m->pull->about.base);
}

/* Deletions come first: a file may replace a folder. */
static enum cairn_status pull_plan(struct pull_merge *m, struct cairn_diag *diag)
{
	enum cairn_status status = CAIRN_OK;
	m->operations = calloc((size_t)m->changes.n + 1, sizeof(*m->operations));
	if (!m->operations)
		return CAIRN_E_NOMEM;
	for (unsigned pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < m->changes.n && status == CAIRN_OK; i++)
			if ((m->changes.all[i].kind == CAIRN_HUB_REMOVED) == (pass == 0))
				status = pull_merge_one(m, &m->changes.all[i], diag);
	return status;
}

static void pull_merge_title(char out[static CAIRN_INDEX_TITLE_MAX + 1], const struct cairn_hub_pull *pull)
{
	int len = snprintf(out, CAIRN_INDEX_TITLE_MAX + 1, "Merge refs/pr/%" PRId64 ": %s", pull->about.number,
			   pull->about.title);
	if (len < 0 || len > CAIRN_INDEX_TITLE_MAX) /* cutting it might split a character */
		(void)snprintf(out, CAIRN_INDEX_TITLE_MAX + 1, "Merge refs/pr/%" PRId64, pull->about.number);
}

/* Merges and ends the pull request in one write, so both happen or neither. The write is refused if the branch or the
 * pull request got another commit since it was read. */
static enum cairn_status pull_commit(struct pull_merge *m, const struct cairn_hub_asker *asker,
				     const struct cairn_index_repo *repo, const char *comment,
				     struct cairn_git_oid *oid, struct cairn_diag *diag)
{
	const struct cairn_hub_pull *pull = m->pull;
	char title[CAIRN_INDEX_TITLE_MAX + 1], base[CAIRN_GIT_OID_CHARS + 1], head[CAIRN_GIT_OID_CHARS + 1];
	char email[CAIRN_HUB_EMAIL_BYTES], name[PULL_NUMBER_BYTES];
	const char *author = cairn_hub_author(asker);
	pull_merge_title(title, pull);
	pull_text(name, pull->about.number);
	cairn_git_oid_text(base, &m->base.oid);
	cairn_git_oid_text(head, &pull->head.oid);
	cairn_hub_email(email, author);
	struct cairn_index_add_commit add = {
		.repo = repo->id,
		.kind = CAIRN_INDEX_BRANCH,
		.ref = pull->about.base,
		.parent = base,
		.message = {.author = author, .email = email, .title = title, .message = comment},
		.operations = m->operations,
		.n = m->n,
		.merge = {.pull = name, .head = head},
	};
	enum cairn_status status = cairn_index_add_commit(m->hub->index, &add);
	*oid = add.oid;
	*diag = add.write.diag;
	if (status == CAIRN_OK)
		cairn_hub_keep_card_after(m->hub, repo, m->operations, m->n);
	return status;
}

enum cairn_status cairn_hub_merge_pull(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
				       const struct cairn_index_repo *repo, const struct cairn_hub_pull *pull,
				       const char *comment, struct cairn_git_oid *oid, struct cairn_diag *diag)
{
	CLEANUP(pull_merge_fini) struct pull_merge m = {.hub = hub, .pull = pull};
	if (pull->about.state != CAIRN_INDEX_PULL_OPEN)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "pr.ended", CAIRN_NO_OFFSET,
				  "The pull request was merged or closed: open another");
	if (!pull->has_start)
		return cairn_fail(
			diag, CAIRN_E_CONFLICT, "pr.start", CAIRN_NO_OFFSET,
			"the commit at which the pull request began is not kept any more, so what it changes is "
			"not known: commit its files to the branch yourself, and close it");
	enum cairn_status status = cairn_index_ref(hub->index, repo->id, CAIRN_INDEX_BRANCH, pull->about.base, &m.base);
	if (status == CAIRN_E_NOT_FOUND)
		return cairn_fail(diag, status, "revision.unknown", CAIRN_NO_OFFSET,
				  "the branch that the pull request is for was deleted: make the branch again, or "
				  "close the pull request");
	if (status == CAIRN_OK)
		status = cairn_hub_compare(hub, &pull->start, &pull->head, CAIRN_INDEX_OPERATIONS_MAX, &m.changes);
	if (status == CAIRN_OK && m.changes.more)
		status = pull_too_large(diag);
	if (status == CAIRN_OK)
		status = pull_plan(&m, diag);
	return status == CAIRN_OK ? pull_commit(&m, asker, repo, comment, oid, diag) : status;
}
