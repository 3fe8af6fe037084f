/* Caches which copy of an object exists and its version when this process last looked, so that most requests need no
 * list. Others can change the bucket, so each answer is compared with the cache. */
#ifndef CAIRN_STORE_S3_NAMES_H
#define CAIRN_STORE_S3_NAMES_H

#include "store/s3/copies.h"

/** The cache, for many thousands of hashes; the most recently used stay. Any thread. */
struct s3_names;

/** @return NULL without memory */
struct s3_names *s3_names_new(void);
void s3_names_free(struct s3_names *names);

/** Looks up a hash.
 * @param[out] copy    the copy that counts; state.bytes S3_COPY_NONE: the hash has none
 * @param[out] ticket  for s3_names_learn()
 * @return false: not cached */
bool s3_names_find(struct s3_names *names, const struct cairn_hash *hash, struct s3_copy *copy, uint32_t *ticket);

/** Caches what a list or a request for the object has shown. Does nothing if the hash was changed after the ticket was
 * taken: the answer may be stale. */
void s3_names_learn(struct s3_names *names, const struct s3_copy *copy, uint32_t ticket);

/** Caches the result of a change by this process. */
void s3_names_set(struct s3_names *names, const struct s3_copy *copy);

/** Drops a hash after a request about it failed. */
void s3_names_forget(struct s3_names *names, const struct cairn_hash *hash);

#endif
