/* Checks that the entries of an index agree with each other and with its metadata. */
#ifndef CAIRN_ARCHIVE_FOLD_INDEX_CHECK_H
#define CAIRN_ARCHIVE_FOLD_INDEX_CHECK_H

#include "archive/fold/index.h"

/** Checks a parsed index, and sets by_name and which hashes it has. @return as cairn_fold_index_parse() */
CAIRN_MUST_USE enum cairn_status cairn_fold_index_check(struct cairn_fold_index *ix, struct cairn_diag *diag);

#endif
