/* The mirror of an upstream hub: fetches its repositories and files when they are requested, and stores them. */
#ifndef CAIRN_MIRROR_MIRROR_H
#define CAIRN_MIRROR_MIRROR_H

#include "base/workers.h"
#include "cas/serve/file_reader.h"
#include "hub/hub.h"
#include "index/hub/alias.h"
#include "index/hub/history.h"
#include "index/hub/mirror_list.h"

/** A mirror. Any thread may call its functions. */
struct cairn_mirror;

enum cairn_mirror_event_kind {
	CAIRN_MIRROR_FETCHED, /* a file was fetched */
	CAIRN_MIRROR_WRONG,   /* the upstream sent other bytes than its tree states */
	CAIRN_MIRROR_REFUSED, /* the upstream refuses the token of a rule */
	CAIRN_MIRROR_CHANGED, /* the state of a repository changed */
};

/** An event for operators. Its texts are valid during the call. */
struct cairn_mirror_event {
	enum cairn_mirror_event_kind kind;
	const char *repo;              /* "account/name" */
	const char *revision, *path;   /* commit and path of a file; NULL: none */
	uint64_t bytes, fetched_bytes; /* length of the file; bytes that the upstream sent for it */
	int64_t took_ms;
	unsigned rule;                       /* line of the rule whose token was sent; 0: none */
	const uint8_t *who;                  /* SHA-256 of the asker's token that was sent; NULL: none */
	const char *asked_by;                /* name of the asker's account; "": no account */
	enum cairn_index_mirror_state state; /* for CAIRN_MIRROR_CHANGED */
	const char *message;                 /* NULL: none */
};

struct cairn_mirror_options {
	const char *upstream; /* https://HOST[:PORT] */
	const char *ca;       /* file of the authorities for the upstream's certificate; NULL: the system's */
	const char *proxy;    /* http://HOST:PORT of the proxy to the upstream; NULL: none */
	const char *hosts;    /* hosts for redirects of files: mirror_hosts_check(); NULL: those of a known hub */
	const char *pin;      /* pin of the upstream's public key: mirror_pin_check(); NULL: any trusted certificate */
	bool is_offline;      /* send nothing to the upstream */
	/* The members below are for cairn_mirror_open() only. */
	uint64_t refresh_s;            /* a branch is looked up again at this age; at least 1 */
	uint64_t rate_max;             /* bytes a second, for all long files together; 0: no limit */
	const char *rules;             /* file of the rules (mirror/rules.h); NULL: all repositories are mirrored */
	const struct cairn_hub *hub;   /* the hub that stores repositories of the upstream */
	struct cairn_workers *workers; /* they read the upstream's answers, and write */
	const char *data_dir;          /* long files are in DIR/tmp until they are in the store */
	uint64_t spool_bytes_max;      /* limit of all spools together; at least CAIRN_MIRROR_SPOOL_BYTES_MIN */
	/* Called for each event, on any thread; must not wait. NULL: events are dropped. */
	void (*tell)(const struct cairn_mirror_event *event);
};

/** Finds the port to which the mirror will connect: the proxy's, if there is one. @return CAIRN_OK; CAIRN_E_USAGE
 * (mirror.url, mirror.insecure, mirror.proxy, mirror.hosts, mirror.pin) */
CAIRN_MUST_USE enum cairn_status cairn_mirror_port(const struct cairn_mirror_options *options, uint16_t *port,
						   struct cairn_diag *diag);

/** Opens a mirror, with a thread of its own. Sends nothing to the upstream.
 * @param options  the member `upstream` is copied, other pointers are borrowed
 * @return as cairn_mirror_port(); CAIRN_E_USAGE the file of the rules cannot be read, or a line is not a rule
 *         (mirror.rules);
 *         CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_mirror_open(struct cairn_mirror **out,
						   const struct cairn_mirror_options *options, struct cairn_diag *diag);

/** Reads the file of the rules and their files of tokens again. @return CAIRN_OK, also if there is no file of rules;
 * CAIRN_E_USAGE (mirror.rules) and CAIRN_E_NOMEM: the present rules stay in force */
CAIRN_MUST_USE enum cairn_status cairn_mirror_reload(struct cairn_mirror *mirror, struct cairn_diag *diag);

