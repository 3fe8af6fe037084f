/* Branches, tags and pull requests. */
#include "index/hub/commits.h"
#include "index/postgres/chain.h"
#include "index/postgres/commit.h"
#include "index/postgres/own.h"
#include "index/postgres/sweep.h"

#include "base/crash_point.h"
#include "base/sum.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char REF_MAIN[] = "main";
enum { REF_NUMBER_CHARS = 32 };

static const char REF_FIND[] = "SELECT l.head FROM ref r JOIN line l ON l.id = r.line"
			       " WHERE r.repo = $1 AND r.kind = $2 AND r.name = $3";
static const char REF_LAST_PULL[] =
	"SELECT greatest(max(convert_from(name, 'UTF8')::bigint), (SELECT last_pull FROM repo WHERE id = $1), 0)"
	" FROM ref WHERE repo = $1 AND kind = 3";
/* Finds names with which a ref would nest. Git allows none, as refs are files: "main/x" could be the path x of main. */
static const char REF_NESTED[] =
	"SELECT name FROM ref WHERE repo = $1 AND kind IN (1, 2) AND (substr(name, 1, octet_length($2) + 1) = $2 || '/'"
	" OR substr($2, 1, octet_length(name) + 1) = name || '/') LIMIT 1";
/* Reads a commit, and the number of lines that a lookup at it reads. */
static const char REF_COMMIT[] =
	"SELECT " CAIRN_PG_HEAD ", l.depth FROM commit_ c JOIN line l ON l.id = c.line WHERE c.id = $1";
static const char REF_HEAD[] = "SELECT p.scope, r.line, " CAIRN_PG_HEAD ", r.commit_ FROM repo p LEFT JOIN ref r"
			       " ON r.repo = p.id AND r.kind = $3 AND r.name = $2 LEFT JOIN line l ON l.id = r.line"
			       " LEFT JOIN commit_ c ON c.id = l.head WHERE p.id = $1 AND " CAIRN_REPO_KEPT("p");
enum { REF_HEAD_LINE = 1, REF_HEAD_COMMIT, REF_HEAD_END = REF_HEAD_COMMIT + 8 };
static const char REF_ADD_LINE[] =
	"INSERT INTO line(repo, parent, fork, depth, head) VALUES($1, $2, $3, $4, $3) RETURNING id";
static const char REF_DROP[] = "DELETE FROM ref WHERE repo = $1 AND kind = $2 AND name = $3";
/* Copies the entries at a commit to line $3. */
static const char REF_COPY[] = CAIRN_PG_CHAIN
	"INSERT INTO entry(line, folder, name, since, oid, content) SELECT $3, e.folder, e.name,"
	" e.since, e.oid, e.content FROM (SELECT DISTINCT ON (r.folder, r.name) r.* FROM chain h"
	" JOIN entry r ON r.line = h.line AND r.since <= h.upto ORDER BY r.folder, r.name, h.n, r.since DESC) e"
	" WHERE e.oid IS NOT NULL";
static const char REF_COUNT_ROWS[] = CAIRN_PG_CHAIN
	"SELECT count(*) FROM (SELECT 1 FROM chain h JOIN entry r ON r.line = h.line AND r.since <= h.upto LIMIT $3) r";
static const char REF_COPIED_ROWS[] =
	"SELECT coalesce(sum(" CAIRN_SQL_ENTRY_COUNTS(POSTGRES) "), 0)::bigint FROM entry WHERE line = $1";
static const char REF_USE_COPIED[] =
	"UPDATE content c SET uses = c.uses + n.n FROM (SELECT content, count(*) AS n FROM entry"
	" WHERE line = $1 AND content IS NOT NULL GROUP BY content) n WHERE c.id = n.content";

/* --- lines -------------------------------------------------------------------------------------------------------- */

/* Copies all entries of a branch, which may take longer than the usual timeout.
 * @param[out] bytes  the copies' bytes as a quota counts them */
