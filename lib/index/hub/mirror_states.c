/* States of mirrored repositories. */
#include "index/backend.h"
#include "index/hub/mirror_state.h"
#include "index/records.h"

CAIRN_SQL(MIRROR_STATE_FIND, "SELECT state, looked FROM mirror_repo WHERE repo = $1");
CAIRN_SQL(MIRROR_STATE_SET, "INSERT INTO mirror_repo(repo, state, looked, every, keep, include)"
			    " SELECT id, $2, $3, 0, 0, '' FROM repo WHERE id = $1"
			    " ON CONFLICT(repo) DO UPDATE SET state = excluded.state, looked = excluded.looked");
CAIRN_SQL(MIRROR_STATE_NOW, "SELECT coalesce(m.state, 1), coalesce(m.looked, 0), r.private, r.gate"
			    " FROM repo r LEFT JOIN mirror_repo m ON m.repo = r.id WHERE r.id = $1");

enum cairn_status cairn_index_mirror_state(struct cairn_index *ix, int64_t repo, enum cairn_index_mirror_state *state,
					   int64_t *looked_unix_s)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	*state = CAIRN_INDEX_MIRROR_THERE;
	*looked_unix_s = 0;
	enum cairn_status status = cairn_records_find(ix, &rows, &MIRROR_STATE_FIND, CAIRN_ARGS(cairn_db_int(repo)));
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	*state = (enum cairn_index_mirror_state)cairn_db_get_int(&rows, 0);
	*looked_unix_s = cairn_db_get_int(&rows, 1);
	return cairn_db_whole(&rows);
}

static bool mirror_state_opens(const struct cairn_index_set_mirror_state *set,
			       const struct cairn_index_mirror_seen *now)
{
	bool opens_access = (now->is_private && !set->is_private) ||
			    (now->gate != CAIRN_INDEX_GATE_NONE && set->gate == CAIRN_INDEX_GATE_NONE);
	return (set->sets_access && opens_access) ||
	       (set->state == CAIRN_INDEX_MIRROR_THERE && now->state != CAIRN_INDEX_MIRROR_THERE);
}

/* Refuses to open a repository that another look-up has written since this one began: the other one may know better. To
 * close a repository is always allowed. */
static enum cairn_status mirror_state_check(struct cairn_index_tx *tx, struct cairn_index_set_mirror_state *set)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	const struct cairn_index_mirror_seen *seen = set->seen;
	enum cairn_status status = cairn_db_find(tx->db, &rows, &MIRROR_STATE_NOW, CAIRN_ARGS(cairn_db_int(set->repo)));
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status; /* the write itself reports this */
	const struct cairn_index_mirror_seen now = {.state = (enum cairn_index_mirror_state)cairn_db_get_int(&rows, 0),
						    .looked_unix_s = cairn_db_get_int(&rows, 1),
						    .is_private = cairn_db_get_int(&rows, 2) != 0,
						    .gate = (enum cairn_index_gate)cairn_db_get_int(&rows, 3)};
	bool is_same = now.state == seen->state && now.looked_unix_s == seen->looked_unix_s &&
		       now.is_private == seen->is_private && now.gate == seen->gate;
	return is_same || !mirror_state_opens(set, &now) ? CAIRN_OK : CAIRN_E_CONFLICT;
}

static enum cairn_status mirror_state_set_access(struct cairn_index_tx *tx, struct cairn_index_set_mirror_state *set)
{
	struct cairn_index_set_repo access = {.id = set->repo, .is_private = set->is_private, .gate = set->gate};
	enum cairn_status status = cairn_records_set_repo(tx, &access);
	set->write.diag = access.write.diag;
	return status;
}

enum cairn_status cairn_records_set_mirror_state(struct cairn_index_tx *tx, struct cairn_index_set_mirror_state *set)
{
	int64_t n = 0;
	enum cairn_status status = set->seen ? mirror_state_check(tx, set) : CAIRN_OK;
	if (status == CAIRN_OK && set->sets_access)
		status = mirror_state_set_access(tx, set);
	if (status != CAIRN_OK)
		return status;
	status = cairn_db_run(tx->db, &MIRROR_STATE_SET,
			      CAIRN_ARGS(cairn_db_int(set->repo), cairn_db_int((int64_t)set->state),
					 cairn_db_int(set->looked_unix_s)),
			      &n);
	if (status == CAIRN_OK && n == 0)
		return cairn_fail(&set->write.diag, CAIRN_E_NOT_FOUND, "repo.unknown", CAIRN_NO_OFFSET,
				  "Repository not found");
	return status;
}
