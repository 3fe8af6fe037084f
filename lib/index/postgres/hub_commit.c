/* Makes commits. The head is read in the transaction that changes it, and writing transactions run one after the other,
 * so no other commit can come between. */
#include "index/hub/commits.h"
#include "index/postgres/chain.h"
#include "index/postgres/commit.h"
#include "index/postgres/content.h"
#include "index/postgres/hub.h"
#include "index/postgres/own.h"

#include "base/clock.h"
#include "base/crash_point.h"
#include "base/sum.h"

#include <string.h>

/* Reads the owner of a repository, a ref's line, its head, and the id of the commit before. */
static const char COMMIT_HEAD[] =
	"SELECT p.scope, l.id, " CAIRN_PG_HEAD
	", b.oid, r.commit_ FROM repo p LEFT JOIN ref r ON r.repo = p.id AND r.kind = $2"
	" AND r.name = $3 LEFT JOIN line l ON l.id = r.line LEFT JOIN commit_ c ON c.id = l.head"
	" LEFT JOIN commit_ b ON b.id = c.parent WHERE p.id = $1 AND " CAIRN_REPO_KEPT("p");
enum { HEAD_OWNER, HEAD_LINE, HEAD_COMMIT, HEAD_BEFORE = HEAD_COMMIT + 8, HEAD_END };
static const char COMMIT_NEXT[] = "SELECT nextval(pg_get_serial_sequence('commit_', 'id'))";
static const char COMMIT_SAVE[] = "SAVEPOINT commit_";
static const char COMMIT_UNDO[] = "ROLLBACK TO SAVEPOINT commit_";
static const char COMMIT_RELEASE[] = "RELEASE SAVEPOINT commit_";
static const char COMMIT_ADD[] =
	"INSERT INTO commit_(id, repo, line, number, parent, oid, root, at, files, bytes, author, title, message)"
	" SELECT $1, $2, $3, coalesce(h.number, 0) + 1, coalesce(h.id, 0), $5, $6, $7, $8, $9, $10, $11, $12"
	" FROM (VALUES(1)) one LEFT JOIN commit_ h ON h.id = $4 ON CONFLICT(repo, oid) DO NOTHING";
static const char COMMIT_SET_HEAD[] = "UPDATE line SET head = $2 WHERE id = $1";
static const char COMMIT_ADD_LINE[] = "INSERT INTO line(repo, fork, depth, head) VALUES($1, 0, 1, 0) RETURNING id";
static const char COMMIT_COUNT_MAIN[] =
	"UPDATE repo SET updated = $2, files = c.files, bytes = c.bytes FROM ref r JOIN line l ON l.id = r.line"
	" JOIN commit_ c ON c.id = l.head WHERE repo.id = $1 AND r.repo = $1 AND r.kind = 1 AND r.name = 'main'";
static const char COMMIT_END_PULL[] = "UPDATE ref r SET commit_ = l.head FROM line l WHERE l.id = r.line"
				      " AND r.repo = $1 AND r.kind = 3 AND r.name = $2";
static const char COMMIT_SET_REF[] =
	"INSERT INTO ref(repo, kind, name, line, commit_) VALUES($1, $2, $3, $4, $5)"
	" ON CONFLICT(repo, kind, name) DO UPDATE SET line = excluded.line, commit_ = excluded.commit_";
static const char COMMIT_COUNT_ROWS[] = "UPDATE repo SET stored = stored + $2 WHERE id = $1";

/* --- rows --------------------------------------------------------------------------------------------------------- */

enum cairn_status cairn_pg_head(const PGresult *r, int row, int column, struct cairn_commits_head *out)
{
	*out = (struct cairn_commits_head){
		.commit = cairn_pg_get_int8(r, row, column),
		.parent = cairn_pg_get_int8(r, row, column + 1),
		.line = cairn_pg_get_int8(r, row, column + 2),
		.number = cairn_pg_get_int8(r, row, column + 3),
		.n_files = cairn_pg_get_int8(r, row, column + 4),
		.bytes = cairn_pg_get_int8(r, row, column + 5),
	};
	return cairn_pg_get_oid(r, row, column + 6, &out->oid) && cairn_pg_get_oid(r, row, column + 7, &out->root)
		       ? CAIRN_OK
		       : CAIRN_E_DAMAGED;
}

