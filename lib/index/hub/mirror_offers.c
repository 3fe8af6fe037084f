#include "index/hub/mirror_offers.h"
#include "index/backend.h"
#include "index/records.h"

#include "base/buf.h"
#include "base/sum.h"

enum { OFFERS_BYTES_MAX = CAIRN_INDEX_OFFERS_MAX * 21 + 3 }; /* bytes of the numbers, as JSON */

/* Conditions on a file n that needs xorb x. PostgreSQL might answer EXISTS() by reading all rows. */
#define OFFERS_OWNED                                                                                                   \
	"(SELECT 1 FROM file_owner w WHERE w.file = n.file AND (SELECT 1 FROM repo r CROSS JOIN account a"             \
	" WHERE r.scope = w.scope AND r.dropped IS NULL AND a.id = r.account AND a.mirrored = 1 LIMIT 1) IS NULL"      \
	" LIMIT 1) IS NOT NULL"
#define OFFERS_KEPT                                                                                                    \
	"(SELECT 1 FROM content c CROSS JOIN mirror_repo k WHERE c.file = n.file AND k.repo = c.repo AND k.keep = 1"   \
	" LIMIT 1) IS NOT NULL"
#define OFFERS_READ(day)                                                                                               \
	"(SELECT 1 FROM content c LEFT JOIN mirror_file m ON m.content = c.id WHERE c.file = n.file"                   \
	" AND (m.used IS NULL OR m.used >= " day ") LIMIT 1) IS NOT NULL"
#define OFFERS_PART "(SELECT 1 FROM content c WHERE c.file = n.file LIMIT 1) IS NULL"
/* Does a file need xorb x which may not be evicted? */
#define OFFERS_NEEDED(day)                                                                                             \
	"(SELECT 1 FROM reference n WHERE n.xorb = x.id AND (" OFFERS_OWNED " OR " OFFERS_PART " OR " OFFERS_KEPT      \
	" OR " OFFERS_READ(day) ") LIMIT 1)"
/* Is such a file not one of the mirror alone, or kept? */
#define OFFERS_OWED       "(SELECT 1 FROM reference n WHERE n.xorb = x.id AND (" OFFERS_OWNED " OR " OFFERS_KEPT ") LIMIT 1)"
#define OFFERS_EACH       "SELECT x.id, x.stored, x.withdrawn FROM xorb x WHERE x.withdrawn > 0 AND "
#define OFFERS_LITE_AMONG "x.id IN (SELECT value FROM json_each($1))"
#define OFFERS_PG_AMONG                                                                                                \
	"x.id = ANY(ARRAY(SELECT CAST(value AS bigint) FROM json_array_elements_text(CAST($1 AS json))))"
#define OFFERS_WITHDRAW(table, now, among)                                                                             \
	"UPDATE " table " SET withdrawn = " now " WHERE " among                                                        \
	" AND x.withdrawn IS NULL AND x.retired IS NULL AND x.at <= $3 AND " OFFERS_NEEDED("$4") " IS NULL"
#define OFFERS_OFFER(table, among) "UPDATE " table " SET withdrawn = NULL WHERE " among

CAIRN_SQL_OF(OFFERS_WITHDRAW, OFFERS_WITHDRAW("xorb AS x", "$2", OFFERS_LITE_AMONG),
	     OFFERS_WITHDRAW("xorb x",
			     "greatest(CAST($2 AS bigint), CAST(extract(epoch FROM clock_timestamp()) AS bigint))",
			     OFFERS_PG_AMONG));
