/* The page of a repository with a gate, for readers who may not read its files. */
#ifndef CAIRN_SERVER_PAGE_ACCESS_H
#define CAIRN_SERVER_PAGE_ACCESS_H

#include "server/page/page.h"

/** Appends that the files of the repository that was found are gated, and how the reader may get them: a form to ask,
 * or how the reader's request stands. */
void page_put_gate(struct page *page);

#endif
