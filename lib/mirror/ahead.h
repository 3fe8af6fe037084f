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
	struct cairn_index_lease lease; /* that the daemon held when the round began */
	int64_t round_asked;            /* asked of the row when the round began; -1: it could not be read */
	unsigned n_passing;             /* temporary failures of this round */
	bool ends;                      /* no further files are requested in this round */

	/* The mirror's lock guards the members below. */
	struct mirror_ahead *next;
	enum mirror_ahead_phase phase; /* the worker's during a round */
	bool works, wakes;             /* works: the work was submitted; wakes: it must run again */
	int64_t asked;                 /* the settings that were last read */
	unsigned seen;                 /* number of the reading that last found the row */
	bool again;                    /* the settings changed since this round began */
	bool leaves;                   /* another daemon fetches ahead now, so this round only ends */
	int64_t due_ms, due_unix_s;    /* of the next round: on the monotonic clock, and on the wall clock */
	unsigned n_tries;
	uint64_t n_failed; /* files of the last round */
	struct cairn_diag why;
	bool has_done;
	struct cairn_git_oid done; /* the commit whose files were all fetched */
};

/* The list (ahead_list.c). "With the lock": the caller holds the mirror's. */

/** Finds an entry. With the lock. @return NULL: there is none */
struct mirror_ahead *mirror_ahead_find(struct cairn_mirror *m, int64_t repo);
/** Finds or adds an entry. With the lock. @return NULL: no memory */
struct mirror_ahead *mirror_ahead_have(struct cairn_mirror *m, int64_t repo);
/** Makes an entry due now, because its settings have changed. With the lock. */
void mirror_ahead_want(struct mirror_ahead *a);
/** Removes an entry whose work has ended. With the lock. */
void mirror_ahead_drop(struct cairn_mirror *m, struct mirror_ahead *a);
/** Ends the round of an entry, and removes it from the list, unless its settings were changed here meanwhile. */
void mirror_ahead_leave(struct mirror_ahead *a);
/** The settings of a repository have changed: fetches it anew, if this daemon fetches ahead, or may. */
void mirror_ahead_changed(struct cairn_mirror *m, int64_t repo);
/** When the next round of a repository is due. 0: now */
int64_t mirror_ahead_due_unix_s(const struct cairn_index_mirrored *row);
/** Ends holding the lease. Rounds in progress end without a result. With the lock.
 * @param[out] lease  to be given back @return false: it was not held */
bool mirror_ahead_let_go(struct cairn_mirror *m, struct cairn_index_lease *lease);
/** Does so, and gives the lease back. @param fence  of the lease that is lost; a later one stays */
void mirror_ahead_lose(struct cairn_mirror *m, int64_t fence);
/** Notes in the index how a round goes. @param[out] is_current  false: the settings have changed, or the row is gone
 * @return CAIRN_OK; CAIRN_E_CONFLICT another daemon fetches ahead now, to which all entries are left; as a write */
CAIRN_MUST_USE enum cairn_status mirror_ahead_note(struct mirror_ahead *a, const struct cairn_index_fetched *now,
						   bool *is_current);

/* Rounds (ahead.c). */

/** Goes on with the round of an entry, or begins one. On a worker. */
void mirror_ahead_run(struct cairn_work *work);
/** Submits the work of an entry. If the queue is full, the next tick does. @return false: it is full */
bool mirror_ahead_submit(struct mirror_ahead *a);

/* The choice of rounds to begin (ahead_due.c). */

/** Takes or gives back the lease, reads the rows again, and begins rounds that are due. On net's thread. */
void mirror_ahead_tick(struct cairn_mirror *m);
/** Leaves fetching ahead to another daemon. */
void mirror_ahead_stop(struct cairn_mirror *m);
/** Frees the list, after the workers have ended. */
void mirror_ahead_free(struct cairn_mirror *m);

#endif
