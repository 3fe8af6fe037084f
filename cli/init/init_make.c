/* Creates the things that belong to the daemon's user: keys, data folder, first user. Root makes the folders and hands
 * them over. The rest is made as their owner, so that the daemon can use it. */
#include "base/fd.h"
#include "base/sys.h"
#include "cli/init/init.h"
#include "data_dir/data_dir.h"
#include "hub/account.h"
#include "token/token.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum cairn_status make_folder(const char *path, const struct init_place *place, struct cairn_diag *diag)
{
	struct stat st;
	bool made;
	enum cairn_status status = cairn_fd_make_folder(path, &made);
	if (status == CAIRN_OK && made && geteuid() == 0 && chown(path, place->uid, place->gid) != 0)
		status = CAIRN_E_IO;
	if (status == CAIRN_OK && cairn_sys_stat(path, &st) != 0)
		status = CAIRN_E_IO;
	if (status != CAIRN_OK)
		return cairn_fail(diag, cairn_fd_make_status(errno), "init.folder", CAIRN_NO_OFFSET,
				  "cannot make the folder %.160s: %s", path, strerror(errno));
	if (st.st_uid != place->uid)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "init.owner", CAIRN_NO_OFFSET,
				  "%.120s belongs to user %u, and the daemon would run as user %u: give it to that "
				  "user (chown), or name another place",
				  path, (unsigned)st.st_uid, (unsigned)place->uid);
	return CAIRN_OK;
}

/* Becomes the owner for a while. Only root can change its user, and can change back. */
static bool make_become(uid_t uid, gid_t gid)
{
	if (geteuid() == uid)
		return true;
	if (geteuid() == 0 && initgroups(INIT_SERVICE_USER, gid) != 0)
		return false;
	return uid == 0 ? seteuid(uid) == 0 && setegid(gid) == 0 : setegid(gid) == 0 && seteuid(uid) == 0;
}

static enum cairn_status make_check_tls(const char *path, struct cairn_diag *diag)
{
	if (!path[0])
		return CAIRN_OK;
	CLEANUP(cairn_fd_closep) int fd = cairn_sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	if (fd >= 0)
		return CAIRN_OK;
	return cairn_fail(diag, CAIRN_E_DENIED, "init.tls", CAIRN_NO_OFFSET,
			  "the daemon's user cannot read %.140s: %s; let this user's group read it", path,
			  strerror(errno));
}

/* Makes the token key. Keeps an existing key, because tokens signed with it are valid. */
static enum cairn_status make_token_key(const char *folder, bool *made, struct cairn_diag *diag)
{
	char path[INIT_PATH_BYTES + 8];
	struct cairn_diag none = {0};
	CLEANUP(cairn_token_keys_freep) struct cairn_token_keys *keys = NULL;
	*made = false;
	(void)snprintf(path, sizeof(path), "%s/1", folder);
	if (cairn_sys_access(path, F_OK) == 0 || cairn_token_keys_load(&keys, folder, &none) == CAIRN_OK)
		return keys ? CAIRN_OK : cairn_token_keys_load(&keys, folder, diag);
	*made = true;
	return cairn_token_key_make(path, diag);
}

static enum cairn_status make_user(struct cairn_cas *cas, const char *name, struct init_made *made,
				   struct cairn_diag *diag)
{
	const struct cairn_hub_new_account account = {
		.kind = CAIRN_INDEX_USER, .name = name, .fullname = "", .email = ""};
	const struct cairn_key key = {.name = name, .repo = "", .scopes = "write", .account = name};
	const struct cairn_hub hub = cairn_hub_of(cas);
	char repo[CAIRN_KEY_NAME_MAX + 1];
	struct cairn_diag taken = {0};
	int64_t id;
	enum cairn_status status = cairn_hub_add_account(&hub, &account, &id, &taken);
	made->user = status == CAIRN_OK;
	if (status == CAIRN_E_CONFLICT)
		status = CAIRN_OK; /* making a key fails unless the account is a user */
	else if (status != CAIRN_OK)
		*diag = taken;
	return status == CAIRN_OK ? cairn_cas_make_key(cas, &key, repo, made->api_key, &id) : status;
}

static enum cairn_status make_data(const char *path, const char *user, struct init_made *made, struct cairn_diag *diag)
{
	struct cairn_cas_options options = CAIRN_CAS_DEFAULTS;
	const struct cairn_data_dir_options folder = {.path = path, .keep_bytes = options.reserve_bytes};
	CLEANUP(cairn_data_dir_freep) struct cairn_data_dir *dir = NULL;
	CLEANUP(cairn_cas_freep) struct cairn_cas *cas = NULL;
	enum cairn_status status = cairn_data_dir_open(&dir, &folder, diag);
	if (status != CAIRN_OK)
		return status;
	const struct cairn_cas_parts parts = cairn_cas_parts_of(dir);
	status = cairn_cas_open(&cas, &parts, &options, diag);
	return status == CAIRN_OK ? make_user(cas, user, made, diag) : status;
}

enum cairn_status init_make(const struct init_place *place, const struct init_wish *wish, struct init_made *made,
			    struct cairn_diag *diag)
{
	uid_t was_uid = geteuid();
	gid_t was_gid = getegid();
	enum cairn_status status = make_folder(place->data_dir, place, diag);
	*made = (struct init_made){.token_key = false};
	if (status == CAIRN_OK)
		status = make_folder(place->keys, place, diag);
	if (status != CAIRN_OK)
		return status;
	if (!make_become(place->uid, place->gid))
		return cairn_fail(diag, CAIRN_E_IO, "init.owner", CAIRN_NO_OFFSET, "cannot become the user %s: %s",
				  INIT_SERVICE_USER, strerror(errno));
	status = make_check_tls(wish->tls_certificate, diag);
	if (status == CAIRN_OK)
		status = make_check_tls(wish->tls_key, diag);
	if (status == CAIRN_OK)
		status = make_token_key(place->keys, &made->token_key, diag);
	if (status == CAIRN_OK)
		status = make_data(place->data_dir, wish->user, made, diag);
	if (!make_become(was_uid, was_gid) && status == CAIRN_OK)
		status = cairn_fail(diag, CAIRN_E_IO, "init.owner", CAIRN_NO_OFFSET, "cannot become root again: %s",
				    strerror(errno));
	return status;
}
