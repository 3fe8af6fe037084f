/* Branches, tags and pull requests. */
#include "index/hub/commits.h"
#include "index/sqlite/commit.h"
#include "index/sqlite/sweep.h"

#include "base/crash_point.h"
#include "base/sum.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char REF_MAIN[] = "main";

static enum cairn_status ref_find(struct cairn_tx *tx, int64_t repo, enum cairn_index_ref_kind kind, const char *name,
				  bool *found)
{
	return cairn_tx_has(tx, &CAIRN_TX_FIND_REF,
			    CAIRN_ARGS(cairn_db_int(repo), cairn_db_int((int64_t)kind), cairn_db_text(name)), found);
}

/* --- lines -------------------------------------------------------------------------------------------------------- */

static CAIRN_WRITES(TX_COUNT_LINE,
		    "SELECT count(*) FROM (SELECT 1 FROM entry WHERE line = ?1 AND since <= ?2 LIMIT ?3)");

static enum cairn_status ref_may_copy(struct cairn_tx *tx, const struct cairn_chain *chain, struct cairn_diag *diag)
{
	int64_t n = 0;
	for (unsigned i = 0; i < chain->n; i++) {
		CLEANUP(cairn_sql_resetp) sqlite3_stmt *count = cairn_tx_stmt(tx, &TX_COUNT_LINE);
		sqlite3_bind_int64(count, 1, chain->line[i]);
		sqlite3_bind_int64(count, 2, chain->upto[i]);
		sqlite3_bind_int64(count, 3, CAIRN_INDEX_FORK_ROWS_MAX + 1 - n);
		enum cairn_status status = cairn_sql_find(count);
		if (status != CAIRN_OK)
			return status;
		n += sqlite3_column_int64(count, 0);
		if (n > CAIRN_INDEX_FORK_ROWS_MAX)
			return cairn_commits_too_deep(diag);
	}
	return CAIRN_OK;
}

static CAIRN_WRITES(TX_COPY_LINE,
		    "INSERT OR IGNORE INTO entry(line, folder, name, since, oid, content)"
		    " SELECT ?1, folder, name, since, oid, content FROM entry e WHERE line = ?2 AND since <= ?3"
		    " AND since = (SELECT max(since) FROM entry n WHERE n.line = e.line AND n.folder = e.folder"
		    " AND n.name = e.name AND n.since <= ?3)");
static CAIRN_WRITES(TX_USE_COPIED,
		    "UPDATE content SET uses = uses + n.n FROM (SELECT content, count(*) AS n FROM entry"
		    " WHERE line = ?1 AND content IS NOT NULL GROUP BY content) n WHERE content.id = n.content");

static CAIRN_WRITES(TX_COPIED_ROWS,
		    "SELECT coalesce(sum(" CAIRN_SQL_ENTRY_COUNTS(SQLITE) "), 0) FROM entry WHERE line = ?1");

static enum cairn_status ref_count_copied(struct cairn_tx *tx, int64_t line, int64_t *bytes)
{
	return cairn_tx_number(tx, &TX_COPIED_ROWS, CAIRN_ARGS(cairn_db_int(line)), bytes);
}

/* Marks the contents of copied rows as used. @param[out] bytes  the rows' bytes as a quota counts them */
static enum cairn_status ref_use_copied(struct cairn_tx *tx, int64_t line, int64_t *bytes)
{
	enum cairn_status status = cairn_tx_run(tx, &TX_USE_COPIED, CAIRN_ARGS(cairn_db_int(line)));
	return status == CAIRN_OK ? ref_count_copied(tx, line, bytes) : status;
}

static enum cairn_status ref_copy(struct cairn_tx *tx, const struct cairn_chain *chain, int64_t owner, int64_t line)
{
	int64_t bytes = 0;
	enum cairn_status status = CAIRN_OK;
	/* If several lines have rows of a path, all are copied; the nearest line's row is the newest. */
	for (unsigned i = 0; i < chain->n && status == CAIRN_OK; i++) {
		status = cairn_tx_run(
			tx, &TX_COPY_LINE,
			CAIRN_ARGS(cairn_db_int(line), cairn_db_int(chain->line[i]), cairn_db_int(chain->upto[i])));
	}
	if (status == CAIRN_OK)
		status = ref_use_copied(tx, line, &bytes);
	return status == CAIRN_OK ? cairn_tx_count_rows(tx, owner, bytes, true) : status;
}

