/* The hub's part of this engine: accounts, repositories, and their contents. */
#ifndef CAIRN_INDEX_POSTGRES_HUB_H
#define CAIRN_INDEX_POSTGRES_HUB_H

#include "index/postgres/engine.h"

/* See backend.h. */
enum cairn_status cairn_pg_entry(struct cairn_index *ix, const struct cairn_index_commit *commit, const char *path,
				 struct cairn_index_entry *out);
enum cairn_status cairn_pg_each_entry(struct cairn_index *ix, const struct cairn_index_commit *commit,
				      const struct cairn_index_listing *listing,
				      bool (*visit)(void *ctx, const struct cairn_index_entry *entry), void *ctx);

CAIRN_MUST_USE enum cairn_status cairn_pg_change_objects(struct cairn_pg_tx *tx,
							 struct cairn_index_change_objects *change);
CAIRN_MUST_USE enum cairn_status cairn_pg_add_commit(struct cairn_pg_tx *tx, struct cairn_index_add_commit *add);
CAIRN_MUST_USE enum cairn_status cairn_pg_adopt_files(struct cairn_pg_tx *tx, struct cairn_index_adopt_files *adopt);
CAIRN_MUST_USE enum cairn_status cairn_pg_squash(struct cairn_pg_tx *tx, struct cairn_index_squash *squash);
CAIRN_MUST_USE enum cairn_status cairn_pg_add_ref(struct cairn_pg_tx *tx, struct cairn_index_add_ref *add);
CAIRN_MUST_USE enum cairn_status cairn_pg_drop_ref(struct cairn_pg_tx *tx, struct cairn_index_drop_ref *drop);
CAIRN_MUST_USE enum cairn_status cairn_pg_sweep_repos(struct cairn_pg_tx *tx, struct cairn_index_sweep_repos *sweep);

/** Makes the branch main and the first commit of a new repository. */
CAIRN_MUST_USE enum cairn_status cairn_pg_begin_repo(struct cairn_pg_tx *tx, struct cairn_index_add_repo *add,
						     int64_t scope);

/** Gives a repository that is made as a copy the files of its source that its operations name. @return CAIRN_OK;
 *  CAIRN_E_NOT_FOUND (repo.unknown); as cairn_pg_ask() */
CAIRN_MUST_USE enum cairn_status cairn_pg_adopt_named(struct cairn_pg_tx *tx, const struct cairn_index_add_repo *add,
						      int64_t scope, struct cairn_diag *diag);

#endif
