/* Shows how many requests came in the last hour and how long they took. Part of the operator's home. */
#ifndef CAIRN_SERVER_PAGE_TRAFFIC_H
#define CAIRN_SERVER_PAGE_TRAFFIC_H

#include "base/buf.h"

struct app;

/** Appends one chart of the numbers and one of the durations. */
void page_put_traffic(struct cairn_buf *b, struct app *app, int64_t now_unix_s);

#endif
