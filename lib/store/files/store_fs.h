/* Shared by the files that implement the store of files. Only for the files of this folder. */
#ifndef CAIRN_STORE_FILES_STORE_FS_H
#define CAIRN_STORE_FILES_STORE_FS_H

#include "store/backend.h"
#include "store/files/homes.h"
#include "store/files/open_files.h"
#include "store/files/packs.h"

#include <sys/stat.h>

enum {
	STORE_FS_PATH_BYTES = 6 + 64 + 1,        /* "ab/cd/" and the name */
	STORE_FS_ASIDE_PATH_BYTES = 64 + 12 + 1, /* the name, a dot, and as many digits as an int may have */
	STORE_FS_ASIDE_MAX = 1000,
};

struct store_fs {
	struct cairn_store base;
	int dir_fd, objects_fd, tmp_fd, damaged_fd;
	struct store_packs packs;
	struct store_open_files opened;
	struct store_homes homes;
};

/** The pack operations of a store of files: store_pack.c. */
extern const struct cairn_store_pack_tier STORE_FS_PACK_TIER;

#endif
