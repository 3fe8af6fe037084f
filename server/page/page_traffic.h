/* How many requests there were within the last hour, and how long they took, as a part of the operator's home. */
#ifndef CAIRN_SERVER_PAGE_TRAFFIC_H
#define CAIRN_SERVER_PAGE_TRAFFIC_H

#include "base/buf.h"

struct app;

/** Append a chart of both. */
void page_put_traffic(struct cairn_buf *b, struct app *app, int64_t now_unix_s);

#endif
