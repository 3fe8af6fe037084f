/* Shows with which other repositories a file shares its chunks. */
#ifndef CAIRN_SERVER_PAGE_MAP_H
#define CAIRN_SERVER_PAGE_MAP_H

#include "hub/chunk_map.h"
#include "server/page/page.h"

/** Appends the chunk map of a file in the page's repository, whose files the asker may read. Appends nothing if the
 * file has no map. A failure fails the call. */
void page_put_map(struct page *page, const struct cairn_hash *file);

#endif
