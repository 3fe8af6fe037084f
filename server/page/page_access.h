/* The page of a repository with a gate, for readers who may not read its files. */
#ifndef CAIRN_SERVER_PAGE_ACCESS_H
#define CAIRN_SERVER_PAGE_ACCESS_H

#include "server/page/page.h"

/** Appends that the files of the repository are gated, and how the reader may get access: a form that asks for it, or
 * the state of the reader's request. */
void page_put_gate(struct page *page);

#endif
