/* Describes a repository in JSON. */
#ifndef CAIRN_SERVER_HUB_INFO_H
#define CAIRN_SERVER_HUB_INFO_H

#include "server/ask/hub_repo.h"

/** Writes the members that all descriptions of a repository share, into an open object. */
void hub_info_put(const struct cairn_cas *cas, struct cairn_json_out *w, const struct cairn_index_repo *repo);

#endif