unsigned cairn_pg_queue_next_commit(struct cairn_pg_tx *tx)
{
	return cairn_pg_queue(&tx->pg, COMMIT_NEXT, NULL);
}

void cairn_pg_queue_set_ref(struct cairn_pg_tx *tx, int64_t repo, enum cairn_index_ref_kind kind, const char *name,
			    int64_t line, int64_t commit)
{
	(void)cairn_pg_queue(&tx->pg, COMMIT_SET_REF,
			     CAIRN_ARGS(cairn_db_int(repo), cairn_db_int((int64_t)kind), cairn_db_path(name),
					cairn_db_int(line), cairn_db_int(commit)));
}

void cairn_pg_queue_count_main(struct cairn_pg_tx *tx, int64_t repo)
{
	(void)cairn_pg_queue(&tx->pg, COMMIT_COUNT_MAIN,
			     CAIRN_ARGS(cairn_db_int(repo), cairn_db_int(cairn_clock_unix_ms())));
}

void cairn_pg_queue_count_rows(struct cairn_pg_tx *tx, int64_t repo, int64_t bytes)
{
	(void)cairn_pg_queue(&tx->pg, COMMIT_COUNT_ROWS, CAIRN_ARGS(cairn_db_int(repo), cairn_db_int(bytes)));
}

/* --- the commit's row --------------------------------------------------------------------------------------------- */

struct commit_row {
	const struct cairn_commits_new *c;
	int64_t number, n_files, bytes;
	const struct cairn_git_oid *root;
};

static unsigned commit_queue_row(struct cairn_pg_tx *tx, const struct commit_row *row, int64_t at_unix_s)
{
	const struct cairn_commits_new *c = row->c;
	return cairn_pg_queue(&tx->pg, COMMIT_ADD,
			      CAIRN_ARGS(cairn_db_int(row->number), cairn_db_int(c->repo), cairn_db_int(c->line),
					 cairn_db_int(c->head.commit), cairn_db_bytes(c->oid.b, sizeof(c->oid.b)),
					 cairn_db_bytes(row->root->b, sizeof(row->root->b)), cairn_db_int(at_unix_s),
					 cairn_db_int(row->n_files), cairn_db_int(row->bytes),
					 cairn_db_text(c->message->author), cairn_db_text(c->message->title),
					 cairn_db_text(c->message->message)));
}

static enum cairn_status commit_name(struct cairn_commits_new *c, const struct cairn_git_oid *root, int64_t at_unix_s)
{
	if (c->id) {
		c->oid = *c->id;
		return CAIRN_OK;
	}
	return cairn_commits_name(&c->oid, c->message, root, c->head.commit != 0 ? &c->head.oid : NULL, at_unix_s);
}

/* Makes the commit's date later until its id is free. Two branches may get the same commit in the same second; for git
 * these are one commit, here they are two. */
static enum cairn_status commit_name_later(struct cairn_pg_tx *tx, struct cairn_commits_new *c,
					   const struct commit_row *row, int64_t at_unix_s, struct cairn_diag *diag)
{
	if (c->id)
		return cairn_commits_id_is_taken(diag);
	for (int64_t later = 1; later < CAIRN_COMMITS_SECONDS_MAX; later++) {
		enum cairn_status status = commit_name(c, row->root, at_unix_s + later);
		if (status != CAIRN_OK)
			return status;
		unsigned added = commit_queue_row(tx, row, at_unix_s + later);
		status = cairn_pg_exchange(&tx->pg);
		if (status != CAIRN_OK || cairn_pg_changed(tx->pg.results[added]) > 0)
			return status;
	}
	return cairn_commits_id_is_taken(diag);
}

