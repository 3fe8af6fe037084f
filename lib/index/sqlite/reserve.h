/* A reserve of disk space for the index: a file whose only purpose is its blocks. When the disk is full they are freed,
 * so that writes that free space can still be committed. */
#ifndef CAIRN_INDEX_SQLITE_RESERVE_H
#define CAIRN_INDEX_SQLITE_RESERVE_H

#include "base/status.h"

#include <stdint.h>

enum {
	CAIRN_RESERVE_SHARE = 16, /* size, as a share of the file system, and its limits: */
	CAIRN_RESERVE_BYTES_MIN = 1024 * 1024,
	CAIRN_RESERVE_BYTES_MAX = 32 * 1024 * 1024,
};

/** Owned by one thread at a time. */
struct cairn_reserve {
	int fd;
	uint64_t bytes; /* 0: no reserve is possible; fd is not open */
	bool held;
};

/** Opens or creates DIR/index.reserve, and allocates its blocks. On failure there is no reserve. */
void cairn_reserve_open(struct cairn_reserve *r, const char *dir);
/** Harmless if zeroed and not opened. */
void cairn_reserve_close(struct cairn_reserve *r);

/** Allocates the reserve, if not held and the disk has plenty of space. @param all  even if the disk has no more */
void cairn_reserve_take(struct cairn_reserve *r, bool all);

/** Frees the reserve's blocks. @return false: there were none */
bool cairn_reserve_release(struct cairn_reserve *r);

/** Returns the bytes free for this process on the file system of a path; UINT64_MAX if unknown. */
uint64_t cairn_reserve_free_bytes(const char *path);

#endif
