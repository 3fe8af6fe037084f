/* Retires and then sweeps xorbs that no file needs. Reads all candidates of a page before it changes any, because
 * SQLite does not define which changes a running SELECT sees. */
#include "index/needs.h"
#include "index/sqlite/write.h"

#include "base/clock.h"
#include "base/sum.h"

enum { GC_PAGE = 512 }; /* xorbs examined between two looks at the clock */

static enum cairn_status gc_drop(struct cairn_tx *tx, const struct cairn_statement *which, int64_t id)
{
	return cairn_tx_run(tx, which, CAIRN_ARGS(cairn_db_int(id)));
}

static CAIRN_WRITES(TX_DROP_DEDUPE, "DELETE FROM dedupe WHERE xorb = ?1");

/* Stops offering a xorb. */
static enum cairn_status gc_withdraw(struct cairn_tx *tx, int64_t xorb)
{
	enum cairn_status status = gc_drop(tx, &TX_DROP_DEDUPE, xorb);
	if (status == CAIRN_OK)
		cairn_add(&tx->counts.eligible, -sqlite3_changes(tx->db));
	return status;
}

struct gc_page {
	unsigned n, n_seen; /* candidates; xorbs examined */
	int64_t last;       /* last of the xorbs examined */
	int64_t id[GC_PAGE];
	struct cairn_hash hash[GC_PAGE];
	int64_t stored_bytes[GC_PAGE];
};

static CAIRN_WRITES(
	TX_MARK_PAGE,
	"SELECT id, retired IS NULL AND (at <= ?2 OR (withdrawn <= ?2 AND at <= ?4))"
	" AND NOT EXISTS(SELECT 1 FROM reference r WHERE r.xorb = x.id) FROM xorb x WHERE id > ?1 ORDER BY id LIMIT ?3");

/* Retires a xorb that was withdrawn long ago even if it arrived lately. */
static enum cairn_status gc_mark_page(struct cairn_tx *tx, const struct cairn_index_gc_mark *mark, struct gc_page *page)
{
	page->n = page->n_seen = 0;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_tx_stmt(tx, &TX_MARK_PAGE);
	sqlite3_bind_int64(stmt, 1, mark->next_id);
	sqlite3_bind_int64(stmt, 2, mark->now_unix_s - mark->grace_s);
	sqlite3_bind_int64(stmt, 3, GC_PAGE);
	sqlite3_bind_int64(stmt, 4, mark->now_unix_s - mark->keep_s);
	for (;;) {
		bool row;
		enum cairn_status status = cairn_sql_step(stmt, &row);
		if (status != CAIRN_OK || !row)
			return status;
		page->n_seen++;
		page->last = sqlite3_column_int64(stmt, 0);
		if (sqlite3_column_int64(stmt, 1) != 0)
			page->id[page->n++] = page->last;
	}
}

/* A withdrawn xorb counts as retired since its withdrawal, because it was not offered since then. But it counts as
 * retired since ?3 at the earliest. */
static CAIRN_WRITES(
	TX_RETIRE_XORB,
	"UPDATE xorb SET retired = min(max(coalesce(withdrawn, ?2), ?3), ?2), withdrawn = NULL WHERE id = ?1");

static enum cairn_status gc_retire(struct cairn_tx *tx, int64_t xorb, const struct cairn_index_gc_mark *mark)
{
	int64_t now = mark->now_unix_s;
	enum cairn_status status = cairn_tx_run(
		tx, &TX_RETIRE_XORB,
		CAIRN_ARGS(cairn_db_int(xorb), cairn_db_int(now), cairn_db_int(now - mark->grace_s + mark->keep_s)));
	return status == CAIRN_OK ? gc_withdraw(tx, xorb) : status;
}

enum cairn_status cairn_tx_gc_mark(struct cairn_tx *tx, struct cairn_index_gc_mark *mark)
{
	int64_t until_ms = cairn_clock_mono_ms() + CAIRN_INDEX_GC_MS;
	struct gc_page page;
	mark->n_retired = mark->n_doubted = 0;
	mark->next_id = mark->from_id;
	do {
		enum cairn_status status = gc_mark_page(tx, mark, &page);
		if (status != CAIRN_OK)
			return status;
		if (page.n_seen < GC_PAGE)
			page.last = 0;
		for (unsigned i = 0; i < page.n; i++) {
			bool doubted = cairn_index_needs_has(mark->needs, page.id[i]);
			status = doubted ? CAIRN_OK : gc_retire(tx, page.id[i], mark);
			if (status != CAIRN_OK)
				return status;
			mark->n_retired += !doubted;
			mark->n_doubted += doubted;
			if (i + 1 < page.n && cairn_clock_mono_ms() >= until_ms) {
				page.last = page.id[i];
				break;
			}
		}
		mark->next_id = page.last;
	} while (mark->next_id != 0 && cairn_clock_mono_ms() < until_ms);
	if (mark->n_retired > 0)
		cairn_advance(&tx->counts.collection);
	return CAIRN_OK;
}

/* Reads the row, too: the database index xorb_retired alone is no evidence. */
static CAIRN_WRITES(TX_SWEEP_PAGE, "SELECT x.id, x.hash, x.stored FROM xorb y CROSS JOIN xorb x ON x.id = y.id"
				   " WHERE y.retired <= ?1 AND x.retired <= ?1 ORDER BY y.retired LIMIT ?2");

