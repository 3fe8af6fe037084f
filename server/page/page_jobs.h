/* Shows the long jobs of this server, with their progress and last results. Part of the operator's page. */
#ifndef CAIRN_SERVER_PAGE_JOBS_H
#define CAIRN_SERVER_PAGE_JOBS_H

#include "server/page/page_alarms.h"

/** Appends a table: one row for each job. @param f  collected for the same page */
void page_put_jobs(struct cairn_buf *b, const struct page_figures *f, struct app *app);

#endif
