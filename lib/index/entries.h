/* Places among the entries of repositories, which are in the order of their folders and then of their names: for the
 * engines. */
#ifndef CAIRN_INDEX_ENTRIES_H
#define CAIRN_INDEX_ENTRIES_H

#include "index/history.h"

/** Where a path ends to be a folder, and begins to be a name. @param[out] folder  CAIRN_INDEX_PATH_MAX + 1 bytes
 *  @return the name, within path; NULL when the path is too long */
const char *cairn_entries_split(const char *path, char folder[static CAIRN_INDEX_PATH_MAX + 1]);

/** Entries behind a name of a folder, up to the end of the last folder. */
struct cairn_entries_range {
	char folder[CAIRN_INDEX_PATH_MAX + 2], name[CAIRN_INDEX_PATH_MAX + 1];
	char last_folder[CAIRN_INDEX_PATH_MAX + 3];
};

/** What is below a folder that is not the top one, without what is in it: that sorts elsewhere ("a", "a.b", "a/c"). */
void cairn_entries_below(struct cairn_entries_range *out, const char *folder);

/** What a listing visits, one range behind the other. @return how many ranges there are */
unsigned cairn_entries_listed(struct cairn_entries_range out[static 2], const struct cairn_index_listing *listing);

/** The first and the last id that begin so. @return false: it is the start of none */
bool cairn_entries_oid_range(const char *prefix, struct cairn_git_oid *low, struct cairn_git_oid *high);

#endif
