/* Decides what an asker may do with a repository. Pure. */
#ifndef CAIRN_HUB_MAY_H
#define CAIRN_HUB_MAY_H

#include "hub/account.h"

/** The access to the repositories of an account. Each level includes the levels before it. */
enum cairn_hub_access {
	CAIRN_HUB_SEE,   /* see public repositories, and read the files of those without a gate */
	CAIRN_HUB_READ,  /* see all repositories, and read their files */
	CAIRN_HUB_WRITE, /* change the content of a repository; make a repository */
	CAIRN_HUB_ADMIN, /* change its settings, rename it, delete it */
};

/** Returns the access of an asker. A key without write scope gets at most READ, a key for one repository only SEE
 * (cairn_hub_access_to()).
 * @param account  the account that owns the repositories
 * @param role     role of the asker's account in that account */
enum cairn_hub_access cairn_hub_access(const struct cairn_hub_asker *asker, int64_t account,
				       enum cairn_index_role role);

/** Does the asker act for an account, with a key that writes and is not for one repository? */
bool cairn_hub_acts_for_account(const struct cairn_hub_asker *asker);

#endif
