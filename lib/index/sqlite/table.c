/* The engine's table of functions, and its adapters for the index's writer. */
#include "index/sqlite/engine.h"

static struct cairn_tx *engine_tx(struct cairn_index *ix)
{
	return &cairn_sqlite(ix)->tx;
}

static enum cairn_status engine_take(struct cairn_index *ix, struct cairn_db **out)
{
	struct cairn_reader *r;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	*out = status == CAIRN_OK ? &r->records.db : NULL;
	return status;
}

static struct cairn_index_tx *engine_records(struct cairn_index *ix)
{
	struct cairn_index_tx *tx = &engine_tx(ix)->records;
	tx->ix = ix;
	tx->collection = &engine_tx(ix)->counts.collection;
	return tx;
}

/* --- a transaction ------------------------------------------------------------------------------------------------ */

static enum cairn_status engine_fail(struct cairn_index *ix, struct cairn_diag *diag)
{
	return cairn_sql_fail(engine_tx(ix)->db, diag, "the index cannot be written");
}

static enum cairn_status engine_begin(struct cairn_index *ix, struct cairn_diag *diag)
{
	enum cairn_status status = cairn_tx_begin(engine_tx(ix));
	if (status != CAIRN_OK)
		(void)engine_fail(ix, diag);
	return status;
}

static enum cairn_status engine_commit(struct cairn_index *ix, struct cairn_diag *diag)
{
	struct cairn_sqlite *s = cairn_sqlite(ix);
	enum cairn_status status = cairn_tx_commit(&s->tx);
	if (status != CAIRN_OK) {
		(void)engine_fail(ix, diag);
		return status;
	}
	pthread_mutex_lock(&s->lock);
	s->counts = s->tx.counts;
	pthread_mutex_unlock(&s->lock);
	return CAIRN_OK;
}

static void engine_roll_back(struct cairn_index *ix)
{
	cairn_tx_rollback(engine_tx(ix));
}

static bool engine_is_open(const struct cairn_index *ix)
{
	return cairn_tx_is_open(&((const struct cairn_sqlite *)ix)->tx);
}

/* --- a write ------------------------------------------------------------------------------------------------------ */

static bool engine_has_failed(struct cairn_index *ix)
{
	int rc = sqlite3_errcode(engine_tx(ix)->db) & 0xff;
	return rc != SQLITE_OK && rc != SQLITE_ROW && rc != SQLITE_DONE;
}

static enum cairn_status engine_save(struct cairn_index *ix)
{
	return cairn_tx_save(engine_tx(ix));
}

static enum cairn_status engine_undo(struct cairn_index *ix)
{
	return cairn_tx_undo(engine_tx(ix));
}

static enum cairn_status engine_release(struct cairn_index *ix)
{
	return cairn_tx_release(engine_tx(ix));
}

static enum cairn_index_frozen engine_frozen(const struct cairn_index *ix)
{
	return ((const struct cairn_sqlite *)ix)->tx.frozen;
}

static enum cairn_status engine_begin_repo(struct cairn_index *ix, struct cairn_index_add_repo *add, int64_t scope)
{
	return cairn_tx_begin_repo(engine_tx(ix), add, scope);
}

static enum cairn_status engine_probe(struct cairn_index *ix)
{
	return cairn_tx_probe(engine_tx(ix));
}

#define ENGINE_WRITE(name)                                                                                             \
	static enum cairn_status engine_##name(struct cairn_index *ix, struct cairn_index_##name *request)             \
	{                                                                                                              \
		return cairn_tx_##name(engine_tx(ix), request);                                                        \
	}

ENGINE_WRITE(put_xorb)
ENGINE_WRITE(put_shard)
ENGINE_WRITE(forget_file)
ENGINE_WRITE(share_file)
ENGINE_WRITE(settle_claims)
ENGINE_WRITE(prove_file)
ENGINE_WRITE(renew_xorb)
ENGINE_WRITE(lose_xorb)
ENGINE_WRITE(gc_mark)
ENGINE_WRITE(gc_sweep)
ENGINE_WRITE(add_commit)
ENGINE_WRITE(adopt_files)
ENGINE_WRITE(add_ref)
ENGINE_WRITE(squash)
ENGINE_WRITE(drop_ref)
ENGINE_WRITE(sweep_repos)
ENGINE_WRITE(change_objects)

/* --- room, and work beside the writes ----------------------------------------------------------------------------- */

/* The write that did not fit is undone, but the log's file has grown, perhaps over all free space. A checkpoint may
 * have to grow the database, but frees more than that takes. */
static void engine_make_room(struct cairn_index *ix)
{
	struct cairn_sqlite *s = cairn_sqlite(ix);
	if (cairn_checkpoint_shrink(&s->checkpoint) || !cairn_reserve_release(&s->reserve))
		return;
	(void)!cairn_checkpoint_shrink(&s->checkpoint);
	cairn_reserve_take(&s->reserve, true);
}

static void engine_use_reserve(struct cairn_index *ix)
{
	(void)cairn_reserve_release(&cairn_sqlite(ix)->reserve);
}

static void engine_keep_reserve(struct cairn_index *ix)
{
	cairn_reserve_take(&cairn_sqlite(ix)->reserve, false);
}

