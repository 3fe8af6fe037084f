/* The folders of objects, objects/ab/cd, and a record of which are durable. Only for the files of this folder. */
#ifndef CAIRN_STORE_FILES_HOMES_H
#define CAIRN_STORE_FILES_HOMES_H

#include "hash/hash.h"

#include <stdatomic.h>

enum {
	STORE_HOMES_OUTER = 256,        /* folders ab/ */
	STORE_HOMES_INNER = 256 * 256,  /* folders ab/cd/ */
	STORE_HOMES_PATH_BYTES = 5 + 1, /* "ab/cd" */
	STORE_HOMES_WORD_BITS = 64,
};

/** Zeroed. Any thread. No thread waits for another, so syncs run in parallel, which file systems do in one round. */
struct store_homes {
	/* A bit for each folder whose name is known to be durable. Existing is not enough: another process or thread
	 * may have made a folder and not synced its parent. */
	atomic_uint_fast64_t outer_durable[STORE_HOMES_OUTER / STORE_HOMES_WORD_BITS];
	atomic_uint_fast64_t inner_durable[STORE_HOMES_INNER / STORE_HOMES_WORD_BITS];
};

/** Opens the folder of an object, and creates it if missing; its own name may not be durable.
 * @return a descriptor; -1 with errno */
int store_homes_open(struct store_homes *h, int objects_fd, const struct cairn_hash *hash);

/** Makes the folder and all names in it durable. Waits for the disk. @param home_fd  from store_homes_open()
 * @return false with errno */
bool store_homes_sync(struct store_homes *h, int objects_fd, const struct cairn_hash *hash, int home_fd);

#endif
