/* Files of the store in pull requests of strangers. Until the merge, a hidden bucket of the stranger's account has the
 * files, and they count for that account. Everybody who may read the repository may read them. */
#include "index/backend.h"
#include "index/hub/commits.h"
#include "index/records.h"

#include "base/clock.h"
#include "base/sum.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { PROPOSED_NAME_BYTES = 24 };

#define OF_PULL            " FROM proposed p WHERE p.scope = $1 AND p.pull = $2"
#define SQLITE_SUM(from)   "SELECT coalesce(sum(" CAIRN_SQLITE_FILE_COUNTS("f.size") "), 0) " from
#define POSTGRES_SUM(from) "SELECT CAST(coalesce(sum(" CAIRN_POSTGRES_FILE_COUNTS("f.size") "), 0) AS bigint) " from
/* Files of the pull request that the repository does not own yet. */
#define NEW_FILES                                                                                                      \
	"FROM proposed p CROSS JOIN file f WHERE p.scope = $1 AND p.pull = $2 AND f.id = p.file"                       \
	" AND NOT EXISTS(SELECT 1 FROM file_owner o WHERE o.file = p.file AND o.scope = $1)"
/* Files of the pull request that no other pull request needs from the bucket. */
#define LEFT_FILES                                                                                                     \
	"SELECT p.file" OF_PULL " AND p.holder = $3 AND NOT EXISTS(SELECT 1 FROM proposed q WHERE q.file = p.file"     \
	" AND q.holder = p.holder AND (q.scope <> $1 OR q.pull <> $2))"
#define LEFT_SIZES "FROM file f WHERE f.id IN (" LEFT_FILES ")"

CAIRN_SQL(PROPOSED_HOLDER, "SELECT scope FROM repo WHERE account = $1 AND kind = 4 AND name = '" CAIRN_INDEX_PROPOSALS
			   "' AND dropped IS NULL");
CAIRN_SQL(PROPOSED_ADD,
	  "INSERT INTO proposed(file, scope, pull, line, holder) SELECT c.file, CAST($3 AS bigint),"
	  " CAST($4 AS bigint), e.line, CAST($5 AS bigint) FROM entry e CROSS JOIN content c WHERE e.line = $1"
	  " AND e.since = $2 AND c.id = e.content AND c.file IS NOT NULL ON CONFLICT DO NOTHING");
CAIRN_SQL(PROPOSED_ANY, "SELECT p.holder" OF_PULL " LIMIT 1");
CAIRN_SQL_OF(PROPOSED_NEW, SQLITE_SUM(NEW_FILES), POSTGRES_SUM(NEW_FILES));
CAIRN_SQL(PROPOSED_COUNT, "UPDATE repo SET stored = stored + $2 WHERE scope = $1");
/* Copies claims; a proved claim stays proved. */
CAIRN_SQL(PROPOSED_ADOPT,
	  "INSERT INTO file_owner(file, scope, sha256, at, proof, due) SELECT w.file, CAST($1 AS bigint),"
	  " w.sha256, CAST($3 AS bigint), CASE w.proof WHEN 3 THEN 3 ELSE 1 END, CASE w.proof WHEN 3 THEN"
	  " CAST(NULL AS bigint) ELSE 0 END FROM proposed p CROSS JOIN file_owner w WHERE p.scope = $1 AND p.pull = $2"
	  " AND w.file = p.file AND w.scope = p.holder AND w.proof > 0"
	  " ON CONFLICT(file, scope, sha256) DO UPDATE SET proof = 3, due = NULL WHERE excluded.proof = 3");
CAIRN_SQL_OF(PROPOSED_NO_CLAIM,
	     "DELETE FROM file_owner WHERE scope = $1 AND sha256 = x'' AND file IN (SELECT p.file" OF_PULL ")",
	     "DELETE FROM file_owner WHERE scope = $1 AND sha256 = '' AND file IN (SELECT p.file" OF_PULL ")");
