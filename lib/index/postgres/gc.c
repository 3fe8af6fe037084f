/* Retires and then sweeps xorbs that no file needs, a page at a time. */
#include "index/needs.h"
#include "index/postgres/write.h"

#include "base/clock.h"
#include "base/sum.h"

enum { GC_PAGE = 128 }; /* xorbs examined in one exchange */

static const char GC_WITHDRAW[] = "DELETE FROM dedupe WHERE xorb = ANY($1)";
/* Retires a xorb that was withdrawn long ago even if it arrived lately. */
static const char GC_MARK_PAGE[] = "SELECT id, retired IS NULL AND (at <= $2 OR (withdrawn <= $2 AND at <= $4))"
				   " AND (SELECT true FROM reference r WHERE r.xorb = x.id LIMIT 1) IS NULL"
				   " FROM xorb x WHERE id > $1 ORDER BY id LIMIT $3";
/* A withdrawn xorb counts as retired since its withdrawal, because it was not offered since then. But it counts as
 * retired since $3 at the earliest. */
static const char GC_RETIRE[] =
	"UPDATE xorb SET retired = least(greatest(coalesce(withdrawn, $2), $3), $2), withdrawn = NULL WHERE id = ANY($1)";
/* Locks the rows first. A later statement with a new snapshot then looks for references to them, and sees those that
 * another transaction was about to commit. */
static const char GC_SWEEP_PAGE[] =
	"SELECT id, hash, stored FROM xorb WHERE retired <= $1 ORDER BY retired, id LIMIT $2"
	" FOR UPDATE SKIP LOCKED";
static const char GC_NEEDED[] = "SELECT DISTINCT xorb FROM reference WHERE xorb = ANY($1)";
static const char GC_DROP_MEMBERS[] =
	"WITH m AS (DELETE FROM member WHERE xorb = ANY($1) RETURNING shard) DELETE FROM shard WHERE id IN"
	" (SELECT shard FROM m) AND NOT EXISTS(SELECT 1 FROM member o WHERE o.shard = shard.id AND o.xorb <> ALL($1))";
static const char GC_DROP_LISTS[] = "DELETE FROM list WHERE xorb = ANY($1)";
static const char GC_DROP_XORBS[] = "DELETE FROM xorb WHERE id = ANY($1)";

/* Tells all daemons that xorbs are no longer offered or stored. */
static void gc_count_removal(struct cairn_pg_tx *tx)
{
	cairn_advance(&tx->counts.collection);
	cairn_add(&tx->counts.withdrawn, 1);
}

/* Stops offering xorbs. */
static enum cairn_status gc_withdraw(struct cairn_pg_tx *tx, struct cairn_pg_array *xorbs)
{
	int64_t n = 0;
	enum cairn_status status = cairn_pg_run(&tx->pg, GC_WITHDRAW, CAIRN_ARGS(cairn_pg_int8s(xorbs)), &n);
	cairn_add(&tx->counts.eligible, -n);
	return status;
}

/* --- retiring ----------------------------------------------------------------------------------------------------- */

/* Examines a page from next_id on, and lists the xorbs that nothing needs. */
static enum cairn_status gc_mark_page(struct cairn_pg_tx *tx, struct cairn_index_gc_mark *mark,
				      struct cairn_pg_array *retired)
{
	const PGresult *r;
	cairn_pg_array_empty(retired);
	enum cairn_status status =
		cairn_pg_ask(&tx->pg, GC_MARK_PAGE,
			     CAIRN_ARGS(cairn_db_int(mark->next_id), cairn_db_int(mark->now_unix_s - mark->grace_s),
					cairn_db_int(GC_PAGE), cairn_db_int(mark->now_unix_s - mark->keep_s)),
			     &r);
	if (status != CAIRN_OK)
		return status;
	int n = PQntuples(r);
	for (int i = 0; i < n; i++) {
		int64_t id = cairn_pg_get_int8(r, i, 0);
		bool unneeded = cairn_pg_get_int8(r, i, 1) != 0;
		bool doubted = unneeded && cairn_index_needs_has(mark->needs, id);
		mark->n_doubted += doubted;
		if (unneeded && !doubted)
			cairn_pg_add_int8(retired, id);
	}
	mark->next_id = n == GC_PAGE ? cairn_pg_get_int8(r, n - 1, 0) : 0;
	return CAIRN_OK;
}

enum cairn_status cairn_pg_gc_mark(struct cairn_pg_tx *tx, struct cairn_index_gc_mark *mark)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array retired = {0};
	int64_t until_ms = cairn_clock_mono_ms() + CAIRN_INDEX_GC_MS;
	mark->n_retired = mark->n_doubted = 0;
	mark->next_id = mark->from_id;
	do {
		enum cairn_status status = gc_mark_page(tx, mark, &retired);
		if (status == CAIRN_OK && retired.n > 0) {
			(void)cairn_pg_queue(&tx->pg, GC_RETIRE,
					     CAIRN_ARGS(cairn_pg_int8s(&retired), cairn_db_int(mark->now_unix_s),
							cairn_db_int(mark->now_unix_s - mark->grace_s + mark->keep_s)));
			status = gc_withdraw(tx, &retired);
		}
		if (status != CAIRN_OK)
			return status;
		mark->n_retired += retired.n;
	} while (mark->next_id != 0 && cairn_clock_mono_ms() < until_ms);
	if (mark->n_retired > 0)
		gc_count_removal(tx);
	return CAIRN_OK;
}

