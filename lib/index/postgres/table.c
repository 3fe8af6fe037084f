/* The engine's table of functions, and its adapters for the index's writer. */
#include "index/postgres/hub.h"

#include "index/postgres/driver.h"
#include "index/postgres/migrate.h"
#include "index/postgres/postgres.h"
#include "index/postgres/refuse.h"

static struct cairn_pg_tx *engine_tx(struct cairn_index *ix)
{
	return &cairn_postgres(ix)->tx;
}

static enum cairn_status engine_take(struct cairn_index *ix, struct cairn_db **out)
{
	struct cairn_pg_reader *r;
	enum cairn_status status = cairn_pg_take(&cairn_postgres(ix)->pool, &r);
	*out = status == CAIRN_OK ? cairn_pg_db(&r->pg) : NULL;
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

static enum cairn_status engine_begin(struct cairn_index *ix, struct cairn_diag *diag)
{
	return cairn_pg_begin(engine_tx(ix), diag);
}

static enum cairn_status engine_commit(struct cairn_index *ix, struct cairn_diag *diag)
{
	struct cairn_postgres *p = cairn_postgres(ix);
	enum cairn_status status = cairn_pg_commit(&p->tx, diag);
	if (status == CAIRN_OK && p->tx.records.keys_changed)
		status = cairn_pg_good_keys_take(&p->good_keys, p->tx.pg.results[p->tx.keys], p->tx.pg.server,
						 p->tx.counts.keys);
	if (status != CAIRN_OK)
		return status;
	p->tx.records.keys_changed = false;
	cairn_pg_note_counts(p, &p->tx.counts, p->tx.pg.server);
	return CAIRN_OK;
}

/* No commit ahead changes keys. But after an unanswered commit the keys must be read again. */
static enum cairn_status engine_commit_ahead(struct cairn_index *ix, struct cairn_diag *diag)
{
	struct cairn_postgres *p = cairn_postgres(ix);
	if (p->tx.records.keys_changed)
		return engine_commit(ix, diag);
	enum cairn_status status = cairn_pg_commit_ahead(&p->tx, diag);
	if (status == CAIRN_OK)
		cairn_pg_note_counts(p, &p->tx.counts, p->tx.pg.server);
	return status;
}

static enum cairn_status engine_settle(struct cairn_index *ix, struct cairn_index_settling *all, unsigned n,
				       struct cairn_diag *diag)
{
	return cairn_pg_settle(&cairn_postgres(ix)->settle, all, n, diag);
}

static void engine_roll_back(struct cairn_index *ix)
{
	cairn_pg_roll_back(engine_tx(ix));
}

static bool engine_is_open(const struct cairn_index *ix)
{
	return cairn_pg_is_open(&((const struct cairn_postgres *)ix)->tx);
}

static bool engine_again(struct cairn_index *ix)
{
	return cairn_pg_again(engine_tx(ix));
}

static enum cairn_index_frozen engine_frozen(const struct cairn_index *ix)
{
	return ((const struct cairn_postgres *)ix)->tx.frozen;
}

/* --- a write ------------------------------------------------------------------------------------------------------ */

static void engine_forget_failure(struct cairn_pg *pg)
{
	pg->message[0] = pg->sqlstate[0] = '\0';
}

static enum cairn_status engine_begin_write(struct cairn_index *ix, const struct cairn_index_lease *lease,
					    struct cairn_diag *diag)
{
	engine_forget_failure(&engine_tx(ix)->pg);
	return cairn_pg_must_hold(engine_tx(ix), lease, diag);
}

static enum cairn_status engine_save(struct cairn_index *ix)
{
	cairn_pg_save(engine_tx(ix));
	return CAIRN_OK;
}

static enum cairn_status engine_undo(struct cairn_index *ix)
{
	return cairn_pg_undo(engine_tx(ix));
}

static enum cairn_status engine_release(struct cairn_index *ix)
{
	return cairn_pg_release(engine_tx(ix));
}

static bool engine_has_failed(struct cairn_index *ix)
{
	return engine_tx(ix)->pg.message[0] != '\0';
}

static enum cairn_status engine_fail(struct cairn_index *ix, struct cairn_diag *diag)
{
	return cairn_pg_fail(&engine_tx(ix)->pg, diag, "the index cannot be written");
}

static enum cairn_status engine_put_shards(struct cairn_index *ix, struct cairn_index_put_shard *const *puts,
					   unsigned n, bool ahead, struct cairn_diag *diag)
{
	engine_forget_failure(&engine_tx(ix)->pg);
	enum cairn_status status = cairn_pg_put_shards(engine_tx(ix), puts, n, ahead, diag);
	if (status != CAIRN_OK && engine_has_failed(ix))
		(void)engine_fail(ix, diag);
	return status;
}

#define ENGINE_WRITE(name)                                                                                             \
	static enum cairn_status engine_##name(struct cairn_index *ix, struct cairn_index_##name *request)             \
	{                                                                                                              \
		return cairn_pg_##name(engine_tx(ix), request);                                                        \
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
ENGINE_WRITE(find_dead)
ENGINE_WRITE(bury)
ENGINE_WRITE(write_off)
ENGINE_WRITE(begin_lease)
ENGINE_WRITE(end_lease)
ENGINE_WRITE(put_note)
ENGINE_WRITE(begin_session)
ENGINE_WRITE(end_session)
ENGINE_WRITE(sweep_repos)
ENGINE_WRITE(change_objects)
ENGINE_WRITE(add_commit)
ENGINE_WRITE(adopt_files)
ENGINE_WRITE(squash)
ENGINE_WRITE(add_ref)
ENGINE_WRITE(drop_ref)

static enum cairn_status engine_begin_repo(struct cairn_index *ix, struct cairn_index_add_repo *add, int64_t scope)
{
	return cairn_pg_begin_repo(engine_tx(ix), add, scope);
}

static enum cairn_status engine_probe(struct cairn_index *ix)
{
	return cairn_pg_probe(engine_tx(ix));
}

/* --- what a server does by itself --------------------------------------------------------------------------------- */

static void engine_nothing(struct cairn_index *ix)
{
	(void)ix;
}

static bool engine_idle_work(struct cairn_index *ix)
{
	(void)ix;
	return false;
}

static enum cairn_status engine_upkeep(struct cairn_index *ix, struct cairn_diag *diag)
{
	(void)ix;
	(void)diag;
	return CAIRN_OK;
}

static enum cairn_status engine_examine_xorbs(struct cairn_index *ix, cairn_index_visit_fault *visit, void *ctx)
{
	(void)ix;
	(void)visit;
	(void)ctx;
	return CAIRN_OK;
}

static enum cairn_status engine_glance(struct cairn_index *ix, int64_t limit_ms, bool (*stop)(void *ctx),
				       void *stop_ctx, cairn_index_visit_fault *visit, void *ctx)
{
	(void)limit_ms;
	(void)stop;
	(void)stop_ctx;
	return engine_examine_xorbs(ix, visit, ctx);
}

const struct cairn_index_backend CAIRN_POSTGRES = {
	.remote = true,
	.migrate = cairn_pg_migrate,
	.version = cairn_pg_version,
	.reach = cairn_pg_reach,
	.open = cairn_pg_index_open,
	.free = cairn_pg_index_free,
	.take = engine_take,
	.tx = engine_records,

	.xorb = cairn_pg_xorb,
	.xorb_and_list = cairn_pg_xorb_and_list,
	.xorb_by_id = cairn_pg_xorb_by_id,
	.chunk_list = cairn_pg_chunk_list,
	.chunk_list_by_id = cairn_pg_chunk_list_by_id,
	.may_dedupe = cairn_pg_may_dedupe,
	.screen = cairn_pg_screen,
	.finish_screens = cairn_pg_finish_screens,
	.dedupe = cairn_pg_dedupe,
	.file = cairn_pg_file,
	.file_by_sha256 = cairn_pg_file_by_sha256,
	.spans = cairn_pg_spans,
	.look_at_shard = cairn_pg_look_at_shard,
	.each_xorb = cairn_pg_each_xorb,
	.each_file = cairn_pg_each_file,
	.count_dead = cairn_pg_count_dead,
	.each_unnamed = cairn_pg_each_unnamed,
	.withdrawn = cairn_pg_withdrawn,
	.is_shared = cairn_pg_is_shared,
	.clock_is_off = cairn_pg_index_clock_is_off,
	.job_state = cairn_pg_job_state,
	.note = cairn_pg_note,
	.renew_lease = cairn_pg_renew_lease,
	.session = cairn_pg_session,
	.totals = cairn_pg_totals,
	.key_is_good = cairn_pg_key_is_good,
	.each_owned_file = cairn_pg_each_owned_file,
	.entry = cairn_pg_entry,
	.each_entry = cairn_pg_each_entry,
	.each_owned = cairn_pg_each_owned,
	.each_match = cairn_pg_each_match,
	.each_place = cairn_pg_each_place,
	.each_due = cairn_pg_each_due,
	.each_lie = cairn_pg_each_lie,
	.claims = cairn_pg_claims,
	.last_xorb = cairn_pg_last_xorb,
	.describe = cairn_pg_describe,
	.upkeep = engine_upkeep,

	.examine = cairn_pg_examine,
	.examine_xorbs = engine_examine_xorbs,
	.glance = engine_glance,
	.mend = cairn_pg_mend,
	.references_agree = cairn_pg_references_agree,

	.begin = engine_begin,
	.frozen = engine_frozen,
	.begin_write = engine_begin_write,
	.save = engine_save,
	.undo = engine_undo,
	.release = engine_release,
	.has_failed = engine_has_failed,
	.fail = engine_fail,
	.is_open = engine_is_open,
	.commit = engine_commit,
	.commit_ahead = engine_commit_ahead,
	.settle = engine_settle,
	.roll_back = engine_roll_back,
	.again = engine_again,
	.put_xorb = engine_put_xorb,
	.put_shard = engine_put_shard,
	.put_shards = engine_put_shards,
	.forget_file = engine_forget_file,
	.share_file = engine_share_file,
	.settle_claims = engine_settle_claims,
	.prove_file = engine_prove_file,
	.renew_xorb = engine_renew_xorb,
	.lose_xorb = engine_lose_xorb,
	.gc_mark = engine_gc_mark,
	.gc_sweep = engine_gc_sweep,
	.find_dead = engine_find_dead,
	.bury = engine_bury,
	.write_off = engine_write_off,
	.begin_lease = engine_begin_lease,
	.end_lease = engine_end_lease,
	.put_note = engine_put_note,
	.begin_session = engine_begin_session,
	.end_session = engine_end_session,
	.begin_repo = engine_begin_repo,
	.add_commit = engine_add_commit,
	.adopt_files = engine_adopt_files,
	.squash = engine_squash,
	.add_ref = engine_add_ref,
	.drop_ref = engine_drop_ref,
	.sweep_repos = engine_sweep_repos,
	.change_objects = engine_change_objects,
	.probe = engine_probe,
	.make_room = engine_nothing,
	.use_reserve = engine_nothing,
	.keep_reserve = engine_nothing,
	.idle_work = engine_idle_work,

	.copy = cairn_pg_copy,
	.copy_each = cairn_pg_copy_each,
	.copy_examine = cairn_pg_copy_examine,
	.snapshot_open = cairn_pg_snapshot_open,
	.snapshot_free = cairn_pg_snapshot_free,
	.snapshot_extent = cairn_pg_snapshot_extent,
	.snapshot_xorbs = cairn_pg_snapshot_xorbs,
	.snapshot_files = cairn_pg_snapshot_files,
	.snapshot_xorb_hash = cairn_pg_snapshot_xorb_hash,
	.transfer_open = cairn_pg_transfer_open,
	.transfer_free = cairn_pg_transfer_free,
	.transfer_page = cairn_pg_transfer_page,
	.transfer_state = cairn_pg_transfer_state,
	.transfer_last = cairn_pg_transfer_last,
	.transfer_freeze = cairn_pg_transfer_freeze,
	.transfer_write = cairn_pg_transfer_write,
	.transfer_begin = cairn_pg_transfer_begin,
	.transfer_end = cairn_pg_transfer_end,
};