static enum cairn_status gc_sweep_page(struct cairn_tx *tx, int64_t before_unix_s, uint32_t max, struct gc_page *page)
{
	page->n = 0;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_tx_stmt(tx, &TX_SWEEP_PAGE);
	sqlite3_bind_int64(stmt, 1, before_unix_s);
	sqlite3_bind_int64(stmt, 2, max);
	for (;;) {
		bool row;
		enum cairn_status status = cairn_sql_step(stmt, &row);
		if (status != CAIRN_OK || !row)
			return status;
		page->id[page->n] = sqlite3_column_int64(stmt, 0);
		page->stored_bytes[page->n] = sqlite3_column_int64(stmt, 2);
		if (!cairn_sql_hash(stmt, 1, &page->hash[page->n++]))
			return CAIRN_E_DAMAGED;
	}
}

static CAIRN_WRITES(TX_HAS_REFERENCE, "SELECT 1 FROM reference WHERE xorb = ?1 LIMIT 1");

/* Is a retired xorb referenced? It should never be; if it is, it is kept. */
static enum cairn_status gc_is_referenced(struct cairn_tx *tx, int64_t xorb, bool *referenced)
{
	return cairn_tx_has(tx, &TX_HAS_REFERENCE, CAIRN_ARGS(cairn_db_int(xorb)), referenced);
}

static CAIRN_WRITES(TX_FIND_MEMBER, "SELECT shard FROM member WHERE xorb = ?1 LIMIT 1");

/* @param[out] shard  a shard that describes the xorb; 0: none */
static enum cairn_status gc_find_member(struct cairn_tx *tx, int64_t xorb, int64_t *shard)
{
	return cairn_tx_number(tx, &TX_FIND_MEMBER, CAIRN_ARGS(cairn_db_int(xorb)), shard);
}

static CAIRN_WRITES(TX_DROP_MEMBER, "DELETE FROM member WHERE shard = ?1 AND xorb = ?2");
static CAIRN_WRITES(TX_DROP_SHARD,
		    "DELETE FROM shard WHERE id = ?1 AND NOT EXISTS(SELECT 1 FROM member WHERE shard = ?1)");

/* Drops the xorb's shards that have no other xorb: they offer no neighbours. The sweep makes earlier shards unknown. */
static enum cairn_status gc_drop_members(struct cairn_tx *tx, int64_t xorb)
{
	for (;;) {
		int64_t shard;
		enum cairn_status status = gc_find_member(tx, xorb, &shard);
		if (status != CAIRN_OK || shard == 0)
			return status;
		status = cairn_tx_run(tx, &TX_DROP_MEMBER, CAIRN_ARGS(cairn_db_int(shard), cairn_db_int(xorb)));
		if (status == CAIRN_OK)
			status = gc_drop(tx, &TX_DROP_SHARD, shard);
		if (status != CAIRN_OK)
			return status;
		cairn_add(&tx->counts.shards, -sqlite3_changes(tx->db));
	}
}

static CAIRN_WRITES(TX_DROP_LIST, "DELETE FROM list WHERE xorb = ?1");
static CAIRN_WRITES(TX_DROP_XORB, "DELETE FROM xorb WHERE id = ?1");

static enum cairn_status gc_remove(struct cairn_tx *tx, const struct gc_page *page, unsigned i)
{
	enum cairn_status status = gc_withdraw(tx, page->id[i]);
	if (status == CAIRN_OK)
		status = gc_drop_members(tx, page->id[i]);
	if (status == CAIRN_OK)
		status = gc_drop(tx, &TX_DROP_LIST, page->id[i]);
	if (status == CAIRN_OK)
		status = gc_drop(tx, &TX_DROP_XORB, page->id[i]);
	cairn_add(&tx->counts.xorbs, -1);
	tx->counts.stored_bytes = cairn_difference(tx->counts.stored_bytes, page->stored_bytes[i]);
	return status;
}

static enum cairn_status gc_sweep_one(struct cairn_tx *tx, struct cairn_index_gc_sweep *sweep,
				      const struct gc_page *page, unsigned i)
{
	bool referenced;
	enum cairn_status status = gc_is_referenced(tx, page->id[i], &referenced);
	if (status != CAIRN_OK)
		return status;
	bool doubted = !referenced && cairn_index_needs_has(sweep->needs, page->id[i]);
	sweep->n_doubted += doubted;
	if (referenced || doubted)
		return cairn_tx_keep_xorb(tx, page->id[i], false);
	sweep->swept[sweep->n++] = page->hash[i];
	return gc_remove(tx, page, i);
}

enum cairn_status cairn_tx_gc_sweep(struct cairn_tx *tx, struct cairn_index_gc_sweep *sweep)
{
	int64_t until_ms = cairn_clock_mono_ms() + CAIRN_INDEX_GC_MS;
	uint32_t max = sweep->n_max < GC_PAGE ? sweep->n_max : GC_PAGE;
	struct gc_page page;
	sweep->n = sweep->n_doubted = 0;
	enum cairn_status status = gc_sweep_page(tx, sweep->now_unix_s - sweep->grace_s, max, &page);
	sweep->more = status == CAIRN_OK && page.n == max;
	for (unsigned i = 0; status == CAIRN_OK && i < page.n; i++) {
		status = gc_sweep_one(tx, sweep, &page, i);
		if (i + 1 < page.n && cairn_clock_mono_ms() >= until_ms) {
			sweep->more = true;
			break;
		}
	}
	if (sweep->n > 0)
		cairn_advance(&tx->counts.collection);
	return status;
}
