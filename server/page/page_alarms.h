/* Finds problems that need the operator's attention, each with the section of the guide that helps. */
#ifndef CAIRN_SERVER_PAGE_ALARMS_H
#define CAIRN_SERVER_PAGE_ALARMS_H

#include "cas/losses.h"
#include "cas/stats.h"
#include "server/app.h"

/** The figures that the checks use. Plain value. */
struct page_figures {
	int64_t now_unix_s;
	enum cairn_status ready; /* result of ready_check() */
	struct cairn_diag why;   /* the reason, if ready is not CAIRN_OK */
	struct cairn_cas_stats stats;
	struct scrub_status scrub;
	struct cairn_index_claims claims; /* claims of a SHA-256; 0: unknown */
	enum cairn_status claims_status;  /* CAIRN_OK: the claims are known */
	struct cairn_losses_sum lost;
};

/** A problem. Borrowed for the duration of the call. */
struct page_alarm {
	const char *text;
	const char *part; /* section of the guide, such as "full-disks" */
};

/** Collects the figures. Call on a worker: the check of /ready writes to the disk. */
void page_figures_take(struct page_figures *out, struct app *app);

/** Visits features that are not set up, or switched off by settings. No faults, but the operator should know. */
void page_notes_each(const struct page_figures *f, struct app *app,
		     void (*visit)(void *ctx, const struct page_alarm *alarm), void *ctx);

/** Visits the problems that monitoring/alerts.yaml defines, as far as one reading of the figures can detect them. */
void page_alarms_each(const struct page_figures *f, struct app *app,
		      void (*visit)(void *ctx, const struct page_alarm *alarm), void *ctx);

#endif
