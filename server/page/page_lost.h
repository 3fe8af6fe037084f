/* Shows lost files on pages: files whose bytes are damaged or gone. */
#ifndef CAIRN_SERVER_PAGE_LOST_H
#define CAIRN_SERVER_PAGE_LOST_H

#include "server/page/page.h"
#include "server/page/page_alarms.h"

/** Appends the operator's section about lost files: counts, repositories and files. Nothing if no file is lost. */
void page_put_lost(struct page *page, const struct page_figures *f);

/** Appends a tag with the number of a repository's lost files, if it has any. */
void page_put_lost_count(struct cairn_buf *b, struct cairn_cas *cas, int64_t repo);

/** Appends a tag after the name of a file, if the file is lost. @return true: it is lost */
bool page_put_lost_tag(struct cairn_buf *b, struct cairn_cas *cas, const struct cairn_hash *file);

/** Appends the sentence that is shown instead of a lost file's bytes. */
void page_put_lost_notice(struct cairn_buf *b);

#endif
