/* SQLite's functions for a commit that is made in pieces (index/hub/staged.h).
 *
 * Its line has the head 0 until the last piece. A sweep of a part sets another head (hub_sweep_line.c). */
#include "index/hub/staged.h"
#include "index/sqlite/sweep.h"

#include "base/sum.h"

#include <stdlib.h>
#include <string.h>

enum {
	STAGED_WRITES = 250,  /* rows written in a piece: some 4 ms */
	STAGED_ROWS = 1000,   /* rows copied, or read for the ids of folders, in a piece */
	STAGED_READS = 10000, /* rows read in a piece of a copy, with those that no longer count */
};

struct staged {
	struct cairn_staged staged; /* first */
	struct cairn_tx_edit edit;
	/* The lines whose entries are copied into the new line, so that lookups in it read few lines. */
	struct cairn_chain source;
};

static struct cairn_index_tx *staged_records(void *ctx)
{
	struct cairn_tx *tx = ctx;
	return &tx->records;
}

/* --- the state ---------------------------------------------------------------------------------------------------- */

static void staged_reset(struct cairn_staged *s)
{
	struct cairn_tx_edit *edit = &((struct staged *)s)->edit;
	cairn_edit_fini(&edit->edit);
	*edit = (struct cairn_tx_edit){0};
}

static void staged_free(struct cairn_index_stage *stage)
{
	staged_reset((struct cairn_staged *)stage);
	free(stage);
}

static struct cairn_staged *staged_make(void)
{
	struct staged *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->staged.stage.free = staged_free;
	s->staged.edit = &s->edit.edit;
	return &s->staged;
}

/* --- the line ----------------------------------------------------------------------------------------------------- */

static CAIRN_WRITES(TX_TAKE_COMMIT, "UPDATE sqlite_sequence SET seq = ?1 WHERE name = 'commit_'");

static enum cairn_status staged_take_number(struct cairn_tx *tx, int64_t *number)
{
	enum cairn_status status = cairn_tx_next_commit(tx, number);
	sqlite3_bind_int64(cairn_tx_stmt(tx, &TX_TAKE_COMMIT), 1, *number);
	return status == CAIRN_OK ? cairn_sql_run(cairn_tx_stmt(tx, &TX_TAKE_COMMIT)) : status;
}

static enum cairn_status staged_make_line(struct cairn_tx *tx, struct staged *s)
{
	const struct cairn_commits_head *head = &s->staged.c.head;
	sqlite3_stmt *add = cairn_tx_stmt(tx, &CAIRN_TX_ADD_LINE), *set = cairn_tx_stmt(tx, &CAIRN_TX_SET_LINE_HEAD);
	(void)sqlite3_clear_bindings(add);
	sqlite3_bind_int64(add, 1, s->staged.c.repo);
	if (head->commit != 0)
		sqlite3_bind_int64(add, 2, head->line);
	sqlite3_bind_int64(add, 3, head->commit);
	sqlite3_bind_int64(add, 4, s->staged.copies ? 1 : (int64_t)s->source.n + 1);
	enum cairn_status status = cairn_sql_run(add);
	s->staged.c.line = sqlite3_last_insert_rowid(tx->db);
	sqlite3_bind_int64(set, 1, s->staged.c.line);
	sqlite3_bind_int64(set, 2, 0);
	return status == CAIRN_OK ? cairn_sql_run(set) : status;
}

static enum cairn_status staged_begin(void *ctx, struct cairn_staged *staged)
{
	struct cairn_tx *tx = ctx;
	struct staged *s = (struct staged *)staged;
	const struct cairn_commits_head *seen = &staged->seen;
	enum cairn_status status = CAIRN_OK;
	int64_t number = 0;
	s->source.n = 0;
	if (seen->commit != 0)
		status = cairn_chain_read(cairn_tx_stmt(tx, &CAIRN_TX_FIND_LINE), seen->line, seen->commit, &s->source);
	staged->copies = staged->copies_all || s->source.n == CAIRN_INDEX_LINE_DEPTH_MAX;
	if (status == CAIRN_OK)
		status = staged_take_number(tx, &number);
	if (status == CAIRN_OK)
		status = staged_make_line(tx, s);
	if (status != CAIRN_OK)
		return status;
	s->edit = (struct cairn_tx_edit){
		.tx = tx, .repo = staged->c.repo, .owner = staged->c.owner, .line = staged->c.line};
	s->edit.edit = (struct cairn_edit){.engine = &CAIRN_TX_EDIT, .ctx = &s->edit, .commit = number};
	return cairn_chain_read(cairn_tx_stmt(tx, &CAIRN_TX_FIND_LINE), staged->c.line, number, &s->edit.chain);
}

static CAIRN_WRITES(TX_LINE_HEAD, "SELECT head FROM line WHERE id = ?1");

