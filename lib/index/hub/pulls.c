#include "index/hub/pulls.h"

#include "index/backend.h"
#include "index/hub/commits.h"
#include "index/records.h"

#include "base/clock.h"
#include "base/sum.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PULL_NAME_BYTES = 24 };

#define PULL                                                                                                           \
	"SELECT p.number, p.state, p.base, p.start, p.account, p.author, p.at, p.title, p.message, p.ended,"           \
	" p.ended_by, p.comment, p.merged FROM pull p WHERE p.repo = $1"
#define LISTED                                                                                                         \
	" AND CASE p.state WHEN 0 THEN CAST($2 AS bigint) ELSE CAST($3 AS bigint) END <> 0"                            \
	" AND ($4 = '' OR p.author = $4)"

CAIRN_SQL(PULL_FIND, PULL " AND p.number = $2");
CAIRN_SQL(PULL_EACH, PULL LISTED " ORDER BY p.number DESC LIMIT $5 OFFSET $6");
CAIRN_SQL(PULL_COUNT, "SELECT count(*) FROM pull p WHERE p.repo = $1" LISTED);
CAIRN_SQL(PULL_ADD, "INSERT INTO pull(repo, number, state, base, start, account, author, at, title, message)"
		    " VALUES($1, $2, 0, $3, $4, $5, $6, $7, $8, $9)");
CAIRN_SQL(PULL_END, "UPDATE pull SET state = $3, ended = $4, ended_by = $5, comment = $6, merged = $7"
		    " WHERE repo = $1 AND number = $2");
/* Counts the row for the quota of its repository. */
CAIRN_SQL(PULL_HOLD, "UPDATE repo SET stored = stored + $2 WHERE id = $1");
CAIRN_SQL(PULL_STRANGERS,
	  "SELECT (SELECT count(*) FROM pull p WHERE p.repo = $1 AND p.charged > 0 AND p.state = 0),"
	  " (SELECT count(*) FROM pull p WHERE p.account = $2 AND p.repo = $1 AND p.charged > 0 AND p.state = 0),"
	  " (SELECT count(*) FROM pull p WHERE p.account = $2 AND p.charged > 0)");
CAIRN_SQL(PULL_CHARGE, "UPDATE pull SET charged = charged + $3 WHERE repo = $1 AND number = $2");
CAIRN_SQL(PULL_CHARGE_REPO, "UPDATE repo SET charged = charged + $2 WHERE id = $1");
CAIRN_SQL(PULL_CHARGED, "SELECT charged FROM pull WHERE repo = $1 AND number = $2");
CAIRN_SQL(PULL_DROP, "DELETE FROM pull WHERE repo = $1");

static enum cairn_status pull_row(struct cairn_db_rows *row, struct cairn_index_pull *out)
{
	char merged[CAIRN_GIT_OID_CHARS + 1];
	*out = (struct cairn_index_pull){
		.number = cairn_db_get_int(row, 0),
		.state = (enum cairn_index_pull_state)cairn_db_get_int(row, 1),
		.start = cairn_db_get_int(row, 3),
		.account = cairn_db_get_int(row, 4),
		.at_unix_s = cairn_db_get_int(row, 6),
		.ended_unix_s = cairn_db_get_int(row, 9),
	};
	cairn_db_get_text(row, 2, out->base, sizeof(out->base));
	cairn_db_get_text(row, 5, out->author, sizeof(out->author));
	cairn_db_get_text(row, 7, out->title, sizeof(out->title));
	cairn_db_get_text(row, 10, out->ended_by, sizeof(out->ended_by));
	cairn_db_get_text(row, 12, merged, sizeof(merged));
	out->message = cairn_db_borrow_text(row, 8);
	out->comment = cairn_db_borrow_text(row, 11);
	out->is_merged = out->state == CAIRN_INDEX_PULL_MERGED && cairn_git_oid_parse(merged, &out->merged);
	return cairn_db_whole(row);
}

enum cairn_status cairn_index_find_pull(struct cairn_index *ix, int64_t repo, int64_t number,
					cairn_index_visit_pull *visit, void *ctx)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	struct cairn_index_pull pull;
	enum cairn_status status =
		cairn_records_find(ix, &rows, &PULL_FIND, CAIRN_ARGS(cairn_db_int(repo), cairn_db_int(number)));
	if (status == CAIRN_OK)
		status = pull_row(&rows, &pull);
	if (status == CAIRN_OK)
		visit(ctx, &pull);
	return status;
}

