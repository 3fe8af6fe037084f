/* Makes a large commit in pieces, so that other writes get in between. Its entries are written to a line of their own,
 * which leaves the branch at its head. Nothing names that line, so nobody sees it, and a collection removes what a
 * crash has left. The last piece lets the branch name it.
 *
 * The head of such a line is 0 until then. A sweep that removes a part of it sets another head (hub_sweep_line.c). */
#include "index/hub/commits.h"
#include "index/sqlite/commit.h"
#include "index/sqlite/sweep.h"
#include "index/stage.h"

#include "base/crash_point.h"
#include "base/sum.h"

#include <stdlib.h>
#include <string.h>

enum {
	STAGE_OPERATIONS = 250, /* of one piece: some 4 ms */
	STAGE_ROWS = 1000,      /* of one piece: copied, or read for the ids of folders */
	STAGE_UNDOES = 4,       /* pieces of a sweep in one of ours */
	STAGE_AGAIN_MAX = 3,    /* times that a commit is begun again when others change the branch meanwhile */
};

enum stage_step { STAGE_COPY, STAGE_EDIT, STAGE_ROOT, STAGE_SHOW };

struct tx_stage {
	struct cairn_index_stage stage; /* first */
	enum stage_step step;
	struct cairn_commits_new c; /* its line is the new one, its head that of the branch */
	int64_t ref_line;           /* the branch's */
	struct cairn_tx_edit edit;
	struct cairn_git_oid root;
	uint32_t n_applied; /* operations */
	unsigned n_again;
	bool begins_again; /* when all is removed */
	/* The lines to copy, if lookups would read too many otherwise, and the last path that was copied. */
	struct cairn_chain source;
	char folder[CAIRN_INDEX_PATH_MAX + 1], name[CAIRN_INDEX_PATH_MAX + 1];
};

/* Is the commit too large for one transaction? */
static bool stage_is_wanted(const struct cairn_index_add_commit *add)
{
	return add->n > CAIRN_INDEX_OPERATIONS_AT_ONCE && add->kind == CAIRN_INDEX_BRANCH && !add->merge.pull &&
	       !add->ends;
}

static void stage_free(struct cairn_index_stage *stage)
{
	struct tx_stage *s = (struct tx_stage *)stage;
	cairn_edit_fini(&s->edit.edit);
	free(s);
}

/* --- beginning ---------------------------------------------------------------------------------------------------- */

static CAIRN_WRITES(TX_TAKE_COMMIT, "UPDATE sqlite_sequence SET seq = ?1 WHERE name = 'commit_'");

/* Takes the number of the commit, which no other one gets. */
static enum cairn_status stage_take_number(struct cairn_tx *tx, int64_t *number)
{
	enum cairn_status status = cairn_tx_next_commit(tx, number);
	sqlite3_bind_int64(cairn_tx_stmt(tx, &TX_TAKE_COMMIT), 1, *number);
	return status == CAIRN_OK ? cairn_sql_run(cairn_tx_stmt(tx, &TX_TAKE_COMMIT)) : status;
}

static enum cairn_status stage_make_line(struct cairn_tx *tx, const struct tx_stage *s, int64_t *line)
{
	bool whole = s->source.n == CAIRN_INDEX_LINE_DEPTH_MAX;
	sqlite3_stmt *add = cairn_tx_stmt(tx, &CAIRN_TX_ADD_LINE), *head = cairn_tx_stmt(tx, &CAIRN_TX_SET_LINE_HEAD);
	sqlite3_bind_int64(add, 1, s->c.repo);
	sqlite3_bind_int64(add, 2, s->c.head.line);
	sqlite3_bind_int64(add, 3, s->c.head.commit);
	sqlite3_bind_int64(add, 4, whole ? 1 : (int64_t)s->source.n + 1);
	enum cairn_status status = cairn_sql_run(add);
	*line = sqlite3_last_insert_rowid(tx->db);
	sqlite3_bind_int64(head, 1, *line);
	sqlite3_bind_int64(head, 2, 0);
	return status == CAIRN_OK ? cairn_sql_run(head) : status;
}

static enum cairn_status stage_find(struct cairn_tx *tx, struct cairn_index_add_commit *add,
				    struct cairn_commits_new *c)
{
	struct cairn_diag *diag = &add->write.diag;
	*c = (struct cairn_commits_new){
		.repo = add->repo, .id = add->id, .message = &add->message, .operations = add->operations, .n = add->n};
	enum cairn_status status = cairn_commits_check(c->message, c->n, diag);
	if (status == CAIRN_OK)
		status = cairn_records_find_repo(&tx->records, add->repo, &c->scope, diag);
	if (status == CAIRN_OK)
		status = cairn_tx_find_commit_ref(tx, add, c, diag);
	return status == CAIRN_OK ? cairn_tx_check_parent(tx, add, c, diag) : status;
}

