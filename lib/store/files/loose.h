/* Objects that are files of their own in the object folder. Only for the files of this folder. */
#ifndef CAIRN_STORE_FILES_LOOSE_H
#define CAIRN_STORE_FILES_LOOSE_H

#include "store/files/store_fs.h"

/** Writes the path of an object below objects/. */
void store_fs_path(char out[static STORE_FS_PATH_BYTES], const struct cairn_hash *hash);

/** Opens an object of the object folder. @return CAIRN_OK; CAIRN_E_NOT_FOUND; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status store_fs_open_loose(const struct store_fs *fs, const struct cairn_hash *hash, int *fd,
						     struct stat *st);

/** Removes an object from the object folder; durable after a sync of its folder. @return false with errno */
bool store_fs_unlink_loose(struct store_fs *fs, const struct cairn_hash *hash);

/** Returns the length of an object of the object folder. @return as store_fs_open_loose() */
CAIRN_MUST_USE enum cairn_status store_fs_stat_loose(const struct store_fs *fs, const struct cairn_hash *hash,
						     uint64_t *bytes);

#endif
