/* Drops root's privileges before anything is served, if the daemon was started as root. */
#ifndef CAIRN_SERVER_PRIVILEGES_H
#define CAIRN_SERVER_PRIVILEGES_H

#include "base/status.h"

#include <stddef.h>

/** Switches permanently to a user and its group (or another group), without supplementary groups. Call before any
 * thread starts. @param user  name; NULL: keep the current user @param group  name; NULL: the user's own @param owned
 * paths that were just created, to hand over to that user; NULL: skipped @return CAIRN_OK; CAIRN_E_USAGE: no such user
 * or group, the user is root, a group without a user, or the process is not root; CAIRN_E_IO: the system refused */
CAIRN_MUST_USE enum cairn_status privileges_drop(const char *user, const char *group, const char *const *owned,
						 size_t n_owned, struct cairn_diag *diag);

#endif