enum cairn_status cairn_pg_add_commit_row(struct cairn_pg_tx *tx, struct cairn_commits_new *c,
					  const struct cairn_edit *edit, const struct cairn_git_oid *root)
{
	const struct commit_row row = {.c = c,
				       .number = edit->commit,
				       .n_files = cairn_sum(c->head.n_files, edit->n_files),
				       .bytes = cairn_sum(c->head.bytes, edit->bytes),
				       .root = root};
	int64_t at_unix_s = cairn_clock_unix_s();
	c->counts = cairn_commits_count(c->message, edit);
	enum cairn_status status = commit_name(c, root, at_unix_s);
	if (status != CAIRN_OK)
		return status;
	unsigned added = commit_queue_row(tx, &row, at_unix_s);
	(void)cairn_pg_queue(&tx->pg, COMMIT_SET_HEAD, CAIRN_ARGS(cairn_db_int(c->line), cairn_db_int(row.number)));
	cairn_pg_queue_count_rows(tx, c->repo, c->counts);
	status = cairn_pg_exchange(&tx->pg);
	if (status == CAIRN_OK && cairn_pg_changed(tx->pg.results[added]) == 0)
		status = commit_name_later(tx, c, &row, at_unix_s, edit->diag);
	if (status != CAIRN_OK)
		return status;
	if (cairn_commits_may_be_refused(c, edit))
		cairn_records_grow(&tx->records, c->owner, c->counts);
	cairn_commits_made(c, row.number, root, row.n_files, row.bytes);
	return CAIRN_OK;
}

/* --- committing --------------------------------------------------------------------------------------------------- */

/* @param[out] root  id of the top folder after the operations */
static enum cairn_status commit_edit(struct cairn_commits_new *c, struct cairn_pg_edit *edit,
				     struct cairn_git_oid *root)
{
	struct cairn_pg *pg = &edit->tx->pg;
	(void)cairn_pg_queue(pg, COMMIT_SAVE, NULL);
	unsigned next = cairn_pg_queue_next_commit(edit->tx);
	enum cairn_status status = cairn_pg_exchange(pg);
	if (status != CAIRN_OK)
		return status;
	edit->edit.commit = cairn_pg_get_int8(pg->results[next], 0, 0);
	status = cairn_pg_edit_prefetch(edit, c->operations, c->n);
	if (status == CAIRN_OK)
		status = cairn_edit_all(&edit->edit, c->operations, c->n);
	cairn_crash_point(CAIRN_CRASH_COMMIT_EDITED);
	return status == CAIRN_OK ? cairn_edit_root(&edit->edit, root) : status;
}

/* Removes the rows that operations wrote. */
static enum cairn_status commit_undo(struct cairn_pg_tx *tx, const struct cairn_index_growth *before)
{
	tx->records.growth = *before;
	(void)cairn_pg_queue(&tx->pg, COMMIT_UNDO, NULL);
	(void)cairn_pg_queue(&tx->pg, COMMIT_RELEASE, NULL);
	return cairn_pg_exchange(&tx->pg);
}

/* Removes the rows of operations that change nothing in the head. Contents that got their bytes back leave none. */
static enum cairn_status commit_same(struct cairn_pg_edit *edit, const struct cairn_index_growth *before)
{
	struct cairn_pg_tx *tx = edit->tx;
	unsigned used;
	if (edit->edit.n_changed > 0)
		return commit_undo(tx, before);
	enum cairn_status status = cairn_pg_edit_queue(edit, false, &used);
	(void)cairn_pg_queue(&tx->pg, COMMIT_RELEASE, NULL);
	if (status == CAIRN_OK)
		status = cairn_pg_exchange(&tx->pg);
	if (status == CAIRN_OK)
		cairn_pg_used(tx, used, edit->owner);
	return status;
}

