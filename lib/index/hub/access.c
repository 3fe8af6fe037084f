/* Requests for access to repositories with a gate. */
#include "index/hub/access.h"
#include "index/backend.h"
#include "index/records.h"

#include "base/clock.h"

#include <inttypes.h>

#define REQUEST                                                                                                        \
	"SELECT q.request, q.state, q.asked, q.at, a.name, a.fullname, q.reason"                                       \
	" FROM access_request q CROSS JOIN account a WHERE a.id = q.account AND q.repo = $1"

CAIRN_SQL(ACCESS_FIND, REQUEST " AND q.account = $2");
CAIRN_SQL(ACCESS_EACH,
	  REQUEST " AND q.state = $2 AND q.id > coalesce((SELECT p.id FROM access_request p WHERE p.request = $3"
		  " AND p.repo = $1), 0) ORDER BY q.id LIMIT $4");
/* Reads the account's request, and counts all of the repository's and those of the account that are pending. */
CAIRN_SQL(ACCESS_LOOK, "SELECT (SELECT state FROM access_request WHERE repo = $1 AND account = $2),"
		       " (SELECT count(*) FROM access_request WHERE repo = $1),"
		       " (SELECT count(*) FROM access_request WHERE account = $2 AND state = 1 AND asked IS NOT NULL)");
CAIRN_SQL(ACCESS_ASK, "INSERT INTO access_request(repo, account, request, state, asked, at)"
		      " SELECT r.id, $2, $3, CASE WHEN r.gate = 1 AND r.guard IS NULL THEN 2 ELSE 1 END, $4, $4"
		      " FROM repo r WHERE r.id = $1 AND r.gate <> 0 AND NOT r.private AND " CAIRN_REPO_KEPT(
			      "r") " RETURNING state");
CAIRN_SQL(ACCESS_GRANT, "INSERT INTO access_request(repo, account, request, state, at)"
			" SELECT r.id, $2, $3, 2, $4 FROM repo r WHERE r.id = $1 AND r.gate <> 0 AND " CAIRN_REPO_KEPT(
				"r") " ON CONFLICT(repo, account) DO UPDATE SET state = 2, at = $4, reason = ''");
#define SET "UPDATE access_request SET state = $3, at = $4, reason = $5 WHERE repo = $1 AND state <> $3 AND "
CAIRN_SQL(ACCESS_SET_OF, SET "account = $2");
CAIRN_SQL(ACCESS_SET_BY_ID, SET "request = $2");
CAIRN_SQL(ACCESS_DROP, "DELETE FROM access_request WHERE repo = $1");

const char *cairn_index_access_name(enum cairn_index_access_state state)
{
	static const char *const NAMES[] = {[CAIRN_INDEX_ACCESS_PENDING] = "pending",
					    [CAIRN_INDEX_ACCESS_ACCEPTED] = "accepted",
					    [CAIRN_INDEX_ACCESS_REJECTED] = "rejected"};
	return NAMES[state];
}

enum cairn_status cairn_index_access_open(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_USAGE, "access.open", CAIRN_NO_OFFSET,
			  "this repository has no gate: there is no access to it to ask for or to grant");
}

enum cairn_status cairn_index_access_granted(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_USAGE, "access.granted", CAIRN_NO_OFFSET,
			  "this user has access to the repository already");
}

static enum cairn_status access_row(struct cairn_db_rows *row, struct cairn_index_access_request *out)
{
	*out = (struct cairn_index_access_request){
		.state = (enum cairn_index_access_state)cairn_db_get_int(row, 1),
		.asked_unix_ms = cairn_db_get_int(row, 2),
		.at_unix_ms = cairn_db_get_int(row, 3),
	};
	cairn_db_get_fixed(row, 0, out->request, sizeof(out->request));
	cairn_db_get_text(row, 4, out->name, sizeof(out->name));
	cairn_db_get_text(row, 5, out->fullname, sizeof(out->fullname));
	cairn_db_get_text(row, 6, out->reason, sizeof(out->reason));
	return cairn_db_whole(row);
}

enum cairn_status cairn_index_access_request(struct cairn_index *ix, int64_t repo, int64_t account,
					     struct cairn_index_access_request *out)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows row = {0};
	*out = (struct cairn_index_access_request){0};
	enum cairn_status status =
		cairn_records_find(ix, &row, &ACCESS_FIND, CAIRN_ARGS(cairn_db_int(repo), cairn_db_int(account)));
	return status == CAIRN_OK ? access_row(&row, out) : status;
}

enum cairn_status cairn_index_each_access_request(
	struct cairn_index *ix, int64_t repo, enum cairn_index_access_state state, const uint8_t *after, uint32_t limit,
	void (*visit)(void *ctx, const struct cairn_index_access_request *request), void *ctx)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	struct cairn_index_access_request request;
	enum cairn_status status = cairn_records_find(
		ix, &rows, &ACCESS_EACH,
		CAIRN_ARGS(cairn_db_int(repo), cairn_db_int((int64_t)state),
			   cairn_db_bytes(after ? after : (const uint8_t *)"", after ? CAIRN_INDEX_REQUEST_BYTES : 0),
			   cairn_db_int(cairn_records_page(limit))));
	for (; status == CAIRN_OK; status = cairn_db_next(&rows)) {
		status = access_row(&rows, &request);
		if (status != CAIRN_OK)
			return status;
		visit(ctx, &request);
	}
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

