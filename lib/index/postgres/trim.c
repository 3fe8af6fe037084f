/* What is kept for a time, and then removed. */
#include "index/operate.h"
#include "index/postgres/engine.h"

enum { TRIM_PIECE = 256 }; /* rows of one write */

static const char TRIM_KEYS[] = "DELETE FROM api_key WHERE id = ANY(ARRAY(SELECT id FROM api_key WHERE (revoked < $1"
				" OR expires < $1) AND id < (SELECT max(id) FROM api_key) LIMIT $2))";
static const char TRIM_TELEMETRY[] =
	"DELETE FROM telemetry WHERE at < $1 AND id = ANY(ARRAY(SELECT id FROM telemetry ORDER BY id LIMIT $2))";

enum cairn_status cairn_pg_trim(struct cairn_pg_tx *tx, struct cairn_index_trim *trim)
{
	int64_t n = 0;
	struct cairn_pg_args args = {0};
	cairn_pg_int8(&args, trim->before_unix_s);
	cairn_pg_int8(&args, TRIM_PIECE);
	enum cairn_status status =
		cairn_pg_run(&tx->pg, trim->what == CAIRN_INDEX_TRIM_KEYS ? TRIM_KEYS : TRIM_TELEMETRY, &args, &n);
	trim->n_dropped = (uint32_t)n;
	return status;
}
