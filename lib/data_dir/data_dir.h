/* The folder of a daemon (DIR): the lock that keeps it one process's own, the secret, and where its index and its
 * objects are. Whoever works on a store begins here. */
#ifndef CAIRN_DATA_DIR_DATA_DIR_H
#define CAIRN_DATA_DIR_DATA_DIR_H

#include "data_dir/secret.h"
#include "index/index.h"
#include "store/store.h"

/** Stands in DIR while cairn_restore() has not put all of a backup there. */
#define CAIRN_DATA_DIR_RESTORING "restore"

/** An open folder. Immutable. */
struct cairn_data_dir;

struct cairn_data_dir_options {
	const char *path;
	bool read_only; /* change nothing, and make nothing: for checking. There is no secret then */
	/* Not for a daemon, but for a command that works on its folder: index and objects are where the folder says.
	 * A folder with both elsewhere is opened beside its daemon, and without the secret. */
	bool maintains;
	const char *secret_file; /* NULL: DIR/secret, made at the first start with mode 0600 */
	const char *store; /* URL of the objects; NULL: as the folder says, which is files:DIR except for an S3 store */
	const char *credentials; /* of the store, as in struct cairn_store_options */
	const char *index;       /* to write: URL of an index elsewhere; NULL: a file of the folder */
	uint64_t keep_bytes;     /* of the disk's free space: as in struct cairn_index_options */
};

/**
 * Lock the folder (made when missing), read or make the secret, open objects and index.
 * @param options  not kept
 * @return CAIRN_OK
 *         CAIRN_E_CONFLICT  another process has the folder (data_dir.in_use); it is half of a backup
 *                           (data_dir.restoring); it has objects and no index (data_dir.no_index); its index is of a
 *                           newer version, or, to read only, of an older one; its objects are in another store than
 *                           the options name (data_dir.store), or that store is somebody else's (store.owner); likewise
 *                           the index (data_dir.index, index.owner), or another daemon has it (index.taken)
 *         CAIRN_E_USAGE     a path or a URL is too long; a secret is too short, too long, or readable by others;
 *                           no store or index has such a URL, or what it needs is missing (as cairn_store_open()
 *                           and cairn_index_open() say)
 *         CAIRN_E_FORMAT    what the folder says of an index or a store elsewhere cannot be read (data_dir.index,
 *                           data_dir.store)
 *         CAIRN_E_BUSY      a service does not answer
 *         CAIRN_E_FULL      there is no room to bring the index forward
 *         CAIRN_E_DAMAGED   of the index
 *         CAIRN_E_IO, CAIRN_E_NOMEM
 *         All but CAIRN_E_NOMEM with one clear line in diag
 */
CAIRN_MUST_USE enum cairn_status cairn_data_dir_open(struct cairn_data_dir **out,
						     const struct cairn_data_dir_options *options,
						     struct cairn_diag *diag);

/** Close index and objects, after all that works on them, and give up the lock. NULL is harmless. */
void cairn_data_dir_free(struct cairn_data_dir *d);
void cairn_data_dir_freep(struct cairn_data_dir **d);

/* Borrowed, until it is freed. */
struct cairn_index *cairn_data_dir_index(const struct cairn_data_dir *d);
struct cairn_store *cairn_data_dir_store(const struct cairn_data_dir *d);
const char *cairn_data_dir_path(const struct cairn_data_dir *d);
const struct cairn_secret *cairn_data_dir_secret(const struct cairn_data_dir *d); /* NULL: opened to read only */

/** Was the index migrated when the folder was opened? @param[out] from  the version before; 0: it was made
 *  @param[out] to  the version now, the same when it was not migrated; both 0 to read only */
void cairn_data_dir_migrated(const struct cairn_data_dir *d, int *from, int *to);

/**
 * Make a folder this process's own, as cairn_data_dir_open() does: for whoever fills one before it can be opened. The
 * kernel drops the lock when its holder dies.
 * @param make  the file that is locked; else one that has none is nobody's, and not locked
 * @param[out] fd  closing it gives up the lock; -1: there is none, also after a failure
 * @return CAIRN_OK; CAIRN_E_CONFLICT another process has the folder (data_dir.in_use); CAIRN_E_USAGE the path is too
 *         long; CAIRN_E_IO (data_dir.lock)
 */