/* Forks a line. If lookups would read too many lines, the new line gets a copy of all rows. */
enum cairn_status cairn_tx_fork(struct cairn_tx *tx, struct cairn_index_add_ref *add, int64_t owner, int64_t *line)
{
	struct cairn_diag *diag = &add->write.diag;
	struct cairn_commits_head head;
	struct cairn_chain chain;
	enum cairn_status status = cairn_tx_read_head(tx, add->commit, &head, diag);
	if (status == CAIRN_OK)
		status = cairn_chain_read(cairn_tx_stmt(tx, &CAIRN_TX_FIND_LINE), head.line, head.commit, &chain);
	if (status != CAIRN_OK)
		return status;
	bool whole = chain.n == CAIRN_INDEX_LINE_DEPTH_MAX;
	if (whole)
		status = add->is_stranger ? cairn_commits_too_deep(diag) : ref_may_copy(tx, &chain, diag);
	if (status != CAIRN_OK)
		return status;
	status = cairn_tx_run(tx, &CAIRN_TX_ADD_LINE,
			      CAIRN_ARGS(cairn_db_int(add->repo), cairn_db_int(head.line), cairn_db_int(head.commit),
					 cairn_db_int(whole ? 1 : (int64_t)chain.n + 1)));
	*line = sqlite3_last_insert_rowid(tx->db);
	return status == CAIRN_OK && whole ? ref_copy(tx, &chain, owner, *line) : status;
}

static enum cairn_status ref_line(struct cairn_tx *tx, struct cairn_index_add_ref *add, int64_t owner, int64_t *line)
{
	struct cairn_diag *diag = &add->write.diag;
	struct cairn_commits_head head;
	if (add->commit == 0) {
		struct cairn_commits_new first = {.repo = add->repo, .owner = owner, .message = &add->first};
		enum cairn_status status = cairn_tx_first_line(tx, &first, diag);
		*line = first.line;
		return status;
	}
	if (add->kind != CAIRN_INDEX_TAG)
		return cairn_tx_fork(tx, add, owner, line);
	enum cairn_status status = cairn_tx_read_head(tx, add->commit, &head, diag);
	*line = head.line;
	return status;
}

static CAIRN_WRITES(TX_LAST_PULL,
		    "SELECT max(coalesce(max(CAST(name AS INTEGER)), 0), (SELECT last_pull FROM repo WHERE id = ?1))"
		    " FROM ref WHERE repo = ?1 AND kind = 3");

static enum cairn_status ref_number(struct cairn_tx *tx, struct cairn_index_add_ref *add)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_tx_stmt(tx, &TX_LAST_PULL);
	sqlite3_bind_int64(stmt, 1, add->repo);
	enum cairn_status status = cairn_sql_find(stmt);
	add->number = status == CAIRN_OK ? cairn_sum(sqlite3_column_int64(stmt, 0), 1) : 0;
	return status;
}

/* Adds the first commit of a pull request that has files.
 * @param[out] bytes  the commit's bytes as a quota counts them */
