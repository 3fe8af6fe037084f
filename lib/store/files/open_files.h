/* Objects that were opened lately, so that a range of one that is asked for again and again costs a dup() and no
 * opening of its path (which the sandbox makes longer). */
#ifndef CAIRN_STORE_FILES_OPEN_FILES_H
#define CAIRN_STORE_FILES_OPEN_FILES_H

#include "hash/hash.h"

#include <pthread.h>

enum { STORE_OPEN_FILES_MAX = 128 };

/** Any thread may call. An object has one place in the table, from which another one drives it out. */
struct store_open_files {
	struct store_open_file {
		pthread_mutex_t lock; /* over all of the place: a dup() lasts, and other objects need not wait for it */
		uint64_t n_forgotten; /* calls of store_open_files_forget() */
		struct cairn_hash hash;
		int fd; /* owned; -1: the place is free */
	} at[STORE_OPEN_FILES_MAX];
};

void store_open_files_init(struct store_open_files *files);
void store_open_files_fini(struct store_open_files *files);

/**
 * A descriptor of an object that is in the table, for the caller to close.
 * @param[out] n_forgotten  of its place, for store_open_files_keep(), when it is not
 * @return -1: it is not, or there are too many descriptors
 */
int store_open_files_get(struct store_open_files *files, const struct cairn_hash *hash, uint64_t *n_forgotten);

/** Keep a copy of a descriptor that was opened after store_open_files_get(); not if an object of its place was
 * forgotten meanwhile, since it may be this one. */
void store_open_files_keep(struct store_open_files *files, const struct cairn_hash *hash, int fd, uint64_t n_forgotten);

/** The object's name is gone: close what is kept of it. Those who have it open keep it. */
void store_open_files_forget(struct store_open_files *files, const struct cairn_hash *hash);

#endif
