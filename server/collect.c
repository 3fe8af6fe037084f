#include "server/collect.h"

#include "base/clock.h"
#include "cas/service/jobs.h"
#include "data_dir/note.h"
#include "server/app.h"
#include "server/log/log.h"

static const char COLLECT_NOTE[] = "gc";

void collect_open(struct app *app)
{
	struct app_garbage *g = &app->garbage;
	int64_t ran = 0, good = 0, failed = 0;
	const struct cairn_note_field fields[] = {{"ran", &ran}, {"good", &good}, {"failed", &failed}};
	if (cairn_note_read(app->config.data_dir, COLLECT_NOTE, fields, 3) != CAIRN_OK)
		return; /* no outcome was kept, so no collection is known */
	atomic_store(&g->ran_unix_s, ran);
	atomic_store(&g->good_unix_s, good);
	atomic_store(&g->failed, failed != 0);
}

void collect_hear_of_others(struct app *app)
{
	struct app_garbage *g = &app->garbage;
	struct cairn_index_job_state last;
	cairn_cas_job(app->cas, CAIRN_INDEX_COLLECT, &last);
	if (last.ran_unix_s <= atomic_load(&g->ran_unix_s))
		return;
	atomic_store(&g->failed, last.good_unix_s < last.ran_unix_s);
	atomic_store(&g->good_unix_s, last.good_unix_s);
	atomic_store(&g->ran_unix_s, last.ran_unix_s);
	if (last.good_unix_s == last.ran_unix_s && app->collected)
		app->collected(app);
}

/* Keeps the outcome. Collections run one at a time, but the next may begin before this outcome is kept. */
static void collect_keep(struct app *app)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	const struct app_garbage *g = &app->garbage;
	int64_t ran = atomic_load(&g->ran_unix_s), good = atomic_load(&g->good_unix_s),
		failed = atomic_load(&g->failed);
	const struct cairn_note_field fields[] = {{"ran", &ran}, {"good", &good}, {"failed", &failed}};
	pthread_mutex_lock(&lock);
	bool kept = cairn_note_write(app->config.data_dir, COLLECT_NOTE, fields, 3) == CAIRN_OK;
	pthread_mutex_unlock(&lock);
	if (!kept)
		LOG(LOG_WARNING, "note_failed", LOG_T("note", COLLECT_NOTE),
		    LOG_T("message", "after a restart the last collection is not known"));
}

void collect_note_totals(struct app *app, const struct cairn_index_totals *sums)
{
	atomic_store(&app->garbage.bytes, sums->unreferenced_bytes);
	atomic_store(&app->garbage.retired_bytes, sums->retired_bytes);
	atomic_store(&app->garbage.counted_unix_s, cairn_clock_unix_s());
}

/* Notes the outcome of a collection. A collection that was refused, because of another one or a backup, is not noted. A
 * stopped collection does not count for the schedule. The remaining garbage is counted again. */
static void collect_note(struct app *app, enum cairn_status status, bool stopped, const struct cairn_gc_report *gc)
{
	struct app_garbage *g = &app->garbage;
	struct cairn_cas_totals totals;
	int64_t now_unix_s = cairn_clock_unix_s();
	if (status == CAIRN_E_BUSY)
		return;
	atomic_fetch_add(&g->n_retired, gc->n_retired);
	atomic_fetch_add(&g->n_swept, gc->n_swept);
	atomic_fetch_add(&g->n_left_over, gc->n_left_over);
	atomic_fetch_add(&g->freed_bytes, gc->bytes_freed);
	if (stopped && status == CAIRN_OK)
		return;
	atomic_store(&g->failed, status != CAIRN_OK);
	atomic_store(&g->ran_unix_s, now_unix_s);
	if (status == CAIRN_OK) {
		atomic_store(&g->good_unix_s, now_unix_s);
		if (cairn_cas_totals(app->cas, &totals) == CAIRN_OK)
			collect_note_totals(app, &totals.index);
	}
	collect_keep(app);
}

enum cairn_status collect_run(struct app *app, bool (*stop)(void *ctx), void *stop_ctx, struct cairn_gc_report *out)
{
	enum cairn_status status = cairn_cas_gc(app->cas, stop, stop_ctx, out);
	LOG(status == CAIRN_OK || status == CAIRN_E_BUSY ? LOG_INFO : LOG_WARNING, "gc",
	    LOG_T("status", cairn_status_name(status)), LOG_N("retired", out->n_retired), LOG_N("swept", out->n_swept),
	    LOG_N("left_overs", out->n_left_over), LOG_N("unremoved", out->n_unremoved),
	    LOG_N("bytes_freed", out->bytes_freed), LOG_T("cause", out->diag.rule ? out->diag.text : NULL));
	collect_note(app, status, stop(stop_ctx), out);
	if (status == CAIRN_OK && app->collected)
		app->collected(app);
	return status;
}

enum cairn_status collect_sweep(struct app *app, bool (*stop)(void *ctx), void *stop_ctx, struct cairn_gc_report *out)
{
	struct app_garbage *g = &app->garbage;
	enum cairn_status status = cairn_cas_sweep(app->cas, stop, stop_ctx, out);
	LOG(status == CAIRN_OK || status == CAIRN_E_BUSY ? LOG_INFO : LOG_WARNING, "mirror_sweep",
	    LOG_T("status", cairn_status_name(status)), LOG_N("swept", out->n_swept),
	    LOG_N("bytes_freed", out->bytes_freed), LOG_T("cause", out->diag.rule ? out->diag.text : NULL));
	atomic_fetch_add(&g->n_swept, out->n_swept);
	atomic_fetch_add(&g->freed_bytes, out->bytes_freed);
	return status;
}
