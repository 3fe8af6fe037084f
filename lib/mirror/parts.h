/* Declares struct cairn_mirror, struct mirror_fetch and the functions that files of this room share. */
#ifndef CAIRN_MIRROR_PARTS_H
#define CAIRN_MIRROR_PARTS_H

#include "hash/crypto.h"
#include "index/daemon/lease.h"
#include "index/hub/mirror_state.h"
#include "mirror/hub/ask_repo.h"
#include "mirror/hub/ask_tree.h"
#include "mirror/mirror.h"
#include "mirror/rules.h"
#include "xorb/codec.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

enum {
	MIRROR_OUTCOMES = 1024,
	MIRROR_HOPS_MAX = 3,
	MIRROR_GRANTS = 4096,
	MIRROR_USES = 4096,
	MIRROR_SENDERS = 256,
	MIRROR_LOOK_KEY_BYTES = CAIRN_INDEX_ALIAS_MAX + CAIRN_INDEX_REF_NAME_MAX + 2 * CAIRN_SHA256_BYTES + 32,
	MIRROR_ADMIT_KEY_BYTES = CAIRN_INDEX_ALIAS_MAX + 2 * CAIRN_SHA256_BYTES + 32,
};

/** The outcome of a fetch. While it is valid, the fetch is not repeated. */
struct mirror_outcome {
	uint8_t key[CAIRN_SHA256_BYTES];
	int64_t until_ms; /* 0: none */
	int64_t ended_ms; /* when the fetch ended */
	int64_t repo;     /* of a look-up: the repository in the index; 0: none */
	enum cairn_status status;
	struct cairn_diag diag;
};

enum mirror_fetch_kind {
	MIRROR_FETCH_LOOK,
	MIRROR_FETCH_SHORT, /* a file in memory */
	MIRROR_FETCH_LONG,  /* a file through the spool */
	MIRROR_FETCH_KINDS,
};

/** A token that the upstream has accepted. */
struct mirror_grant {
	uint8_t key[CAIRN_SHA256_BYTES]; /* hash of the repository's name and the token */
	int64_t asked_ms;                /* 0: this place is free */
	int64_t repo;                    /* the repository in the index at that time; 0: none */
};

/** The room for further files, in bytes. It is measured anew now and then. */
struct mirror_room {
	uint64_t bytes;    /* free when last measured */
	bool is_disk;      /* the disk limits it, not mirror_bytes_max */
	uint64_t most;     /* free without mirrored files */
	uint64_t offers;   /* how much of it may be offered to uploaders */
	uint64_t promised; /* reserved by fetches in progress for bytes that have not arrived */
	uint64_t brought;  /* arrived since the last measuring began, which may not have counted them */
	uint64_t seen;     /* of brought: counted by the measuring in progress */
	uint64_t wanted;   /* for the largest file that did not fit since this was last read */
};

/** The time from which each sender may act again. A sender is an account, or the address of a client without one. A
 * keyed hash of the sender's number gives its slot, so that nobody can choose whose slot to use up. Two accounts, or
 * two addresses, may share a slot by chance, and thus a limit. An account and an address never do. */
struct mirror_senders {
	uint8_t key[CAIRN_HASH_BYTES];
	int64_t account_ms[MIRROR_SENDERS], address_ms[MIRROR_SENDERS];
};

/** The rules in force. */
struct mirror_policy {
	char *path;            /* owned; file of the rules. NULL: none */
	pthread_rwlock_t lock; /* guards the members below, because the rules may be read again */
	char *text;            /* owned; text of the rules */
	struct mirror_rules rules;
};

/** A look-up of a repository, or a file that is being fetched. Equal requests wait for the same fetch. Only one thread
 * at a time uses it: net's while a call is in progress, then a worker. The mirror's lock guards the second group. */
struct mirror_fetch {
	struct cairn_work work; /* first */
	struct cairn_mirror *m;
	void (*begin)(struct mirror_fetch *f); /* sends the first call */
	void (*step)(struct mirror_fetch *f);  /* on a worker, when a call has an answer */
	struct cairn_mirror_want what;         /* a copy of the first request */
	struct mirror_call call;
	char path[MIRROR_ADDRESS_BYTES]; /* path of the call */
	struct mirror_hop hop;
	unsigned n_hops;
	struct mirror_repo repo;
	struct mirror_tree tree;
	struct cairn_buf info;               /* the upstream's description of the repository */
	struct cairn_index_mirror_seen seen; /* of a look-up of main: the repository in the index; zeros: none */

