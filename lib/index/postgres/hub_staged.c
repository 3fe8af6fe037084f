/* PostgreSQL's functions for a commit that is made in pieces (index/hub/staged.h). Between two pieces, any daemon may
 * write pieces of other commits, or sweep. */
#include "index/hub/staged.h"
#include "index/postgres/chain.h"
#include "index/postgres/commit.h"
#include "index/postgres/hub.h"
#include "index/postgres/sweep.h"

#include "base/clock.h"
#include "base/sum.h"

#include <stdlib.h>
#include <string.h>

enum {
	STAGED_WRITES = 500, /* rows written in a piece: some 20 ms */
	STAGED_ROWS = 2000,  /* rows copied, or read for the ids of folders, in a piece */
	STAGED_ROWS_MIN = 20,
	/* If a page takes longer to copy, each of its paths has many versions, all read: the next page is shorter. */
	STAGED_COPY_MS = 200,
};

/* Adds a line that leaves $2 at commit $3. All rows are copied if $4 is set, or lookups would read too many lines. */
static const char STAGED_ADD_LINE[] =
	"INSERT INTO line(repo, parent, fork, depth, head) SELECT $1, p.id, $3,"
	" CASE WHEN $4 = 0 AND p.depth < 8 THEN p.depth + 1 ELSE 1 END, " CAIRN_PG_STAGED_NOW
	" FROM (VALUES(1)) one LEFT JOIN line p ON p.id = $2 RETURNING id, depth";
_Static_assert(CAIRN_INDEX_LINE_DEPTH_MAX == 8, "the limit in STAGED_ADD_LINE");
/* Marks the line as in use, and returns its previous head. */
static const char STAGED_LINE[] = "WITH used AS (UPDATE line SET head = " CAIRN_PG_STAGED_NOW
				  " WHERE id = $1 AND head < -1) SELECT head FROM line WHERE id = $1";
/* Copies a page of entries at a commit to line $7, each with its own commit or with $8. Returns the length of the page,
 * its last path, and the copies' bytes as a quota counts them. */
static const char STAGED_COPY[] = CAIRN_PG_CHAIN
	", page AS MATERIALIZED (SELECT e.* FROM " CAIRN_PG_CHAIN_PAGE "),"
	" added AS (INSERT INTO entry(line, folder, name, since, oid, content) SELECT $7, folder, name,"
	" coalesce($8, since), oid, content FROM page WHERE oid IS NOT NULL RETURNING " CAIRN_SQL_ENTRY_COUNTS(
		POSTGRES) " AS counts),"
			  " used AS (UPDATE content c SET uses = c.uses + n.n FROM (SELECT content, count(*) AS n FROM page"
			  " WHERE oid IS NOT NULL AND content IS NOT NULL GROUP BY content) n WHERE c.id = n.content)"
			  " SELECT (SELECT count(*) FROM page), l.folder, l.name,"
			  " (SELECT coalesce(sum(counts), 0)::bigint FROM added) FROM (VALUES(1)) one LEFT JOIN LATERAL"
			  " (SELECT folder, name FROM page ORDER BY folder DESC, name DESC LIMIT 1) l ON true";

struct staged {
	struct cairn_staged staged; /* first */
	struct cairn_pg_edit edit;
	int64_t copy_rows; /* rows of the next page */
};

static struct cairn_index_tx *staged_records(void *ctx)
{
	struct cairn_pg_tx *tx = ctx;
	return &tx->records;
}

/* --- the state ---------------------------------------------------------------------------------------------------- */

