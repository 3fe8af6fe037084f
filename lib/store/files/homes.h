/* The folders that objects lie in, objects/ab/cd, and which of them a loss of power does not take. Only for the files
 * of this folder. */
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

/** Zeroed at first. Any thread; nobody waits for another, so that the syncs of all are under way at once, for which
 * file systems need one round. */
struct store_homes {
	/* A bit for each folder whose name is known to be durable. Another process, or thread, may have made one and
	 * not synced its parent, so being there is not enough. */
	atomic_uint_fast64_t outer_durable[STORE_HOMES_OUTER / STORE_HOMES_WORD_BITS];
	atomic_uint_fast64_t inner_durable[STORE_HOMES_INNER / STORE_HOMES_WORD_BITS];
};

/** The folder of an object, made unless it is there; its own name may not be durable.
 *  @return a descriptor; -1 with errno */
int store_homes_open(struct store_homes *h, int objects_fd, const struct cairn_hash *hash);

/** Make it durable with all names in it: waits for the disk. @param home_fd  of store_homes_open()
 *  @return false with errno */
bool store_homes_sync(struct store_homes *h, int objects_fd, const struct cairn_hash *hash, int home_fd);

#endif
