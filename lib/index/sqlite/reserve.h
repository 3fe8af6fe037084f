/* Space kept for the index on its file system: a file that is there for its blocks alone. When the disk is full they
 * are given back, so that what frees space can still be committed. */
#ifndef CAIRN_INDEX_SQLITE_RESERVE_H
#define CAIRN_INDEX_SQLITE_RESERVE_H

#include "base/status.h"

#include <stdint.h>

enum {
	CAIRN_RESERVE_SHARE = 16, /* of the file system, at least and at most: */
	CAIRN_RESERVE_BYTES_MIN = 1024 * 1024,
	CAIRN_RESERVE_BYTES_MAX = 32 * 1024 * 1024,
};

/** Owned by one thread at a time. */
struct cairn_reserve {
	int fd;
	uint64_t bytes; /* 0: there can be none; fd is not open */
	bool held;
};

/** Open DIR/index.reserve, made when missing, and take the space unless it is there already. Where that fails there is
 * none for now. */
void cairn_reserve_open(struct cairn_reserve *r, const char *dir);
/** Also of one that was zeroed and not opened. */
void cairn_reserve_close(struct cairn_reserve *r);

/** Take the space, if it is not held and the disk has plenty. @param all  also if it is all that there is */
void cairn_reserve_take(struct cairn_reserve *r, bool all);

/** Give the space back. @return false: there was none to give */
bool cairn_reserve_release(struct cairn_reserve *r);

/** Bytes free for this process on the file system of a path; UINT64_MAX when it does not say. */
uint64_t cairn_reserve_free_bytes(const char *path);

#endif
