/* The engine's table of functions, and its adapters for the index's writer. */
#include "index/sqlite/engine.h"

static struct cairn_tx *table_tx(struct cairn_index *ix)
{
	return &cairn_sqlite(ix)->tx;
}

enum cairn_status cairn_sqlite_lend(struct cairn_index *ix, struct cairn_db **out)
{
	struct cairn_reader *r;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	*out = status == CAIRN_OK ? &r->records.db : NULL;
	return status;
}

struct cairn_index_tx *cairn_sqlite_tx(struct cairn_index *ix)
{
	struct cairn_index_tx *tx = &table_tx(ix)->records;
	tx->ix = ix;
	tx->counts = &table_tx(ix)->counts;
	tx->frozen = table_tx(ix)->frozen;
	return tx;
}

static void table_fail(struct cairn_index *ix, struct cairn_diag *diag)
{
	(void)cairn_sql_fail(table_tx(ix)->db, diag, "the index cannot be written");
}

enum cairn_status cairn_sqlite_begin(struct cairn_index *ix, struct cairn_diag *diag)
{
	enum cairn_status status = cairn_tx_begin(table_tx(ix));
	if (status != CAIRN_OK)
		table_fail(ix, diag);
	return status;
}

enum cairn_status cairn_sqlite_commit(struct cairn_index *ix, struct cairn_diag *diag)
{
	struct cairn_sqlite *s = cairn_sqlite(ix);
	enum cairn_status status = cairn_tx_commit(&s->tx);
	if (status != CAIRN_OK) {
		table_fail(ix, diag);
		return status;
	}
	pthread_mutex_lock(&s->lock);
	s->counts = s->tx.counts;
	pthread_mutex_unlock(&s->lock);
	return CAIRN_OK;
}

void cairn_sqlite_roll_back(struct cairn_index *ix)
{
	cairn_tx_rollback(table_tx(ix));
}

bool cairn_sqlite_is_open(const struct cairn_index *ix)
{
	return cairn_tx_is_open(&((const struct cairn_sqlite *)ix)->tx);
}

bool cairn_sqlite_explain(struct cairn_index *ix, struct cairn_diag *diag)
{
	int rc = sqlite3_errcode(table_tx(ix)->db) & 0xff;
	if (rc == SQLITE_OK || rc == SQLITE_ROW || rc == SQLITE_DONE)
		return false;
	table_fail(ix, diag);
	return true;
}

enum cairn_status cairn_sqlite_begin_repo(struct cairn_index *ix, struct cairn_index_add_repo *add, int64_t owner)
{
	return cairn_tx_begin_repo(table_tx(ix), add, owner);
}

#define SQLITE_WRITE(name)                                                                                             \
	enum cairn_status cairn_sqlite_##name(struct cairn_index *ix, struct cairn_index_##name *request)              \
	{                                                                                                              \
		return cairn_tx_##name(table_tx(ix), request);                                                         \
	}
CAIRN_ENGINE_WRITES(SQLITE_WRITE, CAIRN_ENGINE_LACKS)

/* Makes a checkpoint: the write that did not fit is undone, but the log's file has grown, perhaps over all free space.
 * The checkpoint may have to grow the database, but frees more than that takes. */
void cairn_sqlite_make_room(struct cairn_index *ix)
{
	struct cairn_sqlite *s = cairn_sqlite(ix);
	if (cairn_checkpoint_shrink(&s->checkpoint) || !cairn_reserve_release(&s->reserve))
		return;
	(void)!cairn_checkpoint_shrink(&s->checkpoint);
	cairn_reserve_take(&s->reserve, true);
}

void cairn_sqlite_use_reserve(struct cairn_index *ix)
{
	(void)cairn_reserve_release(&cairn_sqlite(ix)->reserve);
}

void cairn_sqlite_keep_reserve(struct cairn_index *ix)
{
	cairn_reserve_take(&cairn_sqlite(ix)->reserve, false);
}

bool cairn_sqlite_idle_work(struct cairn_index *ix)
{
	return cairn_tx_fill_filter(table_tx(ix));
}

enum cairn_status cairn_sqlite_upkeep(struct cairn_index *ix, struct cairn_diag *diag)
{
	if (!cairn_checkpoint_failed(&cairn_sqlite(ix)->checkpoint))
		return CAIRN_OK;
	return cairn_fail(
		diag, CAIRN_E_IO, "index.checkpoint", CAIRN_NO_OFFSET,
		"the disk failed during a checkpoint of the index's log; nothing is lost, but the log grows: look "
		"at the disk and restart the daemon, which begins with a checkpoint of all of it");
}

const struct cairn_index_backend CAIRN_SQLITE = {.remote = false,
#define SQLITE_HAS(name) .name = cairn_sqlite_##name,
						 CAIRN_ENGINE_CALLS(SQLITE_HAS, SQLITE_HAS, CAIRN_ENGINE_LACKS)
#undef SQLITE_HAS
};
