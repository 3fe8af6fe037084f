/* What clients tell of themselves: the newest so many rows. */
#include "index/operate.h"
#include "index/postgres/engine.h"

#include "base/clock.h"

static const char TELEMETRY_ADD[] = "INSERT INTO telemetry(at, sender, body) VALUES($1, $2, $3)";
/* Numbers have gaps. */
static const char TELEMETRY_DROP[] =
	"DELETE FROM telemetry WHERE id <= (SELECT id FROM telemetry ORDER BY id DESC OFFSET $1 LIMIT 1)";
static const char TELEMETRY_EACH[] =
	"SELECT id, at, sender, body FROM telemetry WHERE id < $1 ORDER BY id DESC LIMIT $2";

enum cairn_status cairn_pg_add_telemetry(struct cairn_pg_tx *tx, struct cairn_index_add_telemetry *add)
{
	struct cairn_pg_args row = {0}, keep = {0};
	if (add->body_len > CAIRN_INDEX_TELEMETRY_BYTES_MAX)
		return cairn_fail(&add->write.diag, CAIRN_E_LIMIT, "telemetry.bytes", CAIRN_NO_OFFSET,
				  "telemetry is kept up to %d bytes", CAIRN_INDEX_TELEMETRY_BYTES_MAX);
	cairn_pg_int8(&row, cairn_clock_unix_s());
	cairn_pg_text(&row, add->sender);
	cairn_pg_bytes(&row, add->body, add->body_len);
	cairn_pg_int8(&keep, add->keep_max);
	(void)cairn_pg_queue(&tx->pg, TELEMETRY_ADD, &row);
	return cairn_pg_run(&tx->pg, TELEMETRY_DROP, &keep, NULL);
}

enum cairn_status cairn_pg_each_telemetry(struct cairn_index *ix, int64_t before_id, uint32_t limit,
					  void (*visit)(void *ctx, const struct cairn_index_telemetry *row), void *ctx,
					  int64_t *next_id)
{
	struct cairn_pg_args args = {0};
	struct cairn_index_telemetry out = {0};
	char sender[CAIRN_INDEX_SCOPE_TEXT_MAX + 1];
	*next_id = 0;
	cairn_pg_int8(&args, before_id == 0 ? INT64_MAX : before_id);
	int page = cairn_pg_page(&args, limit);
	PG_READ(ix, reader, r, TELEMETRY_EACH, &args);
	for (int i = 0; i < PQntuples(r); i++) {
		out.id = cairn_pg_get_int8(r, i, 0);
		out.at_unix_s = cairn_pg_get_int8(r, i, 1);
		out.sender = sender;
		out.body = cairn_pg_get_bytes(r, i, 3, &out.body_len);
		if (!cairn_pg_get_text(r, i, 2, sender, sizeof(sender)))
			return CAIRN_E_DAMAGED;
		visit(ctx, &out);
	}
	*next_id = PQntuples(r) == page ? out.id : 0;
	return CAIRN_OK;
}
