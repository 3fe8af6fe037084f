/* Shows disk usage, its growth, and the garbage that waits for a collection: parts of the operator's pages. */
#ifndef CAIRN_SERVER_PAGE_ROOM_H
#define CAIRN_SERVER_PAGE_ROOM_H

#include "cas/stats.h"
#include "server/app.h"

/** Appends sections with figures and a chart of thirty days. @param s  the current figures */
void page_put_room(struct cairn_buf *b, struct app *app, const struct cairn_cas_stats *s);

#endif
