/* Makes commits: adds the row, and moves the line's head. */
#include "index/hub/commits.h"
#include "index/sqlite/commit.h"

#include "base/clock.h"
#include "base/crash_point.h"
#include "base/sum.h"

#include <string.h>

/* --- heads -------------------------------------------------------------------------------------------------------- */

static CAIRN_WRITES(TX_FIND_COMMIT,
		    "SELECT id, parent, line, number, files, bytes, oid, root, repo FROM commit_ WHERE id = ?1");

enum cairn_status cairn_tx_read_head(struct cairn_tx *tx, int64_t commit, struct cairn_commits_head *out,
				     struct cairn_diag *diag)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_tx_stmt(tx, &TX_FIND_COMMIT);
	sqlite3_bind_int64(stmt, 1, commit);
	enum cairn_status status = cairn_sql_find(stmt);
	if (status == CAIRN_E_NOT_FOUND)
		return cairn_commits_unknown(diag);
	if (status != CAIRN_OK)
		return status;
	*out = (struct cairn_commits_head){
		.commit = sqlite3_column_int64(stmt, 0),
		.parent = sqlite3_column_int64(stmt, 1),
		.line = sqlite3_column_int64(stmt, 2),
		.number = sqlite3_column_int64(stmt, 3),
		.n_files = sqlite3_column_int64(stmt, 4),
		.bytes = sqlite3_column_int64(stmt, 5),
	};
	return cairn_chain_oid(stmt, 6, &out->oid) && cairn_chain_oid(stmt, 7, &out->root) ? CAIRN_OK : CAIRN_E_DAMAGED;
}

static CAIRN_WRITES(TX_COUNT_MAIN, "UPDATE repo SET updated = ?2, (files, bytes) = (SELECT c.files, c.bytes FROM ref r"
				   " CROSS JOIN line l ON l.id = r.line CROSS JOIN commit_ c ON c.id = l.head"
				   " WHERE r.repo = ?1 AND r.kind = 1 AND r.name = 'main') WHERE id = ?1");

enum cairn_status cairn_tx_count_main(struct cairn_tx *tx, int64_t repo)
{
	return cairn_tx_run(tx, &TX_COUNT_MAIN, CAIRN_ARGS(cairn_db_int(repo), cairn_db_int(cairn_clock_unix_ms())));
}

/* --- the row ------------------------------------------------------------------------------------------------------ */

/* Returns the highest number ever given. */
static CAIRN_WRITES(TX_LAST_COMMIT, "SELECT seq FROM sqlite_sequence WHERE name = 'commit_'");

enum cairn_status cairn_tx_next_commit(struct cairn_tx *tx, int64_t *id)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_tx_stmt(tx, &TX_LAST_COMMIT);
	enum cairn_status status = cairn_sql_find(stmt);
	*id = status == CAIRN_OK ? cairn_sum(sqlite3_column_int64(stmt, 0), 1) : 1;
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

static CAIRN_WRITES(TX_HAS_COMMIT, "SELECT 1 FROM commit_ WHERE repo = ?1 AND oid = ?2");

static enum cairn_status commit_id_exists(struct cairn_tx *tx, int64_t repo, const struct cairn_git_oid *oid,
					  bool *known)
{
	return cairn_tx_has(tx, &TX_HAS_COMMIT, CAIRN_ARGS(cairn_db_int(repo), cairn_db_bytes(oid->b, sizeof(oid->b))),
			    known);
}

/* Makes the commit's date later until its id is free. Two branches may get the same commit in the same second; for git
 * these are one commit, here they are two. */
static enum cairn_status commit_name(struct cairn_tx *tx, struct cairn_commits_new *c, const struct cairn_git_oid *root,
				     int64_t *at_unix_s)
{
	const struct cairn_git_oid *parent = c->head.commit != 0 ? &c->head.oid : NULL;
	enum cairn_status status = CAIRN_OK;
	int64_t now = cairn_clock_unix_s();
	bool known = true;
	for (int64_t later = 0; known && status == CAIRN_OK && later < CAIRN_COMMITS_SECONDS_MAX; later++) {
		*at_unix_s = now + later;
		status = cairn_commits_name(&c->oid, c->message, root, parent, *at_unix_s);
		if (status == CAIRN_OK)
			status = commit_id_exists(tx, c->repo, &c->oid, &known);
	}
	return status;
}

