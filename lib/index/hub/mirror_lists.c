/* Lists mirrored repositories, and stores the operator's settings for each. */
#include "index/backend.h"
#include "index/hub/mirror_list.h"
#include "index/operate.h"
#include "index/records.h"

#define MIRRORED_FROM(first, second)                                                                                   \
	"SELECT " CAIRN_REPO_COLUMNS(                                                                                  \
		"a.name") ", m.state, m.looked, m.every, m.keep, m.include, r.stored, m.used, m.asked, m.fetched,"     \
			  " m.going, m.failed, m.rule, m.message FROM " first " CROSS JOIN " second                    \
			  " CROSS JOIN account a WHERE r.id = m.repo AND " CAIRN_REPO_KEPT(                            \
				  "r") " AND a.id = r.account AND r.mirrored = 1"
#define MIRRORED MIRRORED_FROM("mirror_repo m", "repo r")
CAIRN_SQL(MIRRORED_ONE, MIRRORED " AND m.repo = $1");
CAIRN_SQL(MIRRORED_EACH, MIRRORED " AND m.repo > $1 ORDER BY m.repo LIMIT $2");
CAIRN_SQL(MIRRORED_AHEAD, MIRRORED " AND m.every > 0 AND m.repo > $1 ORDER BY m.repo LIMIT $2");
/* Each reads an index from its end, or from its beginning, and stops after $1 repositories. PostgreSQL does so because
 * MIRRORED_FROM asks nothing of the account: it does not know that all accounts of these repositories are mirrored. */
CAIRN_SQL(MIRRORED_LARGEST, MIRRORED_FROM("repo r", "mirror_repo m") " AND r.dropped IS NULL"
								     " ORDER BY r.stored DESC LIMIT $1");
CAIRN_SQL(MIRRORED_OLDEST, MIRRORED " AND m.used > 0 ORDER BY m.used, m.repo LIMIT $1");
CAIRN_SQL(AHEAD_OTHERS, "SELECT count(*) FROM mirror_repo m WHERE m.every > 0 AND m.repo <> $1"
			" AND EXISTS(SELECT 1 FROM repo r WHERE r.id = m.repo AND " CAIRN_REPO_KEPT("r") ")");
CAIRN_SQL(AHEAD_SET, "UPDATE mirror_repo SET every = $2, keep = $3, include = $4, asked = asked + 1, fetched = 0,"
		     " going = 0, failed = 0, rule = '', message = '' WHERE repo = $1");
CAIRN_SQL(AHEAD_NOTE, "UPDATE mirror_repo SET fetched = CASE WHEN CAST($3 AS bigint) > 0 THEN $3 ELSE fetched END,"
		      " every = CASE WHEN $3 > 0 AND every = $4 THEN 0 ELSE every END,"
		      " going = $5, failed = $6, rule = $7, message = $8 WHERE repo = $1 AND asked = $2");

enum {
	MIRRORED_STATE = 14,
	MIRRORED_LOOKED,
	MIRRORED_EVERY,
	MIRRORED_KEEP,
	MIRRORED_INCLUDE,
	MIRRORED_STORED,
	MIRRORED_USED,
	MIRRORED_ASKED,
	MIRRORED_FETCHED,
	MIRRORED_GOING,
	MIRRORED_FAILED,
	MIRRORED_RULE,
	MIRRORED_MESSAGE,
};

static enum cairn_status mirrored_read(struct cairn_db_rows *row, struct cairn_index_mirrored *out)
{
	*out = (struct cairn_index_mirrored){
		.state = (enum cairn_index_mirror_state)cairn_db_get_int(row, MIRRORED_STATE),
		.looked_unix_s = cairn_db_get_int(row, MIRRORED_LOOKED),
		.stored_bytes = (uint64_t)cairn_db_get_int(row, MIRRORED_STORED),
		.used_day = cairn_db_get_int(row, MIRRORED_USED),
		.ahead = {.every_s = cairn_db_get_int(row, MIRRORED_EVERY),
			  .keeps = cairn_db_get_int(row, MIRRORED_KEEP) != 0},
		.fetched = {.asked = cairn_db_get_int(row, MIRRORED_ASKED),
			    .at_unix_s = cairn_db_get_int(row, MIRRORED_FETCHED),
			    .is_going = cairn_db_get_int(row, MIRRORED_GOING) != 0,
			    .n_failed = (uint64_t)cairn_db_get_int(row, MIRRORED_FAILED)},
	};
	cairn_db_get_text(row, MIRRORED_RULE, out->fetched.rule, sizeof(out->fetched.rule));
	cairn_db_get_text(row, MIRRORED_MESSAGE, out->fetched.message, sizeof(out->fetched.message));
	cairn_db_get_text(row, MIRRORED_INCLUDE, out->ahead.include, sizeof(out->ahead.include));
	enum cairn_status status = cairn_records_repo(row, &out->repo);
	out->repo.is_mirrored = true;
	return status == CAIRN_OK ? cairn_db_whole(row) : status;
}

