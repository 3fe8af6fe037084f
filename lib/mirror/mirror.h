/* The mirror of an upstream hub. */
#ifndef CAIRN_MIRROR_MIRROR_H
#define CAIRN_MIRROR_MIRROR_H

#include "base/workers.h"
#include "cas/serve/file_reader.h"
#include "hub/hub.h"
#include "index/hub/alias.h"
#include "index/hub/history.h"

/** Any thread. */
struct cairn_mirror;

struct cairn_mirror_options {
	const char *upstream; /* https://HOST[:PORT] */
	const char *ca;       /* file of the authorities for the upstream's certificate; NULL: the system's */
	const char *proxy;    /* http://HOST:PORT of the way to the upstream; NULL: none */
	const char *hosts;    /* where redirects for files may lead (mirror/net/upstream.h); NULL: known ones */
	/* cairn_mirror_open() alone needs these. */
	const char *rules;             /* file of the rules (mirror/rules.h); NULL: all repositories are mirrored */
	const struct cairn_hub *hub;   /* where repositories of the upstream are kept */
	struct cairn_workers *workers; /* read the upstream's answers, and write */
	const char *data_dir;          /* long files wait in DIR/tmp until they are in the store */
	uint64_t spool_bytes_max;      /* of them all; at least CAIRN_MIRROR_SPOOL_BYTES_MIN */
};

/** Finds the port that connecting to an upstream needs: the proxy's, if there is one. @return CAIRN_OK; CAIRN_E_USAGE
 * (mirror.url, mirror.insecure, mirror.proxy, mirror.hosts) */
CAIRN_MUST_USE enum cairn_status cairn_mirror_port(const struct cairn_mirror_options *options, uint16_t *port,
						   struct cairn_diag *diag);

/** Opens a mirror, with a thread of its own. Sends nothing to the upstream. @param options  upstream is copied, the
 * rest borrowed
 * @return as cairn_mirror_port(); CAIRN_E_USAGE the file of the rules cannot be read, or a line is none (mirror.rules);
 *         CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_mirror_open(struct cairn_mirror **out,
						   const struct cairn_mirror_options *options, struct cairn_diag *diag);

/** Ends all calls to the upstream; all that wait are told. Later ones fail at once. Once; NULL is harmless. */
void cairn_mirror_stop(struct cairn_mirror *mirror);
/** Stops a mirror if that was not done, and frees it. NULL is harmless. */
void cairn_mirror_free(struct cairn_mirror *mirror);

/** Whether the upstream answers as a hub does. Plain value. */
struct cairn_mirror_line {
	bool up;
	int64_t asked_unix_s;
	uint64_t took_ms;
	unsigned code;          /* of the upstream's answer; 0: none */
	struct cairn_diag diag; /* why it is not up */
};

/** A question about the line. The caller sets done, and leaves it alone until done() is called, once, on any thread.
 * done() must not wait. */
struct cairn_mirror_look {
	void (*done)(struct cairn_mirror_look *look);
	struct cairn_mirror_line line; /* out */
	struct cairn_mirror_look *next;
};

/** Asks whether the line is up. All who ask at the same time, or within CAIRN_MIRROR_FRESH_MS, share one request to the
 * upstream, so that nobody can make a daemon ask it often. Takes up to 5 seconds. */
void cairn_mirror_look(struct cairn_mirror *mirror, struct cairn_mirror_look *look);
enum { CAIRN_MIRROR_FRESH_MS = 5000 };

/* --- repositories and files --------------------------------------------------------------------------------------- */

enum {
	CAIRN_MIRROR_WAIT_MS = 8000,   /* a request waits no longer; clients give up after 10 s */
	CAIRN_MIRROR_REFRESH_S = 300,  /* age of a branch that is looked at again */
	CAIRN_MIRROR_UNKNOWN_S = 60,   /* the upstream is not asked again for what it does not have */
	CAIRN_MIRROR_FAILED_S = 30,    /* and for this time not after a failure */
	CAIRN_MIRROR_WRONG_S = 3600,   /* after other bytes than the tree says */
	CAIRN_MIRROR_FETCHES_MAX = 64, /* under way and waiting */
	CAIRN_MIRROR_LOOKS_MAX = 16,   /* of them, looks at once */
	CAIRN_MIRROR_FILES_MAX = 16,   /* of them, short files at once, and as many long ones */
	/* The share of one sender in these, so that nobody keeps others waiting. */
	CAIRN_MIRROR_SENDER_FETCHES_MAX = 16,
	CAIRN_MIRROR_SENDER_AT_ONCE_MAX = 8,       /* looks, as many short files, and as many long ones */
	CAIRN_MIRROR_TOKEN_BYTES = 128,            /* of a token of the upstream, with the zero */
	CAIRN_MIRROR_ADMITS_S = 3600,              /* a token that the upstream let in is not asked about again */
	CAIRN_MIRROR_ADMITS_CUT_OFF_S = 7 * 86400, /* while the upstream cannot be asked */
};
#define CAIRN_MIRROR_SHORT_BYTES_MAX  (UINT64_C(32) << 20) /* a longer file is long: it comes through the spool */
#define CAIRN_MIRROR_SHORTS_BYTES_MAX (UINT64_C(64) << 20) /* of short files at once, which are in memory */
#define CAIRN_MIRROR_SPOOL_BYTES_MIN  (UINT64_C(64) << 20)

