/* Shows the number and durations of the last hour's requests: a part of the operator's home. */
#ifndef CAIRN_SERVER_PAGE_TRAFFIC_H
#define CAIRN_SERVER_PAGE_TRAFFIC_H

#include "base/buf.h"

struct app;

/** Appends a chart of each. */
void page_put_traffic(struct cairn_buf *b, struct app *app, int64_t now_unix_s);

#endif
