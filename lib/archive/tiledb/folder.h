/* Reads files of an array's folder, and names them in error messages. Internal to lib/archive/tiledb. */
#ifndef CAIRN_ARCHIVE_TILEDB_FOLDER_H
#define CAIRN_ARCHIVE_TILEDB_FOLDER_H

#include "archive/tiledb/format.h"
#include "base/buf.h"

/** A list of names. Zeroed is empty. Owned. */
struct cairn_tiledb_names {
	char **items;
	uint32_t n, cap;
};
void cairn_tiledb_names_fini(struct cairn_tiledb_names *names);
/** Adds a copy of a name. @return CAIRN_OK; CAIRN_E_LIMIT over CAIRN_TILEDB_FRAGMENTS_MAX; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_names_add(struct cairn_tiledb_names *names, const char *text, size_t len);
/** Sorts, and keeps one of equal names. */
void cairn_tiledb_names_sort(struct cairn_tiledb_names *names);
/** Returns whether sorted names contain text. */
bool cairn_tiledb_names_has(const struct cairn_tiledb_names *names, const char *text);

/** Lists the names in a folder, sorted, without those that begin with a dot.
 * @return CAIRN_OK, also if there is no such folder; CAIRN_E_IO; CAIRN_E_LIMIT; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_folder_list(struct cairn_tiledb_names *out, int dir_fd, const char *name,
							  struct cairn_diag *diag);

/** Bytes of a path "folder/name", for openat() and messages. */
enum { CAIRN_TILEDB_PATH_BYTES = 2 * (CAIRN_TILEDB_NAME_MAX + 1) };
void cairn_tiledb_path(char out[static CAIRN_TILEDB_PATH_BYTES], const char *folder, const char *name);

/** Opens a file for reading and returns its length. @return a descriptor; -1, with the error in *status and diag */
int cairn_tiledb_file_open(int dir_fd, const char *path, uint64_t *len, enum cairn_status *status,
			   struct cairn_diag *diag);

/** Appends a whole file of at most max bytes. @return CAIRN_OK; CAIRN_E_FORMAT it is missing; CAIRN_E_LIMIT;
 *  CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_file_read(struct cairn_buf *out, int dir_fd, const char *path, size_t max,
							struct cairn_diag *diag);

/** Puts the file's name before an error's text, and adds to its offset. @return status */
enum cairn_status cairn_tiledb_blame(struct cairn_diag *diag, enum cairn_status status, const char *path,
				     uint64_t offset);

#endif
