#include "index/hub/feed.h"

#include "index/backend.h"
#include "index/records.h"

#include <string.h>

_Static_assert(sizeof(((struct cairn_feed_note *)0)->paths) == CAIRN_INDEX_FEED_BYTES_MAX, "what a batch keeps");

CAIRN_SQL(FEED_STATE, "SELECT min(at), max(at), (SELECT updated FROM repo WHERE id = $1), count(*) FROM feed"
		      " WHERE repo = $1");
CAIRN_SQL(FEED_EACH, "SELECT at, paths FROM feed WHERE repo = $1 AND at >= $2 ORDER BY at LIMIT $3");
CAIRN_SQL_OF(FEED_ADD,
	     "INSERT INTO feed(repo, at, paths) VALUES($1,"
	     " max($2, coalesce((SELECT max(at) FROM feed WHERE repo = $1), 0) + 1), $3)",
	     "INSERT INTO feed(repo, at, paths) VALUES($1,"
	     " greatest($2, coalesce((SELECT max(at) FROM feed WHERE repo = $1), 0) + 1), $3)");
CAIRN_SQL(FEED_TRIM, "DELETE FROM feed WHERE repo = $1"
		     " AND at <= (SELECT at FROM feed WHERE repo = $1 ORDER BY at DESC LIMIT 1 OFFSET $2)");
CAIRN_SQL(FEED_DROP, "DELETE FROM feed WHERE repo = $1");

enum cairn_status cairn_index_feed_state(struct cairn_index *ix, int64_t repo, struct cairn_index_feed_state *out)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_records_find(ix, &rows, &FEED_STATE, CAIRN_ARGS(cairn_db_int(repo)));
	if (status == CAIRN_OK)
		*out = (struct cairn_index_feed_state){
			.first_unix_ms = cairn_db_get_int(&rows, 0),
			.last_unix_ms = cairn_db_get_int(&rows, 1),
			.updated_unix_ms = cairn_db_get_int(&rows, 2),
			.is_whole = cairn_db_get_int(&rows, 3) < CAIRN_INDEX_FEED_BATCHES,
		};
	return status;
}

enum cairn_status cairn_index_each_feed_batch(struct cairn_index *ix, int64_t repo, int64_t since_unix_ms,
					      uint32_t limit,
					      void (*visit)(void *ctx, const struct cairn_index_feed_batch *batch),
					      void *ctx)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status =
		cairn_records_find(ix, &rows, &FEED_EACH,
				   CAIRN_ARGS(cairn_db_int(repo), cairn_db_int(since_unix_ms), cairn_db_int(limit)));
	for (; status == CAIRN_OK; status = cairn_db_next(&rows)) {
		struct cairn_index_feed_batch batch = {.at_unix_ms = cairn_db_get_int(&rows, 0)};
		batch.paths = (const char *)cairn_db_get_bytes(&rows, 1, &batch.len);
		visit(ctx, &batch);
	}
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

void cairn_records_note_change(struct cairn_feed_note *note, char letter, const char *path)
{
	size_t size = strlen(path) + 1;
	if (note->len + 1 + size > sizeof(note->paths))
		note->is_full = true;
	if (note->is_full)
		return;
	note->paths[note->len] = letter;
	memcpy(note->paths + note->len + 1, path, size);
	note->len += 1 + size;
}

void cairn_records_queue_feed(struct cairn_index_tx *tx, int64_t repo, int64_t at_unix_ms,
			      const struct cairn_feed_note *note)
{
	if (note->len == 0)
		return;
	cairn_db_queue(tx->db, NULL, &FEED_ADD,
		       CAIRN_ARGS(cairn_db_int(repo), cairn_db_int(at_unix_ms),
				  cairn_db_bytes(note->paths, note->is_full ? 0 : note->len)));
	cairn_db_queue(tx->db, NULL, &FEED_TRIM,
		       CAIRN_ARGS(cairn_db_int(repo), cairn_db_int(CAIRN_INDEX_FEED_BATCHES)));
}

enum cairn_status cairn_records_drop_feed(struct cairn_index_tx *tx, int64_t repo)
{
	return cairn_db_run(tx->db, &FEED_DROP, CAIRN_ARGS(cairn_db_int(repo)), NULL);
}