enum cairn_status cairn_index_each_pull(struct cairn_index *ix, int64_t repo, const struct cairn_index_pull_list *list,
					cairn_index_visit_pull *visit, void *ctx, uint32_t *n)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	struct cairn_index_pull pull;
	const struct cairn_db_arg arg[] = {
		cairn_db_int(repo),           cairn_db_int(list->is_open),
		cairn_db_int(list->is_ended), cairn_db_text(list->author ? list->author : ""),
		cairn_db_int(list->limit),    cairn_db_int(list->skip),
	};
	const struct cairn_db_args page = {arg, 6}, all = {arg, 4};
	*n = 0;
	enum cairn_status status = cairn_records_find(ix, &rows, &PULL_COUNT, &all);
	if (status != CAIRN_OK)
		return status;
	int64_t count = cairn_db_get_int(&rows, 0);
	*n = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
	for (status = cairn_db_find(rows.db, &rows, &PULL_EACH, &page); status == CAIRN_OK;
	     status = cairn_db_next(&rows)) {
		status = pull_row(&rows, &pull);
		if (status != CAIRN_OK)
			return status;
		visit(ctx, &pull);
	}
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

static int64_t pull_counts(const struct cairn_index_message *message)
{
	return (int64_t)(CAIRN_INDEX_ROW_BYTES + strlen(message->title) + strlen(message->message));
}

enum cairn_status cairn_records_add_pull(struct cairn_index_tx *tx, const struct cairn_index_add_ref *add,
					 int64_t owner)
{
	const struct cairn_index_message *message = &add->first;
	int64_t bytes = pull_counts(message);
	cairn_records_grow(tx, owner, bytes);
	cairn_db_queue(tx->db, NULL, &PULL_HOLD, CAIRN_ARGS(cairn_db_int(add->repo), cairn_db_int(bytes)));
	return cairn_db_run(tx->db, &PULL_ADD,
			    CAIRN_ARGS(cairn_db_int(add->repo), cairn_db_int(add->number), cairn_db_path(add->base),
				       cairn_db_int(add->commit), cairn_db_int_or_null(add->account),
				       cairn_db_text(message->author), cairn_db_int(cairn_clock_unix_s()),
				       cairn_db_text(message->title), cairn_db_text(message->message)),
			    NULL);
}

static enum cairn_status pull_too_many(struct cairn_diag *diag, const char *where, int most)
{
	return cairn_fail(
		diag, CAIRN_E_DENIED, "pr.many", CAIRN_NO_OFFSET,
		"%s may have %d pull requests by people who may not write in it; wait until some are merged or "
		"closed, or close your own",
		where, most);
}

enum cairn_status cairn_records_may_open_pull(struct cairn_index_tx *tx, int64_t repo, int64_t account,
					      struct cairn_diag *diag)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status =
		cairn_db_find(tx->db, &rows, &PULL_STRANGERS, CAIRN_ARGS(cairn_db_int(repo), cairn_db_int(account)));
	if (status != CAIRN_OK)
		return status;
	if (cairn_db_get_int(&rows, 1) >= CAIRN_INDEX_STRANGER_OPEN_MAX)
		return pull_too_many(diag, "your account in this repository", CAIRN_INDEX_STRANGER_OPEN_MAX);
	if (cairn_db_get_int(&rows, 0) >= CAIRN_INDEX_STRANGERS_OPEN_MAX)
		return pull_too_many(diag, "this repository", CAIRN_INDEX_STRANGERS_OPEN_MAX);
	if (cairn_db_get_int(&rows, 2) >= CAIRN_INDEX_STRANGER_PULLS_MAX)
		return pull_too_many(diag, "your account in all", CAIRN_INDEX_STRANGER_PULLS_MAX);
	return CAIRN_OK;
}

