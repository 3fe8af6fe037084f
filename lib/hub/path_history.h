/* Finds the commits that changed a path. */
#ifndef CAIRN_HUB_PATH_HISTORY_H
#define CAIRN_HUB_PATH_HISTORY_H

#include "hub/tree.h"

/** Visits a commit with the entry that it made at the path. @return false to stop before this commit */
typedef bool cairn_hub_visit_change(void *ctx, const struct cairn_index_commit *commit,
				    const struct cairn_index_entry *entry);

/** Visits the commits that changed a file or a folder, from this commit back. Each takes one lookup, however many other
 * commits lie between. Stops where the path did not exist before. Does not follow an earlier file of this path, or
 * renames. For workers; a visit occupies no reader of the index.
 * @param path   not the top folder
 * @param limit  most commits to visit, at least 1
 * @param visit  if it returns false, its commit counts as not visited
 * @param[out] next  the commit to continue from, if *more
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND the path does not exist at this commit (entry.unknown); as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_each_change_of(const struct cairn_hub *hub,
							  const struct cairn_index_commit *commit, const char *path,
							  uint32_t limit, cairn_hub_visit_change *visit, void *ctx,
							  struct cairn_index_commit *next, bool *more,
							  struct cairn_diag *diag);

#endif