	struct mirror_fetch *next;
	uint8_t key[CAIRN_SHA256_BYTES];
	uint64_t holds_s; /* how long a success is remembered; 0: not here, because the index or another place has it */
	bool is_file, begun;
	int64_t begun_ms;
	uint64_t fetched_bytes;  /* bytes that the upstream sent for a file */
	uint64_t promised_bytes; /* reserved in the room, and not yet arrived */
	bool has_bytes;          /* the first bytes of a long file have arrived */
	bool is_others;          /* another daemon fetched the file */
	struct cairn_mirror_want *waiting;
};

struct cairn_mirror {
	struct mirror_upstream upstream;
	struct mirror_net *net;
	struct mirror_policy policy;
	const struct cairn_hub *hub;
	struct cairn_workers *workers;
	uint64_t refresh_s;
	bool is_offline;
	char spool_dir[PATH_MAX];
	uint64_t spool_bytes_max;
	void (*tell)(const struct cairn_mirror_event *event); /* NULL: none */
	bool stopped;                                         /* cairn_mirror_stop() was called */
	struct mirror_call call;                              /* a test of the upstream, while somebody waits for it */
	struct cairn_codec *codec;                            /* only on net's thread; NULL: not needed so far */
	_Atomic uint64_t uses[MIRROR_USES];                   /* contents read lately, each with its day (evict.c) */
	pthread_mutex_t lock;                                 /* guards the members below */
	struct mirror_room room;
	struct cairn_mirror_look *waiting;
	int64_t looked_ms; /* time of line; 0: no test has ended */
	struct cairn_mirror_line line;
	struct mirror_fetch *fetches;
	unsigned n_fetches, n_begun[MIRROR_FETCH_KINDS];
	uint64_t file_bytes;           /* bytes of short files in progress */
	struct mirror_stream *streams; /* long files, and ended streams that clients still read */
	bool is_stopping;
	int64_t later_ms; /* the upstream asked to send no calls until then */
	struct mirror_outcome outcomes[MIRROR_OUTCOMES];
	struct mirror_grant grants[MIRROR_GRANTS];
	struct mirror_senders admit_senders, new_senders; /* for questions about tokens; for look-ups of new names */
	struct mirror_ahead *ahead; /* repositories that are fetched ahead of requests (ahead_list.c) */
	unsigned n_ahead_running, n_ahead_readings;
	bool ahead_reads, ahead_is_read; /* their rows are being read; were read */
	int64_t ahead_read_ms;           /* when they may be read again */
	struct cairn_work ahead_work;
	bool ahead_holds; /* this daemon fetches them, for all that share the index */
	struct cairn_index_lease ahead_lease;
	_Atomic uint64_t n_failures[CAIRN_MIRROR_WHYS]; /* without the lock, like the next member */
	_Atomic uint64_t n_copied_bytes;                /* bytes copied from files in the store, instead of fetched */
	_Atomic uint64_t n_packed_bytes;                /* bytes that arrived in ranges of xorbs */
};

/** Reports to operators how a fetch ended, unless that does not concern them. */
void mirror_tell_end(const struct mirror_fetch *f, enum cairn_status status, const struct cairn_diag *diag);
/** Reports to operators that the state of a repository changed. */
void mirror_tell_state(const struct mirror_fetch *f, enum cairn_index_mirror_state state);
/** Counts a failed fetch by its reason. Skips fetches that found nothing, or that the mirror itself put off. */
void mirror_count_failure(struct cairn_mirror *m, enum cairn_status status, const struct cairn_diag *diag);

/** Ends requests that have waited for CAIRN_MIRROR_WAIT_MS. On net's thread. */
void mirror_join_tick(void *mirror);
/** May the sender of a request act now? Allows once a second, and `burst` times at once. Called with the lock.
 * @return false: not now */