static enum cairn_status ref_copy(struct cairn_pg_tx *tx, const struct cairn_commits_head *head, int64_t line,
				  int64_t *bytes)
{
	const PGresult *r;
	const struct cairn_db_args *use = CAIRN_ARGS(cairn_db_int(line));
	(void)cairn_pg_queue(&tx->pg, REF_COPY,
			     CAIRN_ARGS(cairn_db_int(head->line), cairn_db_int(head->commit), cairn_db_int(line)));
	(void)cairn_pg_queue(&tx->pg, REF_USE_COPIED, use);
	tx->pg.silence_ms = CAIRN_PG_SCAN_MS;
	enum cairn_status status = cairn_pg_ask(&tx->pg, REF_COPIED_ROWS, use, &r);
	*bytes = status == CAIRN_OK ? cairn_pg_get_int8(r, 0, 0) : 0;
	tx->pg.silence_ms = CAIRN_PG_SILENCE_MS;
	return status;
}

static enum cairn_status ref_may_copy(struct cairn_pg_tx *tx, const struct cairn_commits_head *head,
				      struct cairn_diag *diag)
{
	const PGresult *r;
	enum cairn_status status = cairn_pg_ask(&tx->pg, REF_COUNT_ROWS,
						CAIRN_ARGS(cairn_db_int(head->line), cairn_db_int(head->commit),
							   cairn_db_int(CAIRN_INDEX_FORK_ROWS_MAX + 1)),
						&r);
	if (status != CAIRN_OK)
		return status;
	return cairn_pg_get_int8(r, 0, 0) > CAIRN_INDEX_FORK_ROWS_MAX ? cairn_commits_too_deep(diag) : CAIRN_OK;
}

static enum cairn_status ref_add_line(struct cairn_pg_tx *tx, int64_t repo, const struct cairn_commits_head *parent,
				      int64_t depth, int64_t *line)
{
	const PGresult *r;
	enum cairn_status status = cairn_pg_ask(&tx->pg, REF_ADD_LINE,
						CAIRN_ARGS(cairn_db_int(repo), cairn_db_int(parent->line),
							   cairn_db_int(parent->commit), cairn_db_int(depth)),
						&r);
	*line = status == CAIRN_OK ? cairn_pg_get_int8(r, 0, 0) : 0;
	return status;
}

/* The queries before a ref is made. */
struct ref_asked {
	unsigned repo, known, nested, last_pull, commit;
};

static enum cairn_status ref_ask(struct cairn_pg_tx *tx, const struct cairn_index_add_ref *add, struct ref_asked *asked)
{
	const char *name = add->kind == CAIRN_INDEX_PULL ? "" : add->name;
	asked->repo = cairn_pg_queue_find_repo(tx, add->repo);
	asked->known = cairn_pg_queue(
		&tx->pg, REF_FIND,
		CAIRN_ARGS(cairn_db_int(add->repo), cairn_db_int((int64_t)add->kind), cairn_db_path(name)));
	asked->nested = cairn_pg_queue(&tx->pg, REF_NESTED, CAIRN_ARGS(cairn_db_int(add->repo), cairn_db_path(name)));
	asked->last_pull = cairn_pg_queue(&tx->pg, REF_LAST_PULL, CAIRN_ARGS(cairn_db_int(add->repo)));
	asked->commit = cairn_pg_queue(&tx->pg, REF_COMMIT, CAIRN_ARGS(cairn_db_int(add->commit)));
	return cairn_pg_exchange(&tx->pg);
}

