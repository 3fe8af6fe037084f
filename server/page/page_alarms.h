/* What an operator should look at now, and which part of docs/operations.md helps. */
#ifndef CAIRN_SERVER_PAGE_ALARMS_H
#define CAIRN_SERVER_PAGE_ALARMS_H

#include "cas/losses.h"
#include "cas/stats.h"
#include "server/app.h"

/** What is looked at. Plain value. */
struct page_figures {
	int64_t now_unix_s;
	enum cairn_status ready; /* of ready_check() */
	struct cairn_diag why;   /* when that is not CAIRN_OK */
	struct cairn_cas_stats stats;
	struct scrub_status scrub;
	struct cairn_index_claims claims; /* of a SHA-256; 0 if they are not known */
	enum cairn_status claims_status;  /* CAIRN_OK: they are known */
	struct cairn_losses_sum lost;
};

/** Something that is not as it should be. Borrowed for the time of the call. */
struct page_alarm {
	const char *text;
	const char *part; /* of docs/operations.md: "full-disks" */
};

/** Take the figures; for workers: what /ready asks writes to the disk. */
void page_figures_take(struct page_figures *out, struct app *app);

/** Visit what is not set up, or switched off by settings: no fault, and for the operator to know. */
void page_notes_each(const struct page_figures *f, struct app *app,
		     void (*visit)(void *ctx, const struct page_alarm *alarm), void *ctx);

/** Visit what is wrong, as monitoring/alerts.yaml has it, as far as one look can tell. */
void page_alarms_each(const struct page_figures *f, struct app *app,
		      void (*visit)(void *ctx, const struct page_alarm *alarm), void *ctx);

#endif
