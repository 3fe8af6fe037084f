#include "server/privileges.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

static enum cairn_status privileges_find(const char *user, const char *group, uid_t *uid, gid_t *gid,
					 struct cairn_diag *diag)
{
	const struct passwd *u = getpwnam(user);
	if (!u)
		return cairn_fail(diag, CAIRN_E_USAGE, "user.unknown", CAIRN_NO_OFFSET,
				  "user: there is no user %s on this system", user);
	*uid = u->pw_uid;
	*gid = u->pw_gid;
	if (group) {
		const struct group *g = getgrnam(group);
		if (!g)
			return cairn_fail(diag, CAIRN_E_USAGE, "group.unknown", CAIRN_NO_OFFSET,
					  "group: there is no group %s on this system", group);
		*gid = g->gr_gid;
	}
	if (*uid == 0)
		return cairn_fail(diag, CAIRN_E_USAGE, "user.root", CAIRN_NO_OFFSET,
				  "user: %s is root; name one that is not, or leave the setting out", user);
	return CAIRN_OK;
}

/* Switches the group first, because that needs root. Then tests that root cannot be regained. */
static int privileges_become(uid_t uid, gid_t gid, const char *const *owned, size_t n_owned)
{
	for (size_t i = 0; i < n_owned; i++)
		if (owned[i] && chown(owned[i], uid, gid) != 0)
			return errno;
	if (setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0)
		return errno;
	return setuid(0) == 0 || geteuid() != uid || getegid() != gid ? EPERM : 0;
}

enum cairn_status privileges_drop(const char *user, const char *group, const char *const *owned, size_t n_owned,
				  struct cairn_diag *diag)
{
	uid_t uid = 0;
	gid_t gid = 0;
	if (!user && group)
		return cairn_fail(diag, CAIRN_E_USAGE, "user.missing", CAIRN_NO_OFFSET,
				  "group is given without user; give both, or the user alone for its own group");
	if (!user)
		return CAIRN_OK;
	enum cairn_status status = privileges_find(user, group, &uid, &gid, diag);
	if (status != CAIRN_OK)
		return status;
	if (geteuid() != 0) {
		if (geteuid() == uid && getegid() == gid)
			return CAIRN_OK;
		return cairn_fail(diag, CAIRN_E_USAGE, "user.needs_root", CAIRN_NO_OFFSET,
				  "user: only root can become %s; start as root, or as that user", user);
	}
	int error = privileges_become(uid, gid, owned, n_owned);
	if (error != 0)
		return cairn_fail(diag, CAIRN_E_IO, "user.refused", CAIRN_NO_OFFSET, "user: cannot become %s: %s", user,
				  strerror(error));
	return CAIRN_OK;
}