CAIRN_SQL_OF(OFFERS_OFFER, OFFERS_OFFER("xorb AS x", OFFERS_LITE_AMONG), OFFERS_OFFER("xorb x", OFFERS_PG_AMONG));
/* Compares withdrawn with 0, because this tells SQLite that the index of withdrawn xorbs has all rows. */
CAIRN_SQL(OFFERS_EACH_NEEDED, OFFERS_EACH OFFERS_NEEDED("$1") " IS NOT NULL LIMIT $2");
CAIRN_SQL(OFFERS_EACH_OWED, OFFERS_EACH OFFERS_OWED " IS NOT NULL LIMIT $1");
/* The time as of which a xorb that is offered is retired: $2 is now, and $4 half of the grace time. Clients remember
 * for that much longer what they sent, as in withdraw_xorbs. A later time of arrival counts as now: the clock was set
 * back. */
#define OFFERS_SINCE(max, min) min "(" max "($2, at + $4), $2 + $4)"
#define OFFERS_RETIRE(table, among, max, min)                                                                          \
	"UPDATE " table " SET retired = " min "(" max                                                                  \
	"(coalesce(withdrawn, " OFFERS_SINCE(max, min) "), $3), " OFFERS_SINCE(                                        \
		max, min) "), withdrawn = NULL WHERE " among                                                           \
			  " AND x.retired IS NULL AND (SELECT 1 FROM reference n WHERE n.xorb = x.id LIMIT 1) IS NULL"
CAIRN_SQL_OF(OFFERS_RETIRE, OFFERS_RETIRE("xorb AS x", OFFERS_LITE_AMONG, "max", "min"),
	     OFFERS_RETIRE("xorb x", OFFERS_PG_AMONG, "greatest", "least"));
#define OFFERS_DROP(table, among)                                                                                      \
	"DELETE FROM " table " WHERE " among " AND (SELECT y.retired FROM xorb y WHERE y.id = x.xorb) IS NOT NULL"
CAIRN_SQL_OF(OFFERS_DROP, OFFERS_DROP("dedupe AS x", "x.xorb IN (SELECT value FROM json_each($1))"),
	     OFFERS_DROP("dedupe x", "x.xorb = ANY(ARRAY(SELECT CAST(value AS bigint)"
				     " FROM json_array_elements_text(CAST($1 AS json))))"));
#define OFFERS_SUM(which) "(SELECT CAST(coalesce(sum(stored), 0) AS bigint) FROM xorb WHERE " which ")"
CAIRN_SQL(
	OFFERS_SUM,
	"SELECT " OFFERS_SUM("withdrawn > 0 AND withdrawn > $1") ", " OFFERS_SUM(
		"withdrawn > 0 AND withdrawn <= $1") ", " OFFERS_SUM("retired > $1") ", " OFFERS_SUM("retired <= $1"));

/* Forget the known shards, as when a xorb is retired, so that their users look them up again. */
enum cairn_status cairn_records_withdraw_xorbs(struct cairn_index_tx *tx, struct cairn_index_withdraw_xorbs *withdraw)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf numbers = cairn_buf_init(OFFERS_BYTES_MAX);
	int64_t n = 0;
	withdraw->n_withdrawn = 0;
	if (withdraw->n == 0)
		return CAIRN_OK;
	enum cairn_status status = cairn_records_numbers(&numbers, withdraw->xorbs, withdraw->n);
	if (status == CAIRN_OK)
		status = cairn_db_run(
			tx->db, &OFFERS_WITHDRAW,
			CAIRN_ARGS(cairn_db_text((const char *)numbers.bytes), cairn_db_int(withdraw->now_unix_s),
				   cairn_db_int(withdraw->arrived_before_unix_s), cairn_db_int(withdraw->before_day)),
			&n);
	if (status != CAIRN_OK || n == 0)
		return status;
	cairn_advance(&tx->counts->collection);
	cairn_add(&tx->counts->withdrawn, 1);
	withdraw->n_withdrawn = (uint32_t)n;
	return CAIRN_OK;
}

enum cairn_status cairn_records_offer_xorbs(struct cairn_index_tx *tx, struct cairn_index_offer_xorbs *offer)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf numbers = cairn_buf_init(OFFERS_BYTES_MAX);
	if (offer->n == 0)
		return CAIRN_OK;
	enum cairn_status status = cairn_records_numbers(&numbers, offer->xorbs, offer->n);
	if (status != CAIRN_OK)
		return status;
	return cairn_db_run(tx->db, &OFFERS_OFFER, CAIRN_ARGS(cairn_db_text((const char *)numbers.bytes)), NULL);
}