static enum cairn_status staged_line(void *ctx, const struct cairn_staged *s, enum cairn_staged_line *out)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *find = cairn_tx_stmt(ctx, &TX_LINE_HEAD);
	sqlite3_bind_int64(find, 1, s->c.line);
	enum cairn_status status = cairn_sql_find(find);
	int64_t head = status == CAIRN_OK ? sqlite3_column_int64(find, 0) : INT64_MAX;
	*out = head == 0 ? CAIRN_STAGED_WHOLE : head < 0 ? CAIRN_STAGED_SWEPT : CAIRN_STAGED_GONE;
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

static enum cairn_status staged_sweep_line(void *ctx, int64_t line, bool *gone)
{
	return cairn_tx_sweep_line(ctx, line, gone);
}

static enum cairn_status staged_sweep_repo(void *ctx, int64_t repo, int64_t owner, bool *gone)
{
	return cairn_tx_sweep_repo(ctx, repo, owner, gone);
}

/* --- pieces ------------------------------------------------------------------------------------------------------- */

static CAIRN_WRITES(TX_COPY_ENTRY, "INSERT INTO entry(line, folder, name, since, oid, content)"
				   " VALUES(?1, ?2, ?3, ?4, ?5, ?6)");

/* @param row  an entry of another line */
static enum cairn_status staged_copy_entry(struct cairn_tx *tx, struct cairn_staged *s, sqlite3_stmt *row)
{
	sqlite3_stmt *copy = cairn_tx_stmt(tx, &TX_COPY_ENTRY);
	int64_t content = sqlite3_column_int64(row, CAIRN_CHAIN_CONTENT);
	sqlite3_bind_int64(copy, 1, s->c.line);
	cairn_sql_bind_text(copy, 2, s->folder);
	cairn_sql_bind_text(copy, 3, s->name);
	sqlite3_bind_int64(copy, 4, s->copies_all ? s->edit->commit : sqlite3_column_int64(row, CAIRN_CHAIN_SINCE));
	(void)sqlite3_bind_value(copy, 5, sqlite3_column_value(row, CAIRN_CHAIN_OID));
	(void)sqlite3_bind_value(copy, 6, sqlite3_column_value(row, CAIRN_CHAIN_CONTENT));
	enum cairn_status status = cairn_sql_run(copy);
	cairn_add(&s->edit->row_bytes, (int64_t)(CAIRN_INDEX_ROW_BYTES + strlen(s->folder) + strlen(s->name)));
	return status == CAIRN_OK && content != 0 ? cairn_tx_use_content(tx, content) : status;
}

static enum cairn_status staged_copy(void *ctx, struct cairn_staged *s, bool *done)
{
	static const char LAST[] = "\xff"; /* sorts after all UTF-8 */
	struct cairn_tx *tx = ctx;
	struct cairn_chain_scan scan = {
		.chain = &((struct staged *)s)->source, .stmts = cairn_tx_scan_stmts(tx), .n_rows_max = STAGED_READS};
	enum cairn_status status = CAIRN_OK;
	sqlite3_stmt *row = NULL;
	cairn_chain_begin(&scan, s->folder, s->name, LAST);
	for (unsigned i = 0; i < STAGED_ROWS && status == CAIRN_OK; i++) {
		status = cairn_chain_next(&scan, &row);
		memcpy(s->folder, scan.folder, sizeof(s->folder));
		memcpy(s->name, scan.name, sizeof(s->name));
		if (status != CAIRN_OK || !row)
			break;
		status = staged_copy_entry(tx, s, row);
	}
	cairn_chain_end(&scan);
	*done = status == CAIRN_OK && !row && !scan.is_cut;
	return status;
}

static enum cairn_status staged_prefetch(void *ctx, struct cairn_staged *s, uint32_t n)
{
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; s->adopts != 0 && i < n && status == CAIRN_OK; i++)
		status = cairn_tx_adopt_operation(ctx, &s->c.operations[s->n_applied + i], s->adopts, s->c.owner);
	return status;
}

static enum cairn_status staged_end_piece(void *ctx, struct cairn_staged *s)
{
	int64_t bytes = s->edit->row_bytes;
	s->edit->row_bytes = 0;
	return cairn_tx_count_rows(ctx, s->c.owner, bytes, cairn_commits_may_be_refused(&s->c, s->edit));
}

/* --- functions for the kinds of write ----------------------------------------------------------------------------- */

static enum cairn_status staged_find_commit(void *ctx, const struct cairn_index_add_commit *add, bool checks,
					    struct cairn_commits_new *c, struct cairn_diag *diag)
{
	enum cairn_status status = cairn_records_find_repo(staged_records(ctx), add->repo, &c->owner, diag);
	if (status == CAIRN_OK)
		status = cairn_tx_find_commit_ref(ctx, add, c, diag);
	return status == CAIRN_OK && checks ? cairn_tx_check_parent(ctx, add, c, diag) : status;
}

