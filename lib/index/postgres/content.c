#include "index/postgres/content.h"

#include "base/sum.h"

static const char CONTENT_USE[] =
	"UPDATE content c SET uses = c.uses + k.n FROM (SELECT id, sum(n) AS n FROM unnest($1::bigint[], $2::bigint[])"
	" u(id, n) GROUP BY id) k WHERE c.id = k.id";
/* Removes the contents. Inline ones no longer count in the stored size. */
static const char CONTENT_DROP[] =
	"WITH gone AS (DELETE FROM content WHERE id = ANY($1) AND uses = 0"
	" RETURNING repo, CASE WHEN key IS NULL THEN 0 ELSE size END AS bytes),"
	" s AS (SELECT repo, sum(bytes)::bigint AS bytes FROM gone GROUP BY repo),"
	" u AS (UPDATE repo SET stored = stored - s.bytes FROM s WHERE repo.id = s.repo AND s.bytes > 0)"
	" SELECT coalesce(sum(bytes), 0)::bigint FROM s";

unsigned cairn_pg_queue_use(struct cairn_pg_tx *tx, struct cairn_pg_array *contents, struct cairn_pg_array *times)
{
	(void)cairn_pg_queue(&tx->pg, CONTENT_USE, CAIRN_ARGS(cairn_pg_int8s(contents), cairn_pg_int8s(times)));
	return cairn_pg_queue(&tx->pg, CONTENT_DROP, CAIRN_ARGS(cairn_pg_int8s(contents)));
}

void cairn_pg_used(struct cairn_pg_tx *tx, unsigned queued, int64_t owner)
{
	cairn_records_grow(&tx->records, owner, cairn_difference(0, cairn_pg_get_int8(tx->pg.results[queued], 0, 0)));
}
