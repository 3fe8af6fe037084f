/* Makes a large commit in pieces, so that other writes get in between. Its entries are written to a line of their own,
 * which leaves the branch at its head. Nothing names that line, so nobody sees it, and a collection removes what a
 * crash has left. The last piece lets the branch name it.
 *
 * The head of such a line is 0 until then. A sweep that removes a part of it sets another head (hub_sweep_line.c). */
#include "index/sqlite/hub_stage.h"
#include "index/sqlite/sweep.h"

#include "base/crash_point.h"
#include "base/sum.h"

#include <stdlib.h>
#include <string.h>

enum {
	STAGE_WRITES = 250,  /* rows of one piece: some 4 ms */
	STAGE_ROWS = 1000,   /* of one piece: copied, or read for the ids of folders */
	STAGE_READS = 10000, /* of one piece of a copy: rows that no longer count, too */
	STAGE_UNDOES = 4,    /* pieces of a sweep in one of ours */
	STAGE_AGAIN_MAX = 3, /* times that a commit is begun again when others change the branch meanwhile */
};

static void stage_free(struct cairn_index_stage *stage)
{
	struct cairn_tx_stage *s = (struct cairn_tx_stage *)stage;
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

/* Is there something to copy before the operations are applied? */
static bool stage_copies(const struct cairn_tx_stage *s)
{
	return s->copies_all || s->source.n == CAIRN_INDEX_LINE_DEPTH_MAX;
}

static enum cairn_status stage_make_line(struct cairn_tx *tx, const struct cairn_tx_stage *s, int64_t *line)
{
	const struct cairn_commits_head *head = &s->c.head;
	sqlite3_stmt *add = cairn_tx_stmt(tx, &CAIRN_TX_ADD_LINE), *set = cairn_tx_stmt(tx, &CAIRN_TX_SET_LINE_HEAD);
	(void)sqlite3_clear_bindings(add);
	sqlite3_bind_int64(add, 1, s->c.repo);
	if (head->commit != 0)
		sqlite3_bind_int64(add, 2, head->line);
	sqlite3_bind_int64(add, 3, head->commit);
	sqlite3_bind_int64(add, 4, stage_copies(s) ? 1 : (int64_t)s->source.n + 1);
	enum cairn_status status = cairn_sql_run(add);
	*line = sqlite3_last_insert_rowid(tx->db);
	sqlite3_bind_int64(set, 1, *line);
	sqlite3_bind_int64(set, 2, 0);
	return status == CAIRN_OK ? cairn_sql_run(set) : status;
}

/* Begins, or begins again. */
static enum cairn_status stage_begin(struct cairn_tx *tx, struct cairn_index_write *write, struct cairn_tx_stage *s)
{
	int64_t number = 0, line = 0;
	s->source.n = 0;
	enum cairn_status status = s->kind->find(tx, write, s);
	if (status == CAIRN_OK)
		status = cairn_commits_check(s->c.message, s->c.n, &write->diag);
	if (status == CAIRN_OK && s->seen.commit != 0)
		status = cairn_chain_read(cairn_tx_stmt(tx, &CAIRN_TX_FIND_LINE), s->seen.line, s->seen.commit,
					  &s->source);
	if (status == CAIRN_OK)
		status = stage_take_number(tx, &number);
	if (status == CAIRN_OK)
		status = stage_make_line(tx, s, &line);
	if (status != CAIRN_OK)
		return status;
	s->c.line = line;
	s->edit = (struct cairn_tx_edit){.tx = tx, .repo = s->c.repo, .owner = s->c.owner, .line = line};
	s->edit.edit = (struct cairn_edit){.engine = &CAIRN_TX_EDIT,
					   .ctx = &s->edit,
					   .diag = &write->diag,
					   .again = s->c.only_same,
					   .piece_rows = STAGE_WRITES,
					   .commit = number};
	s->step = stage_copies(s) ? CAIRN_STAGE_COPY : CAIRN_STAGE_EDIT;
	s->folder[0] = s->name[0] = '\0';
	s->n_applied = 0;
	return cairn_chain_read(cairn_tx_stmt(tx, &CAIRN_TX_FIND_LINE), line, number, &s->edit.chain);
}

/* --- removing ----------------------------------------------------------------------------------------------------- */

static CAIRN_WRITES(TX_LINE_HEAD, "SELECT head FROM line WHERE id = ?1");

/* @param[out] head  0: all rows of the line are still there; less: a sweep has begun to remove it; more: the line is
 * gone, or another one has its number, since a transaction failed that had made the line */
static enum cairn_status stage_head(struct cairn_tx *tx, const struct cairn_tx_stage *s, int64_t *head)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *find = cairn_tx_stmt(tx, &TX_LINE_HEAD);
	sqlite3_bind_int64(find, 1, s->edit.line);
	enum cairn_status status = cairn_sql_find(find);
	*head = status == CAIRN_OK ? sqlite3_column_int64(find, 0) : INT64_MAX;
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

static enum cairn_status stage_sweep(struct cairn_tx *tx, const struct cairn_tx_stage *s, bool *gone)
{
	int64_t head;
	enum cairn_status status = stage_head(tx, s, &head);
	*gone = head > 0;
	return status == CAIRN_OK && !*gone ? cairn_tx_sweep_line(tx, s->edit.line, gone) : status;
}

/* Removes a piece of the line, and of what was made beside it. Then the write ends, or begins again. */
static enum cairn_status stage_undo(struct cairn_tx *tx, struct cairn_index_write *write, struct cairn_tx_stage *s)
{
	enum cairn_status status = CAIRN_OK;
	bool gone = false;
	for (unsigned i = 0; i < STAGE_UNDOES && !gone && status == CAIRN_OK; i++) {
		status = stage_sweep(tx, s, &gone);
		if (status == CAIRN_OK && gone && s->kind->undo)
			status = s->kind->undo(tx, s, &gone);
	}
	if (status != CAIRN_OK || !gone)
		return status;
	if (!s->begins_again) {
		s->stage.done = true;
		return CAIRN_OK;
	}
	cairn_edit_fini(&s->edit.edit);
	s->edit.edit = (struct cairn_edit){0};
	s->begins_again = false;
	return stage_begin(tx, write, s);
}

enum cairn_status cairn_tx_stage_again(struct cairn_index_write *write, struct cairn_tx_stage *s)
{
	if (s->once || s->n_again++ == STAGE_AGAIN_MAX)
		return cairn_commits_conflict(&write->diag);
	s->begins_again = true;
	return CAIRN_OK;
}

/* Counts the rows of a piece for the quota with the piece, since a sweep may remove them before the commit is made. */
static enum cairn_status stage_count(struct cairn_tx *tx, struct cairn_tx_stage *s, enum cairn_status status)
{
	int64_t bytes = s->edit.edit.row_bytes;
	s->edit.edit.row_bytes = 0;
	return status == CAIRN_OK
		       ? cairn_tx_count_rows(tx, s->c.owner, bytes, cairn_commits_may_be_refused(&s->c, &s->edit.edit))
		       : status;
}

/* --- pieces ------------------------------------------------------------------------------------------------------- */

static CAIRN_WRITES(TX_COPY_ENTRY, "INSERT INTO entry(line, folder, name, since, oid, content)"
				   " VALUES(?1, ?2, ?3, ?4, ?5, ?6)");

/* @param row  of another line */
static enum cairn_status stage_copy_entry(struct cairn_tx *tx, struct cairn_tx_stage *s, sqlite3_stmt *row)
{
	sqlite3_stmt *copy = cairn_tx_stmt(tx, &TX_COPY_ENTRY);
	int64_t content = sqlite3_column_int64(row, CAIRN_CHAIN_CONTENT);
	sqlite3_bind_int64(copy, 1, s->edit.line);
	cairn_sql_bind_text(copy, 2, s->folder);
	cairn_sql_bind_text(copy, 3, s->name);
	sqlite3_bind_int64(copy, 4, s->copies_all ? s->edit.edit.commit : sqlite3_column_int64(row, CAIRN_CHAIN_SINCE));
	(void)sqlite3_bind_value(copy, 5, sqlite3_column_value(row, CAIRN_CHAIN_OID));
	(void)sqlite3_bind_value(copy, 6, sqlite3_column_value(row, CAIRN_CHAIN_CONTENT));
	enum cairn_status status = cairn_sql_run(copy);
	cairn_add(&s->edit.edit.row_bytes, (int64_t)(CAIRN_INDEX_ROW_BYTES + strlen(s->folder) + strlen(s->name)));
	return status == CAIRN_OK && content != 0 ? cairn_tx_use_content(tx, content) : status;
}

static enum cairn_status stage_copy(struct cairn_tx *tx, struct cairn_tx_stage *s)
{
	static const char LAST[] = "\xff"; /* behind all UTF-8 */
	struct cairn_chain_scan scan = {
		.chain = &s->source, .stmts = cairn_tx_scan_stmts(tx), .n_rows_max = STAGE_READS};
	enum cairn_status status = CAIRN_OK;
	sqlite3_stmt *row = NULL;
	cairn_chain_begin(&scan, s->folder, s->name, LAST);
	for (unsigned i = 0; i < STAGE_ROWS && status == CAIRN_OK; i++) {
		status = cairn_chain_next(&scan, &row);
		memcpy(s->folder, scan.folder, sizeof(s->folder));
		memcpy(s->name, scan.name, sizeof(s->name));
		if (status != CAIRN_OK || !row)
			break;
		status = stage_copy_entry(tx, s, row);
	}
	cairn_chain_end(&scan);
	if (status == CAIRN_OK && !row && !scan.is_cut)
		s->step = s->copies_all ? CAIRN_STAGE_SHOW : CAIRN_STAGE_EDIT;
	return status;
}

static enum cairn_status stage_edit_one(struct cairn_tx *tx, struct cairn_tx_stage *s,
					const struct cairn_index_operation *operation)
{
	enum cairn_status status = CAIRN_OK;
	if (s->adopts != 0)
		status = cairn_tx_adopt_operation(tx, operation, s->adopts, s->c.owner);
	return status == CAIRN_OK ? cairn_edit_some(&s->edit.edit, operation) : status;
}

static enum cairn_status stage_edit(struct cairn_tx *tx, struct cairn_tx_stage *s)
{
	enum cairn_status status = CAIRN_OK;
	struct cairn_edit *edit = &s->edit.edit;
	uint64_t end_writes = edit->n_written + STAGE_WRITES, end_scanned = edit->n_scanned + STAGE_ROWS;
	for (unsigned i = 0; i < STAGE_WRITES && s->n_applied < s->c.n && status == CAIRN_OK; i++) {
		status = stage_edit_one(tx, s, &s->c.operations[s->n_applied]);
		s->n_applied += !edit->drop.goes_on;
		if (edit->n_written >= end_writes || edit->n_scanned >= end_scanned)
			break;
	}
	cairn_crash_point(CAIRN_CRASH_COMMIT_EDITED);
	if (s->n_applied == s->c.n)
		s->step = CAIRN_STAGE_ROOT;
	return status;
}

static enum cairn_status stage_root(struct cairn_tx_stage *s)
{
	bool done;
	enum cairn_status status = cairn_edit_root_some(&s->edit.edit, STAGE_ROWS, &s->root, &done);
	if (done)
		s->step = CAIRN_STAGE_SHOW;
	return status;
}

static enum cairn_status stage_piece(struct cairn_tx *tx, struct cairn_index_write *write, struct cairn_tx_stage *s)
{
	int64_t head;
	if (s->stage.undoes || s->begins_again)
		return stage_undo(tx, write, s);
	enum cairn_status status = stage_head(tx, s, &head);
	if (status != CAIRN_OK)
		return status;
	if (head != 0)
		return cairn_tx_stage_again(write, s);
	switch (s->step) {
	case CAIRN_STAGE_COPY:
		return stage_count(tx, s, stage_copy(tx, s));
	case CAIRN_STAGE_EDIT:
		return stage_count(tx, s, stage_edit(tx, s));
	case CAIRN_STAGE_ROOT:
		return stage_count(tx, s, stage_root(s));
	case CAIRN_STAGE_SHOW:
		break;
	}
	return s->kind->show(tx, write, s);
}

static enum cairn_status stage_first(struct cairn_tx *tx, struct cairn_index_write *write,
				     const struct cairn_tx_stage_kind *kind)
{
	struct cairn_tx_stage *s = calloc(1, sizeof(*s));
	if (!s)
		return CAIRN_E_NOMEM;
	s->stage.free = stage_free;
	s->kind = kind;
	enum cairn_status status = stage_begin(tx, write, s);
	if (status == CAIRN_OK)
		write->stage = &s->stage;
	else
		stage_free(&s->stage);
	return status;
}

enum cairn_status cairn_tx_stage(struct cairn_tx *tx, struct cairn_index_write *write,
				 const struct cairn_tx_stage_kind *kind)
{
	struct cairn_tx_stage *s = (struct cairn_tx_stage *)write->stage;
	return s ? stage_piece(tx, write, s) : stage_first(tx, write, kind);
}
