/* Quotas: how many bytes an account, a repository of the hub, or another owner (known by its name alone) may hold. Each
 * file and each inline content counts once per repository, even if others have it, too. Rows of commits, entries, refs
 * and files in buckets count with their names and texts. So do a repository itself and its former names. */
#ifndef CAIRN_INDEX_QUOTA_H
#define CAIRN_INDEX_QUOTA_H

#include "index/hub/hub.h"

/** The least that a file counts: its object and its rows take as much on the disk. */
#define CAIRN_INDEX_FILE_BYTES_MIN 4096
/** Bytes that a row of a commit, an entry, a ref or a file in a bucket counts, besides its names and texts. */
#define CAIRN_INDEX_ROW_BYTES 128
/** Bytes that a repository of the hub counts from the start: its row and its owner's take as much, with a name of the
 * greatest length and all database indexes. */
#define CAIRN_INDEX_REPO_BYTES 1024
/** Bytes that a former name counts for the repository to which it leads, until another repository takes the name. */
#define CAIRN_INDEX_FORMER_BYTES 256

/** Bytes that a chunk of a xorb that no file needs yet counts, besides its data: its header, its entries in the
 * object's footer and in the chunk list, and a row to find it take as much. */
#define CAIRN_INDEX_CHUNK_BYTES 128

enum { CAIRN_INDEX_UNREGISTERED_MAX = 16384 }; /* most xorbs of one account that no file needs yet */
/** Bytes of xorbs without a file that each quota allows. Clients show why a shard was refused, but not why a xorb
 * was. */
#define CAIRN_INDEX_UNREGISTERED_FREE (UINT64_C(1) << 30)

/** Returns the bytes that a file of this size counts for a quota. */
static inline uint64_t cairn_index_file_counts(uint64_t size_bytes)
{
	return size_bytes > CAIRN_INDEX_FILE_BYTES_MIN ? size_bytes : CAIRN_INDEX_FILE_BYTES_MIN;
}

/** Returns the bytes that a xorb without a file counts for a quota. @param stored_bytes  length of its object */
static inline uint64_t cairn_index_xorb_counts(uint64_t unpacked_bytes, uint64_t stored_bytes, uint32_t n_chunks)
{
	uint64_t bytes = unpacked_bytes < stored_bytes ? unpacked_bytes : stored_bytes;
	return cairn_index_file_counts(bytes + (uint64_t)n_chunks * CAIRN_INDEX_CHUNK_BYTES);
}

/** The quotas of an account and of one of its repositories. Plain value. */
struct cairn_index_quota {
	char account_name[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1];
	struct cairn_index_room account; /* all repositories of the account that are not deleted */
	enum cairn_index_repo_kind kind; /* 0: only the account; the next two are unset */
	char repo_name[CAIRN_INDEX_REPO_NAME_MAX + 1];
	struct cairn_index_room repo;
};

/** Returns the quotas of an account and of one of its repositories, and the bytes held.
 * @param repo  0, or not the account's: only the account
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND there is no such account; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_quota(struct cairn_index *ix, int64_t account, int64_t repo,
						   struct cairn_index_quota *out);

/** Visits the sizes of a repository's files, each file once. The visit occupies a reader of the index, so visit() must
 * not call it. 0.3 s for 500,000. @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_owned_size(struct cairn_index *ix, int64_t repo,
							     void (*visit)(void *ctx, uint64_t size_bytes), void *ctx);

/** Returns the quota of an owner that is not a repository of the hub.
 * @param adds_up  compute the size, which is not stored for an owner without a quota: 0.3 s for 500,000 files; false:
 *                 return 0
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND unknown owner; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_owner_quota(struct cairn_index *ix, const char *owner, bool adds_up,
							 struct cairn_index_room *out);

/** Receives a place with a quota, borrowed. @param place  as operators name it: "ann", "models/ann/cats" */
typedef void cairn_index_visit_quota(void *ctx, const char *place, const struct cairn_index_room *room);

/** Visits all places with a quota, in order. If a repository of the hub and another owner have the same name, the
 * repository is meant. Each page reads all accounts, repositories and owners.
 * @param after  the last place of the page before; NULL: at the beginning
 * @param limit  rows of this page, at most CAIRN_INDEX_PAGE_MAX count (operate.h)
 * @param[out] more  there are further places
 * @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_quota(struct cairn_index *ix, const char *after, uint32_t limit,
							cairn_index_visit_quota *visit, void *ctx, bool *more);

/** Checks whether further bytes fit into the quotas. The writer checks each growth of a repository again, in its
 * transaction. Pure. @return CAIRN_OK; CAIRN_E_DENIED (quota.repo, quota.account): both values are in diag */
CAIRN_MUST_USE enum cairn_status cairn_index_quota_check(const struct cairn_index_quota *quota, uint64_t more_bytes,
							 struct cairn_diag *diag);

/** Returns the name of a kind in "models/account/name". */
const char *cairn_index_kind_name(enum cairn_index_repo_kind kind);

/** Sets how many bytes an account, a repository of the hub, or another owner may hold. An owner that holds more keeps
 * its files, but cannot get more. The first quota of another owner sums up its files, which blocks the writer for 0.3
 * s with 500,000 files. CAIRN_E_NOT_FOUND: unknown number (account.unknown, repo.unknown). */
struct cairn_index_set_quota {
	struct cairn_index_write write;
	int64_t account, repo; /* one is set; the other is 0 */
	const char *owner;     /* if both are 0: the owner with this name, now or later; borrowed */
	uint64_t limit_bytes;  /* at most INT64_MAX, or CAIRN_INDEX_NO_QUOTA */
};
CAIRN_MUST_USE enum cairn_status cairn_index_set_quota(struct cairn_index *ix, struct cairn_index_set_quota *set);

#endif
