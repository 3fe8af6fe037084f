/* The state that the parts of usage.c share during a computation, on one thread.
 *
 * usage_rounds.c reads the terms of all files, in rounds that fit the room, and passes them on xorb by xorb.
 * usage_sweep.c counts the bytes of a xorb. usage.c runs both twice, because only the first pass finds the largest
 * owners, whose pairs the second pass counts. Then it makes the result. */
#ifndef CAIRN_HUB_USAGE_WORK_H
#define CAIRN_HUB_USAGE_WORK_H

#include "hub/usage.h"
#include "hub/usage_sets.h"

/* A stretch of a xorb that a file of a set of owners has. */
struct usage_piece {
	int64_t xorb;
	uint16_t start, end;    /* chunks, for xorbs whose byte places differ from those in the term */
	uint32_t first, behind; /* bytes */
	uint32_t set;           /* set of owners */
};

/* An owner during the count. */
struct usage_row {
	int64_t number;
	struct cairn_usage_owner owner;
};

struct usage_work {
	struct cairn_index *index;
	const struct cairn_usage_room *room;
	bool (*stop)(void *ctx); /* may be NULL */
	void *stop_ctx;
	enum cairn_status status; /* status of a visit */
	struct usage_row *rows;   /* by number; owned, like all pointers below */
	uint32_t n_rows, rows_cap;
	uint32_t *members; /* owners of the visited file; room for n_rows */
	uint32_t n_members;
	struct usage_sets sets; /* sets of this round */
	struct usage_piece *pieces;
	uint32_t n_pieces, pieces_max;
	int64_t from_xorb, to_xorb; /* xorbs of this round; to_xorb 0: no end */
	bool sets_are_full;         /* the sets are full, which ended the round */
	bool counts_files;          /* true in the first round only */
	bool is_whole;              /* the pieces are those of all files, with their places */
	uint64_t *stamps, stamp;    /* n_rows: when an owner was met last */
	uint32_t *met;              /* room for n_rows: owners of the bytes being counted */
	uint64_t held_bytes;
	uint64_t (*sums)[CAIRN_USAGE_PAIRS_OF_MAX]; /* shared bytes of each pair of the largest owners */
};

struct usage_xorb {
	struct usage_piece *pieces;
	uint32_t n_pieces;
	uint64_t stored_bytes;
};

typedef enum cairn_status usage_visit_xorb(struct usage_work *w, const struct usage_xorb *xorb);

/* Visits all xorbs that files use, each with all its pieces. @param top  for each row its place among the largest
 * owners; NULL: not yet known @return CAIRN_OK; CAIRN_E_BUSY stopped; CAIRN_E_LIMIT more pieces of one xorb than there
 * is room for; as index and store */
CAIRN_MUST_USE enum cairn_status usage_each_xorb(struct usage_work *w, const uint32_t *top, usage_visit_xorb *visit);

/* Adds the bytes of a xorb to the owners that hold them, and to the owner whose deletion would free it. @return
 * CAIRN_OK; CAIRN_E_BUSY stopped; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status usage_count_xorb(struct usage_work *w, const struct usage_xorb *xorb);

/* Adds the bytes that each pair of the largest owners shares. @return as usage_count_xorb() */
CAIRN_MUST_USE enum cairn_status usage_pair_xorb(struct usage_work *w, const struct usage_xorb *xorb);

static inline bool usage_stops(const struct usage_work *w)
{
	return w->stop && w->stop(w->stop_ctx);
}

#endif
