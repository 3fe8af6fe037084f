/* The history of one path: GET [/{type}]/{namespace}/{name}/commits/{revision}/{path}. */
#ifndef CAIRN_SERVER_PAGE_HISTORY_H
#define CAIRN_SERVER_PAGE_HISTORY_H

#include "server/page/page_repo.h"

/** Builds the page of a place that was found. Its path must not be the top folder. */
void page_build_history(struct page_place *p);

#endif
