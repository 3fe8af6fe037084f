#include "index/hub/commits.h"

#include "index/quota.h"

#include "base/sum.h"

#include <string.h>

struct cairn_commits_new cairn_commits_asked(const struct cairn_index_add_commit *add)
{
	return (struct cairn_commits_new){.repo = add->repo,
					  .id = add->id,
					  .message = &add->message,
					  .operations = add->operations,
					  .n = add->n,
					  .few = add->stranger != 0};
}

struct cairn_commits_new cairn_commits_first(const struct cairn_index_add_repo *add, int64_t owner)
{
	return (struct cairn_commits_new){.repo = add->id,
					  .owner = owner,
					  .id = add->first_id,
					  .message = &add->first,
					  .operations = add->operations,
					  .n = add->n};
}

enum cairn_status cairn_commits_check(const struct cairn_index_message *message, uint32_t n_operations,
				      struct cairn_diag *diag)
{
	bool ok = strlen(message->author) <= CAIRN_INDEX_ACCOUNT_NAME_MAX &&
		  strlen(message->title) <= CAIRN_INDEX_TITLE_MAX &&
		  strlen(message->message) <= CAIRN_INDEX_MESSAGE_MAX && n_operations <= CAIRN_INDEX_OPERATIONS_MAX;
	if (ok)
		return CAIRN_OK;
	return cairn_fail(diag, CAIRN_E_LIMIT, "commit.limit", CAIRN_NO_OFFSET,
			  "a commit has at most %d operations, a title of %d bytes and a message of %d",
			  CAIRN_INDEX_OPERATIONS_MAX, CAIRN_INDEX_TITLE_MAX, CAIRN_INDEX_MESSAGE_MAX);
}

enum cairn_status cairn_commits_name(struct cairn_git_oid *out, const struct cairn_index_message *message,
				     const struct cairn_git_oid *root, const struct cairn_git_oid *parent,
				     int64_t at_unix_s)
{
	const struct cairn_git_commit text = {
		.root = *root,
		.parent = parent,
		.at_unix_s = at_unix_s,
		.author = message->author,
		.email = message->email,
		.title = message->title,
		.message = message->message,
	};
	return cairn_git_commit(out, &text);
}

int64_t cairn_commits_count(const struct cairn_index_message *message, const struct cairn_edit *edit)
{
	size_t text_len = strlen(message->author) + strlen(message->title) + strlen(message->message);
	return cairn_sum(edit->row_bytes, (int64_t)(CAIRN_INDEX_ROW_BYTES + text_len));
}

int64_t cairn_commits_full_count(const struct cairn_commits_new *commit)
{
	int64_t bytes = commit->added ? commit->counts : 0;
	for (uint32_t i = 0; commit->added && i < commit->n; i++)
		cairn_add(&bytes, (int64_t)commit->operations[i].len);
	return bytes;
}

int64_t cairn_commits_ref_counts(const char *name)
{
	return CAIRN_INDEX_ROW_BYTES + (int64_t)strlen(name);
}

/* Quotas do not refuse deletions with short texts: each file can be deleted only once, which bounds their number. */
bool cairn_commits_may_be_refused(const struct cairn_commits_new *commit, const struct cairn_edit *edit)
{
	const struct cairn_index_message *message = commit->message;
	bool deletes = commit->n > 0 && !edit->puts &&
		       strlen(message->title) + strlen(message->message) <= CAIRN_COMMITS_FREE_TEXT_MAX;
	return !commit->must_pass && !deletes;
}

bool cairn_commits_begins(const struct cairn_git_oid *oid, const char *prefix)
{
	char text[CAIRN_GIT_OID_CHARS + 1];
	cairn_git_oid_text(text, oid);
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

void cairn_commits_made(struct cairn_commits_new *commit, int64_t number, const struct cairn_git_oid *root,
			int64_t n_files, int64_t bytes)
{
	commit->added = true;
	commit->head = (struct cairn_commits_head){
		.commit = number,
		.parent = commit->head.commit,
		.line = commit->line,
		.number = cairn_sum(commit->head.number, 1),
		.n_files = n_files,
		.bytes = bytes,
		.oid = commit->oid,
		.root = *root,
	};
}

void cairn_commits_merged(struct cairn_index_add_commit *last, const struct cairn_index_add_commit *merge,
			  const struct cairn_git_oid *made, char text[static CAIRN_GIT_OID_CHARS + 1])
{
	cairn_git_oid_text(text, made);
	*last = (struct cairn_index_add_commit){
		.repo = merge->repo,
		.kind = CAIRN_INDEX_PULL,
		.ref = merge->merge.pull,
		.parent = merge->merge.head,
		.message = merge->message,
		.ends = true,
		.merged = text,
	};
}

enum cairn_status cairn_commits_unknown(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_NOT_FOUND, "revision.unknown", CAIRN_NO_OFFSET, "Revision not found");
}

enum cairn_status cairn_commits_conflict(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_CONFLICT, "commit.parent", CAIRN_NO_OFFSET,
			  "The branch was updated since you opened this page. Please refresh and try again.");
}

enum cairn_status cairn_commits_id_is_taken(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_CONFLICT, "commit.known", CAIRN_NO_OFFSET,
			  "the repository has another commit of this id");
}

enum cairn_status cairn_commits_ended(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_CONFLICT, "pr.ended", CAIRN_NO_OFFSET,
			  "The pull request was merged or closed: open another");
}

enum cairn_status cairn_commits_too_many(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_LIMIT, "commit.rows", CAIRN_NO_OFFSET, "the branch has more than %d files",
			  CAIRN_INDEX_COMMIT_ROWS_MAX);
}

enum cairn_status cairn_commits_too_deep(struct cairn_diag *diag)
{
	return cairn_fail(
		diag, CAIRN_E_LIMIT, "ref.depth", CAIRN_NO_OFFSET,
		"the commit is on a branch of a branch, %d deep, and a further one would copy more than %d rows; "
		"branch from main, or squash the branch that the commit is on",
		CAIRN_INDEX_LINE_DEPTH_MAX, CAIRN_INDEX_FORK_ROWS_MAX);
}

/* Returns the folder below refs/ in which git keeps refs of this kind. */
static const char *commits_place(enum cairn_index_ref_kind kind)
{
	return kind == CAIRN_INDEX_BRANCH ? "heads" : kind == CAIRN_INDEX_TAG ? "tags" : "pr";
}

enum cairn_status cairn_commits_ref_is_taken(struct cairn_diag *diag, enum cairn_index_ref_kind kind, const char *name)
{
	return cairn_fail(diag, CAIRN_E_CONFLICT, "ref.known", CAIRN_NO_OFFSET,
			  "Reference refs/%s/%.150s already exists", commits_place(kind), name);
}

enum cairn_status cairn_commits_ref_nested(struct cairn_diag *diag, const char *there, const char *name)
{
	return cairn_fail(diag, CAIRN_E_USAGE, "ref.nested", CAIRN_NO_OFFSET,
			  "\"%.120s\" exists, and \"%.120s\" cannot exist beside it: one name is the other "
			  "up to a slash; choose another name",
			  there, name);
}

enum cairn_status cairn_commits_ref_main(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_DENIED, "ref.main", CAIRN_NO_OFFSET, "Cannot delete refs/heads/main");
}