enum cairn_status cairn_index_mirrored(struct cairn_index *ix, int64_t repo, struct cairn_index_mirrored *out)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_records_find(ix, &rows, &MIRRORED_ONE, CAIRN_ARGS(cairn_db_int(repo)));
	return status == CAIRN_OK ? mirrored_read(&rows, out) : status;
}

enum cairn_status cairn_index_each_mirrored(struct cairn_index *ix, int64_t from_id, bool ahead_only, uint32_t limit,
					    void (*visit)(void *ctx, const struct cairn_index_mirrored *mirrored),
					    void *ctx, int64_t *next_id)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	struct cairn_index_mirrored mirrored = {.looked_unix_s = 0};
	uint32_t page = cairn_records_page(limit), n = 0;
	enum cairn_status status = cairn_records_find(ix, &rows, ahead_only ? &MIRRORED_AHEAD : &MIRRORED_EACH,
						      CAIRN_ARGS(cairn_db_int(from_id), cairn_db_int(page)));
	for (; status == CAIRN_OK; status = cairn_db_next(&rows), n++)
		if (mirrored_read(&rows, &mirrored) == CAIRN_OK)
			visit(ctx, &mirrored);
	return cairn_records_paged(status, n, page, mirrored.repo.id, next_id);
}

enum cairn_status cairn_index_each_top(struct cairn_index *ix, enum cairn_index_top top, uint32_t limit,
				       void (*visit)(void *ctx, const struct cairn_index_mirrored *mirrored), void *ctx)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	struct cairn_index_mirrored mirrored;
	enum cairn_status status =
		cairn_records_find(ix, &rows, top == CAIRN_INDEX_TOP_LARGEST ? &MIRRORED_LARGEST : &MIRRORED_OLDEST,
				   CAIRN_ARGS(cairn_db_int(cairn_records_page(limit))));
	for (; status == CAIRN_OK; status = cairn_db_next(&rows))
		if (mirrored_read(&rows, &mirrored) == CAIRN_OK)
			visit(ctx, &mirrored);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

static enum cairn_status ahead_check_others(struct cairn_index_tx *tx, struct cairn_index_set_ahead *set)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows row = {0};
	if (set->ahead.every_s == 0 || set->n_max == 0)
		return CAIRN_OK;
	enum cairn_status status = cairn_db_find(tx->db, &row, &AHEAD_OTHERS, CAIRN_ARGS(cairn_db_int(set->repo)));
	if (status == CAIRN_OK && cairn_db_get_int(&row, 0) >= (int64_t)set->n_max)
		return cairn_fail(&set->write.diag, CAIRN_E_CONFLICT, "mirror.ahead", CAIRN_NO_OFFSET,
				  "%u repositories are fetched ahead already", (unsigned)set->n_max);
	return status;
}

enum cairn_status cairn_records_set_ahead(struct cairn_index_tx *tx, struct cairn_index_set_ahead *set)
{
	int64_t n = 0;
	enum cairn_status status = ahead_check_others(tx, set);
	if (status != CAIRN_OK)
		return status;
	status = cairn_db_run(tx->db, &AHEAD_SET,
			      CAIRN_ARGS(cairn_db_int(set->repo), cairn_db_int(set->ahead.every_s),
					 cairn_db_int(set->ahead.keeps), cairn_db_text(set->ahead.include)),
			      &n);
	if (status == CAIRN_OK && n == 0)
		return cairn_fail(&set->write.diag, CAIRN_E_NOT_FOUND, "repo.unknown", CAIRN_NO_OFFSET,
				  "Repository not found");
	return status;
}

enum cairn_status cairn_records_note_ahead(struct cairn_index_tx *tx, struct cairn_index_note_ahead *note)
{
	const struct cairn_index_fetched *now = &note->now;
	int64_t n = 0;
	enum cairn_status status = cairn_db_run(
		tx->db, &AHEAD_NOTE,
		CAIRN_ARGS(cairn_db_int(note->repo), cairn_db_int(now->asked), cairn_db_int(now->at_unix_s),
			   cairn_db_int(CAIRN_INDEX_AHEAD_ONCE_S), cairn_db_int(now->is_going),
			   cairn_db_int((int64_t)now->n_failed), cairn_db_text(now->rule), cairn_db_text(now->message)),
		&n);
	note->is_current = n == 1;
	return status;
}