/* Begins, or begins again. */
static enum cairn_status stage_begin(struct cairn_tx *tx, struct cairn_index_add_commit *add, struct tx_stage *s)
{
	int64_t number = 0, line = 0;
	enum cairn_status status = stage_find(tx, add, &s->c);
	if (status == CAIRN_OK)
		status = cairn_chain_read(cairn_tx_stmt(tx, &CAIRN_TX_FIND_LINE), s->c.head.line, s->c.head.commit,
					  &s->source);
	if (status == CAIRN_OK)
		status = stage_take_number(tx, &number);
	if (status == CAIRN_OK)
		status = stage_make_line(tx, s, &line);
	if (status != CAIRN_OK)
		return status;
	s->ref_line = s->c.line;
	s->c.line = line;
	s->edit = (struct cairn_tx_edit){.tx = tx, .repo = s->c.repo, .scope = s->c.scope, .line = line};
	s->edit.edit = (struct cairn_edit){
		.engine = &CAIRN_TX_EDIT, .ctx = &s->edit, .diag = &add->write.diag, .commit = number};
	s->step = s->source.n == CAIRN_INDEX_LINE_DEPTH_MAX ? STAGE_COPY : STAGE_EDIT;
	s->folder[0] = s->name[0] = '\0';
	s->n_applied = 0;
	return cairn_chain_read(cairn_tx_stmt(tx, &CAIRN_TX_FIND_LINE), line, number, &s->edit.chain);
}

/* --- removing ----------------------------------------------------------------------------------------------------- */

/* Removes a piece of the line, and then ends, or begins again. */
static enum cairn_status stage_undo(struct cairn_tx *tx, struct cairn_index_add_commit *add, struct tx_stage *s)
{
	enum cairn_status status = CAIRN_OK;
	bool gone = false;
	for (unsigned i = 0; i < STAGE_UNDOES && !gone && status == CAIRN_OK; i++)
		status = cairn_tx_sweep_line(tx, s->edit.line, &gone);
	if (status != CAIRN_OK || !gone)
		return status;
	if (!s->begins_again) {
		s->stage.done = true;
		return CAIRN_OK;
	}
	cairn_edit_fini(&s->edit.edit);
	s->edit.edit = (struct cairn_edit){0};
	s->begins_again = false;
	return stage_begin(tx, add, s);
}

/* The branch or the line was changed by others. */
static enum cairn_status stage_again(struct cairn_index_add_commit *add, struct tx_stage *s)
{
	if (add->parent || s->n_again++ == STAGE_AGAIN_MAX)
		return cairn_commits_conflict(&add->write.diag);
	s->begins_again = true;
	return CAIRN_OK;
}

static CAIRN_WRITES(TX_LINE_HEAD, "SELECT head FROM line WHERE id = ?1");

/* Are all rows of the line still there? */
static enum cairn_status stage_is_whole(struct cairn_tx *tx, const struct tx_stage *s, bool *whole)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *find = cairn_tx_stmt(tx, &TX_LINE_HEAD);
	sqlite3_bind_int64(find, 1, s->edit.line);
	enum cairn_status status = cairn_sql_step(find, whole);
	*whole = status == CAIRN_OK && *whole && sqlite3_column_int64(find, 0) == 0;
	return status;
}

/* Counts the rows of a piece for the quota with the piece, since a sweep may remove them before the commit is made. */
static enum cairn_status stage_count(struct cairn_tx *tx, struct tx_stage *s, enum cairn_status status)
{
	int64_t bytes = s->edit.edit.row_bytes;
	s->edit.edit.row_bytes = 0;
	return status == CAIRN_OK
		       ? cairn_tx_count_rows(tx, s->c.scope, bytes, cairn_commits_may_be_refused(&s->c, &s->edit.edit))
		       : status;
}

/* --- pieces ------------------------------------------------------------------------------------------------------- */

static CAIRN_WRITES(TX_COPY_ENTRY, "INSERT INTO entry(line, folder, name, since, oid, content)"
				   " VALUES(?1, ?2, ?3, ?4, ?5, ?6)");

/* @param row  of another line */
static enum cairn_status stage_copy_entry(struct cairn_tx *tx, struct tx_stage *s, sqlite3_stmt *row)
{
	sqlite3_stmt *copy = cairn_tx_stmt(tx, &TX_COPY_ENTRY);
	int64_t content = sqlite3_column_int64(row, CAIRN_CHAIN_CONTENT);
	sqlite3_bind_int64(copy, 1, s->edit.line);
	cairn_sql_bind_text(copy, 2, s->folder);
	cairn_sql_bind_text(copy, 3, s->name);
	sqlite3_bind_int64(copy, 4, sqlite3_column_int64(row, CAIRN_CHAIN_SINCE));
	(void)sqlite3_bind_value(copy, 5, sqlite3_column_value(row, CAIRN_CHAIN_OID));
	(void)sqlite3_bind_value(copy, 6, sqlite3_column_value(row, CAIRN_CHAIN_CONTENT));
	enum cairn_status status = cairn_sql_run(copy);
	cairn_add(&s->edit.edit.row_bytes, (int64_t)(CAIRN_INDEX_ROW_BYTES + strlen(s->folder) + strlen(s->name)));
	return status == CAIRN_OK && content != 0 ? cairn_tx_use_content(tx, content) : status;
}

