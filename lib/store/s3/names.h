/* Which copy of an object is there and how it was when this process last looked, so that most requests need no list.
 * Other daemons and other people can change the bucket, so what is remembered is compared with each answer. */
#ifndef CAIRN_STORE_S3_NAMES_H
#define CAIRN_STORE_S3_NAMES_H

#include "store/s3/copies.h"

/** What is known of many thousands of hashes; others are forgotten for those that were used last. Any thread. */
struct s3_names;

/** @return NULL without memory */
struct s3_names *s3_names_new(void);
void s3_names_free(struct s3_names *names);

/**
 * What is known of a hash?
 * @param[out] copy    the one that counts; state.bytes S3_COPY_NONE: there is none
 * @param[out] ticket  for s3_names_learn()
 * @return false: nothing is known
 */
bool s3_names_find(struct s3_names *names, const struct cairn_hash *hash, struct s3_copy *copy, uint32_t *ticket);

/** Remember what a list or the object has shown, unless the service was asked before somebody changed something (since
 * the ticket was taken). */
void s3_names_learn(struct s3_names *names, const struct s3_copy *copy, uint32_t ticket);

/** Remember what was just done. */
void s3_names_set(struct s3_names *names, const struct s3_copy *copy);

/** Nothing is known any more: a request about it failed. */
void s3_names_forget(struct s3_names *names, const struct cairn_hash *hash);

#endif