CAIRN_SQL_OF(PROPOSED_LEFT, SQLITE_SUM(LEFT_SIZES), POSTGRES_SUM(LEFT_SIZES));
CAIRN_SQL(PROPOSED_RELEASE, "DELETE FROM file_owner WHERE scope = $3 AND file IN (" LEFT_FILES ")");
CAIRN_SQL(PROPOSED_DROP_PULL, "DELETE FROM proposed WHERE scope = $1 AND pull = $2");
CAIRN_SQL(PROPOSED_DROP, "DELETE FROM proposed WHERE scope = $1");
/* Finds the next pull request with files, and whether it still exists. */
CAIRN_SQL(PROPOSED_NEXT,
	  "SELECT n.scope, n.pull, (SELECT r.id FROM repo r WHERE r.scope = n.scope AND " CAIRN_REPO_KEPT(
		  "r") "),"
		       " (SELECT count(*) FROM repo r CROSS JOIN pull q WHERE r.scope = n.scope AND q.repo = r.id"
		       " AND q.number = n.pull) FROM (SELECT scope, pull FROM proposed WHERE (scope, pull) > ($1, $2)"
		       " ORDER BY scope, pull LIMIT 1) n");
CAIRN_SQL(PROPOSED_DROP_UNNAMED,
	  "DELETE FROM proposed WHERE scope = $1 AND pull = $2 AND NOT EXISTS(SELECT 1 FROM content c"
	  " WHERE c.file = proposed.file AND c.repo = $3)");
/* Does the line of a removed pull request belong to a branch or a tag now, or are its rows on another line? Only people
 * who may write in the repository make such lines. */
CAIRN_SQL(PROPOSED_IS_TAKEN,
	  "WITH RECURSIVE own AS (SELECT l.id FROM line l WHERE l.id IN (SELECT p.line" OF_PULL ")),"
	  " down(id) AS (SELECT id FROM own UNION SELECT l.id FROM down d CROSS JOIN line l WHERE l.parent = d.id)"
	  " SELECT CASE WHEN NOT EXISTS(SELECT 1 FROM own) OR EXISTS(SELECT 1 FROM down d CROSS JOIN ref r"
	  " WHERE r.line = d.id AND r.kind < 3) THEN 1 ELSE 0 END");
CAIRN_SQL_OF(ENDED_NEXT,
	     "SELECT p.repo, p.number, p.charged, " CAIRN_SQL_PULL_COUNTS(
		     SQLITE) " FROM pull p"
			     " WHERE p.charged > 0 AND p.state = 1 AND p.ended <= $1 ORDER BY p.ended LIMIT 1",
	     "SELECT p.repo, p.number, p.charged, " CAIRN_SQL_PULL_COUNTS(
		     POSTGRES) " FROM pull p"
			       " WHERE p.charged > 0 AND p.state = 1 AND p.ended <= $1 ORDER BY p.ended LIMIT 1");
CAIRN_SQL(ENDED_DROP_REF, "DELETE FROM ref WHERE repo = $1 AND kind = 3 AND name = $2");
CAIRN_SQL(ENDED_DROP, "DELETE FROM pull WHERE repo = $1 AND number = $2");
CAIRN_SQL(ENDED_COUNT, "UPDATE repo SET stored = stored - $3, charged = charged - $4,"
		       " last_pull = CASE WHEN last_pull < $2 THEN $2 ELSE last_pull END WHERE id = $1");

/* --- proposing ---------------------------------------------------------------------------------------------------- */

static bool proposed_has_file(const struct cairn_index_operation *operations, uint32_t n)
{
	bool has = false;
	for (uint32_t i = 0; i < n && !has; i++)
		has = operations[i].kind == CAIRN_INDEX_PUT_FILE;
	return has;
}