/* Keeps the id of a commit that was made elsewhere. */
static enum cairn_status commit_keep_name(struct cairn_tx *tx, struct cairn_commits_new *c, struct cairn_diag *diag)
{
	bool known = false;
	enum cairn_status status = commit_id_exists(tx, c->repo, c->id, &known);
	c->oid = *c->id;
	if (status == CAIRN_OK && known)
		return cairn_commits_id_is_taken(diag);
	return status;
}

static CAIRN_WRITES(TX_ADD_COMMIT,
		    "INSERT INTO commit_(id, repo, line, number, parent, oid, root, at, files, bytes, author,"
		    " title, message) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)");

enum cairn_status cairn_tx_add_commit_row(struct cairn_tx *tx, struct cairn_commits_new *c,
					  const struct cairn_tx_edit *edit, const struct cairn_git_oid *root)
{
	int64_t at_unix_s = cairn_clock_unix_s();
	enum cairn_status status =
		c->id ? commit_keep_name(tx, c, edit->edit.diag) : commit_name(tx, c, root, &at_unix_s);
	if (status != CAIRN_OK)
		return status;
	int64_t n_files = cairn_sum(c->head.n_files, edit->edit.n_files),
		bytes = cairn_sum(c->head.bytes, edit->edit.bytes);
	sqlite3_stmt *add = cairn_tx_stmt(tx, &TX_ADD_COMMIT), *head = cairn_tx_stmt(tx, &CAIRN_TX_SET_LINE_HEAD);
	sqlite3_bind_int64(add, 1, edit->edit.commit);
	sqlite3_bind_int64(add, 2, c->repo);
	sqlite3_bind_int64(add, 3, c->line);
	sqlite3_bind_int64(add, 4, cairn_sum(c->head.number, 1));
	sqlite3_bind_int64(add, 5, c->head.commit);
	cairn_chain_bind_oid(add, 6, &c->oid);
	cairn_chain_bind_oid(add, 7, root);
	sqlite3_bind_int64(add, 8, at_unix_s);
	sqlite3_bind_int64(add, 9, n_files);
	sqlite3_bind_int64(add, 10, bytes);
	cairn_sql_bind_text(add, 11, c->message->author);
	cairn_sql_bind_text(add, 12, c->message->title);
	cairn_sql_bind_text(add, 13, c->message->message);
	status = cairn_sql_run(add);
	sqlite3_bind_int64(head, 1, c->line);
	sqlite3_bind_int64(head, 2, edit->edit.commit);
	if (status == CAIRN_OK)
		status = cairn_sql_run(head);
	if (status == CAIRN_OK)
		cairn_commits_made(c, edit->edit.commit, root, n_files, bytes);
	c->counts = cairn_commits_count(c->message, &edit->edit);
	return status == CAIRN_OK
		       ? cairn_tx_count_rows(tx, c->owner, c->counts, cairn_commits_may_be_refused(c, &edit->edit))
		       : status;
}

/* --- committing --------------------------------------------------------------------------------------------------- */

/* @param[out] root  id of the top folder after the operations */
static enum cairn_status commit_edit(struct cairn_tx *tx, struct cairn_commits_new *c, struct cairn_tx_edit *edit,
				     struct cairn_git_oid *root)
{
	enum cairn_status status = cairn_tx_next_commit(tx, &edit->edit.commit);
	if (status == CAIRN_OK)
		status = cairn_chain_read(cairn_tx_stmt(tx, &CAIRN_TX_FIND_LINE), c->line, edit->edit.commit,
					  &edit->chain);
	if (status == CAIRN_OK)
		status = cairn_edit_all(&edit->edit, c->operations, c->n);
	cairn_crash_point(CAIRN_CRASH_COMMIT_EDITED);
	return status == CAIRN_OK ? cairn_edit_root(&edit->edit, root) : status;
}

static CAIRN_WRITES(TX_RELEASE_COMMIT, "RELEASE commit_");
static CAIRN_WRITES(TX_UNDO_COMMIT, "ROLLBACK TO commit_");

/* Removes the rows that operations wrote. */
static enum cairn_status commit_undo(struct cairn_tx *tx, const struct cairn_index_growth *before)
{
	tx->records.growth = *before;
	enum cairn_status status = cairn_sql_run(cairn_tx_stmt(tx, &TX_UNDO_COMMIT));
	return status == CAIRN_OK ? cairn_sql_run(cairn_tx_stmt(tx, &TX_RELEASE_COMMIT)) : status;
}

static void commit_edit_fini(struct cairn_tx_edit *edit)
{
	cairn_edit_fini(&edit->edit);
}

static CAIRN_WRITES(TX_SAVE_COMMIT, "SAVEPOINT commit_");

