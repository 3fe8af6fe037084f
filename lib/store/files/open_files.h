/* Caches descriptors of recently opened objects. A range of a popular object then costs a dup() instead of opening its
 * path, which the sandbox makes slower. */
#ifndef CAIRN_STORE_FILES_OPEN_FILES_H
#define CAIRN_STORE_FILES_OPEN_FILES_H

#include "hash/hash.h"

#include <pthread.h>

enum { STORE_OPEN_FILES_MAX = 128 };

/** Any thread. Each object has one place in the table; another object of that place evicts it. */
struct store_open_files {
	struct store_open_file {
		pthread_mutex_t lock; /* guards the place; one lock each, because dup() is slow */
		uint64_t n_forgotten; /* calls of store_open_files_forget() */
		struct cairn_hash hash;
		int fd; /* owned; -1: the place is free */
	} at[STORE_OPEN_FILES_MAX];
};

void store_open_files_init(struct store_open_files *files);
void store_open_files_fini(struct store_open_files *files);

/** Returns a copy of an object's cached descriptor, for the caller to close.
 * @param[out] n_forgotten  on a miss, of the object's place: pass it to store_open_files_keep()
 * @return -1: not cached, or too many descriptors are open */
int store_open_files_get(struct store_open_files *files, const struct cairn_hash *hash, uint64_t *n_forgotten);

/** Caches a copy of a descriptor that was opened after store_open_files_get(). Does nothing if an object of this place
 * was forgotten meanwhile, because it may be this object. */
void store_open_files_keep(struct store_open_files *files, const struct cairn_hash *hash, int fd, uint64_t n_forgotten);

/** Evicts a removed object. Callers that have it open keep their descriptors. */
void store_open_files_forget(struct store_open_files *files, const struct cairn_hash *hash);

#endif
