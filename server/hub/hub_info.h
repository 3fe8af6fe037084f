/* What is said about a repository. */
#ifndef CAIRN_SERVER_HUB_INFO_H
#define CAIRN_SERVER_HUB_INFO_H

#include "server/hub/hub_repo.h"

/** Write the members that each telling of a repository has, in an object that is open. */
void hub_info_put(const struct cairn_cas *cas, struct cairn_json_out *w, const struct cairn_index_repo *repo);

#endif
