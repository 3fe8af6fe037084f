/* The writes that make a commit in pieces (hub_stage.h): large commits, pull requests opened with them, repositories
 * made with many files, and squashes. */
#include "index/sqlite/hub_stage.h"
#include "index/sqlite/sweep.h"

/* Did others change the ref since the commit was begun? */
static bool staged_is_stale(const struct cairn_tx_stage *s, int64_t line, const struct cairn_commits_head *head)
{
	return line != s->ref_line || head->commit != s->seen.commit;
}

static enum cairn_status staged_commit_find(struct cairn_tx *tx, struct cairn_index_write *write,
					    struct cairn_tx_stage *s)
{
	struct cairn_index_add_commit *add = (struct cairn_index_add_commit *)write;
	struct cairn_diag *diag = &write->diag;
	s->c = cairn_commits_asked(add);
	s->once = add->parent != NULL;
	add->added = false;
	enum cairn_status status = cairn_records_find_repo(&tx->records, add->repo, &s->c.owner, diag);
	if (status == CAIRN_OK)
		status = cairn_tx_find_commit_ref(tx, add, &s->c, diag);
	/* If the merge fails later, the repository keeps the files, and the pull request keeps naming them. */
	if (status == CAIRN_OK)
		status = cairn_records_adopt_merged(&tx->records, add);
	if (status == CAIRN_OK)
		status = cairn_tx_check_parent(tx, add, &s->c, diag);
	s->seen = s->c.head;
	s->ref_line = s->c.line;
	return status;
}

static enum cairn_status staged_commit_add(struct cairn_tx *tx, struct cairn_index_add_commit *add,
					   struct cairn_tx_stage *s)
{
	enum cairn_status status = cairn_tx_add_commit_row(tx, &s->c, &s->edit, &s->root);
	if (status == CAIRN_OK)
		status = cairn_tx_set_ref_line(tx, add->repo, add->kind, add->ref, s->c.line);
	add->oid = s->c.oid;
	add->added = true;
	s->stage.done = true;
	return status;
}

static enum cairn_status staged_commit_show(struct cairn_tx *tx, struct cairn_index_write *write,
					    struct cairn_tx_stage *s)
{
	struct cairn_index_add_commit *add = (struct cairn_index_add_commit *)write;
	struct cairn_commits_new now = {0};
	bool merges = add->merge.pull != NULL;
	enum cairn_status status = cairn_tx_find_commit_ref(tx, add, &now, &write->diag);
	if (status != CAIRN_OK)
		return status;
	if (staged_is_stale(s, now.line, &now.head))
		return cairn_tx_stage_again(write, s);
	bool same = cairn_git_oid_equal(&s->root, &s->seen.root);
	if (!same && s->c.only_same)
		return cairn_commits_conflict(&write->diag);
	add->oid = s->seen.oid;
	if (same)
		s->stage.undoes = true; /* nothing differs from the head */
	else
		status = staged_commit_add(tx, add, s);
	if (status == CAIRN_OK && merges)
		status = cairn_tx_end_merged(tx, add, &write->diag);
	return status == CAIRN_OK && (add->added || merges) ? cairn_tx_count_main(tx, add->repo) : status;
}

enum cairn_status cairn_tx_add_commit(struct cairn_tx *tx, struct cairn_index_add_commit *add)
{
	static const struct cairn_tx_stage_kind KIND = {.find = staged_commit_find, .show = staged_commit_show};
	bool in_pieces = add->write.stage || (add->stranger == 0 && cairn_edit_is_large(add->operations, add->n));
	enum cairn_status status = in_pieces ? CAIRN_OK : cairn_tx_commit_at_once(tx, add, &in_pieces);
	return status == CAIRN_OK && in_pieces ? cairn_tx_stage(tx, &add->write, &KIND) : status;
}

static enum cairn_status staged_pull_find(struct cairn_tx *tx, struct cairn_index_write *write,
					  struct cairn_tx_stage *s)
{
	struct cairn_index_add_ref *add = (struct cairn_index_add_ref *)write;
	s->c = (struct cairn_commits_new){
		.repo = add->repo, .id = add->id, .message = &add->first, .operations = add->operations, .n = add->n};
	enum cairn_status status = cairn_records_find_repo(&tx->records, add->repo, &s->c.owner, &write->diag);
	if (status == CAIRN_OK)
		status = cairn_tx_read_head(tx, add->commit, &s->c.head, &write->diag);
	s->seen = s->c.head;
	return status;
}

/* If nothing differs from the commit that it comes from, the pull request has no commit of its own. */
static enum cairn_status staged_pull_show(struct cairn_tx *tx, struct cairn_index_write *write,
					  struct cairn_tx_stage *s)
{
	struct cairn_index_add_ref *add = (struct cairn_index_add_ref *)write;
	int64_t owner, line = s->c.line;
	bool same = cairn_git_oid_equal(&s->root, &s->seen.root);
	s->stage.undoes = same;
	s->stage.done = !same;
	enum cairn_status status = cairn_records_find_repo(&tx->records, add->repo, &owner, &write->diag);
	if (status == CAIRN_OK)
		status = same ? cairn_tx_fork(tx, add, owner, &line)
			      : cairn_tx_add_commit_row(tx, &s->c, &s->edit, &s->root);
	if (status == CAIRN_OK)
		status = cairn_tx_name_pull(tx, add, owner, line);
	add->oid = same ? s->seen.oid : s->c.oid;
	return status == CAIRN_OK ? cairn_tx_count_main(tx, add->repo) : status;
}