enum cairn_status cairn_tx_commit_to(struct cairn_tx *tx, struct cairn_commits_new *c, struct cairn_diag *diag)
{
	CLEANUP(commit_edit_fini)
	struct cairn_tx_edit edit = {
		.tx = tx, .repo = c->repo, .owner = c->owner, .line = c->line, .holder = c->holder};
	edit.edit = (struct cairn_edit){.engine = &CAIRN_TX_EDIT,
					.ctx = &edit,
					.diag = diag,
					.few = c->few,
					.ends_if_large = c->in_pieces != NULL,
					.again = c->only_same};
	const struct cairn_index_growth before = tx->records.growth;
	struct cairn_git_oid root;
	c->added = false;
	c->oid = c->head.oid;
	enum cairn_status status = cairn_commits_check(c->message, c->n, diag);
	if (status == CAIRN_OK)
		status = cairn_sql_run(cairn_tx_stmt(tx, &TX_SAVE_COMMIT));
	if (status == CAIRN_OK)
		status = commit_edit(tx, c, &edit, &root);
	if (c->in_pieces && edit.edit.is_large) {
		*c->in_pieces = true;
		return commit_undo(tx, &before);
	}
	bool same = status == CAIRN_OK && c->head.commit != 0 && cairn_git_oid_equal(&root, &c->head.root);
	/* If contents only got their bytes back, there are no such rows. */
	if (same && edit.edit.n_changed == 0)
		return cairn_sql_run(cairn_tx_stmt(tx, &TX_RELEASE_COMMIT));
	if (same)
		return commit_undo(tx, &before);
	if (status == CAIRN_OK && c->only_same)
		return cairn_commits_conflict(diag);
	if (status == CAIRN_OK)
		status = cairn_tx_add_commit_row(tx, c, &edit, &root);
	return status == CAIRN_OK ? cairn_sql_run(cairn_tx_stmt(tx, &TX_RELEASE_COMMIT)) : status;
}

enum cairn_status cairn_tx_first_line(struct cairn_tx *tx, struct cairn_commits_new *c, struct cairn_diag *diag)
{
	enum cairn_status status = cairn_tx_run(
		tx, &CAIRN_TX_ADD_LINE,
		CAIRN_ARGS(cairn_db_int(c->repo), cairn_db_int_or_null(0), cairn_db_int(0), cairn_db_int(1)));
	c->line = sqlite3_last_insert_rowid(tx->db);
	c->head = (struct cairn_commits_head){0};
	return status == CAIRN_OK ? cairn_tx_commit_to(tx, c, diag) : status;
}

/* --- the request -------------------------------------------------------------------------------------------------- */

enum cairn_status cairn_tx_find_commit_ref(struct cairn_tx *tx, const struct cairn_index_add_commit *add,
					   struct cairn_commits_new *c, struct cairn_diag *diag)
{
	int64_t head;
	{
		CLEANUP(cairn_sql_resetp) sqlite3_stmt *find = cairn_tx_stmt(tx, &CAIRN_TX_FIND_REF);
		sqlite3_bind_int64(find, 1, add->repo);
		sqlite3_bind_int64(find, 2, (int64_t)add->kind);
		cairn_sql_bind_text(find, 3, add->ref);
		enum cairn_status status = cairn_sql_find(find);
		if (status != CAIRN_OK)
			return status == CAIRN_E_NOT_FOUND ? cairn_commits_unknown(diag) : status;
		if (sqlite3_column_int64(find, 2) != 0)
			return cairn_commits_ended(diag);
		c->line = sqlite3_column_int64(find, 0);
		head = sqlite3_column_int64(find, 1);
	}
	return cairn_tx_read_head(tx, head, &c->head, diag);
}

/* A retried request, whose answer was lost, names the head's parent. That is no conflict if the head has all its
 * changes. A pull request ends only at the head that the request names. */
enum cairn_status cairn_tx_check_parent(struct cairn_tx *tx, const struct cairn_index_add_commit *add,
					struct cairn_commits_new *c, struct cairn_diag *diag)
{
	struct cairn_commits_head before;
	if (!add->parent || cairn_commits_begins(&c->head.oid, add->parent))
		return CAIRN_OK;
	if (add->ends || c->head.parent == 0)
		return cairn_commits_conflict(diag);
	enum cairn_status status = cairn_tx_read_head(tx, c->head.parent, &before, diag);
	c->only_same = true;
	return status == CAIRN_OK && !cairn_commits_begins(&before.oid, add->parent) ? cairn_commits_conflict(diag)
										     : status;
}