static enum cairn_status pull_charged(struct cairn_index_tx *tx, int64_t repo, int64_t number, int64_t *bytes)
{
	enum cairn_status status =
		cairn_records_number(tx, &PULL_CHARGED, CAIRN_ARGS(cairn_db_int(repo), cairn_db_int(number)), bytes);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

static enum cairn_status pull_charge(struct cairn_index_tx *tx, int64_t repo, int64_t number, int64_t bytes)
{
	cairn_db_queue(tx->db, NULL, &PULL_CHARGE_REPO, CAIRN_ARGS(cairn_db_int(repo), cairn_db_int(bytes)));
	return cairn_db_run(tx->db, &PULL_CHARGE,
			    CAIRN_ARGS(cairn_db_int(repo), cairn_db_int(number), cairn_db_int(bytes)), NULL);
}

/* Counts the row for the stranger's account instead of the repository. */
static enum cairn_status pull_charge_account(struct cairn_index_tx *tx, int64_t repo, int64_t number, int64_t account,
					     int64_t bytes, struct cairn_diag *diag)
{
	int64_t all;
	tx->growth.repo_bytes = tx->growth.account_bytes = 0;
	enum cairn_status status = pull_charge(tx, repo, number, bytes);
	if (status == CAIRN_OK)
		status = pull_charged(tx, repo, number, &all);
	if (status == CAIRN_OK && all > CAIRN_INDEX_STRANGER_BYTES_MAX)
		return cairn_fail(diag, CAIRN_E_LIMIT, "pr.full", CAIRN_NO_OFFSET,
				  "a pull request by somebody who may not write in the repository has at most %d bytes "
				  "of texts and rows, and would have %" PRId64,
				  CAIRN_INDEX_STRANGER_BYTES_MAX, all);
	return status == CAIRN_OK ? cairn_records_check_account(tx, account, diag) : status;
}

enum cairn_status cairn_records_charge_opened(struct cairn_index_tx *tx, struct cairn_index_add_ref *add, int64_t bytes)
{
	char name[PULL_NAME_BYTES];
	(void)snprintf(name, sizeof(name), "%" PRId64, add->number);
	cairn_add(&bytes, cairn_sum(pull_counts(&add->first), cairn_commits_ref_counts(name)));
	return pull_charge_account(tx, add->repo, add->number, add->account, bytes, &add->write.diag);
}

enum cairn_status cairn_records_charge_commit(struct cairn_index_tx *tx, const struct cairn_index_add_commit *add,
					      const struct cairn_commits_new *commit, struct cairn_diag *diag)
{
	int64_t bytes = cairn_commits_full_count(commit);
	if (add->ends) /* merged or closed with a comment */
		cairn_add(&bytes, (int64_t)strlen(add->message.message));
	if (bytes == 0)
		return CAIRN_OK;
	int64_t number = strtoll(add->ref, NULL, 10);
	enum cairn_status status = cairn_records_propose_files(tx, commit, number);
	return status == CAIRN_OK ? pull_charge_account(tx, add->repo, number, add->stranger, bytes, diag) : status;
}

enum cairn_status cairn_records_take_pull(struct cairn_index_tx *tx, int64_t repo, const char *name, int64_t *bytes)
{
	struct cairn_diag unsaid = {0};
	int64_t owner, number = strtoll(name, NULL, 10);
	enum cairn_status status = pull_charged(tx, repo, number, bytes);
	if (status != CAIRN_OK || *bytes == 0)
		return status;
	status = cairn_records_find_repo(tx, repo, &owner, &unsaid);
	if (status == CAIRN_OK)
		status = cairn_records_adopt_proposed(tx, owner, number);
	return status == CAIRN_OK ? pull_charge(tx, repo, number, -*bytes) : status;
}

enum cairn_status cairn_records_end_pull(struct cairn_index_tx *tx, const struct cairn_index_add_commit *last,
					 int64_t owner)
{
	const struct cairn_index_message *message = &last->message;
	int64_t taken = 0;
	enum cairn_status status = last->merged ? cairn_records_take_pull(tx, last->repo, last->ref, &taken) : CAIRN_OK;
	if (status != CAIRN_OK)
		return status;
	cairn_records_grow(tx, owner, taken);
	/* No quota refuses this row: a pull request ends once. */
	cairn_db_queue(tx->db, NULL, &PULL_HOLD,
		       CAIRN_ARGS(cairn_db_int(last->repo), cairn_db_int((int64_t)strlen(message->message))));
	return cairn_db_run(tx->db, &PULL_END,
			    CAIRN_ARGS(cairn_db_int(last->repo), cairn_db_int(strtoll(last->ref, NULL, 10)),
				       cairn_db_int(last->merged ? CAIRN_INDEX_PULL_MERGED : CAIRN_INDEX_PULL_CLOSED),
				       cairn_db_int(cairn_clock_unix_s()), cairn_db_text(message->author),
				       cairn_db_text(message->message),
				       cairn_db_text(last->merged ? last->merged : "")),
			    NULL);
}

enum cairn_status cairn_records_drop_pulls(struct cairn_index_tx *tx, int64_t repo)
{
	return cairn_db_run(tx->db, &PULL_DROP, CAIRN_ARGS(cairn_db_int(repo)), NULL);
}
