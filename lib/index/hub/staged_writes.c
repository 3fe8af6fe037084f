/* The writes that make a commit in pieces (staged.h): large commits, pull requests opened with them, repositories
 * made with many files, and squashes. */
#include "index/hub/staged.h"

/* Was the ref changed since the commit was begun? */
static bool staged_is_stale(const struct cairn_staged *s, int64_t line, const struct cairn_commits_head *head)
{
	return line != s->ref_line || head->commit != s->seen.commit;
}

/* --- commits ------------------------------------------------------------------------------------------------------ */

static enum cairn_status staged_commit_find(void *tx, struct cairn_index_write *write, struct cairn_staged *s)
{
	struct cairn_index_add_commit *add = (struct cairn_index_add_commit *)write;
	s->c = cairn_commits_asked(add);
	add->added = false;
	enum cairn_status status = s->engine->find_commit(tx, add, true, &s->c, &write->diag);
	/* If the merge fails later, the repository keeps the files, and the pull request keeps naming them. */
	if (status == CAIRN_OK)
		status = cairn_records_adopt_merged(s->engine->records(tx), add);
	s->seen = s->c.head;
	s->ref_line = s->c.line;
	return status;
}

static enum cairn_status staged_commit_add(void *tx, struct cairn_index_add_commit *add, struct cairn_staged *s)
{
	enum cairn_status status = s->engine->add_commit(tx, s, &s->root);
	if (status == CAIRN_OK)
		status = s->engine->set_ref(tx, add->repo, add->kind, add->ref, s->c.line);
	add->oid = s->c.oid;
	add->added = true;
	s->stage.done = true;
	return status;
}

static enum cairn_status staged_commit_show(void *tx, struct cairn_index_write *write, struct cairn_staged *s)
{
	struct cairn_index_add_commit *add = (struct cairn_index_add_commit *)write;
	struct cairn_commits_new now = {0};
	bool merges = add->merge.pull != NULL;
	enum cairn_status status = s->engine->find_commit(tx, add, false, &now, &write->diag);
	if (status != CAIRN_OK)
		return status;
	if (staged_is_stale(s, now.line, &now.head))
		return cairn_staged_again(write, s);
	bool same = cairn_git_oid_equal(&s->root, &s->seen.root);
	if (!same && s->c.only_same)
		return cairn_commits_conflict(&write->diag);
	add->oid = s->seen.oid;
	if (same)
		s->step = CAIRN_STAGED_UNDO; /* nothing differs from the head */
	else
		status = staged_commit_add(tx, add, s);
	if (status == CAIRN_OK && merges)
		status = s->engine->end_merged(tx, add, &write->diag);
	return status == CAIRN_OK && (add->added || merges) ? s->engine->count_main(tx, add->repo) : status;
}

enum cairn_status cairn_staged_add_commit(const struct cairn_staged_engine *engine, void *tx,
					  struct cairn_index_add_commit *add)
{
	static const struct cairn_staged_kind KIND = {.find = staged_commit_find, .show = staged_commit_show};
	bool in_pieces = add->write.stage || (add->stranger == 0 && cairn_edit_is_large(add->operations, add->n));
	enum cairn_status status = in_pieces ? CAIRN_OK : engine->commit_at_once(tx, add, &in_pieces);
	return status == CAIRN_OK && in_pieces ? cairn_staged_write(engine, tx, &add->write, &KIND) : status;
}

/* --- pull requests ------------------------------------------------------------------------------------------------ */

static enum cairn_status staged_pull_find(void *tx, struct cairn_index_write *write, struct cairn_staged *s)
{
	struct cairn_index_add_ref *add = (struct cairn_index_add_ref *)write;
	s->c = (struct cairn_commits_new){
		.repo = add->repo, .id = add->id, .message = &add->first, .operations = add->operations, .n = add->n};
	enum cairn_status status =
		cairn_records_find_repo(s->engine->records(tx), add->repo, &s->c.owner, &write->diag);
	if (status == CAIRN_OK)
		status = s->engine->read_head(tx, add->commit, &s->c.head, &write->diag);
	s->seen = s->c.head;
	return status;
}

/* If nothing differs from the commit at which it was forked, the pull request has no commit of its own. */
static enum cairn_status staged_pull_show(void *tx, struct cairn_index_write *write, struct cairn_staged *s)
{
	struct cairn_index_add_ref *add = (struct cairn_index_add_ref *)write;
	int64_t owner, line = s->c.line;
	bool same = cairn_git_oid_equal(&s->root, &s->seen.root);
	if (same)
		s->step = CAIRN_STAGED_UNDO;
	s->stage.done = !same;
	enum cairn_status status = cairn_records_find_repo(s->engine->records(tx), add->repo, &owner, &write->diag);
	if (status == CAIRN_OK)
		status = same ? s->engine->fork(tx, add, owner, &line) : s->engine->add_commit(tx, s, &s->root);
	if (status == CAIRN_OK)
		status = s->engine->name_pull(tx, add, owner, line);
	add->oid = same ? s->seen.oid : s->c.oid;
	return status == CAIRN_OK ? s->engine->count_main(tx, add->repo) : status;
}