static enum cairn_status stage_copy(struct cairn_tx *tx, struct tx_stage *s)
{
	static const char LAST[] = "\xff"; /* behind all UTF-8 */
	struct cairn_chain_scan scan = {.chain = &s->source, .stmts = cairn_tx_scan_stmts(tx)};
	enum cairn_status status = CAIRN_OK;
	sqlite3_stmt *row = NULL;
	cairn_chain_begin(&scan, s->folder, s->name, LAST);
	for (unsigned i = 0; i < STAGE_ROWS && status == CAIRN_OK; i++) {
		status = cairn_chain_next(&scan, &row);
		if (status != CAIRN_OK || !row)
			break;
		memcpy(s->folder, scan.folder, sizeof(s->folder));
		memcpy(s->name, scan.name, sizeof(s->name));
		status = stage_copy_entry(tx, s, row);
	}
	cairn_chain_end(&scan);
	if (status == CAIRN_OK && !row)
		s->step = STAGE_EDIT;
	return status;
}

static enum cairn_status stage_edit(struct tx_stage *s)
{
	enum cairn_status status = CAIRN_OK;
	for (unsigned i = 0; i < STAGE_OPERATIONS && s->n_applied < s->c.n && status == CAIRN_OK; i++)
		status = cairn_edit_one(&s->edit.edit, &s->c.operations[s->n_applied++]);
	cairn_crash_point(CAIRN_CRASH_COMMIT_EDITED);
	if (s->n_applied == s->c.n)
		s->step = STAGE_ROOT;
	return status;
}

static enum cairn_status stage_root(struct tx_stage *s)
{
	bool done;
	enum cairn_status status = cairn_edit_root_some(&s->edit.edit, STAGE_ROWS, &s->root, &done);
	if (done)
		s->step = STAGE_SHOW;
	return status;
}

static CAIRN_WRITES(TX_SHOW_LINE, "UPDATE ref SET line = ?4 WHERE repo = ?1 AND kind = ?2 AND name = ?3");

static enum cairn_status stage_show(struct cairn_tx *tx, struct cairn_index_add_commit *add, struct tx_stage *s)
{
	struct cairn_commits_new *c = &s->c, now = {0};
	enum cairn_status status = cairn_tx_find_commit_ref(tx, add, &now, &add->write.diag);
	if (status != CAIRN_OK)
		return status;
	if (now.line != s->ref_line || now.head.commit != c->head.commit)
		return stage_again(add, s);
	add->oid = c->head.oid;
	if (cairn_git_oid_equal(&s->root, &c->head.root)) {
		s->stage.undoes = true; /* nothing differs from the head */
		return CAIRN_OK;
	}
	if (c->only_same)
		return cairn_commits_conflict(&add->write.diag);
	status = cairn_tx_add_commit_row(tx, c, &s->edit, &s->root);
	sqlite3_stmt *show = cairn_tx_stmt(tx, &TX_SHOW_LINE);
	sqlite3_bind_int64(show, 1, add->repo);
	sqlite3_bind_int64(show, 2, (int64_t)add->kind);
	cairn_sql_bind_text(show, 3, add->ref);
	sqlite3_bind_int64(show, 4, c->line);
	if (status == CAIRN_OK)
		status = cairn_sql_run(show);
	add->oid = c->oid;
	add->added = true;
	s->stage.done = true;
	return status == CAIRN_OK ? cairn_tx_count_main(tx, add->repo) : status;
}

static enum cairn_status stage_piece(struct cairn_tx *tx, struct cairn_index_add_commit *add, struct tx_stage *s)
{
	bool whole = false;
	if (s->stage.undoes || s->begins_again)
		return stage_undo(tx, add, s);
	enum cairn_status status = stage_is_whole(tx, s, &whole);
	if (status != CAIRN_OK)
		return status;
	if (!whole)
		return stage_again(add, s);
	switch (s->step) {
	case STAGE_COPY:
		return stage_count(tx, s, stage_copy(tx, s));
	case STAGE_EDIT:
		return stage_count(tx, s, stage_edit(s));
	case STAGE_ROOT:
		return stage_count(tx, s, stage_root(s));
	case STAGE_SHOW:
		break;
	}
	return stage_show(tx, add, s);
}

static enum cairn_status stage_first(struct cairn_tx *tx, struct cairn_index_add_commit *add)
{
	struct tx_stage *s = calloc(1, sizeof(*s));
	if (!s)
		return CAIRN_E_NOMEM;
	s->stage.free = stage_free;
	add->added = false;
	enum cairn_status status = stage_begin(tx, add, s);
	if (status == CAIRN_OK)
		add->write.stage = &s->stage;
	else
		stage_free(&s->stage);
	return status;
}

enum cairn_status cairn_tx_add_commit(struct cairn_tx *tx, struct cairn_index_add_commit *add)
{
	struct tx_stage *s = (struct tx_stage *)add->write.stage;
	if (s)
		return stage_piece(tx, add, s);
	return stage_is_wanted(add) ? stage_first(tx, add) : cairn_tx_commit_at_once(tx, add);
}