CAIRN_MUST_USE enum cairn_status cairn_data_dir_lock(const char *path, bool make, int *fd, struct cairn_diag *diag);

/** Is this the data folder of a daemon? Asked first by those who are given one that should be there: opening would make
 *  a folder that is not there, and an index in one that is no store.
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND it is not (data_dir.missing); CAIRN_E_FORMAT, CAIRN_E_IO what it says of an
 *          index elsewhere cannot be read; CAIRN_E_USAGE the path is too long */
CAIRN_MUST_USE enum cairn_status cairn_data_dir_find(const char *path, struct cairn_diag *diag);

/** Is a path, which need not be there, the folder or in it? Both may be links. @return false also when it cannot be
 * told, which opening it tells */
bool cairn_data_dir_has(const char *dir, const char *path);

/** What cairn_data_dir_look() has found. Plain value. */
struct cairn_data_dir_sight {
	bool exists;
	bool in_use;         /* another process has it */
	int version, latest; /* of the index, and of this program; version 0: there is none so far */
};

/**
 * Would a folder be opened to write? Looks, and changes nothing: also beside a process that has it. (The lock is tried
 * for a moment; who opens the folder in that moment is refused.)
 * @param secret_file  as in struct cairn_data_dir_options
 * @param index  likewise; it is asked of which version it is
 * @param as_root  a folder that is not there is made by root: whether this user could is not asked
 * @return as cairn_data_dir_open(), except that being in use is no failure
 */
CAIRN_MUST_USE enum cairn_status cairn_data_dir_look(const char *path, const char *secret_file, const char *index,
						     bool as_root, struct cairn_data_dir_sight *out,
						     struct cairn_diag *diag);

/** As cairn_store_reach(). */
CAIRN_MUST_USE enum cairn_status cairn_data_dir_store_reach(const char *store, const char *credentials,
							    struct cairn_store_reach *out, struct cairn_diag *diag);

/** What does connecting to an index of this URL take? @param index  NULL: a file, and so nothing
 *  @return as cairn_index_reach() */
CAIRN_MUST_USE enum cairn_status cairn_data_dir_index_reach(const char *index, struct cairn_index_reach *out,
							    struct cairn_diag *diag);

enum { CAIRN_DATA_DIR_URL_BYTES = 4200 };

/** The URL of a folder's index that is a file. @return CAIRN_OK; CAIRN_E_CONFLICT it is elsewhere (data_dir.index);
 *  CAIRN_E_FORMAT, CAIRN_E_IO what the folder says of it cannot be read; CAIRN_E_USAGE the path is too long */
CAIRN_MUST_USE enum cairn_status cairn_data_dir_index_url(char out[static CAIRN_DATA_DIR_URL_BYTES], const char *path,
							  struct cairn_diag *diag);

/** Where the index and the objects of a folder are, as URLs: it says so, or they are files of it.
 *  @return CAIRN_OK; CAIRN_E_FORMAT, CAIRN_E_IO what it says cannot be read; CAIRN_E_USAGE the path is too long */
CAIRN_MUST_USE enum cairn_status cairn_data_dir_places(const char *path, char index[static CAIRN_DATA_DIR_URL_BYTES],
						       char store[static CAIRN_DATA_DIR_URL_BYTES],
						       struct cairn_diag *diag);

/** Open the objects of a folder alone, without its lock. @param beside  as in struct cairn_store_options; else they
 * must be files
 *  @return as cairn_store_open(); CAIRN_E_CONFLICT they must be files, and are elsewhere (data_dir.store);
 *          CAIRN_E_FORMAT, CAIRN_E_IO what the folder says of them cannot be read; CAIRN_E_USAGE too long a path */
CAIRN_MUST_USE enum cairn_status cairn_data_dir_open_store(struct cairn_store **out, const char *path, bool beside,
							   struct cairn_diag *diag);

#endif
