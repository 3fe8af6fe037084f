/* Opens the data folder of a daemon (DIR): the lock, which lets only one process use it, the secret, the index and the
 * objects. Every program that works on a store begins here. */
#ifndef CAIRN_DATA_DIR_DATA_DIR_H
#define CAIRN_DATA_DIR_DATA_DIR_H

#include "data_dir/secret.h"
#include "index/index.h"
#include "store/store.h"

/** Marks DIR as incomplete while cairn_restore() fills it. */
#define CAIRN_DATA_DIR_RESTORING "restore"

/** An open folder. Immutable. */
struct cairn_data_dir;

struct cairn_data_dir_options {
	const char *path;
	bool read_only; /* create and change nothing: for checks; the secret is not opened */
	/* For a command that maintains the folder of a daemon: index and objects are where the folder's records say. If
	 * both are elsewhere, the folder is opened without the secret, while its daemon may run. */
	bool maintains;
	const char *secret_file; /* NULL: DIR/secret, created at the first start with mode 0600 */
	const char *store;       /* URL of the objects; NULL: by the folder's record, else files:DIR */
	const char *credentials; /* of the store, as in struct cairn_store_options */
	const char *index;       /* to write: URL of an index elsewhere; NULL: a file of the folder */
	uint64_t keep_bytes;     /* free disk space to leave, as in struct cairn_index_options */
};

/** Locks the folder (created if missing), reads or makes the secret, opens objects and index.
 * @param options  not kept
 * @return CAIRN_OK
 *         CAIRN_E_CONFLICT  another process has the folder (data_dir.in_use); a restore of it is incomplete
 *         (data_dir.restoring); it has objects and no index (data_dir.no_index); its index was made by a newer
 *         version, or, to read only, by an older one; the options name another store than the folder's
 *         (data_dir.store), or the store has another owner (store.owner); the same for the index (data_dir.index,
 *         index.owner), or another daemon has the index open (index.taken)
 *         CAIRN_E_USAGE     a path or a URL is too long; a secret is too short, too long, or readable by others; the
 *         URL of a store or index is not valid (see cairn_store_open() and cairn_index_open())
 *         CAIRN_E_FORMAT    the folder's record of an index or a store elsewhere cannot be read (data_dir.index,
 *         data_dir.store)
 *         CAIRN_E_BUSY      a service does not answer
 *         CAIRN_E_FULL      there is no room to migrate the index
 *         CAIRN_E_DAMAGED   the index is damaged
 *         CAIRN_E_IO, CAIRN_E_NOMEM
 *         All but CAIRN_E_NOMEM with a message in diag */
CAIRN_MUST_USE enum cairn_status cairn_data_dir_open(struct cairn_data_dir **out,
						     const struct cairn_data_dir_options *options,
						     struct cairn_diag *diag);

/** Closes index and objects, and releases the lock. All users of both must have ended. NULL is harmless. */
void cairn_data_dir_free(struct cairn_data_dir *d);
void cairn_data_dir_freep(struct cairn_data_dir **d);

/* Borrowed until the data folder is freed. */
struct cairn_index *cairn_data_dir_index(const struct cairn_data_dir *d);
struct cairn_store *cairn_data_dir_store(const struct cairn_data_dir *d);
const char *cairn_data_dir_path(const struct cairn_data_dir *d);
const struct cairn_secret *cairn_data_dir_secret(const struct cairn_data_dir *d); /* NULL: opened to read only */

/** Returns the versions of a migration at opening. @param[out] from  version before; 0: the index was created
 * @param[out] to  version now; both are 0 if opened to read only */
void cairn_data_dir_migrated(const struct cairn_data_dir *d, int *from, int *to);

/** Locks a folder as cairn_data_dir_open() does, for a program that fills the folder before it can be opened. The
 * kernel drops the lock when its holder dies.
 * @param make  create the lock file if missing; false: a folder without the file is not locked
 * @param[out] fd  closing it releases the lock; -1: not locked, also after a failure
 * @return CAIRN_OK; CAIRN_E_CONFLICT another process has the folder (data_dir.in_use); CAIRN_E_USAGE the path is too
 *         long; CAIRN_E_IO (data_dir.lock) */
