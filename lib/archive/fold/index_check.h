/* What must hold between the entries of an index, and between them and its metadata. */
#ifndef CAIRN_ARCHIVE_FOLD_INDEX_CHECK_H
#define CAIRN_ARCHIVE_FOLD_INDEX_CHECK_H

#include "archive/fold/index.h"

/** Check a parsed index and fill in by_name, the manifest's hash and what holds. @return as cairn_fold_index_parse() */
CAIRN_MUST_USE enum cairn_status cairn_fold_index_check(struct cairn_fold_index *ix, struct cairn_diag *diag);

#endif
