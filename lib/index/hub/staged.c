#include "index/hub/staged.h"

#include "base/crash_point.h"

enum {
	STAGED_UNDOES = 4,          /* pieces that a sweep removes in one piece of undoing */
	STAGED_BYTES = 1024 * 1024, /* bytes of inline files in a piece, which may exceed this by one file */
	STAGED_AGAIN_MAX = 3, /* most restarts of a commit, after a change of the branch or a failed transaction */
};

/* Begins the commit, or restarts it. */
static enum cairn_status staged_begin(void *tx, struct cairn_index_write *write, struct cairn_staged *s)
{
	s->copies = false;
	s->folder[0] = s->name[0] = '\0';
	s->n_applied = 0;
	s->engine->reset(s);
	enum cairn_status status = s->kind->find(tx, write, s);
	if (status == CAIRN_OK)
		status = cairn_commits_check(s->c.message, s->c.n, &write->diag);
	if (status == CAIRN_OK)
		status = s->engine->begin(tx, s);
	s->edit->diag = &write->diag;
	s->edit->again = s->c.only_same;
	s->edit->piece_rows = s->engine->writes_max;
	if (status == CAIRN_OK)
		s->step = s->copies ? CAIRN_STAGED_COPY : CAIRN_STAGED_EDIT;
	return status;
}

static enum cairn_status staged_sweep(void *tx, const struct cairn_staged *s, bool *gone)
{
	enum cairn_staged_line line;
	enum cairn_status status = s->engine->line(tx, s, &line);
	*gone = line == CAIRN_STAGED_GONE;
	return status == CAIRN_OK && !*gone ? s->engine->sweep_line(tx, s->c.line, gone) : status;
}

/* Removes a piece of the line and of the other rows that were made. Then the write ends, or restarts in a new
 * transaction: if that one fails, the line that was removed is still known. */
static enum cairn_status staged_undo(void *tx, struct cairn_staged *s)
{
	enum cairn_status status = CAIRN_OK;
	bool gone = false;
	for (unsigned i = 0; i < STAGED_UNDOES && !gone && status == CAIRN_OK; i++) {
		status = staged_sweep(tx, s, &gone);
		if (status == CAIRN_OK && gone && s->kind->undo)
			status = s->kind->undo(tx, s, &gone);
	}
	if (status != CAIRN_OK || !gone)
		return status;
	s->stage.done = s->stage.undoes;
	s->begins_again = false;
	s->step = CAIRN_STAGED_BEGIN;
	return CAIRN_OK;
}

/* Restarts the commit. @return false: it restarted too often */
static bool staged_begin_again(struct cairn_staged *s)
{
	s->begins_again = s->n_again < STAGED_AGAIN_MAX;
	s->n_again += s->begins_again;
	return s->begins_again;
}

/* Fails, although nobody changed the branch: the same request may succeed later. */
static enum cairn_status staged_lost(struct cairn_index_write *write)
{
	return cairn_fail(&write->diag, CAIRN_E_BUSY, "index.write", CAIRN_NO_OFFSET,
			  "the request was dropped half-way, because a transaction failed or came an hour "
			  "after the one before: send it again");
}

enum cairn_status cairn_staged_again(struct cairn_index_write *write, struct cairn_staged *s)
{
	return s->once || !staged_begin_again(s) ? cairn_commits_conflict(&write->diag) : CAIRN_OK;
}

/* Fails: the last piece came too long ago, and a sweep has begun to remove the line. */
static enum cairn_status staged_swept(struct cairn_index_write *write, struct cairn_staged *s)
{
	return s->once || !staged_begin_again(s) ? staged_lost(write) : CAIRN_OK;
}

static enum cairn_status staged_copy(void *tx, struct cairn_staged *s)
{
	bool done = false;
	enum cairn_status status = s->engine->copy(tx, s, &done);
	if (done)
		s->step = s->copies_all ? CAIRN_STAGED_SHOW : CAIRN_STAGED_EDIT;
	return status;
}