/** Fails: what was asked for will come. @return CAIRN_E_BUSY (mirror.later) */
enum cairn_status cairn_mirror_later(struct cairn_diag *diag);

/** Something that a request lacks. The caller sets the first two groups, and leaves it alone until done() is called,
 * once, on any thread, maybe before the function returns. done() must not wait. */
struct cairn_mirror_want {
	void (*done)(struct cairn_mirror_want *want);
	uint64_t sender; /* a number of whoever asks: of the account, or the address */
	enum cairn_index_repo_kind kind;
	char name[CAIRN_INDEX_ALIAS_MAX + 1]; /* "account/name", or "name" */
	char revision[CAIRN_INDEX_REF_NAME_MAX + 1];
	/* For a file also: the repository's number, the commit, the path and the entry there, which is absent. */
	int64_t repo;
	struct cairn_git_oid commit;
	char path[CAIRN_INDEX_PATH_MAX + 1];
	struct cairn_index_entry entry;
	bool is_alone; /* its bytes are not for everybody: no other repository shares them */
	/* A token of the upstream, which is sent to nobody else. "": none. For an admission also its SHA-256. */
	char token[CAIRN_MIRROR_TOKEN_BYTES];
	uint8_t who[CAIRN_SHA256_BYTES];

	/* CAIRN_OK: look into the index again. Else diag says why not:
	 *   CAIRN_E_NOT_FOUND  the upstream has no such thing, or shows it to nobody (mirror.unknown)
	 *   CAIRN_E_DENIED     its files are for others, or too long (mirror.denied, mirror.large, mirror.elsewhere, …)
	 *   CAIRN_E_BUSY       later (mirror.later, mirror.busy, mirror.unreachable, mirror.silent, mirror.stopped)
	 *   CAIRN_E_MISMATCH   it sent other bytes than it said (mirror.wrong)
	 *   CAIRN_E_FORMAT     it does not answer as a hub does; as the index and the store */
	enum cairn_status status;
	struct cairn_diag diag;
	struct cairn_mirror_want *next; /* the mirror's, as the next one */
	int64_t asked_ms;
};

/** Looks for a revision of a repository upstream, and keeps its commit and its tree here. A name that the upstream
 * redirects becomes an alias. All who ask for the same share one look. */
void cairn_mirror_want_revision(struct cairn_mirror *mirror, struct cairn_mirror_want *want);
/** Fetches a file of a mirrored repository. It is here once its SHA-256, or its id in git, is what the tree says. A
 * want of a long file ends with CAIRN_OK once the first bytes have come: then cairn_mirror_reader_open() gives them. */
void cairn_mirror_want_file(struct cairn_mirror *mirror, struct cairn_mirror_want *want);
/** Asks the upstream whether it lets want's token read the files of a repository. CAIRN_OK: it does;
 * CAIRN_E_NOT_FOUND: it does not. */
void cairn_mirror_want_admission(struct cairn_mirror *mirror, struct cairn_mirror_want *want);
/** Did the upstream let a token in lately? @param repo  number of the repository  @param who  SHA-256 of the token
 *  @param is_cut_off  the upstream cannot be asked, so that an older answer counts */
bool cairn_mirror_admits(struct cairn_mirror *mirror, int64_t repo, const uint8_t who[static CAIRN_SHA256_BYTES],
			 bool is_cut_off);
/** Was this revision looked for lately, whatever came of it? @param[out] is_stale  the upstream could not be asked */
bool cairn_mirror_is_fresh(struct cairn_mirror *mirror, enum cairn_index_repo_kind kind, const char *name,
			   const char *revision, bool *is_stale);
