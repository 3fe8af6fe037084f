/* Garbage collections by request and by the schedule. Both use one call, which logs and keeps the outcome. */
#ifndef CAIRN_SERVER_COLLECT_H
#define CAIRN_SERVER_COLLECT_H

#include "cas/keep/garbage.h"
#include "cas/stats.h"

struct app;

/** Loads the outcome of the last collection, as the previous daemon kept it. The data folder must be open. */
void collect_open(struct app *app);

/** Loads the outcomes of newer collections that ran in daemons that share the index. */
void collect_hear_of_others(struct app *app);

/** Runs a collection with cairn_cas_gc(). Logs the outcome, and keeps it for the metrics and the next daemon. Call on a
 * thread for long work. @return as cairn_cas_gc() */
enum cairn_status collect_run(struct app *app, bool (*stop)(void *ctx), void *stop_ctx, struct cairn_gc_report *out);

/** Removes xorbs whose grace time is over, with cairn_cas_sweep(). Logs and counts it, but the schedule does not count
 * it as a collection. Call on a thread for long work. @return as cairn_cas_sweep() */
enum cairn_status collect_sweep(struct app *app, bool (*stop)(void *ctx), void *stop_ctx, struct cairn_gc_report *out);

/** Keeps the counted garbage for the metrics. Any thread. */
void collect_note_totals(struct app *app, const struct cairn_index_totals *sums);

#endif