/* @param[out] head, depth  of the commit to name, if the request has one */
static enum cairn_status ref_check(struct cairn_pg_tx *tx, struct cairn_index_add_ref *add,
				   const struct ref_asked *asked, struct cairn_commits_head *head, int64_t *depth)
{
	struct cairn_diag *diag = &add->write.diag;
	char there[CAIRN_INDEX_REF_NAME_MAX + 1];
	const PGresult *nested = tx->pg.results[asked->nested], *commit = tx->pg.results[asked->commit];
	bool pull = add->kind == CAIRN_INDEX_PULL, known = !pull && PQntuples(tx->pg.results[asked->known]) > 0;
	if (known && (!add->overwrite || add->kind != CAIRN_INDEX_BRANCH))
		return cairn_commits_ref_is_taken(diag, add->kind, add->name);
	if (!known && !pull && PQntuples(nested) > 0)
		return cairn_pg_get_text(nested, 0, 0, there, sizeof(there))
			       ? cairn_commits_ref_nested(diag, there, add->name)
			       : CAIRN_E_DAMAGED;
	if (add->commit == 0)
		return CAIRN_OK;
	if (PQntuples(commit) == 0)
		return cairn_commits_unknown(diag);
	*depth = cairn_pg_get_int8(commit, 0, 8);
	return cairn_pg_head(commit, 0, 0, head);
}

static enum cairn_status ref_copy_all(struct cairn_pg_tx *tx, int64_t repo, int64_t owner,
				      const struct cairn_commits_head *head, int64_t line)
{
	int64_t bytes;
	enum cairn_status status = ref_copy(tx, head, line, &bytes);
	if (status != CAIRN_OK)
		return status;
	cairn_pg_queue_count_rows(tx, repo, bytes);
	cairn_records_grow(&tx->records, owner, bytes);
	return CAIRN_OK;
}

/* Forks a line. If lookups would read too many lines, the new line gets a copy of all rows. */
static enum cairn_status ref_fork(struct cairn_pg_tx *tx, struct cairn_index_add_ref *add, int64_t owner,
				  const struct cairn_commits_head *head, int64_t depth, int64_t *line)
{
	bool whole = depth >= CAIRN_INDEX_LINE_DEPTH_MAX;
	enum cairn_status status = CAIRN_OK;
	if (whole)
		status = add->is_stranger ? cairn_commits_too_deep(&add->write.diag)
					  : ref_may_copy(tx, head, &add->write.diag);
	if (status == CAIRN_OK)
		status = ref_add_line(tx, add->repo, head, whole ? 1 : cairn_sum(depth, 1), line);
	return status == CAIRN_OK && whole ? ref_copy_all(tx, add->repo, owner, head, *line) : status;
}

enum cairn_status cairn_pg_read_head(struct cairn_pg_tx *tx, int64_t commit, struct cairn_commits_head *out,
				     int64_t *depth, struct cairn_diag *diag)
{
	const PGresult *r;
	enum cairn_status status = cairn_pg_ask(&tx->pg, REF_COMMIT, CAIRN_ARGS(cairn_db_int(commit)), &r);
	if (status != CAIRN_OK)
		return status;
	if (PQntuples(r) == 0)
		return cairn_commits_unknown(diag);
	if (depth)
		*depth = cairn_pg_get_int8(r, 0, 8);
	return cairn_pg_head(r, 0, 0, out);
}

enum cairn_status cairn_pg_fork(struct cairn_pg_tx *tx, struct cairn_index_add_ref *add, int64_t owner, int64_t *line)
{
	struct cairn_commits_head head = {0};
	int64_t depth = 0;
	enum cairn_status status = cairn_pg_read_head(tx, add->commit, &head, &depth, &add->write.diag);
	return status == CAIRN_OK ? ref_fork(tx, add, owner, &head, depth, line) : status;
}

/* @param head  the commit to name, if the request has one */
static enum cairn_status ref_line(struct cairn_pg_tx *tx, struct cairn_index_add_ref *add, int64_t owner,
				  const struct cairn_commits_head *head, int64_t depth, int64_t *line)
{
	if (add->commit == 0) {
		struct cairn_commits_new first = {.repo = add->repo, .owner = owner, .message = &add->first};
		enum cairn_status status = cairn_pg_first_line(tx, &first, &add->write.diag);
		*line = first.line;
		return status;
	}
	if (add->kind == CAIRN_INDEX_TAG) {
		*line = head->line;
		return CAIRN_OK;
	}
	return ref_fork(tx, add, owner, head, depth, line);
}