static enum cairn_status access_many(struct cairn_diag *diag, uint32_t max)
{
	return cairn_fail(diag, CAIRN_E_CONFLICT, "access.many", CAIRN_NO_OFFSET,
			  "%" PRIu32 " accounts have asked for access to this repository or have it, and no more can "
			  "be noted",
			  max);
}

/* The existing requests, read before a new one is written. No other write comes between: writes run one by one. */
struct access_existing {
	enum cairn_index_access_state state;
	int64_t n_of_repo, n_waiting;
};

static enum cairn_status access_read_existing(struct cairn_index_tx *tx, int64_t repo, int64_t account,
					      struct access_existing *out)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows row = {0};
	enum cairn_status status =
		cairn_db_find(tx->db, &row, &ACCESS_LOOK, CAIRN_ARGS(cairn_db_int(repo), cairn_db_int(account)));
	if (status == CAIRN_OK)
		*out = (struct access_existing){.state = (enum cairn_index_access_state)cairn_db_get_int(&row, 0),
						.n_of_repo = cairn_db_get_int(&row, 1),
						.n_waiting = cairn_db_get_int(&row, 2)};
	return status;
}

/* Adds a request. @param existing  must show that the account has none yet */
static enum cairn_status access_add(struct cairn_index_tx *tx, struct cairn_index_ask_access *ask,
				    const struct access_existing *existing)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows row = {0};
	if (existing->n_of_repo >= ask->of_repo_max)
		return access_many(&ask->write.diag, ask->of_repo_max);
	if (existing->n_waiting >= ask->waiting_max)
		return cairn_fail(&ask->write.diag, CAIRN_E_CONFLICT, "access.waiting", CAIRN_NO_OFFSET,
				  "%" PRIu32 " requests of this account wait for an answer already; ask again when "
				  "some were answered",
				  ask->waiting_max);
	enum cairn_status status = cairn_db_find(tx->db, &row, &ACCESS_ASK,
						 CAIRN_ARGS(cairn_db_int(ask->repo), cairn_db_int(ask->account),
							    cairn_db_bytes(ask->request, sizeof(ask->request)),
							    cairn_db_int(cairn_clock_unix_ms())));
	if (status == CAIRN_OK)
		ask->state = (enum cairn_index_access_state)cairn_db_get_int(&row, 0);
	return status == CAIRN_E_NOT_FOUND ? cairn_index_access_open(&ask->write.diag) : status;
}

enum cairn_status cairn_records_ask_access(struct cairn_index_tx *tx, struct cairn_index_ask_access *ask)
{
	struct access_existing existing;
	enum cairn_status status = access_read_existing(tx, ask->repo, ask->account, &existing);
	if (status != CAIRN_OK)
		return status;
	ask->state = existing.state;
	if (existing.state == CAIRN_INDEX_ACCESS_NONE)
		return access_add(tx, ask, &existing);
	if (existing.state == CAIRN_INDEX_ACCESS_REJECTED)
		return cairn_fail(&ask->write.diag, CAIRN_E_DENIED, "access.rejected", CAIRN_NO_OFFSET,
				  "Your request to access this repository has been rejected by its authors");
	return CAIRN_OK;
}

enum cairn_status cairn_records_grant_access(struct cairn_index_tx *tx, struct cairn_index_grant_access *grant)
{
	struct access_existing existing;
	int64_t n;
	enum cairn_status status = access_read_existing(tx, grant->repo, grant->account, &existing);
	if (status != CAIRN_OK)
		return status;
	if (existing.state == CAIRN_INDEX_ACCESS_ACCEPTED)
		return cairn_index_access_granted(&grant->write.diag);
	if (existing.state == CAIRN_INDEX_ACCESS_NONE && existing.n_of_repo >= grant->of_repo_max)
		return access_many(&grant->write.diag, grant->of_repo_max);
	status = cairn_db_run(tx->db, &ACCESS_GRANT,
			      CAIRN_ARGS(cairn_db_int(grant->repo), cairn_db_int(grant->account),
					 cairn_db_bytes(grant->request, sizeof(grant->request)),
					 cairn_db_int(cairn_clock_unix_ms())),
			      &n);
	return status == CAIRN_OK && n == 0 ? cairn_index_access_open(&grant->write.diag) : status;
}

enum cairn_status cairn_records_set_access(struct cairn_index_tx *tx, struct cairn_index_set_access *set)
{
	int64_t n;
	enum cairn_status status =
		cairn_db_run(tx->db, set->account ? &ACCESS_SET_OF : &ACCESS_SET_BY_ID,
			     CAIRN_ARGS(cairn_db_int(set->repo),
					set->account ? cairn_db_int(set->account)
						     : cairn_db_bytes(set->request, sizeof(set->request)),
					cairn_db_int((int64_t)set->state), cairn_db_int(cairn_clock_unix_ms()),
					cairn_db_text(set->reason)),
			     &n);
	if (status != CAIRN_OK || n > 0)
		return status;
	return cairn_fail(&set->write.diag, CAIRN_E_NOT_FOUND, "access.unknown", CAIRN_NO_OFFSET,
			  "there is no such request for access, or it is %s already",
			  cairn_index_access_name(set->state));
}

void cairn_records_queue_drop_access(struct cairn_index_tx *tx, int64_t repo)
{
	cairn_db_queue(tx->db, NULL, &ACCESS_DROP, CAIRN_ARGS(cairn_db_int(repo)));
}
