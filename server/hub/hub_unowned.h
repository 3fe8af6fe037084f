/* Names without an owner, which are redirected. */
#ifndef CAIRN_SERVER_HUB_UNOWNED_H
#define CAIRN_SERVER_HUB_UNOWNED_H

#include "server/ask/hub_repo.h"

/** Finds where a call of a name without an owner leads, as /api/models/gpt2/refs, which GET
 * /api/{type}/{namespace}/{name} matches, too. On the worker. @return false: it is a repository of that name */
bool hub_unowned_takes(struct hub_repo *r);

/** Replies with a redirect to hub_mirror_target(). The state begins with a struct hub_repo. */
void hub_unowned_show(struct http_request *req, struct hub_call *call);

#endif
