/* Copies of objects and their names in the bucket.
 *
 * "x/AB/HASH.COPY", AB being the first two digits of HASH: a name is used once. COPY is made for one upload and rises
 * from one to the next, so that a request which was given up, and takes effect later all the same, meets nothing but
 * what it was meant for. Of several copies of a hash the last one counts: uploads of a hash follow each other, and the
 * one before was given up or removed when the next began.
 *
 * "x/AB/HASH.COPY.aside", empty: that copy was set aside. Its bytes stay for a person to look at. */
#ifndef CAIRN_STORE_S3_COPIES_H
#define CAIRN_STORE_S3_COPIES_H

#include "hash/hash.h"
#include "store/s3/client.h"

enum { S3_COPY_ID_BYTES = 16, S3_COPIES_PAGE = 1000 };

#define S3_COPY_NONE UINT64_MAX

struct s3_copy {
	struct cairn_hash hash;
	uint8_t id[S3_COPY_ID_BYTES];
	struct s3_state state; /* bytes are S3_COPY_NONE: there is no copy of that hash. A list tells the bytes alone */
	int64_t seen_unix_s;   /* when the object itself was last looked at, or stored; 0: never */
};

/** Some that are not aside, in the order of their names. Zeroed: the list has not begun. */
struct s3_copies {
	size_t n;
	size_t room;
	struct s3_copy *list;      /* owned */
	char after[S3_NAME_BYTES]; /* the last name that was seen */
	bool more;                 /* names come after these */
	bool no_memory;
};

void s3_copies_fini(struct s3_copies *copies);

/** A list that has not begun is to begin with the copies of this hash, of those whose names begin with "x/". */
void s3_copies_begin(struct s3_copies *copies, const struct cairn_hash *from);

/** Read the next page of those whose names begin with prefix, and append it. One that brings no copy
 *  need not be the last.
 *  @return as s3_list(); CAIRN_E_BUSY also when there is more, and no new name to go on behind */
CAIRN_MUST_USE enum cairn_status s3_copies_next(struct s3_copies *copies, struct s3_client *client, const char *prefix,
						struct cairn_diag *diag);

/** Drop all but the copies of the last hash, of which the next page may have more, or set some aside. */
void s3_copies_keep_last(struct s3_copies *copies);

/** What the names of all copies of a hash begin with. */
void s3_copy_prefix(char out[static S3_NAME_BYTES], const struct cairn_hash *hash);

void s3_copy_name(char out[static S3_NAME_BYTES], const struct s3_copy *copy);

/** The name that sets it aside. */
void s3_copy_aside_name(char out[static S3_NAME_BYTES], const struct s3_copy *copy);

#endif
