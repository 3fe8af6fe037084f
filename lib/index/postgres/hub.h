/* The hub's part of this engine: accounts, repositories, and their contents. */
#ifndef CAIRN_INDEX_POSTGRES_HUB_H
#define CAIRN_INDEX_POSTGRES_HUB_H

#include "index/postgres/engine.h"

/** Makes the branch main and the first commit of a new repository. */
CAIRN_MUST_USE enum cairn_status cairn_pg_begin_repo(struct cairn_pg_tx *tx, struct cairn_index_add_repo *add,
						     int64_t owner);

/** Gives a new repository the files of its source that its first operations name. @return CAIRN_OK; CAIRN_E_NOT_FOUND
 * (repo.unknown); as cairn_pg_ask() */
CAIRN_MUST_USE enum cairn_status cairn_pg_adopt_named(struct cairn_pg_tx *tx, const struct cairn_index_add_repo *add,
						      int64_t owner, struct cairn_diag *diag);

#endif
