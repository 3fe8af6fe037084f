/* Redirects repository names without an account to the names that these repositories have today. */
#ifndef CAIRN_SERVER_HUB_UNOWNED_H
#define CAIRN_SERVER_HUB_UNOWNED_H

#include "server/ask/hub_repo.h"

/** Finds where a call on such a name leads, for example /api/models/gpt2/refs, which the route GET
 * /api/{type}/{namespace}/{name} matches, too. On the worker. @return false: a repository of this name exists */
bool hub_unowned_takes(struct hub_repo *r);

/** Replies with a redirect to hub_mirror_target(). The state begins with a struct hub_repo. */
void hub_unowned_show(struct http_request *req, struct hub_call *call);

#endif