enum cairn_status cairn_index_each_needed(struct cairn_index *ix, int64_t before_day,
					  void (*visit)(void *ctx, const struct cairn_index_unoffered *xorb), void *ctx)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	const struct cairn_db_arg max = cairn_db_int(CAIRN_INDEX_OFFERS_MAX);
	enum cairn_status status =
		before_day == INT64_MAX
			? cairn_records_find(ix, &rows, &OFFERS_EACH_OWED, CAIRN_ARGS(max))
			: cairn_records_find(ix, &rows, &OFFERS_EACH_NEEDED, CAIRN_ARGS(cairn_db_int(before_day), max));
	for (; status == CAIRN_OK; status = cairn_db_next(&rows)) {
		const struct cairn_index_unoffered xorb = {.xorb = cairn_db_get_int(&rows, 0),
							   .stored_bytes = (uint64_t)cairn_db_get_int(&rows, 1),
							   .withdrawn_unix_s = cairn_db_get_int(&rows, 2)};
		visit(ctx, &xorb);
	}
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

/* Forgets the known shards, for the same reason. */
enum cairn_status cairn_records_retire_xorbs(struct cairn_index_tx *tx, struct cairn_index_retire_xorbs *retire)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf numbers = cairn_buf_init(OFFERS_BYTES_MAX);
	int64_t n = 0, n_chunks = 0, now = retire->now_unix_s;
	retire->n_retired = 0;
	if (retire->n == 0)
		return CAIRN_OK;
	enum cairn_status status = cairn_records_numbers(&numbers, retire->xorbs, retire->n);
	if (status != CAIRN_OK)
		return status;
	const struct cairn_db_arg among = cairn_db_text((const char *)numbers.bytes);
	status = cairn_db_run(tx->db, &OFFERS_RETIRE,
			      CAIRN_ARGS(among, cairn_db_int(now), cairn_db_int(now - retire->grace_s + retire->keep_s),
					 cairn_db_int(retire->grace_s / 2)),
			      &n);
	if (status == CAIRN_OK && n > 0)
		status = cairn_db_run(tx->db, &OFFERS_DROP, CAIRN_ARGS(among), &n_chunks);
	if (status != CAIRN_OK || n == 0)
		return status;
	cairn_add(&tx->counts->eligible, -n_chunks);
	cairn_advance(&tx->counts->collection);
	cairn_add(&tx->counts->withdrawn, 1);
	retire->n_retired = (uint32_t)n;
	return CAIRN_OK;
}

enum cairn_status cairn_index_unoffered_sum(struct cairn_index *ix, int64_t before_unix_s,
					    struct cairn_index_unoffered_sum *out)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	struct cairn_index_stats stats;
	*out = (struct cairn_index_unoffered_sum){0};
	enum cairn_status status = cairn_records_find(ix, &rows, &OFFERS_SUM, CAIRN_ARGS(cairn_db_int(before_unix_s)));
	if (status != CAIRN_OK)
		return status;
	out->free_bytes = (uint64_t)cairn_db_get_int(&rows, 1);
	out->withdrawn_bytes = (uint64_t)cairn_db_get_int(&rows, 0) + out->free_bytes;
	out->retired_bytes = (uint64_t)cairn_db_get_int(&rows, 2);
	out->due_bytes = (uint64_t)cairn_db_get_int(&rows, 3);
	cairn_index_stats(ix, &stats);
	uint64_t retired_bytes = out->retired_bytes + out->due_bytes;
	out->needed_bytes = stats.stored_bytes > retired_bytes ? stats.stored_bytes - retired_bytes : 0;
	return cairn_db_whole(&rows);
}
