/* Copies of objects and their names in the bucket.
 *
 * "x/AB/HASH.COPY", AB being the first two digits of HASH. Each name is used once: COPY is made for one upload and
 * rises from one upload to the next. So an abandoned request that takes effect late can only affect its own copy. If a
 * hash has several copies, the last one counts. Uploads of a hash follow each other: the one before was abandoned or
 * removed when the next began.
 *
 * "x/AB/HASH.COPY.aside", empty: that copy was set aside. Its bytes stay for a person to inspect. */
#ifndef CAIRN_STORE_S3_COPIES_H
#define CAIRN_STORE_S3_COPIES_H

#include "hash/hash.h"
#include "store/s3/client.h"

enum { S3_COPY_ID_BYTES = 16, S3_COPIES_PAGE = 1000 };

#define S3_COPY_NONE UINT64_MAX

struct s3_copy {
	struct cairn_hash hash;
	uint8_t id[S3_COPY_ID_BYTES];
	struct s3_state state; /* bytes are S3_COPY_NONE: the hash has no copy. A list fills in only the bytes */
	int64_t seen_unix_s;   /* when the object was last requested or stored; 0: never */
};

/** A list of copies that are not set aside, ordered by name. Zeroed: not begun. */
struct s3_copies {
	size_t n;
	size_t room;
	struct s3_copy *list;      /* owned */
	char after[S3_NAME_BYTES]; /* the last name read */
	bool more;                 /* more names follow */
	bool no_memory;
};

void s3_copies_fini(struct s3_copies *copies);

/** Makes a new list begin at the copies of this hash, among the names that begin with "x/". */
void s3_copies_begin(struct s3_copies *copies, const struct cairn_hash *from);

/** Reads the next page of names that begin with prefix, and appends their copies. A page without copies need not be the
 * last. @return as s3_list(); CAIRN_E_BUSY also if more names follow, but the page had no new name */
CAIRN_MUST_USE enum cairn_status s3_copies_next(struct s3_copies *copies, struct s3_client *client, const char *prefix,
						struct cairn_diag *diag);

/** Drops all but the copies of the last hash: the next page may have more of them, or set some aside. */
void s3_copies_keep_last(struct s3_copies *copies);

/** Returns the prefix of the names of all copies of a hash. */
void s3_copy_prefix(char out[static S3_NAME_BYTES], const struct cairn_hash *hash);

void s3_copy_name(char out[static S3_NAME_BYTES], const struct s3_copy *copy);

/** Returns the name whose existence sets the copy aside. */
void s3_copy_aside_name(char out[static S3_NAME_BYTES], const struct s3_copy *copy);

#endif
