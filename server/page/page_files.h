/* Files that no repository has: what other pages say of them. */
#ifndef CAIRN_SERVER_PAGE_PAGE_FILES_H
#define CAIRN_SERVER_PAGE_PAGE_FILES_H

#include "server/page/page.h"

/** Append a link to the list of those files, if the reader is the operator and there is one. */
void page_put_files_link(struct page *page);

#endif