static bool engine_idle_work(struct cairn_index *ix)
{
	return cairn_tx_fill_filter(engine_tx(ix));
}

static enum cairn_status engine_upkeep(struct cairn_index *ix, struct cairn_diag *diag)
{
	if (!cairn_checkpoint_failed(&cairn_sqlite(ix)->checkpoint))
		return CAIRN_OK;
	return cairn_fail(
		diag, CAIRN_E_IO, "index.checkpoint", CAIRN_NO_OFFSET,
		"the disk failed during a checkpoint of the index's log; nothing is lost, but the log grows: look "
		"at the disk and restart the daemon, which begins with a checkpoint of all of it");
}

const struct cairn_index_backend CAIRN_SQLITE = {
	.remote = false,
	.migrate = cairn_sqlite_migrate,
	.version = cairn_sqlite_version,
	.open = cairn_sqlite_open,
	.reset_bug = cairn_sql_reset_bug,
	.free = cairn_sqlite_free,
	.take = engine_take,
	.tx = engine_records,

	.xorb = cairn_sqlite_xorb,
	.xorb_by_id = cairn_sqlite_xorb_by_id,
	.chunk_list = cairn_sqlite_chunk_list,
	.chunk_list_by_id = cairn_sqlite_chunk_list_by_id,
	.may_dedupe = cairn_sqlite_may_dedupe,
	.dedupe = cairn_sqlite_dedupe,
	.file = cairn_sqlite_file,
	.file_by_sha256 = cairn_sqlite_file_by_sha256,
	.spans = cairn_sqlite_spans,
	.plan = cairn_sqlite_plan,
	.look_at_shard = cairn_sqlite_look_at_shard,
	.each_xorb = cairn_sqlite_each_xorb,
	.each_file = cairn_sqlite_each_file,
	.totals = cairn_sqlite_totals,
	.each_owned_file = cairn_sqlite_each_owned_file,
	.entry = cairn_sqlite_entry,
	.each_entry = cairn_sqlite_each_entry,
	.each_owned = cairn_sqlite_each_owned,
	.each_match = cairn_sqlite_each_match,
	.each_place = cairn_sqlite_each_place,
	.each_due = cairn_sqlite_each_due,
	.each_lie = cairn_sqlite_each_lie,
	.claims = cairn_sqlite_claims,
	.last_xorb = cairn_sqlite_last_xorb,
	.describe = cairn_sqlite_describe,
	.upkeep = engine_upkeep,

	.examine = cairn_sqlite_examine,
	.examine_xorbs = cairn_sqlite_examine_xorbs,
	.glance = cairn_sqlite_glance,
	.mend = cairn_sqlite_mend,
	.references_agree = cairn_sqlite_references_agree,

	.begin = engine_begin,
	.frozen = engine_frozen,
	.save = engine_save,
	.undo = engine_undo,
	.release = engine_release,
	.has_failed = engine_has_failed,
	.fail = engine_fail,
	.is_open = engine_is_open,
	.commit = engine_commit,
	.roll_back = engine_roll_back,
	.put_xorb = engine_put_xorb,
	.put_shard = engine_put_shard,
	.forget_file = engine_forget_file,
	.share_file = engine_share_file,
	.settle_claims = engine_settle_claims,
	.prove_file = engine_prove_file,
	.renew_xorb = engine_renew_xorb,
	.lose_xorb = engine_lose_xorb,
	.gc_mark = engine_gc_mark,
	.gc_sweep = engine_gc_sweep,
	.begin_repo = engine_begin_repo,
	.add_commit = engine_add_commit,
	.adopt_files = engine_adopt_files,
	.add_ref = engine_add_ref,
	.squash = engine_squash,
	.drop_ref = engine_drop_ref,
	.sweep_repos = engine_sweep_repos,
	.change_objects = engine_change_objects,
	.probe = engine_probe,
	.make_room = engine_make_room,
	.use_reserve = engine_use_reserve,
	.keep_reserve = engine_keep_reserve,
	.idle_work = engine_idle_work,

	.copy = cairn_sqlite_copy,
	.copy_each = cairn_sqlite_copy_each,
	.copy_examine = cairn_sqlite_copy_examine,
	.snapshot_open = cairn_sqlite_snapshot_open,
	.snapshot_free = cairn_sqlite_snapshot_free,
	.snapshot_extent = cairn_sqlite_snapshot_extent,
	.snapshot_xorbs = cairn_sqlite_snapshot_xorbs,
	.snapshot_files = cairn_sqlite_snapshot_files,
	.snapshot_xorb_hash = cairn_sqlite_snapshot_xorb_hash,
	.transfer_open = cairn_sqlite_transfer_open,
	.transfer_free = cairn_sqlite_transfer_free,
	.transfer_page = cairn_sqlite_transfer_page,
	.transfer_state = cairn_sqlite_transfer_state,
	.transfer_last = cairn_sqlite_transfer_last,
	.transfer_freeze = cairn_sqlite_transfer_freeze,
	.transfer_write = cairn_sqlite_transfer_write,
	.transfer_begin = cairn_sqlite_transfer_begin,
	.transfer_end = cairn_sqlite_transfer_end,
};