enum { CAIRN_MIRROR_TOKEN_FILES_MAX = 64 };
/** Paths of files of tokens. */
struct cairn_mirror_token_files {
	char *path[CAIRN_MIRROR_TOKEN_FILES_MAX]; /* owned */
	size_t n;
};
void cairn_mirror_token_files_fini(struct cairn_mirror_token_files *files);
/** Checks a file of rules and the files of tokens that it names, and returns their paths. @param rules  path of the
 * file of rules; NULL: none
 * @return CAIRN_OK; CAIRN_E_USAGE (mirror.rules); CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_mirror_token_files(const char *rules, struct cairn_mirror_token_files *out,
							  struct cairn_diag *diag);

/** Ends all calls to the upstream. Requests that wait fail now, later ones at once. Call it once; NULL is harmless. */
void cairn_mirror_stop(struct cairn_mirror *mirror);
/** Stops a mirror unless it was stopped before, and frees it. NULL is harmless. */
void cairn_mirror_free(struct cairn_mirror *mirror);

/** The result of a test whether the upstream answers as a hub. Plain value. */
struct cairn_mirror_line {
	bool up;
	int64_t asked_unix_s;
	uint64_t took_ms;
	unsigned code;          /* HTTP status of its answer; 0: none */
	struct cairn_diag diag; /* if not up: the reason */
};

/** A test of the upstream. The caller sets done, and must not touch the struct until done() is called, once, on any
 * thread. done() must not wait. */
struct cairn_mirror_look {
	void (*done)(struct cairn_mirror_look *look);
	struct cairn_mirror_line line; /* result */
	struct cairn_mirror_look *next;
};

/** Tests whether the upstream answers, within 5 seconds. Tests at the same time, or within CAIRN_MIRROR_FRESH_MS, share
 * one request, so that nobody can make a daemon send many. */
void cairn_mirror_look(struct cairn_mirror *mirror, struct cairn_mirror_look *look);
enum { CAIRN_MIRROR_FRESH_MS = 5000 };

/* --- repositories and files --------------------------------------------------------------------------------------- */

enum {
	CAIRN_MIRROR_WAIT_MS = 8000,   /* a request waits at most this long; clients give up after 10 s */
	CAIRN_MIRROR_UNKNOWN_S = 60,   /* wait before the upstream is asked again for a name that it did not have */
	CAIRN_MIRROR_FAILED_S = 30,    /* the same for a name whose fetch failed */
	CAIRN_MIRROR_WRONG_S = 3600,   /* the same for a file whose bytes differed from the tree */
	CAIRN_MIRROR_FETCHES_MAX = 64, /* fetches in progress and waiting */
	CAIRN_MIRROR_LOOKS_MAX = 16,   /* look-ups of repositories in progress at once */
	CAIRN_MIRROR_FILES_MAX = 16,   /* short files in progress at once, and as many long ones */
	/* The same for one sender, so that nobody keeps others waiting. */
	CAIRN_MIRROR_SENDER_FETCHES_MAX = 16,
	CAIRN_MIRROR_SENDER_AT_ONCE_MAX = 8,       /* look-ups, as many short files, and as many long ones */
	CAIRN_MIRROR_AHEAD_AT_ONCE_MAX = 4,        /* of each of these three, those for which no client waits */
	CAIRN_MIRROR_SENDER_NEW_MAX = 64,          /* look-ups of new names at once; then one a second */
	CAIRN_MIRROR_TOKEN_BYTES = 128,            /* bytes of a token of the upstream, with the zero */
	CAIRN_MIRROR_ADMITS_S = 3600,              /* how long the upstream's answer that a token may read is valid */
	CAIRN_MIRROR_ADMITS_CUT_OFF_S = 7 * 86400, /* the same while the upstream cannot be reached */
};
#define CAIRN_MIRROR_SHORT_BYTES_MAX  (UINT64_C(32) << 20) /* longer files are fetched through the spool, on disk */
#define CAIRN_MIRROR_SHORTS_BYTES_MAX (UINT64_C(64) << 20) /* all short files in progress, which are in memory */
#define CAIRN_MIRROR_SPOOL_BYTES_MIN  (UINT64_C(64) << 20)

/** Fails, because the requested thing is still to be fetched. @return CAIRN_E_BUSY (mirror.later) */
enum cairn_status cairn_mirror_later(struct cairn_diag *diag);

/** A request ("want") for a revision, a file or an admission that this server lacks. The caller sets the first two
 * groups, and must not touch the struct until done() is called, once, on any thread, maybe before the function
 * returns. done() must not wait. */