enum cairn_status cairn_records_find_holder(struct cairn_index_tx *tx, int64_t account,
					    const struct cairn_index_operation *operations, uint32_t n, int64_t *holder)
{
	*holder = CAIRN_COMMITS_NO_HOLDER;
	if (!proposed_has_file(operations, n))
		return CAIRN_OK;
	enum cairn_status status =
		cairn_records_number(tx, &PROPOSED_HOLDER, CAIRN_ARGS(cairn_db_int(account)), holder);
	if (status != CAIRN_OK)
		*holder = CAIRN_COMMITS_NO_HOLDER;
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status cairn_records_propose_files(struct cairn_index_tx *tx, const struct cairn_commits_new *commit,
					      int64_t pull)
{
	if (commit->holder <= 0 || !commit->added)
		return CAIRN_OK;
	return cairn_db_run(tx->db, &PROPOSED_ADD,
			    CAIRN_ARGS(cairn_db_int(commit->line), cairn_db_int(commit->head.commit),
				       cairn_db_int(commit->owner), cairn_db_int(pull), cairn_db_int(commit->holder)),
			    NULL);
}

/* --- adopting ----------------------------------------------------------------------------------------------------- */

/* Takes the files that the repository owns now out of the bucket. */
static enum cairn_status proposed_release(struct cairn_index_tx *tx, int64_t owner, int64_t pull, int64_t holder)
{
	int64_t bytes;
	const struct cairn_db_args *args = CAIRN_ARGS(cairn_db_int(owner), cairn_db_int(pull), cairn_db_int(holder));
	enum cairn_status status = cairn_records_number(tx, &PROPOSED_LEFT, args, &bytes);
	if (status != CAIRN_OK)
		return status;
	cairn_db_queue(tx->db, NULL, &PROPOSED_COUNT, CAIRN_ARGS(cairn_db_int(holder), cairn_db_int(-bytes)));
	cairn_db_queue(tx->db, NULL, &PROPOSED_RELEASE, args);
	cairn_advance(&tx->counts->collection);
	return cairn_db_run(tx->db, &PROPOSED_DROP_PULL, CAIRN_ARGS(cairn_db_int(owner), cairn_db_int(pull)), NULL);
}

enum cairn_status cairn_records_adopt_proposed(struct cairn_index_tx *tx, int64_t owner, int64_t pull)
{
	const struct cairn_db_args *args = CAIRN_ARGS(cairn_db_int(owner), cairn_db_int(pull));
	int64_t holder = 0, bytes = 0;
	enum cairn_status status = cairn_records_number(tx, &PROPOSED_ANY, args, &holder);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	status = cairn_records_number(tx, &PROPOSED_NEW, args, &bytes);
	if (status != CAIRN_OK)
		return status;
	cairn_db_queue(tx->db, NULL, &PROPOSED_COUNT, CAIRN_ARGS(cairn_db_int(owner), cairn_db_int(bytes)));
	cairn_db_queue(tx->db, NULL, &PROPOSED_ADOPT,
		       CAIRN_ARGS(cairn_db_int(owner), cairn_db_int(pull), cairn_db_int(cairn_clock_unix_s())));
	cairn_db_queue(tx->db, NULL, &PROPOSED_NO_CLAIM, args);
	cairn_records_grow(tx, owner, bytes);
	return proposed_release(tx, owner, pull, holder);
}

enum cairn_status cairn_records_adopt_merged(struct cairn_index_tx *tx, const struct cairn_index_add_commit *add)
{
	struct cairn_diag unsaid = {0};
	int64_t owner;
	if (!add->merge.pull || !proposed_has_file(add->operations, add->n))
		return CAIRN_OK;
	enum cairn_status status = cairn_records_find_repo(tx, add->repo, &owner, &unsaid);
	if (status == CAIRN_E_NOT_FOUND)
		return CAIRN_OK; /* the commit that follows reports the missing repository */
	return status == CAIRN_OK ? cairn_records_adopt_proposed(tx, owner, strtoll(add->merge.pull, NULL, 10))
				  : status;
}

/* --- removing ----------------------------------------------------------------------------------------------------- */

enum cairn_status cairn_records_drop_proposed(struct cairn_index_tx *tx, int64_t owner)
{
	return cairn_db_run(tx->db, &PROPOSED_DROP, CAIRN_ARGS(cairn_db_int(owner)), NULL);
}

/* A closed pull request of a stranger. */
struct proposed_ended {
	int64_t repo, number, charged, counts;
};

static enum cairn_status ended_next(struct cairn_index_tx *tx, int64_t before_unix_s, struct proposed_ended *out)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_db_find(tx->db, &rows, &ENDED_NEXT, CAIRN_ARGS(cairn_db_int(before_unix_s)));
	if (status == CAIRN_OK)
		*out = (struct proposed_ended){cairn_db_get_int(&rows, 0), cairn_db_get_int(&rows, 1),
					       cairn_db_get_int(&rows, 2), cairn_db_get_int(&rows, 3)};
	return status;
}

