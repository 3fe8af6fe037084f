/* Where the chunks of a file are, too. */
#ifndef CAIRN_SERVER_PAGE_MAP_H
#define CAIRN_SERVER_PAGE_MAP_H

#include "hub/chunk_map.h"
#include "server/page/page.h"

/** Append the map of a file of the page's repository, whose files the asker may have; nothing where there is none. Else
 *  the call has failed. */
void page_put_map(struct page *page, const struct cairn_hash *file);

#endif
