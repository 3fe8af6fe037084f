/* The functions of index.h, operate.h, examine.h and snapshot.h: each calls the engine's function. */
#include "index/backend.h"

#include <stdlib.h>

void cairn_index_file_fini(struct cairn_index_file *file)
{
	free(file->terms);
	*file = (struct cairn_index_file){0};
}

bool cairn_index_may_dedupe(struct cairn_index *ix, const char *scope, const struct cairn_hash *chunk)
{
	return ix->backend->may_dedupe(ix, scope, chunk);
}

bool cairn_index_screen(struct cairn_index *ix, struct cairn_index_screen *screen)
{
	return ix->backend->screen && ix->backend->screen(ix, screen);
}

void cairn_index_finish_screens(struct cairn_index *ix)
{
	if (ix->backend->finish_screens)
		ix->backend->finish_screens(ix);
}

enum cairn_status cairn_index_dedupe(struct cairn_index *ix, const char *scope, const struct cairn_hash *chunk,
				     bool withdrawn,
				     bool (*visit)(void *ctx, const struct cairn_index_dedupe_xorb *xorb), void *ctx)
{
	return ix->backend->dedupe(ix, scope, chunk, withdrawn, visit, ctx);
}

enum cairn_status cairn_index_file(struct cairn_index *ix, const struct cairn_hash *hash, const char *viewer,
				   bool with_terms, struct cairn_index_file *out)
{
	return ix->backend->file(ix, hash, viewer, with_terms, out);
}

enum cairn_status cairn_index_spans(struct cairn_index *ix, const int64_t *xorb_ids, uint32_t n,
				    const uint32_t with_spans[static 2],
				    enum cairn_status (*visit)(void *ctx, const struct cairn_index_spans *places),
				    void *ctx)
{
	return ix->backend->spans(ix, xorb_ids, n, with_spans, visit, ctx);
}

enum cairn_status cairn_index_plan(struct cairn_index *ix, const struct cairn_hash *hash, const char *viewer,
				   struct cairn_index_planner *planner, struct cairn_index_file *out)
{
	if (ix->backend->plan)
		return ix->backend->plan(ix, hash, viewer, planner, out);
	const int64_t *ids = NULL;
	uint32_t n = 0, with_spans[2] = {UINT32_MAX, UINT32_MAX};
	enum cairn_status status = ix->backend->file(ix, hash, viewer, true, out);
	if (status == CAIRN_OK && out->n_terms > planner->n_terms_max)
		return CAIRN_E_BUSY;
	if (status == CAIRN_OK)
		status = planner->choose(planner, out, &ids, &n, with_spans);
	return status == CAIRN_OK && n > 0 ? ix->backend->spans(ix, ids, n, with_spans, planner->visit, planner)
					   : status;
}

enum cairn_status cairn_index_look_up_shard(struct cairn_index *ix, struct cairn_index_shard_lookup *lookup)
{
	lookup->known = false;
	lookup->registered = (struct cairn_index_registered){0};
	lookup->seen = (struct cairn_index_seen){.plain = false};
	return ix->backend->look_up_shard(ix, lookup);
}

uint64_t cairn_index_withdrawn(struct cairn_index *ix)
{
	return ix->backend->withdrawn ? ix->backend->withdrawn(ix) : 0;
}

bool cairn_index_names_copies(const struct cairn_index *ix)
{
	return ix->backend->count_dead != NULL;
}

enum cairn_status cairn_index_count_dead(struct cairn_index *ix, uint64_t *n)
{
	*n = 0;
	return ix->backend->count_dead ? ix->backend->count_dead(ix, n) : CAIRN_OK;
}

enum cairn_status cairn_index_each_unnamed(struct cairn_index *ix, const struct cairn_index_copy *copies, uint32_t n,
					   cairn_index_visit_copy *visit, void *ctx)
{
	return ix->backend->each_unnamed ? ix->backend->each_unnamed(ix, copies, n, visit, ctx) : CAIRN_OK;
}

enum cairn_status cairn_index_upkeep(struct cairn_index *ix, struct cairn_diag *diag)
{
	return ix->backend->upkeep ? ix->backend->upkeep(ix, diag) : CAIRN_OK;
}

enum cairn_status cairn_index_examine(struct cairn_index *ix, cairn_index_visit_fault *visit, void *ctx,
				      struct cairn_diag *diag)
{
	return ix->backend->examine(ix, visit, ctx, diag);
}

enum cairn_status cairn_index_glance(struct cairn_index *ix, int64_t limit_ms, bool (*stop)(void *ctx), void *stop_ctx,
				     cairn_index_visit_fault *visit, void *ctx)
{
	return ix->backend->glance ? ix->backend->glance(ix, limit_ms, stop, stop_ctx, visit, ctx) : CAIRN_OK;
}

enum cairn_status cairn_index_examine_xorbs(struct cairn_index *ix, cairn_index_visit_fault *visit, void *ctx)
{
	return ix->backend->examine_xorbs ? ix->backend->examine_xorbs(ix, visit, ctx) : CAIRN_OK;
}

enum cairn_status cairn_index_snapshot_extent(struct cairn_index_snapshot *snapshot, int64_t after_xorb,
					      struct cairn_index_extent *out, struct cairn_diag *diag)
{
	return snapshot->backend->snapshot_extent(snapshot, after_xorb, out, diag);
}

enum cairn_status cairn_index_snapshot_xorbs(struct cairn_index_snapshot *snapshot, int64_t after,
					     cairn_index_visit_xorb *visit, void *ctx, struct cairn_diag *diag)
{
	return snapshot->backend->snapshot_xorbs(snapshot, after, visit, ctx, diag);
}

enum cairn_status cairn_index_snapshot_files(struct cairn_index_snapshot *snapshot, int64_t after,
					     cairn_index_visit_file *visit, void *ctx, struct cairn_diag *diag)
{
	return snapshot->backend->snapshot_files(snapshot, after, visit, ctx, diag);
}

enum cairn_status cairn_index_snapshot_xorb_hash(struct cairn_index_snapshot *snapshot, int64_t number,
						 struct cairn_hash *out)
{
	return snapshot->backend->snapshot_xorb_hash(snapshot, number, out);
}

void cairn_index_snapshot_freep(struct cairn_index_snapshot **snapshot)
{
	if (*snapshot)
		(*snapshot)->backend->snapshot_free(*snapshot);
	*snapshot = NULL;
}

void cairn_index_stats(struct cairn_index *ix, struct cairn_index_stats *out)
{
	*out = (struct cairn_index_stats){0};
	ix->backend->describe(ix, out);
	cairn_writer_stats(&ix->writer, out);
}