enum cairn_status cairn_tx_add_ref(struct cairn_tx *tx, struct cairn_index_add_ref *add)
{
	static const struct cairn_tx_stage_kind KIND = {.find = staged_pull_find, .show = staged_pull_show};
	bool in_pieces = add->write.stage || (!add->is_stranger && cairn_edit_is_large(add->operations, add->n));
	enum cairn_status status = in_pieces ? CAIRN_OK : cairn_tx_add_ref_at_once(tx, add, &in_pieces);
	return status == CAIRN_OK && in_pieces ? cairn_tx_stage(tx, &add->write, &KIND) : status;
}

static enum cairn_status staged_repo_find(struct cairn_tx *tx, struct cairn_index_write *write,
					  struct cairn_tx_stage *s)
{
	struct cairn_index_add_repo *add = (struct cairn_index_add_repo *)write;
	s->once = true; /* a row that is gone may have given its number to another one */
	enum cairn_status status = CAIRN_OK;
	if (add->source != 0)
		status = cairn_records_find_repo(&tx->records, add->source, &s->adopts, &write->diag);
	int64_t owner = 0;
	if (status == CAIRN_OK)
		status = cairn_records_hide_repo(&tx->records, add, &owner);
	s->c = (struct cairn_commits_new){.repo = add->id,
					  .owner = owner,
					  .id = add->first_id,
					  .message = &add->first,
					  .operations = add->operations,
					  .n = add->n};
	return status;
}

static enum cairn_status staged_repo_show(struct cairn_tx *tx, struct cairn_index_write *write,
					  struct cairn_tx_stage *s)
{
	struct cairn_index_add_repo *add = (struct cairn_index_add_repo *)write;
	enum cairn_status status = cairn_tx_add_commit_row(tx, &s->c, &s->edit, &s->root);
	if (status == CAIRN_OK)
		status = cairn_tx_add_main(tx, add->id, s->c.owner, s->c.line);
	if (status == CAIRN_OK)
		status = cairn_records_show_repo(&tx->records, add, s->c.owner);
	s->stage.done = true;
	return status;
}

static enum cairn_status staged_repo_undo(struct cairn_tx *tx, const struct cairn_tx_stage *s, bool *gone)
{
	return cairn_tx_sweep_repo(tx, s->c.repo, s->c.owner, gone);
}

enum cairn_status cairn_tx_begin_repo(struct cairn_tx *tx, struct cairn_index_add_repo *add, int64_t owner)
{
	static const struct cairn_tx_stage_kind KIND = {
		.find = staged_repo_find, .show = staged_repo_show, .undo = staged_repo_undo};
	return cairn_edit_is_large(add->operations, add->n) ? cairn_tx_stage(tx, &add->write, &KIND)
							    : cairn_tx_begin_repo_at_once(tx, add, owner);
}

static enum cairn_status staged_squash_find(struct cairn_tx *tx, struct cairn_index_write *write,
					    struct cairn_tx_stage *s)
{
	struct cairn_index_squash *squash = (struct cairn_index_squash *)write;
	s->c = (struct cairn_commits_new){.repo = squash->repo, .message = &squash->message, .must_pass = true};
	s->copies_all = true;
	enum cairn_status status = cairn_records_find_repo(&tx->records, squash->repo, &s->c.owner, &write->diag);
	if (status == CAIRN_OK)
		status = cairn_tx_find_squashed(tx, squash, &s->seen, &s->ref_line, &write->diag);
	return status;
}

static enum cairn_status staged_squash_show(struct cairn_tx *tx, struct cairn_index_write *write,
					    struct cairn_tx_stage *s)
{
	struct cairn_index_squash *squash = (struct cairn_index_squash *)write;
	struct cairn_commits_head head;
	int64_t line, taken; /* no quota refuses what is taken over */
	enum cairn_status status = cairn_tx_find_squashed(tx, squash, &head, &line, &write->diag);
	if (status != CAIRN_OK)
		return status;
	if (staged_is_stale(s, line, &head))
		return cairn_tx_stage_again(write, s);
	s->edit.edit.n_files = head.n_files;
	s->edit.edit.bytes = head.bytes;
	status = cairn_tx_add_commit_row(tx, &s->c, &s->edit, &head.root);
	if (status == CAIRN_OK)
		status = cairn_tx_set_ref_line(tx, squash->repo, squash->kind, squash->name, s->c.line);
	if (status == CAIRN_OK && squash->kind == CAIRN_INDEX_PULL)
		status = cairn_records_take_pull(&tx->records, squash->repo, squash->name, &taken);
	squash->oid = s->c.oid;
	s->stage.done = true;
	return status == CAIRN_OK ? cairn_tx_count_main(tx, squash->repo) : status;
}

/* A squash of few files is made in pieces, too: there may be many rows of deleted ones. */
enum cairn_status cairn_tx_squash(struct cairn_tx *tx, struct cairn_index_squash *squash)
{
	static const struct cairn_tx_stage_kind KIND = {.find = staged_squash_find, .show = staged_squash_show};
	struct cairn_diag *diag = &squash->write.diag;
	struct cairn_commits_head head = {0};
	int64_t owner, line;
	if (squash->write.stage)
		return cairn_tx_stage(tx, &squash->write, &KIND);
	enum cairn_status status = cairn_records_find_repo(&tx->records, squash->repo, &owner, diag);
	if (status == CAIRN_OK)
		status = cairn_tx_find_squashed(tx, squash, &head, &line, diag);
	if (status != CAIRN_OK)
		return status;
	squash->oid = head.oid;
	if (head.parent == 0)
		return CAIRN_OK;
	if (head.n_files > CAIRN_INDEX_COMMIT_ROWS_MAX)
		return cairn_commits_too_many(diag);
	return cairn_tx_stage(tx, &squash->write, &KIND);
}