enum cairn_status cairn_staged_add_ref(const struct cairn_staged_engine *engine, void *tx,
				       struct cairn_index_add_ref *add)
{
	static const struct cairn_staged_kind KIND = {.find = staged_pull_find, .show = staged_pull_show};
	bool in_pieces = add->write.stage || (!add->is_stranger && cairn_edit_is_large(add->operations, add->n));
	enum cairn_status status = in_pieces ? CAIRN_OK : engine->ref_at_once(tx, add, &in_pieces);
	return status == CAIRN_OK && in_pieces ? cairn_staged_write(engine, tx, &add->write, &KIND) : status;
}

/* --- repositories ------------------------------------------------------------------------------------------------- */

static enum cairn_status staged_repo_find(void *tx, struct cairn_index_write *write, struct cairn_staged *s)
{
	struct cairn_index_add_repo *add = (struct cairn_index_add_repo *)write;
	s->once = true; /* after a failure, another row may have the number of a row made here */
	enum cairn_status status = CAIRN_OK;
	if (add->source != 0)
		status = cairn_records_find_repo(s->engine->records(tx), add->source, &s->adopts, &write->diag);
	int64_t owner = 0;
	if (status == CAIRN_OK)
		status = cairn_records_hide_repo(s->engine->records(tx), add, &owner);
	s->c = (struct cairn_commits_new){.repo = add->id,
					  .owner = owner,
					  .id = add->first_id,
					  .message = &add->first,
					  .operations = add->operations,
					  .n = add->n};
	return status;
}

static enum cairn_status staged_repo_show(void *tx, struct cairn_index_write *write, struct cairn_staged *s)
{
	struct cairn_index_add_repo *add = (struct cairn_index_add_repo *)write;
	enum cairn_status status = s->engine->add_commit(tx, s, &s->root);
	if (status == CAIRN_OK)
		status = s->engine->add_main(tx, add->id, s->c.owner, s->c.line);
	if (status == CAIRN_OK)
		status = cairn_records_show_repo(s->engine->records(tx), add, s->c.owner);
	s->stage.done = true;
	return status;
}

static enum cairn_status staged_repo_undo(void *tx, const struct cairn_staged *s, bool *gone)
{
	return s->engine->sweep_repo(tx, s->c.repo, s->c.owner, gone);
}

enum cairn_status cairn_staged_begin_repo(const struct cairn_staged_engine *engine, void *tx,
					  struct cairn_index_add_repo *add, int64_t owner)
{
	static const struct cairn_staged_kind KIND = {
		.find = staged_repo_find, .show = staged_repo_show, .undo = staged_repo_undo};
	return cairn_edit_is_large(add->operations, add->n) ? cairn_staged_write(engine, tx, &add->write, &KIND)
							    : engine->repo_at_once(tx, add, owner);
}

/* --- squashes ----------------------------------------------------------------------------------------------------- */

static enum cairn_status staged_squash_find(void *tx, struct cairn_index_write *write, struct cairn_staged *s)
{
	struct cairn_index_squash *squash = (struct cairn_index_squash *)write;
	s->c = (struct cairn_commits_new){.repo = squash->repo, .message = &squash->message, .must_pass = true};
	s->copies_all = true;
	return s->engine->find_squashed(tx, squash, &s->c.owner, &s->ref_line, &s->seen, &write->diag);
}

static enum cairn_status staged_squash_show(void *tx, struct cairn_index_write *write, struct cairn_staged *s)
{
	struct cairn_index_squash *squash = (struct cairn_index_squash *)write;
	struct cairn_commits_head head;
	int64_t owner, line, taken; /* no quota refuses what is taken over from the branch */
	enum cairn_status status = s->engine->find_squashed(tx, squash, &owner, &line, &head, &write->diag);
	if (status != CAIRN_OK)
		return status;
	if (staged_is_stale(s, line, &head))
		return cairn_staged_again(write, s);
	s->edit->n_files = head.n_files;
	s->edit->bytes = head.bytes;
	status = s->engine->add_commit(tx, s, &head.root);
	if (status == CAIRN_OK)
		status = s->engine->set_ref(tx, squash->repo, squash->kind, squash->name, s->c.line);
	if (status == CAIRN_OK && squash->kind == CAIRN_INDEX_PULL)
		status = cairn_records_take_pull(s->engine->records(tx), squash->repo, squash->name, &taken);
	squash->oid = s->c.oid;
	s->stage.done = true;
	return status == CAIRN_OK ? s->engine->count_main(tx, squash->repo) : status;
}

/* Makes even a squash of few files in pieces, because there may be many rows of deleted files. */
enum cairn_status cairn_staged_squash(const struct cairn_staged_engine *engine, void *tx,
				      struct cairn_index_squash *squash)
{
	static const struct cairn_staged_kind KIND = {.find = staged_squash_find, .show = staged_squash_show};
	struct cairn_diag *diag = &squash->write.diag;
	struct cairn_commits_head head = {0};
	int64_t owner, line;
	if (squash->write.stage)
		return cairn_staged_write(engine, tx, &squash->write, &KIND);
	enum cairn_status status = engine->find_squashed(tx, squash, &owner, &line, &head, diag);
	if (status != CAIRN_OK)
		return status;
	squash->oid = head.oid;
	if (head.parent == 0)
		return CAIRN_OK;
	if (head.n_files > CAIRN_INDEX_COMMIT_ROWS_MAX)
		return cairn_commits_too_many(diag);
	return cairn_staged_write(engine, tx, &squash->write, &KIND);
}
