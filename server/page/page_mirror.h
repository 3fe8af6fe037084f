/* Parts of pages about the mirrored hub. */
#ifndef CAIRN_SERVER_PAGE_MIRROR_H
#define CAIRN_SERVER_PAGE_MIRROR_H

#include "server/page/page.h"

/** Appends the address from which a mirrored repository comes, and a warning if the mirrored hub cannot be asked.
 * Appends nothing for other repositories. */
void page_put_mirror_of(struct page *page);

/** Appends a tag to a file of a mirrored repository whose bytes are not stored here: "coming" while they are being
 * fetched. */
void page_put_awaited_tag(struct cairn_buf *b, const struct page *page, const struct cairn_index_entry *entry);

/** Appends the operator's section about the mirrored hub: whether it answers, bytes fetched and sent, failures, the
 * largest repositories, and those that were read least lately. Appends nothing if no hub is mirrored. */
void page_put_mirror(struct cairn_buf *b, struct app *app);

#endif
