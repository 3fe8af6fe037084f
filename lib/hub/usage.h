/* What fills the disk: of each owner of files, which bytes only it holds, which it shares with whom, and what its
 * deletion would free. */
#ifndef CAIRN_HUB_USAGE_H
#define CAIRN_HUB_USAGE_H

#include "index/hub.h"

enum { CAIRN_USAGE_PAIRS_OF_MAX = 64 /* owners of which each two are compared: those that hold most */ };

/** How much there may be in memory at once. */
struct cairn_usage_room {
	uint32_t pieces_max;  /* at least 2; terms, 32 bytes each: more are read in several rounds */
	uint32_t members_max; /* who has which files together, 4 to 50 bytes each: likewise */
	uint32_t owners_max;  /* in all, some 150 bytes each with a name */
};

/** 64 MiB of terms, as many again for who has them, and another 100 for a xorb that has all the terms. */
static const struct cairn_usage_room CAIRN_USAGE_ROOM = {
	.pieces_max = 1 << 21, .members_max = 1 << 22, .owners_max = 1 << 20};

/** What one owner holds. Bytes are those of stored chunks, each counted once however many files have it, except for
 * what is seen. A file that is deleted, and not yet collected, holds nothing. */
struct cairn_usage_owner {
	char *name;            /* "buckets/ann/data" of a repository of the hub as it was called then, else the owner's
				* own; empty: the operator. Owned */
	int64_t repo;          /* its number; 0: it is none of the hub */
	uint64_t n_files;      /* known by different content */
	uint64_t seen_bytes;   /* the sum of their sizes */
	uint64_t only_bytes;   /* of chunks that no other owner has */
	uint64_t shared_bytes; /* of the others */
	uint64_t frees_bytes;  /* of xorbs that would have no owner any more without it */
};

/** What two owners both hold, others perhaps too. */
struct cairn_usage_pair {
	uint32_t a, b; /* places among the owners, a < b */
	uint64_t bytes;
};

/** Immutable once made; any thread. */
struct cairn_usage {
	int64_t at_unix_s; /* when it was computed */
	uint64_t took_ms;
	uint64_t held_bytes; /* by anybody */
	uint32_t n_owners, n_pairs;
	struct cairn_usage_owner *owners; /* those that hold most first */
	uint32_t *by_repo;                /* their places, by the numbers of their repositories */
	struct cairn_usage_pair *pairs;   /* those with most first; none with 0 bytes */
};

/**
 * Compute it from the terms of all files. What is written meanwhile counts or not. Exact else; for workers.
 * @param room      CAIRN_USAGE_ROOM
 * @param stop      looked at now and then; may be NULL
 * @param[out] out  owned by the caller: cairn_usage_free()
 * @return CAIRN_OK; CAIRN_E_BUSY stopped, or another daemon that shares the index computes (usage.running);
 *         CAIRN_E_LIMIT there are more owners than room, or more different terms name one xorb (usage.limit);
 *         as index and store
 */
CAIRN_MUST_USE enum cairn_status cairn_usage_compute(struct cairn_usage **out, struct cairn_index *index,
						     const struct cairn_usage_room *room, bool (*stop)(void *ctx),
						     void *stop_ctx, struct cairn_diag *diag);
void cairn_usage_free(struct cairn_usage *usage);
void cairn_usage_freep(struct cairn_usage **usage);

/** The owner with this number of a repository. @return NULL: it held nothing */
const struct cairn_usage_owner *cairn_usage_of_repo(const struct cairn_usage *usage, int64_t repo);

#endif