CAIRN_MUST_USE enum cairn_status cairn_data_dir_lock(const char *path, bool make, int *fd, struct cairn_diag *diag);

/** Checks that a path is the data folder of a daemon. Call this before opening a folder that should exist: opening
 * would create the folder, or an index in a folder that is no store.
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND it is not (data_dir.missing); CAIRN_E_FORMAT, CAIRN_E_IO the record of an index
 *         elsewhere cannot be read; CAIRN_E_USAGE the path is too long */
CAIRN_MUST_USE enum cairn_status cairn_data_dir_find(const char *path, struct cairn_diag *diag);

/** Is a path, which need not exist, the folder or in it? Follows links in both. @return false also if this cannot be
 * decided: opening the path then fails, too */
bool cairn_data_dir_has(const char *dir, const char *path);

/** The result of cairn_data_dir_inspect(). Plain value. */
struct cairn_data_dir_sight {
	bool exists;
	bool in_use;         /* another process has the folder */
	int version, latest; /* of the index, and of this program; version 0: no index yet */
};

/** Checks whether a folder could be opened to write. Changes nothing, even while a process has the folder open. (It
 * holds the lock for a moment; a process that opens the folder in that moment is refused.)
 * @param secret_file, index  as in struct cairn_data_dir_options; the index is asked for its version
 * @param as_root  root will create a missing folder: do not check this user's permission
 * @return as cairn_data_dir_open(), except that being in use is no error */
CAIRN_MUST_USE enum cairn_status cairn_data_dir_inspect(const char *path, const char *secret_file, const char *index,
							bool as_root, struct cairn_data_dir_sight *out,
							struct cairn_diag *diag);

/** Does what cairn_store_reach() does. */
CAIRN_MUST_USE enum cairn_status cairn_data_dir_store_reach(const char *store, const char *credentials,
							    struct cairn_store_reach *out, struct cairn_diag *diag);

/** Returns the ports and files that connecting to an index needs. @param index  NULL: a file, which needs none
 * @return as cairn_index_reach() */
CAIRN_MUST_USE enum cairn_status cairn_data_dir_index_reach(const char *index, struct cairn_index_reach *out,
							    struct cairn_diag *diag);

enum { CAIRN_DATA_DIR_URL_BYTES = 4200 };

/** Returns the URL of an index that is a file. @return CAIRN_OK; CAIRN_E_CONFLICT the index is elsewhere
 * (data_dir.index); CAIRN_E_FORMAT, CAIRN_E_IO the folder's record is unreadable; CAIRN_E_USAGE the path is too long */
CAIRN_MUST_USE enum cairn_status cairn_data_dir_index_url(char out[static CAIRN_DATA_DIR_URL_BYTES], const char *path,
							  struct cairn_diag *diag);

/** Returns the URLs of a folder's index and objects, from its records; by default they are files in it.
 * @return CAIRN_OK; CAIRN_E_FORMAT, CAIRN_E_IO a record cannot be read; CAIRN_E_USAGE the path is too long */
CAIRN_MUST_USE enum cairn_status cairn_data_dir_places(const char *path, char index[static CAIRN_DATA_DIR_URL_BYTES],
						       char store[static CAIRN_DATA_DIR_URL_BYTES],
						       struct cairn_diag *diag);

/** Opens only the objects of a folder, without its lock. @param beside  as in struct cairn_store_options; false: they
 * must be files
 * @return as cairn_store_open(); CAIRN_E_CONFLICT they must be files, but are elsewhere (data_dir.store);
 *         CAIRN_E_FORMAT, CAIRN_E_IO the folder's record of them cannot be read; CAIRN_E_USAGE the path is too long */
CAIRN_MUST_USE enum cairn_status cairn_data_dir_open_store(struct cairn_store **out, const char *path, bool beside,
							   struct cairn_diag *diag);

#endif