struct cairn_mirror_want {
	void (*done)(struct cairn_mirror_want *want);
	uint64_t sender; /* number of the asker's account or address, for limits */
	enum cairn_index_repo_kind kind;
	char name[CAIRN_INDEX_ALIAS_MAX + 1]; /* "account/name", or "name" */
	char revision[CAIRN_INDEX_REF_NAME_MAX + 1];
	int64_t repo; /* the repository's id; 0: it is not in the index */
	/* For a file also: the commit, the path, and its entry without bytes. */
	struct cairn_git_oid commit;
	char path[CAIRN_INDEX_PATH_MAX + 1];
	struct cairn_index_entry entry;
	bool is_ahead; /* no client waits: it begins after clients' requests, and fetches the whole file */
	bool is_alone; /* the repository is not public, so its files' bytes are shared with no other */
	/* The asker's token of the upstream, sent to no other host; "": none. For an admission also its SHA-256. */
	char token[CAIRN_MIRROR_TOKEN_BYTES];
	uint8_t who[CAIRN_SHA256_BYTES];
	/* For a revision: a rule's token or the asker's own may show the asker a private repository. */
	bool sees;
	bool is_new; /* for a revision: not in the index, or hidden; it counts against the sender's rate */
	char asked_by[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1]; /* name of the asker's account; "": no account */
	unsigned rule; /* set by the mirror: line of the rule whose token replaced the asker's; 0: none */
	/* The upstream's JSON, if cairn_mirror_want_owner() ended with CAIRN_OK; the caller frees it. NULL: ask later
	 */
	char *answer;

	/* CAIRN_OK: read the index again. Else diag has the reason:
	 *   CAIRN_E_NOT_FOUND  the upstream does not have it, or hides it (mirror.unknown)
	 *   CAIRN_E_DENIED     the asker may not have its files, or they are too long (mirror.denied, mirror.large,
	 *   mirror.elsewhere, …)
	 *   CAIRN_E_BUSY       not now, maybe later (mirror.later, mirror.busy, mirror.unreachable, mirror.silent,
	 *   mirror.stopped, mirror.offline)
	 *   CAIRN_E_MISMATCH   the upstream sent other bytes than its tree states (mirror.wrong)
	 *   CAIRN_E_FORMAT     the upstream does not answer as a hub */
	enum cairn_status status;
	struct cairn_diag diag;
	struct cairn_mirror_want *next; /* used by the mirror, like the next member */
	int64_t asked_ms;
};

/** Looks up a revision of a repository at the upstream, and stores its commit and tree. A name that the upstream
 * redirects becomes an alias. Equal requests at the same time share one look-up. A private repository is unknown to an
 * asker who may not see it. A mirrored repository that became private at the upstream is hidden. A sender may begin
 * CAIRN_MIRROR_SENDER_NEW_MAX look-ups of new names at once, and then one a second (mirror.full). */
void cairn_mirror_want_revision(struct cairn_mirror *mirror, struct cairn_mirror_want *want);
/** Fetches a file of a mirrored repository. The file counts as fetched when its SHA-256, or its id in git, equals that
 * of the tree. A request for a long file ends with CAIRN_OK when the first bytes have arrived;
 * cairn_mirror_reader_open() reads them. */
void cairn_mirror_want_file(struct cairn_mirror *mirror, struct cairn_mirror_want *want);
/** Asks the upstream whether the request's token may read the files of a repository. CAIRN_OK: yes; CAIRN_E_NOT_FOUND:
 * no. */
void cairn_mirror_want_admission(struct cairn_mirror *mirror, struct cairn_mirror_want *want);
/** Asks the upstream who owns a token. The caller sets done, sender, asked_by, token and who. Stores neither the token
 * nor the answer. CAIRN_E_NOT_FOUND: the upstream refuses the token. The questions count with those of
 * cairn_mirror_want_admission(): a sender may ask eight at once, and then one a second (mirror.full). */
void cairn_mirror_want_owner(struct cairn_mirror *mirror, struct cairn_mirror_want *want);
/** Do the rules allow to mirror a repository with this name? */
bool cairn_mirror_lets_in(struct cairn_mirror *mirror, enum cairn_index_repo_kind kind, const char *name);
/** Finds to whom the rules open a mirrored repository that is private or has a gate. A repository that the upstream has
 * disabled is open to nobody. */
void cairn_mirror_gate(struct cairn_mirror *mirror, const struct cairn_index_repo *repo, struct cairn_hub_gate *out);
/** Did the upstream lately say that a token may read a repository? @param name  "account/name" of the repository
 * @param repo  its number, since another may have the name now; 0: it is not here  @param who  SHA-256 of the token
 * @param is_cut_off  the upstream cannot be asked now, so an older answer counts, too */
bool cairn_mirror_admits(struct cairn_mirror *mirror, enum cairn_index_repo_kind kind, const char *name, int64_t repo,
			 const uint8_t who[static CAIRN_SHA256_BYTES], bool is_cut_off);
