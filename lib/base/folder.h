/* Lists folders: a read error is reported, and never looks like the end of the folder. */
#ifndef CAIRN_BASE_FOLDER_H
#define CAIRN_BASE_FOLDER_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/** A listing of a folder, for one thread at a time. Initialize with {0}, so cairn_folder_close() is always harmless. */
struct cairn_folder {
	void *stream; /* a DIR; NULL: not open */
};

/** Starts a listing.
 * @param fd  descriptor of the folder, owned from now on, also on failure. Below 0: open() failed, with errno
 * @return CAIRN_OK; as cairn_fd_status() otherwise, with errno */
CAIRN_MUST_USE enum cairn_status cairn_folder_open(struct cairn_folder *out, int fd);

/** Returns the next name, in the order of the file system, without "." and "..".
 * @param[out] name  valid until the next call; NULL at the end of the folder
 * @return CAIRN_OK, also at the end; as cairn_fd_status() otherwise, with errno: names are missing */
CAIRN_MUST_USE enum cairn_status cairn_folder_next(struct cairn_folder *folder, const char **name);

/** Starts again, with the present names. */
void cairn_folder_rewind(struct cairn_folder *folder);

/** For CLEANUP(). Preserves errno. */
void cairn_folder_close(struct cairn_folder *folder);

/** Reads the status of an entry, without following a symbolic link.
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND: it was removed meanwhile; as cairn_fd_status() otherwise, with errno */
CAIRN_MUST_USE enum cairn_status cairn_folder_stat(int folder_fd, const char *name, struct stat *out);

struct cairn_folder_names {
	char **items; /* owned */
	size_t n;
};

/** Reads all names of a folder, sorted by their bytes.
 * @param[out] out  initialized with {0}; empty on failure
 * @param fd  as for cairn_folder_open()
 * @param wanted  selects names; NULL: all
 * @return CAIRN_OK; CAIRN_E_NOMEM; as cairn_fd_status() otherwise, with errno */
CAIRN_MUST_USE enum cairn_status cairn_folder_list(struct cairn_folder_names *out, int fd,
						   bool (*wanted)(const char *name));

void cairn_folder_names_fini(struct cairn_folder_names *names);

#endif
