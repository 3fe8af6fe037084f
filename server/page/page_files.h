/* Links from other pages to the list of files that are in no repository. */
#ifndef CAIRN_SERVER_PAGE_PAGE_FILES_H
#define CAIRN_SERVER_PAGE_PAGE_FILES_H

#include "server/page/page.h"

/** Appends a link to that list, if the reader is the operator and there is such a file. */
void page_put_files_link(struct page *page);

#endif
