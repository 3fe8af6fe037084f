/* Ranges of entries of repositories. Entries are ordered by folder and then by name. */
#ifndef CAIRN_INDEX_HUB_ENTRIES_H
#define CAIRN_INDEX_HUB_ENTRIES_H

#include "index/hub/history.h"

/** Splits a path into its folder and its name. @param[out] folder  CAIRN_INDEX_PATH_MAX + 1 bytes
 *  @return the name, within path; NULL when the path is too long */
const char *cairn_entries_split(const char *path, char folder[static CAIRN_INDEX_PATH_MAX + 1]);

/** Entries after a name in a folder, up to the end of the last folder. */
struct cairn_entries_range {
	char folder[CAIRN_INDEX_PATH_MAX + 2], name[CAIRN_INDEX_PATH_MAX + 1];
	char last_folder[CAIRN_INDEX_PATH_MAX + 3];
};

/** Computes the range of a folder's subfolders (not the top). Its own entries sort elsewhere ("a", "a.b", "a/c"). */
void cairn_entries_below(struct cairn_entries_range *out, const char *folder);

/** Computes the ranges of entries that a listing visits, in order. @return their number */
unsigned cairn_entries_listed(struct cairn_entries_range out[static 2], const struct cairn_index_listing *listing);

/** Computes the lowest and the highest id with this prefix. @return false: no id has such a prefix */
bool cairn_entries_oid_range(const char *prefix, struct cairn_git_oid *low, struct cairn_git_oid *high);

#endif