/* Returns the number of operations that the next piece may apply. */
static uint32_t staged_n_next(const struct cairn_staged *s)
{
	const struct cairn_index_operation *next = s->c.operations + s->n_applied;
	uint32_t left = s->c.n - s->n_applied, max = left < s->engine->writes_max ? left : s->engine->writes_max, n = 0;
	if (s->edit->drop.goes_on)
		return 1; /* this operation fills most of a piece */
	for (uint64_t bytes = 0; n < max && bytes < STAGED_BYTES; n++)
		bytes += next[n].len;
	return n;
}

static enum cairn_status staged_edit(void *tx, struct cairn_staged *s)
{
	struct cairn_edit *edit = s->edit;
	uint64_t end_writes = edit->n_written + s->engine->writes_max,
		 end_scanned = edit->n_scanned + s->engine->rows_max;
	const uint32_t n = staged_n_next(s);
	enum cairn_status status = s->engine->look(tx, s, n);
	for (uint32_t i = 0; i < n && status == CAIRN_OK; i++) {
		status = cairn_edit_some(edit, &s->c.operations[s->n_applied]);
		s->n_applied += !edit->drop.goes_on;
		if (edit->n_written >= end_writes || edit->n_scanned >= end_scanned || edit->drop.goes_on)
			break;
	}
	cairn_crash_point(CAIRN_CRASH_COMMIT_EDITED);
	if (s->n_applied == s->c.n)
		s->step = CAIRN_STAGED_ROOT;
	return status;
}

static enum cairn_status staged_root(struct cairn_staged *s)
{
	bool done;
	enum cairn_status status = cairn_edit_root_some(s->edit, s->engine->rows_max, &s->root, &done);
	if (done)
		s->step = CAIRN_STAGED_SHOW;
	return status;
}

/* Makes a piece before the last one. Counts its rows for the quota in its own transaction, because a sweep may remove
 * them before the commit is made. */
static enum cairn_status staged_step(void *tx, struct cairn_staged *s)
{
	enum cairn_status status = s->step == CAIRN_STAGED_COPY   ? staged_copy(tx, s)
				   : s->step == CAIRN_STAGED_EDIT ? staged_edit(tx, s)
								  : staged_root(s);
	return status == CAIRN_OK ? s->engine->end_piece(tx, s) : status;
}

static enum cairn_status staged_piece(void *tx, struct cairn_index_write *write, struct cairn_staged *s)
{
	enum cairn_staged_line line;
	s->stage.undoes = s->stage.undoes || s->step == CAIRN_STAGED_UNDO;
	if (s->stage.undoes || s->begins_again)
		return staged_undo(tx, s);
	if (s->step == CAIRN_STAGED_BEGIN)
		return staged_begin(tx, write, s);
	enum cairn_status status = s->engine->line(tx, s, &line);
	if (status != CAIRN_OK)
		return status;
	if (line != CAIRN_STAGED_WHOLE)
		return staged_swept(write, s);
	return s->step == CAIRN_STAGED_SHOW ? s->kind->show(tx, write, s) : staged_step(tx, s);
}

enum cairn_status cairn_staged_write(const struct cairn_staged_engine *engine, void *tx,
				     struct cairn_index_write *write, const struct cairn_staged_kind *kind)
{
	struct cairn_staged *s = (struct cairn_staged *)write->stage;
	if (!s) {
		s = engine->make();
		if (!s)
			return CAIRN_E_NOMEM;
		s->engine = engine;
		s->kind = kind;
		write->stage = &s->stage;
	}
	/* A failed transaction has changed this state, so its piece alone cannot be repeated. */
	if (s->stage.in_try && !s->stage.undoes && !staged_begin_again(s))
		return staged_lost(write);
	s->stage.in_try = true;
	s->stage.done = false;
	return staged_piece(tx, write, s);
}
