/* Collections of garbage, asked for or by the schedule: one call of both, which logs and keeps the outcome. */
#ifndef CAIRN_SERVER_COLLECT_H
#define CAIRN_SERVER_COLLECT_H

#include "cas/garbage.h"
#include "cas/stats.h"

struct app;

/** Take up what the last daemon kept of the last collection. The folder must be open. */
void collect_open(struct app *app);

/** Take up what another daemon that shares the index has collected since. */
void collect_hear_of_others(struct app *app);

/** Collect, as cairn_cas_gc(); log it, and keep its outcome for the metrics and the next daemon. On a thread for long
 *  work. @return as cairn_cas_gc() */
enum cairn_status collect_run(struct app *app, bool (*stop)(void *ctx), void *stop_ctx, struct cairn_gc_report *out);

/** Keep what was counted of garbage, for the metrics. Any thread. */
void collect_note_totals(struct app *app, const struct cairn_index_totals *sums);

#endif