/* Removes a line that no ref names yet, with the rows copied to it: at most CAIRN_INDEX_FORK_ROWS_MAX.
 * @param before  the growth before the line was made */
static enum cairn_status ref_drop_new_line(struct cairn_pg_tx *tx, int64_t line,
					   const struct cairn_index_growth *before)
{
	enum cairn_status status = CAIRN_OK;
	for (bool gone = false; !gone && status == CAIRN_OK;)
		status = cairn_pg_sweep_line(tx, line, &gone);
	tx->records.growth = *before;
	return status;
}

/* Adds the row of a pull request, and a commit if it has files.
 * @param[out] bytes  the commit's bytes as a quota counts them */
static enum cairn_status ref_open_pull(struct cairn_pg_tx *tx, struct cairn_index_add_ref *add, int64_t owner,
				       const struct cairn_commits_head *head, int64_t line, bool *in_pieces,
				       int64_t *bytes)
{
	struct cairn_commits_new c = {.repo = add->repo,
				      .owner = owner,
				      .line = line,
				      .head = *head,
				      .id = add->id,
				      .message = &add->first,
				      .operations = add->operations,
				      .n = add->n,
				      .few = add->is_stranger,
				      .in_pieces = add->is_stranger ? NULL : in_pieces};
	enum cairn_status status = cairn_commits_check(&add->first, add->n, &add->write.diag);
	if (status == CAIRN_OK && add->is_stranger)
		status = cairn_records_find_holder(&tx->records, add->account, add->operations, add->n, &c.holder);
	if (status == CAIRN_OK)
		status = cairn_pg_commit_to(tx, &c, &add->write.diag);
	if (*in_pieces)
		return status;
	if (status == CAIRN_OK)
		status = cairn_records_add_pull(&tx->records, add, owner);
	cairn_crash_point(CAIRN_CRASH_PULL_OPENED);
	if (status == CAIRN_OK)
		status = cairn_records_propose_files(&tx->records, &c, add->number);
	add->oid = c.oid;
	*bytes = cairn_commits_full_count(&c);
	return status;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static void ref_queue_count(struct cairn_pg_tx *tx, int64_t repo, int64_t owner, const char *name)
{
	cairn_pg_queue_count_rows(tx, repo, cairn_commits_ref_counts(name));
	cairn_records_grow(&tx->records, owner, cairn_commits_ref_counts(name));
}

/* Numbers a pull request after the newest one. @param last  the answer of REF_LAST_PULL */
static void ref_number(struct cairn_index_add_ref *add, const PGresult *last, char name[static REF_NUMBER_CHARS])
{
	if (add->kind == CAIRN_INDEX_PULL)
		add->number = cairn_sum(cairn_pg_get_int8(last, 0, 0), 1);
	(void)snprintf(name, REF_NUMBER_CHARS, "%" PRId64, add->number);
}

enum cairn_status cairn_pg_name_pull(struct cairn_pg_tx *tx, struct cairn_index_add_ref *add, int64_t owner,
				     int64_t line)
{
	const PGresult *r;
	char name[REF_NUMBER_CHARS];
	enum cairn_status status = cairn_pg_ask(&tx->pg, REF_LAST_PULL, CAIRN_ARGS(cairn_db_int(add->repo)), &r);
	if (status != CAIRN_OK)
		return status;
	ref_number(add, r, name);
	cairn_pg_queue_set_ref(tx, add->repo, add->kind, name, line, 0);
	ref_queue_count(tx, add->repo, owner, name);
	status = cairn_records_add_pull(&tx->records, add, owner);
	cairn_crash_point(CAIRN_CRASH_PULL_OPENED);
	return status;
}

enum cairn_status cairn_pg_add_ref_at_once(struct cairn_pg_tx *tx, struct cairn_index_add_ref *add, bool *in_pieces)
{
	struct ref_asked asked;
	struct cairn_commits_head head = {0};
	char number[REF_NUMBER_CHARS];
	int64_t owner = 0, depth = 0, line = 0, bytes = 0;
	bool pull = add->kind == CAIRN_INDEX_PULL;
	const struct cairn_index_growth before = tx->records.growth;
	*in_pieces = false;
	enum cairn_status status = ref_ask(tx, add, &asked);
	if (status == CAIRN_OK)
		status = cairn_pg_found_repo(tx, asked.repo, &owner, &add->write.diag);
	if (status != CAIRN_OK)
		return status;
	ref_number(add, tx->pg.results[asked.last_pull], number);
	bool known = !pull && PQntuples(tx->pg.results[asked.known]) > 0;
	status = ref_check(tx, add, &asked, &head, &depth);
	if (status == CAIRN_OK && add->is_stranger)
		status = cairn_records_may_open_pull(&tx->records, add->repo, add->account, &add->write.diag);
	if (status == CAIRN_OK)
		status = ref_line(tx, add, owner, &head, depth, &line);
	if (status == CAIRN_OK && pull)
		status = ref_open_pull(tx, add, owner, &head, line, in_pieces, &bytes);
	if (status == CAIRN_OK && *in_pieces)
		return ref_drop_new_line(tx, line, &before);
	if (status != CAIRN_OK)
		return status;
	const char *name = pull ? number : add->name;
	cairn_pg_queue_set_ref(tx, add->repo, add->kind, name, line, add->kind == CAIRN_INDEX_TAG ? add->commit : 0);
	if (!known)
		ref_queue_count(tx, add->repo, owner, name);
	cairn_pg_queue_count_main(tx, add->repo);
	return add->is_stranger ? cairn_records_charge_opened(&tx->records, add, bytes) : cairn_pg_exchange(&tx->pg);
}

enum cairn_status cairn_pg_find_squashed(struct cairn_pg_tx *tx, const struct cairn_index_squash *squash,
					 int64_t *owner, int64_t *line, struct cairn_commits_head *head,
					 struct cairn_diag *diag)
{
	const PGresult *r;
	enum cairn_status status = cairn_pg_ask(&tx->pg, REF_HEAD,
						CAIRN_ARGS(cairn_db_int(squash->repo), cairn_db_path(squash->name),
							   cairn_db_int((int64_t)squash->kind)),
						&r);
	if (status != CAIRN_OK)
		return status;
	if (PQntuples(r) == 0)
		return cairn_pg_no_repo(diag);
	if (PQgetisnull(r, 0, REF_HEAD_COMMIT))
		return cairn_commits_unknown(diag);
	if (cairn_pg_get_int8(r, 0, REF_HEAD_END) != 0)
		return cairn_commits_ended(diag);
	*owner = cairn_pg_get_int8(r, 0, 0);
	*line = cairn_pg_get_int8(r, 0, REF_HEAD_LINE);
	return cairn_pg_head(r, 0, REF_HEAD_COMMIT, head);
}

enum cairn_status cairn_pg_drop_ref(struct cairn_pg_tx *tx, struct cairn_index_drop_ref *drop)
{
	struct cairn_diag *diag = &drop->write.diag;
	int64_t owner;
	const struct cairn_db_args *args =
		CAIRN_ARGS(cairn_db_int(drop->repo), cairn_db_int((int64_t)drop->kind), cairn_db_path(drop->name));
	unsigned repo = cairn_pg_queue_find_repo(tx, drop->repo);
	unsigned known = cairn_pg_queue(&tx->pg, REF_FIND, args);
	enum cairn_status status = cairn_pg_exchange(&tx->pg);
	if (status == CAIRN_OK)
		status = cairn_pg_found_repo(tx, repo, &owner, diag);
	if (status != CAIRN_OK)
		return status;
	if (PQntuples(tx->pg.results[known]) == 0)
		return cairn_commits_unknown(diag);
	if (drop->kind == CAIRN_INDEX_BRANCH && strcmp(drop->name, REF_MAIN) == 0)
		return cairn_commits_ref_main(diag);
	cairn_pg_queue_count_rows(tx, drop->repo, -cairn_commits_ref_counts(drop->name));
	return cairn_pg_run(&tx->pg, REF_DROP, args, NULL);
}