static enum cairn_status ref_commit_pull(struct cairn_tx *tx, struct cairn_index_add_ref *add, int64_t owner,
					 int64_t line, bool *in_pieces, int64_t *bytes)
{
	struct cairn_diag *diag = &add->write.diag;
	struct cairn_commits_new c = {.repo = add->repo,
				      .owner = owner,
				      .line = line,
				      .id = add->id,
				      .message = &add->first,
				      .operations = add->operations,
				      .n = add->n,
				      .few = add->is_stranger,
				      .in_pieces = add->is_stranger ? NULL : in_pieces};
	enum cairn_status status = cairn_commits_check(&add->first, add->n, diag);
	if (status == CAIRN_OK && add->is_stranger)
		status = cairn_records_find_holder(&tx->records, add->account, add->operations, add->n, &c.holder);
	if (status == CAIRN_OK)
		status = cairn_tx_read_head(tx, add->commit, &c.head, diag);
	if (status == CAIRN_OK)
		status = cairn_tx_commit_to(tx, &c, diag);
	if (status == CAIRN_OK && add->is_stranger)
		status = ref_number(tx, add);
	if (status == CAIRN_OK && add->is_stranger)
		status = cairn_records_propose_files(&tx->records, &c, add->number);
	add->oid = c.oid;
	*bytes = cairn_commits_full_count(&c);
	return status;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static CAIRN_WRITES(TX_SET_REF, "UPDATE ref SET line = ?4 WHERE repo = ?1 AND kind = ?2 AND name = ?3");

enum cairn_status cairn_tx_set_ref_line(struct cairn_tx *tx, int64_t repo, enum cairn_index_ref_kind kind,
					const char *name, int64_t line)
{
	return cairn_tx_run(
		tx, &TX_SET_REF,
		CAIRN_ARGS(cairn_db_int(repo), cairn_db_int((int64_t)kind), cairn_db_text(name), cairn_db_int(line)));
}

static enum cairn_status ref_add(struct cairn_tx *tx, const struct cairn_index_add_ref *add, int64_t owner,
				 const char *name, int64_t line)
{
	enum cairn_status status = cairn_tx_run(
		tx, &CAIRN_TX_ADD_REF,
		CAIRN_ARGS(cairn_db_int(add->repo), cairn_db_int((int64_t)add->kind), cairn_db_text(name),
			   cairn_db_int(line), cairn_db_int(add->kind == CAIRN_INDEX_TAG ? add->commit : 0)));
	return status == CAIRN_OK ? cairn_tx_count_rows(tx, owner, cairn_commits_ref_counts(name), true) : status;
}

/* Numbers a pull request after the newest one. */
enum cairn_status cairn_tx_name_pull(struct cairn_tx *tx, struct cairn_index_add_ref *add, int64_t owner, int64_t line)
{
	char name[32];
	enum cairn_status status = ref_number(tx, add);
	if (status == CAIRN_OK)
		status = cairn_records_add_pull(&tx->records, add, owner);
	cairn_crash_point(CAIRN_CRASH_PULL_OPENED);
	(void)snprintf(name, sizeof(name), "%" PRId64, add->number);
	return status == CAIRN_OK ? ref_add(tx, add, owner, name, line) : status;
}

/* Finds a ref such that one of the two names is a folder of the other. */
static CAIRN_WRITES(TX_NESTED_REF, "SELECT name FROM ref WHERE repo = ?1 AND kind IN (1, 2)"
				   " AND (substr(name, 1, length(?2) + 1) = ?2 || '/'"
				   " OR substr(?2, 1, length(name) + 1) = name || '/') LIMIT 1");

/* Refuses refs that nest. Git allows none, because a ref is a file: "main/x" could also mean the path x of main. */
static enum cairn_status ref_check_nested(struct cairn_tx *tx, int64_t repo, const char *name, struct cairn_diag *diag)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *find = cairn_tx_stmt(tx, &TX_NESTED_REF);
	bool found = false;
	sqlite3_bind_int64(find, 1, repo);
	cairn_sql_bind_text(find, 2, name);
	enum cairn_status status = cairn_sql_step(find, &found);
	if (status != CAIRN_OK || !found)
		return status;
	return cairn_commits_ref_nested(diag, (const char *)sqlite3_column_text(find, 0), name);
}

/* Removes a line that no ref names yet, with the rows copied to it: at most CAIRN_INDEX_FORK_ROWS_MAX.
 * @param before  the growth before the line was made */
static enum cairn_status ref_drop_new_line(struct cairn_tx *tx, int64_t line, const struct cairn_index_growth *before)
{
	enum cairn_status status = CAIRN_OK;
	for (bool gone = false; !gone && status == CAIRN_OK;)
		status = cairn_tx_sweep_line(tx, line, &gone);
	tx->records.growth = *before;
	return status;
}

static enum cairn_status ref_open_pull(struct cairn_tx *tx, struct cairn_index_add_ref *add, int64_t owner,
				       bool *in_pieces)
{
	int64_t line = 0, bytes = 0;
	const struct cairn_index_growth before = tx->records.growth;
	enum cairn_status status = CAIRN_OK;
	if (add->is_stranger)
		status = cairn_records_may_open_pull(&tx->records, add->repo, add->account, &add->write.diag);
	if (status == CAIRN_OK)
		status = ref_line(tx, add, owner, &line);
	if (status == CAIRN_OK)
		status = ref_commit_pull(tx, add, owner, line, in_pieces, &bytes);
	if (status != CAIRN_OK)
		return status;
	if (*in_pieces)
		return ref_drop_new_line(tx, line, &before);
	status = cairn_tx_name_pull(tx, add, owner, line);
	return status == CAIRN_OK && add->is_stranger ? cairn_records_charge_opened(&tx->records, add, bytes) : status;
}