/* --- sweeping ----------------------------------------------------------------------------------------------------- */

struct gc_page {
	int n; /* at most GC_PAGE */
	int64_t id[GC_PAGE], stored_bytes[GC_PAGE];
	struct cairn_hash hash[GC_PAGE];
	bool needed[GC_PAGE]; /* Should never be true. If it is, keep the xorb. */
};

static enum cairn_status gc_sweep_page(struct cairn_pg_tx *tx, int64_t before_unix_s, uint32_t max,
				       struct gc_page *page)
{
	const PGresult *r;
	page->n = 0;
	enum cairn_status status =
		cairn_pg_ask(&tx->pg, GC_SWEEP_PAGE, CAIRN_ARGS(cairn_db_int(before_unix_s), cairn_db_int(max)), &r);
	for (int i = 0; status == CAIRN_OK && i < PQntuples(r) && i < GC_PAGE; i++) {
		page->id[i] = cairn_pg_get_int8(r, i, 0);
		page->stored_bytes[i] = cairn_pg_get_int8(r, i, 2);
		page->needed[i] = false;
		if (!cairn_pg_get_hash(r, i, 1, &page->hash[i]))
			status = CAIRN_E_DAMAGED;
		page->n = i + 1;
	}
	return status;
}

static enum cairn_status gc_look_for_needed(struct cairn_pg_tx *tx, struct gc_page *page)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array ids = {0};
	const PGresult *r;
	for (int i = 0; i < page->n; i++)
		cairn_pg_add_int8(&ids, page->id[i]);
	enum cairn_status status = cairn_pg_ask(&tx->pg, GC_NEEDED, CAIRN_ARGS(cairn_pg_int8s(&ids)), &r);
	for (int row = 0; status == CAIRN_OK && row < PQntuples(r); row++)
		for (int i = 0; i < page->n; i++)
			page->needed[i] = page->needed[i] || page->id[i] == cairn_pg_get_int8(r, row, 0);
	return status;
}

static enum cairn_status gc_remove(struct cairn_pg_tx *tx, struct cairn_pg_array *ids)
{
	enum cairn_status status = gc_withdraw(tx, ids);
	if (status != CAIRN_OK)
		return status;
	const struct cairn_db_args *args = CAIRN_ARGS(cairn_pg_int8s(ids));
	cairn_pg_kill_copies_of(tx, ids);
	unsigned members = cairn_pg_queue(&tx->pg, GC_DROP_MEMBERS, args);
	(void)cairn_pg_queue(&tx->pg, GC_DROP_LISTS, args);
	status = cairn_pg_run(&tx->pg, GC_DROP_XORBS, args, NULL);
	if (status == CAIRN_OK)
		cairn_add(&tx->counts.shards, -cairn_pg_changed(tx->pg.results[members]));
	return status;
}

enum cairn_status cairn_pg_gc_sweep(struct cairn_pg_tx *tx, struct cairn_index_gc_sweep *sweep)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array gone = {0};
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array kept = {0};
	uint32_t max = sweep->n_max < GC_PAGE ? sweep->n_max : GC_PAGE;
	struct gc_page page;
	sweep->n = sweep->n_doubted = 0;
	sweep->more = false;
	enum cairn_status status = gc_sweep_page(tx, sweep->now_unix_s - sweep->grace_s, max, &page);
	if (status == CAIRN_OK && page.n > 0)
		status = gc_look_for_needed(tx, &page);
	if (status != CAIRN_OK || page.n == 0)
		return status;
	sweep->more = page.n == (int)max;
	for (int i = 0; i < page.n; i++) {
		bool doubted = !page.needed[i] && cairn_index_needs_has(sweep->needs, page.id[i]);
		bool goes = !page.needed[i] && !doubted;
		sweep->n_doubted += doubted;
		cairn_pg_add_int8(goes ? &gone : &kept, page.id[i]);
		if (goes)
			sweep->swept[sweep->n++] = page.hash[i];
		if (goes)
			tx->counts.stored_bytes = cairn_difference(tx->counts.stored_bytes, page.stored_bytes[i]);
	}
	if (kept.n > 0)
		status = cairn_pg_keep_xorbs(tx, &kept, false);
	if (status == CAIRN_OK && gone.n > 0)
		status = gc_remove(tx, &gone);
	cairn_add(&tx->counts.xorbs, -(int64_t)sweep->n);
	if (sweep->n > 0)
		gc_count_removal(tx);
	return status;
}
