/* Shows the first rows of a CSV or TSV file: a part of its page. */
#ifndef CAIRN_SERVER_PAGE_ROWS_H
#define CAIRN_SERVER_PAGE_ROWS_H

#include "base/buf.h"

#include <stdbool.h>

/** Appends the rows as a table. @param text  the file's first bytes, which must be text  @param separator, is_cut  as
 * for cairn_delimited_begin() (hub/delimited.h) @return false: the first row lacks a second field; nothing appended */
bool page_put_rows(struct cairn_buf *b, const char *text, size_t len, char separator, bool is_cut);

#endif
