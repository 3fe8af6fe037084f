/* Who may do what with a repository. Pure. */
#ifndef CAIRN_HUB_MAY_H
#define CAIRN_HUB_MAY_H

#include "hub/account.h"

/** What somebody may do with the repositories of an account: each may what the ones before it may. */
enum cairn_hub_access {
	CAIRN_HUB_SEE,   /* see the public ones, and have the files of those without a gate */
	CAIRN_HUB_READ,  /* see them all, and have their files */
	CAIRN_HUB_WRITE, /* change what is in a repository, make one */
	CAIRN_HUB_ADMIN, /* settings, another name, delete */
};

/** Of a key that can only read no more comes, and of one that is for another repository nothing.
 *  @param account  whose repositories
 *  @param role     of the asker's account in it */
enum cairn_hub_access cairn_hub_access(const struct cairn_hub_asker *asker, int64_t account,
				       enum cairn_index_role role);

#endif