/** May the upstream be asked for repositories of this namespace? Not if it is an account of this server. */
bool cairn_mirror_may_have(struct cairn_mirror *mirror, const char *account);
/** Finds where the upstream redirected a name. @param[out] target  "account/name" @return false: it is no alias */
bool cairn_mirror_alias(struct cairn_mirror *mirror, enum cairn_index_repo_kind kind, const char *name,
			char target[static CAIRN_INDEX_ALIAS_MAX + 1]);
/** Is the revision the whole id of a commit that is here? */
bool cairn_mirror_has_commit(struct cairn_mirror *mirror, int64_t repo, const char *revision);
/** A client's way through a long file that is on its way. For one thread at a time. */
struct cairn_mirror_reader;

/** Opens a reader of an absent file. Any thread; waits for nothing.
 * @param what  as for cairn_mirror_want_file(); borrowed during the call  @param[out] extent  set with CAIRN_OK and
 * CAIRN_E_LIMIT
 * @return CAIRN_OK
 *         CAIRN_E_LIMIT      the range starts past the end
 *         CAIRN_E_NOT_FOUND  the file is not on its way: it is here now, or has failed. Want it by
 *                            cairn_mirror_want_file(), or look into the index again
 *         CAIRN_E_BUSY       the spool no longer has the beginning of the range; the file will be here soon
 *                            (mirror.later)
 *         CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_mirror_reader_open(struct cairn_mirror *mirror,
							  const struct cairn_mirror_want *what,
							  const struct cairn_byte_range *range,
							  struct cairn_file_extent *extent,
							  struct cairn_mirror_reader **out, struct cairn_diag *diag);

enum cairn_mirror_read {
	CAIRN_MIRROR_READ_BYTES,   /* at least one; none: all was read */
	CAIRN_MIRROR_READ_NOT_YET, /* wake() will be called */
	CAIRN_MIRROR_READ_FAILED,  /* diag says why; only cairn_mirror_reader_free() may follow */
};

/** Reads on. On a worker, since it reads the disk: the spool, or the store once the file is here. If the range is
 * longer than 1 MiB and goes to the end of the file, its last 64 KiB come only when the whole file is proved; so nobody
 * who reads to the end has false bytes.
 * @param wake  with NOT_YET it is called once, on any thread, without a lock, maybe before this function returns. It
 *              must not wait, and must not call the reader  @param ctx  of wake() */
CAIRN_MUST_USE enum cairn_mirror_read cairn_mirror_reader_read(struct cairn_mirror_reader *r, uint8_t *out, size_t max,
							       size_t *n, void (*wake)(void *ctx), void *ctx,
							       struct cairn_diag *diag);

/** Takes back the wake() of a NOT_YET. @return false: it was called, or is being called now */
bool cairn_mirror_reader_unwake(struct cairn_mirror_reader *r);

/** Ends no fetch. Not between a NOT_YET and its wake(), unless that was taken back. NULL is harmless. */
void cairn_mirror_reader_free(struct cairn_mirror_reader *r);

/** Why fetches fail, as far as an operator can do something about it. */
enum cairn_mirror_why {
	CAIRN_MIRROR_WHY_UNREACHABLE, /* no connection, or no trust in it */
	CAIRN_MIRROR_WHY_SILENT,      /* an answer, or a part of one, did not come in time */
	CAIRN_MIRROR_WHY_BUSY,        /* the upstream said 429 or 5xx */
	CAIRN_MIRROR_WHY_WRONG,       /* other bytes than its tree says */
	CAIRN_MIRROR_WHY_OTHER,       /* it does not answer as a hub does; or the index or the store failed here */
	CAIRN_MIRROR_WHYS,
};

/** Counts since the mirror was opened. Plain value. */
struct cairn_mirror_stats {
	bool up;                /* the last call that ended had an answer; also before the first one */
	uint64_t fetched_bytes; /* of the bodies of all answers */
	uint64_t n_failures[CAIRN_MIRROR_WHYS];
};
void cairn_mirror_stats(const struct cairn_mirror *mirror, struct cairn_mirror_stats *out);

/** "models" and the like, as in the addresses of a hub's interface. @return NULL: no hub has repositories of this kind
 */
const char *cairn_mirror_type(enum cairn_index_repo_kind kind);

/** The upstream's address, without a slash at the end. Lives as long as the mirror. */
const char *cairn_mirror_upstream(const struct cairn_mirror *mirror);

#endif