static CAIRN_WRITES(TX_END_PULL, "UPDATE ref SET commit_ = (SELECT head FROM line WHERE id = ref.line)"
				 " WHERE repo = ?1 AND kind = 3 AND name = ?2");

/* An ended pull request names its head for good, as a tag does. */
static enum cairn_status commit_end_pull(struct cairn_tx *tx, const struct cairn_index_add_commit *add, int64_t owner)
{
	enum cairn_status status =
		cairn_tx_run(tx, &TX_END_PULL, CAIRN_ARGS(cairn_db_int(add->repo), cairn_db_text(add->ref)));
	return status == CAIRN_OK ? cairn_records_end_pull(&tx->records, add, owner) : status;
}

/* @param diag  the request's own, since this may be its second commit */
static enum cairn_status commit_apply(struct cairn_tx *tx, struct cairn_index_add_commit *add, bool *in_pieces,
				      struct cairn_diag *diag)
{
	struct cairn_commits_new c = cairn_commits_asked(add);
	c.in_pieces = add->stranger == 0 ? in_pieces : NULL;
	enum cairn_status status = cairn_records_find_repo(&tx->records, add->repo, &c.owner, diag);
	if (status == CAIRN_OK)
		status = cairn_tx_find_commit_ref(tx, add, &c, diag);
	if (status == CAIRN_OK)
		status = cairn_tx_check_parent(tx, add, &c, diag);
	if (status == CAIRN_OK && add->stranger != 0)
		status = cairn_records_find_holder(&tx->records, add->stranger, add->operations, add->n, &c.holder);
	if (status == CAIRN_OK)
		status = cairn_tx_commit_to(tx, &c, diag);
	if (status == CAIRN_OK && add->ends)
		status = commit_end_pull(tx, add, c.owner);
	if (status == CAIRN_OK && add->stranger != 0)
		status = cairn_records_charge_commit(&tx->records, add, &c, diag);
	add->oid = c.oid;
	add->added = c.added;
	return status;
}

enum cairn_status cairn_tx_end_merged(struct cairn_tx *tx, const struct cairn_index_add_commit *add,
				      struct cairn_diag *diag)
{
	struct cairn_index_add_commit last;
	char text[CAIRN_GIT_OID_CHARS + 1];
	cairn_crash_point(CAIRN_CRASH_MERGE_COMMITTED);
	cairn_commits_merged(&last, add, &add->oid, text);
	return commit_apply(tx, &last, NULL, diag);
}

enum cairn_status cairn_tx_commit_at_once(struct cairn_tx *tx, struct cairn_index_add_commit *add, bool *in_pieces)
{
	bool merges = add->merge.pull != NULL;
	*in_pieces = false;
	enum cairn_status status = cairn_records_adopt_merged(&tx->records, add);
	if (status == CAIRN_OK)
		status = commit_apply(tx, add, in_pieces, &add->write.diag);
	if (*in_pieces)
		return status;
	if (status == CAIRN_OK && merges)
		status = cairn_tx_end_merged(tx, add, &add->write.diag);
	return status == CAIRN_OK && (add->added || merges) ? cairn_tx_count_main(tx, add->repo) : status;
}

/* --- a new repository --------------------------------------------------------------------------------------------- */

enum cairn_status cairn_tx_add_main(struct cairn_tx *tx, int64_t repo, int64_t owner, int64_t line)
{
	enum cairn_status status = cairn_tx_run(tx, &CAIRN_TX_ADD_REF,
						CAIRN_ARGS(cairn_db_int(repo), cairn_db_int(CAIRN_INDEX_BRANCH),
							   cairn_db_text("main"), cairn_db_int(line), cairn_db_int(0)));
	if (status == CAIRN_OK)
		status = cairn_tx_count_rows(tx, owner, cairn_commits_ref_counts("main"), true);
	return status == CAIRN_OK ? cairn_tx_count_main(tx, repo) : status;
}

enum cairn_status cairn_tx_begin_repo_at_once(struct cairn_tx *tx, struct cairn_index_add_repo *add, int64_t owner)
{
	struct cairn_diag *diag = &add->write.diag;
	struct cairn_commits_new c = cairn_commits_first(add, owner);
	enum cairn_status status = add->source != 0 ? cairn_tx_adopt_named(tx, add, owner, diag) : CAIRN_OK;
	if (status == CAIRN_OK)
		status = cairn_tx_first_line(tx, &c, diag);
	return status == CAIRN_OK ? cairn_tx_add_main(tx, add->id, owner, c.line) : status;
}
