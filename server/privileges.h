/* Started as root, for a port below 1024 or by habit: become somebody else before anything is served. */
#ifndef CAIRN_SERVER_PRIVILEGES_H
#define CAIRN_SERVER_PRIVILEGES_H

#include "base/status.h"

#include <stddef.h>

/**
 * Become a user, with its group (or another one) and no supplementary groups, for good. Before any thread is started.
 * @param user   name; NULL: stay who one is
 * @param group  name; NULL: the user's own
 * @param owned  what was made just now, to hand over to that user; NULL ones are passed over
 * @return CAIRN_OK; CAIRN_E_USAGE: there is no such user or group, root was meant, a group without a user, or only
 * root could; CAIRN_E_IO the system refused
 */
CAIRN_MUST_USE enum cairn_status privileges_drop(const char *user, const char *group, const char *const *owned,
						 size_t n_owned, struct cairn_diag *diag);

#endif
