/* The mirror and its fetches, for the files of this room. */
#ifndef CAIRN_MIRROR_PARTS_H
#define CAIRN_MIRROR_PARTS_H

#include "hash/crypto.h"
#include "mirror/hub/ask_repo.h"
#include "mirror/hub/ask_tree.h"
#include "mirror/mirror.h"
#include "mirror/rules.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

enum {
	MIRROR_OUTCOMES = 1024,
	MIRROR_HOPS_MAX = 3,
	MIRROR_GRANTS = 4096,
	MIRROR_ADMIT_SENDERS = 256,
	MIRROR_ADMIT_KEY_BYTES = 32 + 2 * CAIRN_SHA256_BYTES,
};

/** The outcome of a fetch, for as long as the fetch need not be repeated. */
struct mirror_outcome {
	uint8_t key[CAIRN_SHA256_BYTES];
	int64_t until_ms; /* 0: none */
	enum cairn_status status;
	struct cairn_diag diag;
};

enum mirror_fetch_kind {
	MIRROR_FETCH_LOOK,
	MIRROR_FETCH_SHORT, /* a file in memory */
	MIRROR_FETCH_LONG,  /* a file through the spool */
	MIRROR_FETCH_KINDS,
};

/** A token that the upstream let in. */
struct mirror_grant {
	int64_t repo;
	uint8_t who[CAIRN_SHA256_BYTES];
	int64_t asked_ms; /* 0: none */
};

/** A look at a repository, or a file on its way. Everybody who wants the same waits for it. Only one thread at a time
 * has it: net's while a call is under way, then a worker; the members of the lists are the mirror's. */
struct mirror_fetch {
	struct cairn_work work; /* first */
	struct cairn_mirror *m;
	void (*begin)(struct mirror_fetch *f); /* sends the first call */
	void (*step)(struct mirror_fetch *f);  /* on a worker, once a call has an answer */
	struct cairn_mirror_want what;         /* a copy of the first want */
	struct mirror_call call;
	char path[MIRROR_ADDRESS_BYTES]; /* of the call */
	struct mirror_hop hop;
	unsigned n_hops;
	struct mirror_repo repo;
	struct mirror_tree tree;
	struct cairn_buf info; /* the upstream's description of the repository */

	struct mirror_fetch *next;
	uint8_t key[CAIRN_SHA256_BYTES];
	bool is_file, begun;
	bool has_bytes; /* the first ones of a long file have come */
	struct cairn_mirror_want *waiting;
};

struct cairn_mirror {
	struct mirror_upstream upstream;
	struct mirror_net *net;
	struct mirror_rules rules;
	char *rules_text; /* owned; of the rules */
	const struct cairn_hub *hub;
	struct cairn_workers *workers;
	char spool_dir[PATH_MAX];
	uint64_t spool_bytes_max;
	bool stopped;            /* the owner's */
	struct mirror_call call; /* of who asked first, while somebody waits */
	pthread_mutex_t lock;    /* guards the rest */
	struct cairn_mirror_look *waiting;
	int64_t looked_ms; /* when line was set; 0: never */
	struct cairn_mirror_line line;
	struct mirror_fetch *fetches;
	unsigned n_fetches, n_begun[MIRROR_FETCH_KINDS];
	uint64_t file_bytes;           /* of short files that were begun */
	struct mirror_stream *streams; /* long files; also ended ones that clients still read */
	bool is_stopping;
	int64_t later_ms; /* until then the upstream wants no calls */
	struct mirror_outcome outcomes[MIRROR_OUTCOMES];
	struct mirror_grant grants[MIRROR_GRANTS];
	int64_t admit_next_ms[MIRROR_ADMIT_SENDERS];
	_Atomic uint64_t n_failures[CAIRN_MIRROR_WHYS]; /* not under the lock */
};

/** Counts a failed fetch. Not those that found nothing, or were put off here. */
void mirror_count_failure(struct cairn_mirror *m, enum cairn_status status, const struct cairn_diag *diag);

/** Releases waiting requests that have waited long enough. On net's thread. */
void mirror_join_tick(void *mirror);
/** Ends the fetches that were not begun. After net was stopped. */
void mirror_join_stop(struct cairn_mirror *m);
/** Joins a want to a fetch of the same name, or makes one. */
void mirror_join(struct cairn_mirror *m, struct cairn_mirror_want *want, const char *text, bool is_file,
		 void (*begin)(struct mirror_fetch *f));
/** Does the mirror remember what came of the fetch of this name? @param[out] failed  the upstream could not be asked */
bool mirror_remembers(struct cairn_mirror *m, const char *text, bool *failed);

/** Tells all of a list of wants. Without the lock. */
void mirror_tell(struct cairn_mirror_want *waiting, enum cairn_status status, const struct cairn_diag *diag);
/** Fails: the daemon is stopping. @return CAIRN_E_BUSY (mirror.stopped) */
CAIRN_MUST_USE enum cairn_status mirror_stopped(struct cairn_diag *diag);
/** Notes for how long the upstream wants no calls, if it says so. */
void mirror_note_later(struct cairn_mirror *m, const struct mirror_call *call);

/** Lets a step of a fetch run on a worker. Ends the fetch if that fails. */
void mirror_fetch_work(struct mirror_fetch *f, void (*step)(struct mirror_fetch *f));
/** Notes that the first bytes of a long file have come. Under the lock. @return those who waited for it */
struct cairn_mirror_want *mirror_fetch_begun(struct mirror_fetch *f);
/** Is it the fetch of a long file? */
bool mirror_fetch_is_long(const struct mirror_fetch *f);

/** Sends the call of a fetch, whose path or hop, limits and step are set. Ends the fetch if that fails. */
void mirror_fetch_send(struct mirror_fetch *f);
/** Ends a fetch: remembers what came of it, and tells all who wait. The fetch is gone then. */
void mirror_fetch_end(struct mirror_fetch *f, enum cairn_status status, const struct cairn_diag *diag);

/** Do the rules let a repository come here? */
bool mirror_lets_in(const struct cairn_mirror *m, const struct cairn_mirror_want *want);

/** Finds what is here of a repository: whether its namespace is the mirror's, or free; the repository; the commit.
 * @param[out] here  id 0: the repository is not here  @param[out] commit  id 0: the commit is not here
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND the namespace is somebody's here (mirror.local); as index */
CAIRN_MUST_USE enum cairn_status mirror_rows_find(struct mirror_fetch *f, struct cairn_index_repo *here,
						  struct cairn_index_commit *commit, struct cairn_diag *diag);
/** Lets the revision name a commit that is here. On a worker. */
CAIRN_MUST_USE enum cairn_status mirror_rows_name(struct mirror_fetch *f, const struct cairn_index_repo *here,
						  const struct cairn_index_commit *commit, struct cairn_diag *diag);
/** Writes the commit with the tree of the fetch, and the repository if it is not here. On a worker. */
CAIRN_MUST_USE enum cairn_status mirror_rows_write(struct mirror_fetch *f, const struct cairn_index_repo *here,
						   struct cairn_diag *diag);
/** Keeps what the upstream says of the repository, for lists and descriptions. A failure is not reported: the card is
 * then that of the next look. */
void mirror_card_keep(const struct mirror_fetch *f, int64_t repo);

#endif