static enum cairn_status commit_finish(struct cairn_commits_new *c, struct cairn_pg_edit *edit,
				       const struct cairn_git_oid *root)
{
	enum cairn_status status = cairn_pg_edit_flush(edit);
	if (status != CAIRN_OK)
		return status;
	(void)cairn_pg_queue(&edit->tx->pg, COMMIT_RELEASE, NULL);
	return cairn_pg_add_commit_row(edit->tx, c, &edit->edit, root);
}

enum cairn_status cairn_pg_commit_to(struct cairn_pg_tx *tx, struct cairn_commits_new *c, struct cairn_diag *diag)
{
	CLEANUP(cairn_pg_edit_fini)
	struct cairn_pg_edit edit = {
		.tx = tx,
		.repo = c->repo,
		.owner = c->owner,
		.line = c->line,
		.holder = c->holder,
	};
	edit.edit = (struct cairn_edit){.engine = &CAIRN_PG_EDIT,
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
		status = commit_edit(c, &edit, &root);
	if (c->in_pieces && edit.edit.is_large) {
		*c->in_pieces = true;
		return commit_undo(tx, &before);
	}
	if (status != CAIRN_OK)
		return status;
	if (c->head.commit != 0 && cairn_git_oid_equal(&root, &c->head.root))
		return commit_same(&edit, &before);
	return c->only_same ? cairn_commits_conflict(diag) : commit_finish(c, &edit, &root);
}

enum cairn_status cairn_pg_first_line(struct cairn_pg_tx *tx, struct cairn_commits_new *c, struct cairn_diag *diag)
{
	const PGresult *r;
	enum cairn_status status = cairn_pg_ask(&tx->pg, COMMIT_ADD_LINE, CAIRN_ARGS(cairn_db_int(c->repo)), &r);
	if (status != CAIRN_OK)
		return status;
	c->line = cairn_pg_get_int8(r, 0, 0);
	c->head = (struct cairn_commits_head){0};
	return cairn_pg_commit_to(tx, c, diag);
}

/* --- the requests ------------------------------------------------------------------------------------------------- */

/* A retried request, whose answer was lost, names the head's parent. That is no conflict if all its changes are in the
 * head. A pull request ends only at the head that the request names. @param before  the parent's id; NULL: none */
static enum cairn_status commit_check_parent(const struct cairn_index_add_commit *add,
					     const struct cairn_git_oid *before, struct cairn_commits_new *c,
					     struct cairn_diag *diag)
{
	if (!add->parent || cairn_commits_begins(&c->head.oid, add->parent))
		return CAIRN_OK;
	c->only_same = !add->ends && before && cairn_commits_begins(before, add->parent);
	return c->only_same ? CAIRN_OK : cairn_commits_conflict(diag);
}

enum cairn_status cairn_pg_find_commit(struct cairn_pg_tx *tx, const struct cairn_index_add_commit *add, bool checks,
				       struct cairn_commits_new *c, struct cairn_diag *diag)
{
	const PGresult *r;
	struct cairn_git_oid before;
	enum cairn_status status = cairn_pg_ask(
		&tx->pg, COMMIT_HEAD,
		CAIRN_ARGS(cairn_db_int(add->repo), cairn_db_int((int64_t)add->kind), cairn_db_path(add->ref)), &r);
	if (status != CAIRN_OK)
		return status;
	if (PQntuples(r) == 0)
		return cairn_pg_no_repo(diag);
	if (PQgetisnull(r, 0, HEAD_COMMIT))
		return cairn_commits_unknown(diag);
	if (cairn_pg_get_int8(r, 0, HEAD_END) != 0)
		return cairn_commits_ended(diag);
	c->owner = cairn_pg_get_int8(r, 0, HEAD_OWNER);
	c->line = cairn_pg_get_int8(r, 0, HEAD_LINE);
	status = cairn_pg_head(r, 0, HEAD_COMMIT, &c->head);
	bool has_before = cairn_pg_get_oid(r, 0, HEAD_BEFORE, &before);
	return status == CAIRN_OK && checks ? commit_check_parent(add, has_before ? &before : NULL, c, diag) : status;
}

/* An ended pull request names its head for good, as a tag does. */
static enum cairn_status commit_end_pull(struct cairn_pg_tx *tx, const struct cairn_index_add_commit *add,
					 int64_t owner)
{
	(void)cairn_pg_queue(&tx->pg, COMMIT_END_PULL, CAIRN_ARGS(cairn_db_int(add->repo), cairn_db_path(add->ref)));
	return cairn_records_end_pull(&tx->records, add, owner);
}

/* @param diag  the request's own, since this may be its second commit */
static enum cairn_status commit_apply(struct cairn_pg_tx *tx, struct cairn_index_add_commit *add, bool *in_pieces,
				      struct cairn_diag *diag)
{
	struct cairn_commits_new c = cairn_commits_asked(add);
	c.in_pieces = add->stranger == 0 ? in_pieces : NULL;
	enum cairn_status status = cairn_pg_find_commit(tx, add, true, &c, diag);
	if (status == CAIRN_OK && add->stranger != 0)
		status = cairn_records_find_holder(&tx->records, add->stranger, add->operations, add->n, &c.holder);
	if (status == CAIRN_OK)
		status = cairn_pg_commit_to(tx, &c, diag);
	add->oid = c.oid;
	add->added = c.added;
	if (status == CAIRN_OK && add->stranger != 0)
		status = cairn_records_charge_commit(&tx->records, add, &c, diag);
	return status == CAIRN_OK && add->ends ? commit_end_pull(tx, add, c.owner) : status;
}

enum cairn_status cairn_pg_end_merged(struct cairn_pg_tx *tx, const struct cairn_index_add_commit *add,
				      struct cairn_diag *diag)
{
	struct cairn_index_add_commit last;
	char text[CAIRN_GIT_OID_CHARS + 1];
	cairn_crash_point(CAIRN_CRASH_MERGE_COMMITTED);
	cairn_commits_merged(&last, add, &add->oid, text);
	return commit_apply(tx, &last, NULL, diag);
}

enum cairn_status cairn_pg_commit_at_once(struct cairn_pg_tx *tx, struct cairn_index_add_commit *add, bool *in_pieces)
{
	bool merges = add->merge.pull != NULL;
	*in_pieces = false;
	enum cairn_status status = cairn_records_adopt_merged(&tx->records, add);
	if (status == CAIRN_OK)
		status = commit_apply(tx, add, in_pieces, &add->write.diag);
	if (*in_pieces)
		return status;
	if (status == CAIRN_OK && merges)
		status = cairn_pg_end_merged(tx, add, &add->write.diag);
	if (status != CAIRN_OK || (!add->added && !merges))
		return status;
	cairn_pg_queue_count_main(tx, add->repo);
	return cairn_pg_exchange(&tx->pg);
}

enum cairn_status cairn_pg_add_main(struct cairn_pg_tx *tx, int64_t repo, int64_t owner, int64_t line)
{
	cairn_pg_queue_set_ref(tx, repo, CAIRN_INDEX_BRANCH, "main", line, 0);
	cairn_pg_queue_count_rows(tx, repo, cairn_commits_ref_counts("main"));
	cairn_records_grow(&tx->records, owner, cairn_commits_ref_counts("main"));
	cairn_pg_queue_count_main(tx, repo);
	return cairn_pg_exchange(&tx->pg);
}

enum cairn_status cairn_pg_begin_repo_at_once(struct cairn_pg_tx *tx, struct cairn_index_add_repo *add, int64_t owner)
{
	struct cairn_diag *diag = &add->write.diag;
	struct cairn_commits_new c = cairn_commits_first(add, owner);
	enum cairn_status status = add->source != 0 ? cairn_pg_adopt_named(tx, add, owner, diag) : CAIRN_OK;
	if (status == CAIRN_OK)
		status = cairn_pg_first_line(tx, &c, diag);
	return status == CAIRN_OK ? cairn_pg_add_main(tx, add->id, owner, c.line) : status;
}
