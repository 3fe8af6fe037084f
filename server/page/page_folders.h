/* What the folders of a git-like repository take, as a part of its page "Storage". */
#ifndef CAIRN_SERVER_PAGE_FOLDERS_H
#define CAIRN_SERVER_PAGE_FOLDERS_H

#include "server/page/page_repo.h"

/** Append a treemap of the files at the place that was found, and a table of the largest folders; without stored files
 *  nothing. Else the call has failed. */
void page_put_folders(struct page_place *p);

#endif
