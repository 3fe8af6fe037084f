/* Compares two commits: finds the files that differ. */
#ifndef CAIRN_HUB_CHANGES_H
#define CAIRN_HUB_CHANGES_H

#include "hub/tree.h"

enum {
	CAIRN_HUB_CHANGES_MAX = 1000,         /* changed files shown to people */
	CAIRN_HUB_CHANGES_READ_MAX = 1 << 18, /* entries read of both commits together */
};

enum cairn_hub_change_kind {
	CAIRN_HUB_ADDED,
	CAIRN_HUB_REMOVED,
	CAIRN_HUB_CHANGED, /* the content differs */
};

/** A file that differs between the two commits. */
struct cairn_hub_change {
	enum cairn_hub_change_kind kind;
	char *path;                             /* owned */
	struct cairn_index_entry before, after; /* folder and name NULL; ADDED has no before, REMOVED no after */
};

/** The differences. Zeroed is empty. */
struct cairn_hub_changes {
	uint32_t n, room;
	struct cairn_hub_change *all; /* owned; in the order of the paths' bytes */
	bool more;                    /* there may be more changes: a limit was reached */
};
void cairn_hub_changes_fini(struct cairn_hub_changes *changes);

/**
 * Compares two commits of a repository. Skips folders that are the same in both. The time grows with the entries of the
 * other folders, of which it reads at most CAIRN_HUB_CHANGES_READ_MAX. For workers.
 * @param before  NULL: compare with an empty commit
 * @param max     limit of the changed files, and of the folders that wait to be compared
 * @param[out] out  empty unless CAIRN_OK
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND a commit is gone; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_compare(const struct cairn_hub *hub, const struct cairn_index_commit *before,
						   const struct cairn_index_commit *after, uint32_t max,
						   struct cairn_hub_changes *out);

/** Finds the parent of a commit. @return CAIRN_OK; CAIRN_E_NOT_FOUND the commit is the first (parent is 0), or the
 * parent is gone; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_find_parent(const struct cairn_hub *hub,
						       const struct cairn_index_commit *commit,
						       struct cairn_index_commit *out);

#endif