static void staged_reset(struct cairn_staged *s)
{
	struct cairn_pg_edit *edit = &((struct staged *)s)->edit;
	cairn_pg_edit_fini(edit);
	*edit = (struct cairn_pg_edit){0};
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

static enum cairn_status staged_begin(void *ctx, struct cairn_staged *staged)
{
	struct cairn_pg_tx *tx = ctx;
	struct staged *s = (struct staged *)staged;
	struct cairn_commits_new *c = &staged->c;
	unsigned next = cairn_pg_queue_next_commit(tx),
		 add = cairn_pg_queue(&tx->pg, STAGED_ADD_LINE,
				      CAIRN_ARGS(cairn_db_int(c->repo), cairn_db_int_or_null(c->head.line),
						 cairn_db_int(c->head.commit), cairn_db_int(staged->copies_all)));
	enum cairn_status status = cairn_pg_exchange(&tx->pg);
	if (status != CAIRN_OK)
		return status;
	int64_t number = cairn_pg_get_int8(tx->pg.results[next], 0, 0);
	int64_t depth = cairn_pg_get_int8(tx->pg.results[add], 0, 1);
	c->line = cairn_pg_get_int8(tx->pg.results[add], 0, 0);
	s->copy_rows = STAGED_ROWS;
	staged->copies = staged->copies_all || (c->head.commit != 0 && depth == 1);
	s->edit = (struct cairn_pg_edit){
		.tx = tx, .repo = c->repo, .owner = c->owner, .line = c->line, .page_rows = STAGED_ROWS};
	s->edit.edit = (struct cairn_edit){.engine = &CAIRN_PG_EDIT, .ctx = &s->edit, .commit = number};
	return CAIRN_OK;
}

static enum cairn_status staged_line(void *ctx, const struct cairn_staged *s, enum cairn_staged_line *out)
{
	struct cairn_pg_tx *tx = ctx;
	const PGresult *r;
	enum cairn_status status = cairn_pg_ask(&tx->pg, STAGED_LINE, CAIRN_ARGS(cairn_db_int(s->c.line)), &r);
	int64_t head = status == CAIRN_OK && PQntuples(r) > 0 ? cairn_pg_get_int8(r, 0, 0) : INT64_MAX;
	*out = head < -1 ? CAIRN_STAGED_WHOLE : head == -1 ? CAIRN_STAGED_SWEPT : CAIRN_STAGED_GONE;
	return status;
}

static enum cairn_status staged_sweep_line(void *ctx, int64_t line, bool *gone)
{
	return cairn_pg_sweep_line(ctx, line, gone);
}

static enum cairn_status staged_sweep_repo(void *ctx, int64_t repo, int64_t owner, bool *gone)
{
	return cairn_pg_sweep_repo(ctx, repo, owner, gone);
}

/* --- pieces ------------------------------------------------------------------------------------------------------- */

/* Copies a page with a longer timeout: a slow page does not mean a silent server. */
static enum cairn_status staged_copy_page(struct cairn_pg_tx *tx, const struct cairn_db_args *args, int64_t *rows,
					  const PGresult **r)
{
	int64_t began_ms = cairn_clock_mono_ms();
	tx->pg.silence_ms = CAIRN_PG_SCAN_MS;
	enum cairn_status status = cairn_pg_ask(&tx->pg, STAGED_COPY, args, r);
	tx->pg.silence_ms = CAIRN_PG_SILENCE_MS;
	if (cairn_clock_mono_ms() - began_ms > STAGED_COPY_MS && *rows / 2 >= STAGED_ROWS_MIN)
		*rows /= 2;
	return status;
}

static enum cairn_status staged_copy(void *ctx, struct cairn_staged *s, bool *done)
{
	static const char LAST[] = "\xff"; /* sorts after all UTF-8 */
	struct cairn_pg_tx *tx = ctx;
	struct staged *of = (struct staged *)s;
	const int64_t rows = of->copy_rows;
	const PGresult *r;
	enum cairn_status status = staged_copy_page(
		tx,
		CAIRN_ARGS(cairn_db_int(s->seen.line), cairn_db_int(s->seen.commit), cairn_db_path(s->folder),
			   cairn_db_path(s->name), cairn_db_bytes(LAST, sizeof(LAST) - 1), cairn_db_int(rows),
			   cairn_db_int(s->c.line), cairn_db_int_or_null(s->copies_all ? s->edit->commit : 0)),
		&of->copy_rows, &r);
	if (status != CAIRN_OK)
		return status;
	*done = cairn_pg_get_int8(r, 0, 0) < rows;
	cairn_add(&s->edit->row_bytes, cairn_pg_get_int8(r, 0, 3));
	return PQgetisnull(r, 0, 1) || (cairn_pg_get_text(r, 0, 1, s->folder, sizeof(s->folder)) &&
					cairn_pg_get_text(r, 0, 2, s->name, sizeof(s->name)))
		       ? CAIRN_OK
		       : CAIRN_E_DAMAGED;
}

static enum cairn_status staged_prefetch(void *ctx, struct cairn_staged *s, uint32_t n)
{
	const struct cairn_index_operation *operations = s->c.operations + s->n_applied;
	enum cairn_status status = CAIRN_OK;
	if (s->adopts != 0)
		status = cairn_pg_adopt_operations(ctx, operations, n, s->adopts, s->c.owner);
	return status == CAIRN_OK ? cairn_pg_edit_prefetch(&((struct staged *)s)->edit, operations, n) : status;
}

static enum cairn_status staged_end_piece(void *ctx, struct cairn_staged *s)
{
	struct cairn_pg_tx *tx = ctx;
	int64_t bytes = s->edit->row_bytes;
	s->edit->row_bytes = 0;
	cairn_pg_queue_count_rows(tx, s->c.repo, bytes);
	if (cairn_commits_may_be_refused(&s->c, s->edit))
		cairn_records_grow(&tx->records, s->c.owner, bytes);
	return cairn_pg_edit_flush(&((struct staged *)s)->edit);
}

/* --- functions for the kinds of write ----------------------------------------------------------------------------- */

static enum cairn_status staged_find_commit(void *ctx, const struct cairn_index_add_commit *add, bool checks,
					    struct cairn_commits_new *c, struct cairn_diag *diag)
{
	return cairn_pg_find_commit(ctx, add, checks, c, diag);
}

static enum cairn_status staged_find_squashed(void *ctx, const struct cairn_index_squash *squash, int64_t *owner,
					      int64_t *line, struct cairn_commits_head *head, struct cairn_diag *diag)
{
	return cairn_pg_find_squashed(ctx, squash, owner, line, head, diag);
}

static enum cairn_status staged_read_head(void *ctx, int64_t commit, struct cairn_commits_head *out,
					  struct cairn_diag *diag)
{
	return cairn_pg_read_head(ctx, commit, out, NULL, diag);
}

static enum cairn_status staged_add_commit(void *ctx, struct cairn_staged *s, const struct cairn_git_oid *root)
{
	return cairn_pg_add_commit_row(ctx, &s->c, s->edit, root);
}

static enum cairn_status staged_set_ref(void *ctx, int64_t repo, enum cairn_index_ref_kind kind, const char *name,
					int64_t line)
{
	struct cairn_pg_tx *tx = ctx;
	cairn_pg_queue_set_ref(tx, repo, kind, name, line, 0);
	return cairn_pg_exchange(&tx->pg);
}

static enum cairn_status staged_fork(void *ctx, struct cairn_index_add_ref *add, int64_t owner, int64_t *line)
{
	return cairn_pg_fork(ctx, add, owner, line);
}

static enum cairn_status staged_name_pull(void *ctx, struct cairn_index_add_ref *add, int64_t owner, int64_t line)
{
	return cairn_pg_name_pull(ctx, add, owner, line);
}

static enum cairn_status staged_end_merged(void *ctx, const struct cairn_index_add_commit *add, struct cairn_diag *diag)
{
	return cairn_pg_end_merged(ctx, add, diag);
}

static enum cairn_status staged_add_main(void *ctx, int64_t repo, int64_t owner, int64_t line)
{
	return cairn_pg_add_main(ctx, repo, owner, line);
}

static enum cairn_status staged_count_main(void *ctx, int64_t repo)
{
	struct cairn_pg_tx *tx = ctx;
	cairn_pg_queue_count_main(tx, repo);
	return cairn_pg_exchange(&tx->pg);
}

static enum cairn_status staged_commit_at_once(void *ctx, struct cairn_index_add_commit *add, bool *in_pieces)
{
	return cairn_pg_commit_at_once(ctx, add, in_pieces);
}

static enum cairn_status staged_ref_at_once(void *ctx, struct cairn_index_add_ref *add, bool *in_pieces)
{
	return cairn_pg_add_ref_at_once(ctx, add, in_pieces);
}

static enum cairn_status staged_repo_at_once(void *ctx, struct cairn_index_add_repo *add, int64_t owner)
{
	return cairn_pg_begin_repo_at_once(ctx, add, owner);
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

enum cairn_status cairn_pg_add_commit(struct cairn_pg_tx *tx, struct cairn_index_add_commit *add)
{
	return cairn_staged_add_commit(&STAGED, tx, add);
}

enum cairn_status cairn_pg_add_ref(struct cairn_pg_tx *tx, struct cairn_index_add_ref *add)
{
	return cairn_staged_add_ref(&STAGED, tx, add);
}

enum cairn_status cairn_pg_begin_repo(struct cairn_pg_tx *tx, struct cairn_index_add_repo *add, int64_t owner)
{
	return cairn_staged_begin_repo(&STAGED, tx, add, owner);
}

enum cairn_status cairn_pg_squash(struct cairn_pg_tx *tx, struct cairn_index_squash *squash)
{
	return cairn_staged_squash(&STAGED, tx, squash);
}
