/* Computes how owners of files fill the disk: for each owner, the bytes that no other owner holds, those that it shares
 * with each other owner, and those that its deletion would free. */
#ifndef CAIRN_HUB_USAGE_H
#define CAIRN_HUB_USAGE_H

#include "index/hub/hub.h"

enum { CAIRN_USAGE_PAIRS_OF_MAX = 64 /* owners whose pairs are compared: those that hold most */ };

/** Limits of the memory for computing the usage. */
struct cairn_usage_room {
	uint32_t pieces_max;  /* terms, at least 2, 32 bytes each; more are read in several rounds */
	uint32_t members_max; /* members of sets of owners, 4 to 50 bytes each; more take several rounds */
	uint32_t owners_max;  /* owners in all, some 150 bytes each with a name */
};

/** Allows 64 MiB of terms, as much for the sets of owners, and another 100 MiB for a xorb that has all the terms. */
static const struct cairn_usage_room CAIRN_USAGE_ROOM = {
	.pieces_max = 1 << 21, .members_max = 1 << 22, .owners_max = 1 << 20};

/** The bytes of one owner. Except for seen_bytes, they are bytes of stored chunks, each counted once however many files
 * have it. A deleted file that is not yet collected holds nothing. */
struct cairn_usage_owner {
	char *name;       /* "buckets/ann/data", the name of a repository of the hub at that time, else the owner's own;
			     empty: the operator. Owned */
	int64_t repo;     /* id of the repository; 0: not of the hub */
	uint64_t n_files; /* files of different content */
	uint64_t seen_bytes;   /* the sum of their sizes */
	uint64_t only_bytes;   /* bytes of chunks that only this owner has */
	uint64_t shared_bytes; /* bytes of all its other chunks */
	uint64_t frees_bytes;  /* bytes of xorbs without another owner */
};

/** The bytes that two owners both hold; others may hold them, too. */
struct cairn_usage_pair {
	uint32_t a, b; /* indexes in the owners, a < b */
	uint64_t bytes;
};

/** The usage. Immutable once made; any thread. */
struct cairn_usage {
	int64_t at_unix_s; /* when it was computed */
	uint64_t took_ms;
	uint64_t held_bytes; /* held by all owners together, each chunk once */
	uint32_t n_owners, n_pairs;
	struct cairn_usage_owner *owners; /* the largest first */
	uint32_t *by_repo;                /* indexes of owners, in the order of their repositories' ids */
	struct cairn_usage_pair *pairs;   /* the largest first; none with 0 bytes */
};

/** Computes the usage from the terms of all files. Exact, except that concurrent writes may count or not. For workers.
 * @param room      CAIRN_USAGE_ROOM
 * @param stop      called now and then; true stops the computation. May be NULL
 * @param[out] out  owned by the caller: cairn_usage_free()
 * @return CAIRN_OK; CAIRN_E_BUSY stopped, or another daemon that shares the index is computing (usage.running);
 *         CAIRN_E_LIMIT there are more owners, or terms of one xorb, than room allows (usage.limit); as index and
 *         store */
CAIRN_MUST_USE enum cairn_status cairn_usage_compute(struct cairn_usage **out, struct cairn_index *index,
						     const struct cairn_usage_room *room, bool (*stop)(void *ctx),
						     void *stop_ctx, struct cairn_diag *diag);
void cairn_usage_free(struct cairn_usage *usage);
void cairn_usage_freep(struct cairn_usage **usage);

/** Finds an owner by the id of its repository. @return NULL: it held no files */
const struct cairn_usage_owner *cairn_usage_of_repo(const struct cairn_usage *usage, int64_t repo);

#endif
