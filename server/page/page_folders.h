/* Shows the sizes of a git-like repository's folders: a part of its page "Storage". */
#ifndef CAIRN_SERVER_PAGE_FOLDERS_H
#define CAIRN_SERVER_PAGE_FOLDERS_H

#include "server/page/page_repo.h"

/** Appends a treemap of the files at the place, and a table of the largest folders. Appends nothing if there are no
 * stored files. A failure fails the call. */
void page_put_folders(struct page_place *p);

#endif