/** Did the upstream answer the last call? Any thread; does not wait. */
bool cairn_mirror_is_up(struct cairn_mirror *mirror);
/** Was a revision looked up lately, with or without success?
 * @param what  as for cairn_mirror_want_revision(); borrowed  @param[out] is_stale  the upstream could not be
 * reached */
bool cairn_mirror_is_fresh(struct cairn_mirror *mirror, const struct cairn_mirror_want *what, bool *is_stale);
/** May the upstream be asked for repositories of this namespace? False for an account of this server. */
bool cairn_mirror_may_have(struct cairn_mirror *mirror, const char *account);
/** Does the upstream no longer have a mirrored repository? */
bool cairn_mirror_is_gone(struct cairn_mirror *mirror, int64_t repo);
/** Finds where the upstream redirected a name. @param[out] target  "account/name" @return false: not an alias */
bool cairn_mirror_alias(struct cairn_mirror *mirror, enum cairn_index_repo_kind kind, const char *name,
			char target[static CAIRN_INDEX_ALIAS_MAX + 1]);
/** Does the index have a branch with this name? */
bool cairn_mirror_has_branch(struct cairn_mirror *mirror, int64_t repo, const char *revision);
/** Is the revision the whole id of a commit in the index? */
bool cairn_mirror_has_commit(struct cairn_mirror *mirror, int64_t repo, const char *revision);
/** Reads a long file for one client while the file is being fetched. For one thread at a time. */
struct cairn_mirror_reader;

/** Opens a reader of a long file that is being fetched. Any thread; does not wait.
 * @param what  as for cairn_mirror_want_file(); borrowed during the call  @param[out] extent  set with CAIRN_OK and
 *   CAIRN_E_LIMIT
 * @return CAIRN_OK
 *         CAIRN_E_LIMIT      the range starts past the end
 *         CAIRN_E_NOT_FOUND  the file is not being fetched: it was fetched, or its fetch has failed. Read the index
 *         again, or call cairn_mirror_want_file()
 *         CAIRN_E_BUSY       the spool no longer has the beginning of the range; the file will be complete soon
 *         (mirror.later)
 *         CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_mirror_reader_open(struct cairn_mirror *mirror,
							  const struct cairn_mirror_want *what,
							  const struct cairn_byte_range *range,
							  struct cairn_file_extent *extent,
							  struct cairn_mirror_reader **out, struct cairn_diag *diag);

enum cairn_mirror_read {
	CAIRN_MIRROR_READ_BYTES,   /* n bytes were read; 0: the end of the range */
	CAIRN_MIRROR_READ_NOT_YET, /* wake() will be called */
	CAIRN_MIRROR_READ_FAILED,  /* diag has the reason; only cairn_mirror_reader_free() may be called */
};

/** Reads the next bytes. Call it on a worker, because it reads the disk: the spool, or the store when the file is
 * complete. If the range is longer than 1 MiB and goes to the end of the file, its last 64 KiB are returned only after
 * the whole file was proved, so that no client that reads to the end has false bytes.
 * @param wake  after NOT_YET it is called once, on any thread, without a lock, maybe before this function returns. It
 *              must not wait, and must not call the reader  @param ctx  argument of wake() */
CAIRN_MUST_USE enum cairn_mirror_read cairn_mirror_reader_read(struct cairn_mirror_reader *r, uint8_t *out, size_t max,
							       size_t *n, void (*wake)(void *ctx), void *ctx,
							       struct cairn_diag *diag);

/** Cancels the wake() of a NOT_YET. @return false: too late, wake() was or is being called */
bool cairn_mirror_reader_unwake(struct cairn_mirror_reader *r);

/** Frees a reader; the fetch continues. Not between a NOT_YET and its wake(), unless wake() was cancelled. NULL is
 * harmless. */
void cairn_mirror_reader_free(struct cairn_mirror_reader *r);

/** Begins to measure the room for further files. Call it before the mirrored bytes are summed up for
 * cairn_mirror_set_room(). */
void cairn_mirror_begin_room(struct cairn_mirror *mirror);
/** Ends measuring the room. Fetches in progress reserve room for bytes that have not arrived. Before the first call
 * there is no limit.
 * @param bytes   free now
 * @param most    would be free without mirrored files
 * @param offers  how much of further files is offered to uploaders; xorbs beyond that are withdrawn from the beginning
 *                (index/hub/mirror_offers.h)
 * @param is_disk  free space on the disk is the limit, rather than mirror_bytes_max */
