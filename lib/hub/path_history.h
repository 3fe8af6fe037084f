/* Which commits changed a path. */
#ifndef CAIRN_HUB_PATH_HISTORY_H
#define CAIRN_HUB_PATH_HISTORY_H

#include "hub/tree.h"

/** What a commit made of a path. @return false: to end it before that */
typedef bool cairn_hub_visit_change(void *ctx, const struct cairn_index_commit *commit,
				    const struct cairn_index_entry *entry);

/**
 * Visit the commits that changed a file or a folder, from this commit back: each is one look-up, however many others
 * lie between them. It ends where the path was not there: what it had been before that, and under another name, is not
 * followed. For workers; no reader of the index is held during a visit.
 * @param path   not the top folder
 * @param limit  of commits, at least 1
 * @param visit  when it answers false, that change was not visited
 * @param[out] next  the commit from which it goes on, when *more
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND it is not there at this commit (entry.unknown); as index and store
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_each_change_of(struct cairn_cas *cas,
							  const struct cairn_index_commit *commit, const char *path,
							  uint32_t limit, cairn_hub_visit_change *visit, void *ctx,
							  struct cairn_index_commit *next, bool *more,
							  struct cairn_diag *diag);

#endif
