/* Garbage collections, by request or by the schedule: both use one call, which logs and keeps the outcome. */
#ifndef CAIRN_SERVER_COLLECT_H
#define CAIRN_SERVER_COLLECT_H

#include "cas/keep/garbage.h"
#include "cas/stats.h"

struct app;

/** Loads what the previous daemon kept of the last collection. The folder must be open. */
void collect_open(struct app *app);

/** Loads the outcome of newer collections by daemons that share the index. */
void collect_hear_of_others(struct app *app);

/** Collects, as cairn_cas_gc(). Logs the outcome, and keeps it for the metrics and the next daemon. On a thread for
 * long work. @return as cairn_cas_gc() */
enum cairn_status collect_run(struct app *app, bool (*stop)(void *ctx), void *stop_ctx, struct cairn_gc_report *out);

/** Keeps the counted garbage for the metrics. Any thread. */
void collect_note_totals(struct app *app, const struct cairn_index_totals *sums);

#endif