void cairn_mirror_set_room(struct cairn_mirror *mirror, uint64_t bytes, uint64_t most, uint64_t offers, bool is_disk);
/** Returns the length of the largest file that did not fit since the last call, but would after evictions; 0: none. */
uint64_t cairn_mirror_take_wanted(struct cairn_mirror *mirror);

/** Reasons why fetches fail, as far as operators can act on them. */
enum cairn_mirror_why {
	CAIRN_MIRROR_WHY_UNREACHABLE, /* no connection, or an untrusted one */
	CAIRN_MIRROR_WHY_SILENT,      /* an answer, or a part of it, did not arrive in time */
	CAIRN_MIRROR_WHY_BUSY,        /* the upstream answered 429 or 5xx */
	CAIRN_MIRROR_WHY_WRONG,       /* the upstream sent other bytes than its tree states */
	CAIRN_MIRROR_WHY_ROOM,        /* the mirror stores as many bytes as it may */
	CAIRN_MIRROR_WHY_OTHER,       /* it does not answer as a hub; or the index or the store of this server failed */
	CAIRN_MIRROR_WHYS,
};

/** Counts since the mirror was opened. Plain value. */
struct cairn_mirror_stats {
	bool is_offline;        /* nothing is sent to the upstream */
	bool up;                /* the last call got an answer; true also before the first call */
	uint64_t fetched_bytes; /* bytes in the bodies of all answers */
	uint64_t packed_bytes;  /* fetched bytes in ranges of xorbs, which unpack to more */
	uint64_t plain_bytes;   /* the other fetched bytes; counted apart, so that neither count ever falls */
	uint64_t copied_bytes;  /* bytes of long files copied from files in the store, instead of fetched */
	uint64_t n_failures[CAIRN_MIRROR_WHYS];
	unsigned n_fetching; /* files that are being fetched now */
};
void cairn_mirror_stats(struct cairn_mirror *mirror, struct cairn_mirror_stats *out);

/** A file that is being fetched, or waits for its turn. Plain value. */
struct cairn_mirror_coming {
	char name[CAIRN_INDEX_ALIAS_MAX + 1]; /* "account/name" */
	char path[CAIRN_INDEX_PATH_MAX + 1];
	uint64_t size_bytes, come_bytes;
	bool is_ahead; /* no client waits for it */
};
/** Finds files that are being fetched, or wait. @return their number, up to `most` */
unsigned cairn_mirror_find_coming(struct cairn_mirror *mirror, struct cairn_mirror_coming *out, unsigned most);

/** Is a content of a repository being fetched, or does it wait for its turn? Does not wait. */
bool cairn_mirror_is_coming(struct cairn_mirror *mirror, int64_t repo, int64_t content);

/** Files of a revision. Plain value. */
struct cairn_mirror_counts {
	uint64_t n_files, bytes;
	uint64_t n_here, here_bytes;     /* files fetched completely */
	uint64_t n_coming, coming_bytes; /* files that are being fetched, and their bytes that arrived */
};
/** Counts the files of main. @param files_max  most files of main to count
 * @return false: main has more, or the index cannot be read */
bool cairn_mirror_count_main(struct cairn_mirror *mirror, const struct cairn_index_repo *repo, uint64_t files_max,
			     struct cairn_mirror_counts *out);

/** How much of a mirrored repository was fetched. Plain value. */
struct cairn_mirror_here {
	int64_t looked_unix_s; /* when the upstream was last asked about main */
	bool is_kept;          /* its files are not evicted */
	bool is_counted;       /* as of cairn_mirror_count_main() */
	struct cairn_mirror_counts main;
};
/** Finds how much of a repository was fetched. @param files_max  as for cairn_mirror_count_main()
 * @return false: the index cannot be read */
bool cairn_mirror_here(struct cairn_mirror *mirror, const struct cairn_index_repo *repo, uint64_t files_max,
		       struct cairn_mirror_here *out);

/** Finds the largest mirrored repositories, or those that were read least recently.
 * @return their number, up to `most`; 0: also if the index cannot be read */
unsigned cairn_mirror_find_top(struct cairn_mirror *mirror, enum cairn_index_top top, struct cairn_index_mirrored *out,
			       unsigned most);

/** Returns "models" and the like, as in addresses of a hub's API; NULL: no hub has repositories of this kind. */
const char *cairn_mirror_type(enum cairn_index_repo_kind kind);

/** Returns the upstream's address, without a slash at the end. Lives as long as the mirror. */
const char *cairn_mirror_upstream(const struct cairn_mirror *mirror);

#endif
