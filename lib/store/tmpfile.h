/* A file that has no name until it is complete. */
#ifndef CAIRN_STORE_TMPFILE_H
#define CAIRN_STORE_TMPFILE_H

#include "base/status.h"

#include <stdint.h>

enum { CAIRN_TMPFILE_NAME_BYTES = 40 };

/** Owned by one thread at a time. fd -1: closed. */
struct cairn_tmpfile {
	int fd;
	int dir_fd;                          /* borrowed: the folder it was made in */
	char name[CAIRN_TMPFILE_NAME_BYTES]; /* in that folder; empty: the file has no name */
};

#define CAIRN_TMPFILE_NONE ((struct cairn_tmpfile){.fd = -1, .dir_fd = -1, .name = ""})

/** Opens a new file for reading and writing: without a name (O_TMPFILE), or with a random one if the file system has no
 * unnamed files.
 * @param dir_fd  must stay open while the file is used
 * @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_tmpfile_open(struct cairn_tmpfile *out, int dir_fd);

/** Does what cairn_tmpfile_open() does, but always with a random name. */
CAIRN_MUST_USE enum cairn_status cairn_tmpfile_open_named(struct cairn_tmpfile *out, int dir_fd);

/** Gives the file a name; an existing file of that name is kept. Call once. Makes nothing durable.
 * @param[out] existed  the name existed
 * @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_tmpfile_link(struct cairn_tmpfile *t, int dir_fd, const char *name,
						    bool *existed);

/** Removes the temporary name, if any, but keeps the file open. */
void cairn_tmpfile_unlink(struct cairn_tmpfile *t);

/** Closes the file and removes its temporary name. For CLEANUP(). */
void cairn_tmpfile_fini(struct cairn_tmpfile *t);

#endif
