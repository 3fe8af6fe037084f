/* Reports of clients, and the removal of old reports and keys. */
#include "index/backend.h"
#include "index/records.h"

#include "base/clock.h"

#include <stdatomic.h>

enum {
	TRIM_PIECE = 256, /* rows of one write: up to 4 MiB of pages */
	DROP_EVERY = 64,  /* rows added before all rows are counted again */
};

static atomic_uint n_added; /* rows added since the last count */

CAIRN_SQL(TELEMETRY_ADD, "INSERT INTO telemetry(at, sender, body, who) VALUES($1, $2, $3, $4)");
/* Ids have gaps, so the rows are counted. */
CAIRN_SQL(TELEMETRY_DROP,
	  "DELETE FROM telemetry WHERE id <= (SELECT id FROM telemetry ORDER BY id DESC LIMIT 1 OFFSET $1)");
CAIRN_SQL(TELEMETRY_SHARE, "DELETE FROM telemetry WHERE who = $1 AND id <="
			   " (SELECT id FROM telemetry WHERE who = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)");
CAIRN_SQL(TELEMETRY_EACH, "SELECT id, at, sender, body FROM telemetry WHERE id < $1 ORDER BY id DESC LIMIT $2");
#define TRIM_KEYS                                                                                                      \
	"SELECT id FROM api_key WHERE (revoked < $1 OR expires < $1) AND id < (SELECT max(id) FROM api_key) LIMIT $2"
CAIRN_SQL_OF(TELEMETRY_TRIM_KEYS, "DELETE FROM api_key WHERE id IN (" TRIM_KEYS ")",
	     "DELETE FROM api_key WHERE id = ANY(ARRAY(" TRIM_KEYS "))");
#define TRIM_OLDEST "SELECT id FROM telemetry ORDER BY id LIMIT $2"
CAIRN_SQL_OF(TELEMETRY_TRIM, "DELETE FROM telemetry WHERE at < $1 AND id IN (" TRIM_OLDEST ")",
	     "DELETE FROM telemetry WHERE at < $1 AND id = ANY(ARRAY(" TRIM_OLDEST "))");

enum cairn_status cairn_index_each_telemetry(struct cairn_index *ix, int64_t before_id, uint32_t limit,
					     void (*visit)(void *ctx, const struct cairn_index_telemetry *row),
					     void *ctx, int64_t *next_id)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	struct cairn_index_telemetry out = {0};
	char sender[CAIRN_INDEX_SCOPE_TEXT_MAX + 1];
	uint32_t page = cairn_records_page(limit), n = 0;
	enum cairn_status status = cairn_records_find(
		ix, &rows, &TELEMETRY_EACH,
		CAIRN_ARGS(cairn_db_int(before_id == 0 ? INT64_MAX : before_id), cairn_db_int(page)));
	for (; status == CAIRN_OK; status = cairn_db_next(&rows), n++) {
		out.id = cairn_db_get_int(&rows, 0);
		out.at_unix_s = cairn_db_get_int(&rows, 1);
		cairn_db_get_text(&rows, 2, sender, sizeof(sender));
		out.sender = sender;
		out.body = cairn_db_get_bytes(&rows, 3, &out.body_len);
		if (cairn_db_whole(&rows) == CAIRN_OK)
			visit(ctx, &out);
	}
	return cairn_records_paged(status, n, page, out.id, next_id);
}

enum cairn_status cairn_records_add_telemetry(struct cairn_index_tx *tx, struct cairn_index_add_telemetry *add)
{
	if (add->body_len > CAIRN_INDEX_TELEMETRY_BYTES_MAX)
		return cairn_fail(&add->write.diag, CAIRN_E_LIMIT, "telemetry.bytes", CAIRN_NO_OFFSET,
				  "telemetry is kept up to %d bytes", CAIRN_INDEX_TELEMETRY_BYTES_MAX);
	int64_t who = add->share_max ? (int64_t)add->who : 0;
	enum cairn_status status =
		cairn_db_run(tx->db, &TELEMETRY_ADD,
			     CAIRN_ARGS(cairn_db_int(cairn_clock_unix_s()), cairn_db_text(add->sender),
					cairn_db_bytes(add->body, add->body_len), cairn_db_int_or_null(who)),
			     NULL);
	if (status == CAIRN_OK && who)
		status = cairn_db_run(tx->db, &TELEMETRY_SHARE,
				      CAIRN_ARGS(cairn_db_int(who), cairn_db_int(add->share_max)), NULL);
	bool counts = add->keep_max < DROP_EVERY || atomic_fetch_add(&n_added, 1) % DROP_EVERY == 0;
	return status == CAIRN_OK && counts
		       ? cairn_db_run(tx->db, &TELEMETRY_DROP, CAIRN_ARGS(cairn_db_int(add->keep_max)), NULL)
		       : status;
}

enum cairn_status cairn_records_trim(struct cairn_index_tx *tx, struct cairn_index_trim *trim)
{
	int64_t n;
	enum cairn_status status =
		cairn_db_run(tx->db, trim->what == CAIRN_INDEX_TRIM_KEYS ? &TELEMETRY_TRIM_KEYS : &TELEMETRY_TRIM,
			     CAIRN_ARGS(cairn_db_int(trim->before_unix_s), cairn_db_int(TRIM_PIECE)), &n);
	trim->n_dropped = (uint32_t)n;
	return status;
}