bool mirror_sender_may(struct mirror_senders *senders, const struct cairn_mirror_want *want, unsigned burst);
/** Ends the fetches that have not begun. Call it after net was stopped. */
void mirror_join_stop(struct cairn_mirror *m);
/** Joins a request to the fetch with the same key, or makes a fetch.
 * @param text   the key
 * @param begin  makes the first call of a new fetch */
void mirror_join(struct cairn_mirror *m, struct cairn_mirror_want *want, const char *text, bool is_file,
		 void (*begin)(struct mirror_fetch *f));
/** Drops the outcome of the fetch with this key, so that the next request asks the upstream again. */
void mirror_forget(struct cairn_mirror *m, const char *text);
/** Drops the outcomes of all fetches. */
void mirror_forget_all(struct cairn_mirror *m);
/** Turns the letters of a fetch's key before its "@" to lower case, because names ignore case. */
void mirror_key_fold(char *key);
/** Does the mirror remember the outcome of the fetch with this key? @param repo  the success of a look-up counts only
 * for this repository; 0: for any @param[out] failed  the upstream could not be reached */
bool mirror_remembers(struct cairn_mirror *m, const char *text, int64_t repo, bool *failed);
/** Finds the remembered outcome of the fetch with this key. @return false: there is none */
bool mirror_outcome_of(struct cairn_mirror *m, const char *text, struct mirror_outcome *out);
enum { MIRROR_FILE_KEY_BYTES = 64 };
/** Makes the key of the fetch of a file. */
void mirror_file_key(char out[static MIRROR_FILE_KEY_BYTES], int64_t repo, int64_t content);
/** Remembers a key for a while, as if its fetch had succeeded now. */
void mirror_remember(struct cairn_mirror *m, const char *text, int64_t for_s);

/** Ends all requests of a list with a status. Without the lock. */
void mirror_tell(struct cairn_mirror_want *waiting, enum cairn_status status, const struct cairn_diag *diag);
/** Fails: the daemon is stopping. @return CAIRN_E_BUSY (mirror.stopped) */
CAIRN_MUST_USE enum cairn_status mirror_stopped(struct cairn_diag *diag);
/** Is a request sent with the asker's own token, rather than with a rule's? */
static inline bool mirror_is_askers(const struct cairn_mirror_want *want)
{
	return want->token[0] && want->rule == 0;
}
/** Records how long the upstream wants no calls. Ignores answers to an asker's own token, which may concern only the
 * asker. */
void mirror_note_later(struct cairn_mirror *m, const struct cairn_mirror_want *what, const struct mirror_call *call);

/** Runs a step of a fetch on a worker. Ends the fetch if no worker takes it. */
void mirror_fetch_work(struct mirror_fetch *f, void (*step)(struct mirror_fetch *f));
/** Does the fetch look up main? Only such a look-up adds a repository to the index, or opens one. */
bool mirror_fetch_is_of_main(const struct mirror_fetch *f);
/** Records that the first bytes of a long file have arrived. Called with the lock. @return the requests that waited for
 * them */
struct cairn_mirror_want *mirror_fetch_begun(struct mirror_fetch *f);
/** Is it the fetch of a long file? */
bool mirror_fetch_is_long(const struct mirror_fetch *f);

/** Sends the call of a fetch. Its path or hop, its limits and step must be set. Ends the fetch if this fails. */
void mirror_fetch_send(struct mirror_fetch *f);
/** Ends a fetch: remembers its outcome, ends all waiting requests, and frees it. */
void mirror_fetch_end(struct mirror_fetch *f, enum cairn_status status, const struct cairn_diag *diag);

/** @param path  file of the rules; NULL: none @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status mirror_policy_init(struct mirror_policy *policy, const char *path);
void mirror_policy_fini(struct mirror_policy *policy);
/** Reads the rules and their tokens, which replace those in force. @return CAIRN_OK; CAIRN_E_USAGE one of the files
 * cannot be read, or is wrong (mirror.rules); CAIRN_E_NOMEM. After a failure the present rules stay */
