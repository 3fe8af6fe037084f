/* Which files two commits do not have in common. */
#ifndef CAIRN_HUB_CHANGES_H
#define CAIRN_HUB_CHANGES_H

#include "hub/tree.h"

enum {
	CAIRN_HUB_CHANGES_MAX = 1000,         /* that are shown to people */
	CAIRN_HUB_CHANGES_READ_MAX = 1 << 18, /* entries of both commits that are looked at */
};

enum cairn_hub_change_kind {
	CAIRN_HUB_ADDED,
	CAIRN_HUB_REMOVED,
	CAIRN_HUB_CHANGED, /* another content */
};

/** A file that is not the same in both. */
struct cairn_hub_change {
	enum cairn_hub_change_kind kind;
	char *path;                             /* owned */
	struct cairn_index_entry before, after; /* folder and name NULL; before not of ADDED, after not of REMOVED */
};

/** Zeroed is empty. */
struct cairn_hub_changes {
	uint32_t n, room;
	struct cairn_hub_change *all; /* owned; by the bytes of their paths */
	bool more;                    /* there may be others: one of the limits was reached */
};
/** For CLEANUP(). */
void cairn_hub_changes_fini(struct cairn_hub_changes *changes);

/**
 * Compare two commits of a repository. A folder that is the same in both is not opened; takes time with the entries of
 * those that are not, at most CAIRN_HUB_CHANGES_READ_MAX of them. For workers.
 * @param before  NULL: there was nothing
 * @param max     files that are told, and folders that wait to be compared
 * @param[out] out  empty unless CAIRN_OK
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND a commit is gone; as index and store
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_compare(struct cairn_cas *cas, const struct cairn_index_commit *before,
						   const struct cairn_index_commit *after, uint32_t max,
						   struct cairn_hub_changes *out);

/** The commit before one. @return CAIRN_OK; CAIRN_E_NOT_FOUND it is the first one (its parent is 0), or that is gone;
 * as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_find_parent(struct cairn_cas *cas, const struct cairn_index_commit *commit,
						       struct cairn_index_commit *out);

#endif