/* The commits are removed with the line, which nothing names any more, and the files after them. */
enum cairn_status cairn_records_sweep_ended(struct cairn_index_tx *tx, int64_t before_unix_s, bool *more)
{
	struct proposed_ended e;
	char name[PROPOSED_NAME_BYTES];
	enum cairn_status status = ended_next(tx, before_unix_s, &e);
	*more = status == CAIRN_OK;
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	(void)snprintf(name, sizeof(name), "%" PRId64, e.number);
	cairn_add(&e.counts, cairn_commits_ref_counts(name));
	cairn_db_queue(tx->db, NULL, &ENDED_DROP_REF, CAIRN_ARGS(cairn_db_int(e.repo), cairn_db_path(name)));
	cairn_db_queue(tx->db, NULL, &ENDED_COUNT,
		       CAIRN_ARGS(cairn_db_int(e.repo), cairn_db_int(e.number), cairn_db_int(e.counts),
				  cairn_db_int(e.charged)));
	return cairn_db_run(tx->db, &ENDED_DROP, CAIRN_ARGS(cairn_db_int(e.repo), cairn_db_int(e.number)), NULL);
}

/* The next pull request with files. */
struct proposed_pull {
	int64_t owner, number;
	int64_t repo; /* 0: the pull request was removed */
	bool is_there;
};

static enum cairn_status proposed_next(struct cairn_index_tx *tx, const struct cairn_index_sweep_place *at,
				       struct proposed_pull *out)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_db_find(tx->db, &rows, &PROPOSED_NEXT,
						 CAIRN_ARGS(cairn_db_int(at->repo), cairn_db_int(at->line)));
	if (status == CAIRN_OK)
		*out = (struct proposed_pull){cairn_db_get_int(&rows, 0), cairn_db_get_int(&rows, 1),
					      cairn_db_get_int(&rows, 2), cairn_db_get_int(&rows, 3) != 0};
	return status;
}

/* Does the quota of the repository permit these bytes? */
static enum cairn_status proposed_check_room(struct cairn_index_tx *tx, int64_t owner, int64_t bytes)
{
	const struct cairn_index_growth before = tx->growth;
	struct cairn_diag unsaid = {0};
	enum cairn_status status =
		cairn_db_run(tx->db, &PROPOSED_COUNT, CAIRN_ARGS(cairn_db_int(owner), cairn_db_int(bytes)), NULL);
	if (status != CAIRN_OK)
		return status;
	cairn_records_grow(tx, owner, bytes);
	status = cairn_records_check_quota(tx, &unsaid);
	tx->growth = before;
	if (status != CAIRN_OK && status != CAIRN_E_DENIED)
		return status;
	enum cairn_status undone =
		cairn_db_run(tx->db, &PROPOSED_COUNT, CAIRN_ARGS(cairn_db_int(owner), cairn_db_int(-bytes)), NULL);
	return undone == CAIRN_OK ? status : undone;
}

/* Gives the repository the files of a removed pull request that its writers have used, as far as its quota permits.
 * Otherwise the bucket keeps the files while commits name them. */
static enum cairn_status proposed_take(struct cairn_index_tx *tx, const struct proposed_pull *pull)
{
	const struct cairn_db_args *args = CAIRN_ARGS(cairn_db_int(pull->owner), cairn_db_int(pull->number));
	const struct cairn_index_growth before = tx->growth;
	int64_t holder, is_taken = 0, bytes = 0;
	enum cairn_status status = cairn_records_number(tx, &PROPOSED_ANY, args, &holder);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	status = cairn_records_number(tx, &PROPOSED_IS_TAKEN, args, &is_taken);
	if (status != CAIRN_OK || is_taken == 0)
		return status;
	status = cairn_records_number(tx, &PROPOSED_NEW, args, &bytes);
	if (status == CAIRN_OK)
		status = proposed_check_room(tx, pull->owner, bytes);
	if (status == CAIRN_OK)
		status = cairn_records_adopt_proposed(tx, pull->owner, pull->number);
	tx->growth = before;
	return status == CAIRN_E_DENIED ? CAIRN_OK : status;
}

/* Called after the lines of removed pull requests were swept. */
enum cairn_status cairn_records_sweep_proposed(struct cairn_index_tx *tx, struct cairn_index_sweep_place *at,
					       bool *more)
{
	struct proposed_pull pull;
	enum cairn_status status = proposed_next(tx, at, &pull);
	*more = status == CAIRN_OK;
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	at->repo = pull.owner;
	at->line = pull.number;
	if (pull.is_there)
		return CAIRN_OK;
	status = cairn_db_run(tx->db, &PROPOSED_DROP_UNNAMED,
			      CAIRN_ARGS(cairn_db_int(pull.owner), cairn_db_int(pull.number), cairn_db_int(pull.repo)),
			      NULL);
	return status == CAIRN_OK ? proposed_take(tx, &pull) : status;
}
