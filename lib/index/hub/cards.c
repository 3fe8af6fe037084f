/* Cards of repositories. */
#include "index/backend.h"
#include "index/hub/card.h"
#include "index/records.h"

#include <string.h>

CAIRN_SQL(CARD_READ, "SELECT task, library, tags, data, config FROM card WHERE repo = $1");
CAIRN_SQL(CARD_SOURCE, "SELECT source FROM card WHERE repo = $1");
CAIRN_SQL(CARD_EACH_DESCRIBED, "SELECT r.id, r.kind FROM repo r WHERE r.id > $1 AND r.kind <> 4 AND " CAIRN_REPO_KEPT(
				       "r") " ORDER BY r.id LIMIT $2");
CAIRN_SQL(CARD_SET,
	  "INSERT INTO card(repo, source, task, library, tags, data, config)"
	  " SELECT $1, $3, $4, $5, $6, $7, $8 WHERE EXISTS(SELECT 1 FROM ref f JOIN line l ON l.id = f.line"
	  " WHERE f.repo = $1 AND f.kind = 1 AND f.name = $9 AND l.head = $2)"
	  " ON CONFLICT(repo) DO UPDATE SET source = excluded.source, task = excluded.task,"
	  " library = excluded.library, tags = excluded.tags, data = excluded.data, config = excluded.config");
CAIRN_SQL(CARD_DROP_TAGS, "DELETE FROM tag WHERE repo = $1");
CAIRN_SQL_OF(CARD_ADD_TAGS,
	     "INSERT INTO tag(repo, tag, kind, private) SELECT r.id, w.value, r.kind, r.private"
	     " FROM repo r CROSS JOIN json_each($2) w WHERE r.id = $1 AND r.dropped IS NULL ON CONFLICT DO NOTHING",
	     "INSERT INTO tag(repo, tag, kind, private) SELECT r.id, w.value, r.kind, r.private"
	     " FROM repo r CROSS JOIN jsonb_array_elements_text($2::jsonb) w(value)"
	     " WHERE r.id = $1 AND r.dropped IS NULL ON CONFLICT DO NOTHING");

#define CARD_BRANCH "main"

enum cairn_status cairn_index_card(struct cairn_index *ix, int64_t repo,
				   void (*visit)(void *ctx, const struct cairn_index_card *card), void *ctx)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	struct cairn_index_card card = {0};
	enum cairn_status status = cairn_records_find(ix, &rows, &CARD_READ, CAIRN_ARGS(cairn_db_int(repo)));
	if (status != CAIRN_OK)
		return status;
	cairn_records_card(&rows, 0, &card);
	status = cairn_db_whole(&rows);
	if (status == CAIRN_OK)
		visit(ctx, &card);
	return status;
}

void cairn_records_card(struct cairn_db_rows *row, int column, struct cairn_index_card *out)
{
	cairn_db_get_text(row, column, out->task, sizeof(out->task));
	cairn_db_get_text(row, column + 1, out->library, sizeof(out->library));
	out->tags = cairn_db_borrow_text(row, column + 2);
	out->data = cairn_db_borrow_text(row, column + 3);
	out->config = cairn_db_borrow_text(row, column + 4);
}

enum cairn_status cairn_index_card_source(struct cairn_index *ix, int64_t repo, struct cairn_index_card_source *out)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	*out = (struct cairn_index_card_source){0};
	enum cairn_status status = cairn_records_find(ix, &rows, &CARD_SOURCE, CAIRN_ARGS(cairn_db_int(repo)));
	if (status == CAIRN_E_NOT_FOUND)
		return CAIRN_OK;
	if (status == CAIRN_OK)
		cairn_db_get_fixed(&rows, 0, out, sizeof(*out));
	return status == CAIRN_OK ? cairn_db_whole(&rows) : status;
}

enum cairn_status cairn_index_each_described(struct cairn_index *ix, int64_t from_id, cairn_index_visit_repo *visit,
					     void *ctx, int64_t *next_id)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	struct cairn_index_repo repo = {.id = from_id};
	uint32_t page = cairn_records_page(0), n = 0;
	enum cairn_status status = cairn_records_find(ix, &rows, &CARD_EACH_DESCRIBED,
						      CAIRN_ARGS(cairn_db_int(from_id), cairn_db_int(page)));
	for (; status == CAIRN_OK; status = cairn_db_next(&rows), n++) {
		repo.id = cairn_db_get_int(&rows, 0);
		repo.kind = (enum cairn_index_repo_kind)cairn_db_get_int(&rows, 1);
		visit(ctx, &repo);
	}
	return cairn_records_paged(status, n, page, repo.id, next_id);
}

enum cairn_status cairn_records_set_card(struct cairn_index_tx *tx, struct cairn_index_set_card *set)
{
	const struct cairn_index_card *card = set->card;
	int64_t n;
	enum cairn_status status = cairn_db_run(tx->db, &CARD_SET,
						CAIRN_ARGS(cairn_db_int(set->repo), cairn_db_int(set->commit),
							   cairn_db_bytes(&set->source, sizeof(set->source)),
							   cairn_db_text(card->task), cairn_db_text(card->library),
							   cairn_db_text(card->tags), cairn_db_text(card->data),
							   cairn_db_text(card->config), cairn_db_path(CARD_BRANCH)),
						&n);
	set->kept = status == CAIRN_OK && n > 0;
	if (!set->kept)
		return status;
	cairn_db_queue(tx->db, NULL, &CARD_DROP_TAGS, CAIRN_ARGS(cairn_db_int(set->repo)));
	return cairn_db_run(tx->db, &CARD_ADD_TAGS, CAIRN_ARGS(cairn_db_int(set->repo), cairn_db_text(card->words)),
			    NULL);
}
