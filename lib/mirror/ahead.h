/* Repositories that are fetched ahead of requests. For the files of this room. */
#ifndef CAIRN_MIRROR_AHEAD_H
#define CAIRN_MIRROR_AHEAD_H

#include "mirror/operate.h"
#include "mirror/parts.h"

enum {
	MIRROR_AHEAD_REPOS = 4, /* repositories in progress at once */
	MIRROR_AHEAD_FILES = 4, /* files of each repository requested at once */
};
/** All fetches ahead of requests share the limits of one sender. */
#define MIRROR_AHEAD_SENDER UINT64_MAX

enum mirror_ahead_phase {
	MIRROR_AHEAD_RESTS,
	MIRROR_AHEAD_BEGINS,
	MIRROR_AHEAD_LOOKS,
	MIRROR_AHEAD_FETCHES,
};

/** The request for one of the repository's files. */
struct mirror_ahead_want {
	struct cairn_mirror_want want; /* first */
	struct mirror_ahead *of;
	bool is_used;
	atomic_bool is_over;
};

/** A repository that is fetched ahead of requests, in rounds. A single worker at a time uses it. */
struct mirror_ahead {
	struct cairn_work work; /* first */
	struct cairn_mirror *m;
	int64_t repo;
	struct cairn_index_mirrored row; /* the row when the round began, or after the look-up */
	struct cairn_index_commit commit;
	char after[CAIRN_INDEX_PATH_MAX + 1]; /* files before it were requested in this round */
	struct mirror_ahead_want wants[MIRROR_AHEAD_FILES];
	unsigned n_passing; /* temporary failures of this round */
	bool ends;          /* no further files are requested in this round */

	/* The mirror's lock guards the members below. */
	struct mirror_ahead *next;
	enum mirror_ahead_phase phase; /* the worker's during a round */
	bool works, wakes;             /* works: the work was submitted; wakes: it must run again */
	bool again;                    /* the settings changed since this round began */
	bool is_once, is_over;         /* is_over: all available files were fetched since it was requested */
	int64_t due_ms, due_unix_s;    /* of the next round: on the monotonic clock, and on the wall clock */
	unsigned n_tries;
	uint64_t n_failed; /* files of the last round */
	struct cairn_diag why;
	bool has_done;
	struct cairn_git_oid done; /* the commit whose files were all fetched */
};

/** Begins rounds that are due. On net's thread. */
void mirror_ahead_tick(struct cairn_mirror *m);
/** Frees the list, after the workers have ended. */
void mirror_ahead_free(struct cairn_mirror *m);

#endif