static enum cairn_status staged_find_squashed(void *ctx, const struct cairn_index_squash *squash, int64_t *owner,
					      int64_t *line, struct cairn_commits_head *head, struct cairn_diag *diag)
{
	enum cairn_status status = cairn_records_find_repo(staged_records(ctx), squash->repo, owner, diag);
	return status == CAIRN_OK ? cairn_tx_find_squashed(ctx, squash, head, line, diag) : status;
}

static enum cairn_status staged_read_head(void *ctx, int64_t commit, struct cairn_commits_head *out,
					  struct cairn_diag *diag)
{
	return cairn_tx_read_head(ctx, commit, out, diag);
}

static enum cairn_status staged_add_commit(void *ctx, struct cairn_staged *s, const struct cairn_git_oid *root)
{
	return cairn_tx_add_commit_row(ctx, &s->c, &((struct staged *)s)->edit, root);
}

static enum cairn_status staged_set_ref(void *ctx, int64_t repo, enum cairn_index_ref_kind kind, const char *name,
					int64_t line)
{
	return cairn_tx_set_ref_line(ctx, repo, kind, name, line);
}

static enum cairn_status staged_fork(void *ctx, struct cairn_index_add_ref *add, int64_t owner, int64_t *line)
{
	return cairn_tx_fork(ctx, add, owner, line);
}

static enum cairn_status staged_name_pull(void *ctx, struct cairn_index_add_ref *add, int64_t owner, int64_t line)
{
	return cairn_tx_name_pull(ctx, add, owner, line);
}

static enum cairn_status staged_end_merged(void *ctx, const struct cairn_index_add_commit *add, struct cairn_diag *diag)
{
	return cairn_tx_end_merged(ctx, add, diag);
}

static enum cairn_status staged_add_main(void *ctx, int64_t repo, int64_t owner, int64_t line)
{
	return cairn_tx_add_main(ctx, repo, owner, line);
}

static enum cairn_status staged_count_main(void *ctx, int64_t repo)
{
	return cairn_tx_count_main(ctx, repo);
}

static enum cairn_status staged_commit_at_once(void *ctx, struct cairn_index_add_commit *add, bool *in_pieces)
{
	return cairn_tx_commit_at_once(ctx, add, in_pieces);
}

static enum cairn_status staged_ref_at_once(void *ctx, struct cairn_index_add_ref *add, bool *in_pieces)
{
	return cairn_tx_add_ref_at_once(ctx, add, in_pieces);
}

static enum cairn_status staged_repo_at_once(void *ctx, struct cairn_index_add_repo *add, int64_t owner)
{
	return cairn_tx_begin_repo_at_once(ctx, add, owner);
}

/* --- the writes --------------------------------------------------------------------------------------------------- */

static const struct cairn_staged_engine STAGED = {
	.writes_max = STAGED_WRITES,
	.rows_max = STAGED_ROWS,
	.make = staged_make,
	.reset = staged_reset,
	.records = staged_records,
	.begin = staged_begin,
	.line = staged_line,
	.copy = staged_copy,
	.look = staged_prefetch,
	.end_piece = staged_end_piece,
	.sweep_line = staged_sweep_line,
	.sweep_repo = staged_sweep_repo,
	.commit_at_once = staged_commit_at_once,
	.ref_at_once = staged_ref_at_once,
	.repo_at_once = staged_repo_at_once,
	.find_commit = staged_find_commit,
	.find_squashed = staged_find_squashed,
	.read_head = staged_read_head,
	.add_commit = staged_add_commit,
	.set_ref = staged_set_ref,
	.fork = staged_fork,
	.name_pull = staged_name_pull,
	.end_merged = staged_end_merged,
	.add_main = staged_add_main,
	.count_main = staged_count_main,
};

enum cairn_status cairn_tx_add_commit(struct cairn_tx *tx, struct cairn_index_add_commit *add)
{
	return cairn_staged_add_commit(&STAGED, tx, add);
}

enum cairn_status cairn_tx_add_ref(struct cairn_tx *tx, struct cairn_index_add_ref *add)
{
	return cairn_staged_add_ref(&STAGED, tx, add);
}

enum cairn_status cairn_tx_begin_repo(struct cairn_tx *tx, struct cairn_index_add_repo *add, int64_t owner)
{
	return cairn_staged_begin_repo(&STAGED, tx, add, owner);
}

enum cairn_status cairn_tx_squash(struct cairn_tx *tx, struct cairn_index_squash *squash)
{
	return cairn_staged_squash(&STAGED, tx, squash);
}
