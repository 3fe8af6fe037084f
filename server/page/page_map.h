/* Shows which other places share the chunks of a file. */
#ifndef CAIRN_SERVER_PAGE_MAP_H
#define CAIRN_SERVER_PAGE_MAP_H

#include "hub/chunk_map.h"
#include "server/page/page.h"

/** Appends the chunk map of a file of the page's repository, whose files the asker may read. Appends nothing if the
 * file has none. On failure the call has failed. */
void page_put_map(struct page *page, const struct cairn_hash *file);

#endif
