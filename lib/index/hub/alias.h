/* Aliases: names that the mirrored hub redirects to the name of a repository. */
#ifndef CAIRN_INDEX_HUB_ALIAS_H
#define CAIRN_INDEX_HUB_ALIAS_H

#include "index/hub/hub.h"

enum {
	CAIRN_INDEX_ALIAS_MAX = CAIRN_INDEX_ACCOUNT_NAME_MAX + 1 + CAIRN_INDEX_REPO_NAME_MAX
}; /* bytes of either name */

/** Returns where a name leads, regardless of case. @param name  "gpt2", or "account/name"
 *  @param[out] target  "account/name"  @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_alias(struct cairn_index *ix, enum cairn_index_repo_kind kind,
						   const char *name, char target[static CAIRN_INDEX_ALIAS_MAX + 1]);

/** Stores an alias, or replaces that of this name. CAIRN_E_CONFLICT: a name is empty or too long (alias.name). */
struct cairn_index_add_alias {
	struct cairn_index_write write;
	enum cairn_index_repo_kind kind;
	const char *name, *target; /* borrowed */
};
CAIRN_MUST_USE enum cairn_status cairn_index_add_alias(struct cairn_index *ix, struct cairn_index_add_alias *add);

/** Removes the aliases that lead to a repository, or to any repository of a namespace, and the aliases whose own name
 * is such a name. The repository or namespace need not exist. */
struct cairn_index_drop_aliases {
	struct cairn_index_write write;
	enum cairn_index_repo_kind kind;
	const char *account, *name; /* borrowed; name NULL: all repositories of the account */
	int64_t n_dropped;          /* result */
};
CAIRN_MUST_USE enum cairn_status cairn_index_drop_aliases(struct cairn_index *ix,
							  struct cairn_index_drop_aliases *drop);

#endif
