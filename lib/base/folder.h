/* Walks over folders: a read error is reported and never looks like the end of the folder. */
#ifndef CAIRN_BASE_FOLDER_H
#define CAIRN_BASE_FOLDER_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/** A walk, for one thread at a time. Initialize with {0}, so that cairn_folder_close() is harmless before opening. */
struct cairn_folder {
	void *stream; /* DIR; NULL: not open */
};

/** Starts a walk.
 * @param fd  of the folder, as open() gave it: the walk owns it, also on failure. Below 0: opening failed, with errno
 * @return CAIRN_OK; as cairn_fd_status() otherwise, with errno */
CAIRN_MUST_USE enum cairn_status cairn_folder_open(struct cairn_folder *out, int fd);

/** Gives the next name, in the order of the file system. "." and ".." are left out.
 * @param[out] name  valid until the next call; NULL at the end of the folder
 * @return CAIRN_OK, also at the end; as cairn_fd_status() otherwise, with errno: the names so far are not all */
CAIRN_MUST_USE enum cairn_status cairn_folder_next(struct cairn_folder *folder, const char **name);

/** Starts the walk anew, with the names that are there now. */
void cairn_folder_rewind(struct cairn_folder *folder);

/** For CLEANUP(). Leaves errno alone. */
void cairn_folder_close(struct cairn_folder *folder);

/** Looks at an entry itself, not at what a symbolic link leads to.
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND: it was removed after its name was read; as cairn_fd_status() otherwise, with
 *         errno */
CAIRN_MUST_USE enum cairn_status cairn_folder_stat(int folder_fd, const char *name, struct stat *out);

struct cairn_folder_names {
	char **items; /* owned */
	size_t n;
};

/** Reads all names of a folder, sorted by their bytes.
 * @param[out] out  initialized with {0}; nothing on failure
 * @param fd  as cairn_folder_open() takes it
 * @param wanted  says which names are listed; NULL: all
 * @return CAIRN_OK; CAIRN_E_NOMEM; as cairn_fd_status() otherwise, with errno */
CAIRN_MUST_USE enum cairn_status cairn_folder_list(struct cairn_folder_names *out, int fd,
						   bool (*wanted)(const char *name));

void cairn_folder_names_fini(struct cairn_folder_names *names);

#endif