static enum cairn_status ref_set(struct cairn_tx *tx, struct cairn_index_add_ref *add, int64_t owner)
{
	struct cairn_diag *diag = &add->write.diag;
	int64_t line = 0;
	bool known = false;
	enum cairn_status status = ref_find(tx, add->repo, add->kind, add->name, &known);
	if (status == CAIRN_OK && known && (!add->overwrite || add->kind != CAIRN_INDEX_BRANCH))
		return cairn_commits_ref_is_taken(diag, add->kind, add->name);
	if (status == CAIRN_OK && !known)
		status = ref_check_nested(tx, add->repo, add->name, diag);
	if (status == CAIRN_OK)
		status = ref_line(tx, add, owner, &line);
	if (status != CAIRN_OK)
		return status;
	return known ? cairn_tx_set_ref_line(tx, add->repo, add->kind, add->name, line)
		     : ref_add(tx, add, owner, add->name, line);
}

enum cairn_status cairn_tx_add_ref_at_once(struct cairn_tx *tx, struct cairn_index_add_ref *add, bool *in_pieces)
{
	int64_t owner;
	*in_pieces = false;
	enum cairn_status status = cairn_records_find_repo(&tx->records, add->repo, &owner, &add->write.diag);
	if (status == CAIRN_OK)
		status = add->kind == CAIRN_INDEX_PULL ? ref_open_pull(tx, add, owner, in_pieces)
						       : ref_set(tx, add, owner);
	return status == CAIRN_OK && !*in_pieces ? cairn_tx_count_main(tx, add->repo) : status;
}

enum cairn_status cairn_tx_find_squashed(struct cairn_tx *tx, const struct cairn_index_squash *squash,
					 struct cairn_commits_head *out, int64_t *line, struct cairn_diag *diag)
{
	int64_t commit;
	{
		CLEANUP(cairn_sql_resetp) sqlite3_stmt *find = cairn_tx_stmt(tx, &CAIRN_TX_FIND_REF);
		sqlite3_bind_int64(find, 1, squash->repo);
		sqlite3_bind_int64(find, 2, (int64_t)squash->kind);
		cairn_sql_bind_text(find, 3, squash->name);
		enum cairn_status status = cairn_sql_find(find);
		if (status == CAIRN_E_NOT_FOUND)
			return cairn_commits_unknown(diag);
		if (status != CAIRN_OK)
			return status;
		if (sqlite3_column_int64(find, 2) != 0)
			return cairn_commits_ended(diag);
		*line = sqlite3_column_int64(find, 0);
		commit = sqlite3_column_int64(find, 1);
	}
	return cairn_tx_read_head(tx, commit, out, diag);
}

static CAIRN_WRITES(TX_DROP_REF, "DELETE FROM ref WHERE repo = ?1 AND kind = ?2 AND name = ?3");

enum cairn_status cairn_tx_drop_ref(struct cairn_tx *tx, struct cairn_index_drop_ref *drop)
{
	struct cairn_diag *diag = &drop->write.diag;
	int64_t owner;
	bool found = false;
	enum cairn_status status = cairn_records_find_repo(&tx->records, drop->repo, &owner, diag);
	if (status == CAIRN_OK)
		status = ref_find(tx, drop->repo, drop->kind, drop->name, &found);
	if (status != CAIRN_OK)
		return status;
	if (!found)
		return cairn_commits_unknown(diag);
	if (drop->kind == CAIRN_INDEX_BRANCH && strcmp(drop->name, REF_MAIN) == 0)
		return cairn_commits_ref_main(diag);
	status = cairn_tx_run(
		tx, &TX_DROP_REF,
		CAIRN_ARGS(cairn_db_int(drop->repo), cairn_db_int((int64_t)drop->kind), cairn_db_text(drop->name)));
	return status == CAIRN_OK ? cairn_tx_count_rows(tx, owner, -cairn_commits_ref_counts(drop->name), true)
				  : status;
}