CAIRN_MUST_USE enum cairn_status mirror_policy_read(struct mirror_policy *policy, struct cairn_diag *diag);
/** Do the rules allow to mirror the repository of a request? If its rule has a token, the request gets that token. */
bool mirror_take_rule(struct cairn_mirror *m, struct cairn_mirror_want *want);

/** Finds a repository in the index, and checks that its namespace is mirrored, or free.
 * @param name  "account/name"; without an account nothing is found  @param[out] here  id 0: it is not in the index
 * @return as mirror_rows_find() */
CAIRN_MUST_USE enum cairn_status mirror_rows_find_repo(struct mirror_fetch *f, const char *name,
						       struct cairn_index_repo *here, struct cairn_diag *diag);
/** Notes how a repository is in the index, before a look-up of main asks the upstream: what others write meanwhile is
 * not undone by an older answer. On a worker. @return as mirror_rows_find() */
CAIRN_MUST_USE enum cairn_status mirror_rows_see(struct mirror_fetch *f, struct cairn_diag *diag);
/** Finds the repository and the commit of a fetch in the index, and checks that the namespace is mirrored, or free.
 * @param[out] here  id 0: the repository is not in the index  @param[out] commit  id 0: the commit is not in the index
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND the namespace is an account of this server (mirror.local); as index */
CAIRN_MUST_USE enum cairn_status mirror_rows_find(struct mirror_fetch *f, struct cairn_index_repo *here,
						  struct cairn_index_commit *commit, struct cairn_diag *diag);
/** Closes a repository in the index as far as the upstream has closed its own: sets the gate, and makes it private.
 * Opens nothing. Call it before the new tree is fetched, so that meanwhile nobody reads files who no longer may.
 * @param here  the repository from mirror_rows_find() */
CAIRN_MUST_USE enum cairn_status mirror_rows_close(struct mirror_fetch *f, const struct cairn_index_repo *here,
						   struct cairn_diag *diag);
/** Sets the branch or tag that the fetch looked up to a commit in the index. On a worker. */
CAIRN_MUST_USE enum cairn_status mirror_rows_name(struct mirror_fetch *f, const struct cairn_index_repo *here,
						  const struct cairn_index_commit *commit, struct cairn_diag *diag);
/** Must a repository in the index be replaced by a new one? Yes, if its commits were fetched for fewer askers than may
 * read it now, or if the upstream has another repository with its name. */
bool mirror_rows_is_another(const struct mirror_fetch *f, const struct cairn_index_repo *here);
/** Replaces a repository by a new one with its state and the operator's settings, in one transaction. On a worker. */
CAIRN_MUST_USE enum cairn_status mirror_rows_replace(struct mirror_fetch *f, const struct cairn_index_repo *here,
						     struct cairn_diag *diag);
/** Renames a repository that is here under a former name as the upstream did. If today's name is here already, removes
 * the repository. Does nothing if today's name belongs to an account of this server. On a worker.
 * @param former  the repository from mirror_rows_find_repo() */
CAIRN_MUST_USE enum cairn_status mirror_rows_move(struct mirror_fetch *f, const struct cairn_index_repo *former,
						  struct cairn_diag *diag);
/** Records that a look-up with an asker's own token has added the repository to the index. If the upstream accepted
 * the token before, it need not be asked again. */
void mirror_grant_brought(const struct mirror_fetch *f, int64_t repo);
/** Writes the commit with the tree of the fetch, and the repository if it is not here. On a worker. */
CAIRN_MUST_USE enum cairn_status mirror_rows_write(struct mirror_fetch *f, const struct cairn_index_repo *here,
						   struct cairn_diag *diag);
/** Records that the upstream no longer has a repository, or no longer shows it to everybody. A repository that is gone
 * stays visible if it was public; any other is hidden.
 * @param here  the repository from mirror_rows_find_repo() */
CAIRN_MUST_USE enum cairn_status mirror_rows_leave(struct mirror_fetch *f, const struct cairn_index_repo *here,
						   enum cairn_index_mirror_state state, struct cairn_diag *diag);
/** Stores the upstream's description of the repository, for lists and its page. A failure is not reported: the next
 * look-up tries again. */
void mirror_card_keep(const struct mirror_fetch *f, int64_t repo);

#endif
