/* Finds, removes and refreshes mirrored repositories, for operators. Mirrored repositories stay when the setting mirror
 * is removed, so these functions take the hub, and a mirror that may be NULL. */
#ifndef CAIRN_MIRROR_OPERATE_H
#define CAIRN_MIRROR_OPERATE_H

#include "index/hub/mirror_list.h"
#include "index/operate.h"
#include "mirror/mirror.h"

/** Finds a mirrored repository. @param[out] head  newest commit of main; id 0: main has none
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND no mirrored repository has this name (repo.unknown); as index */
CAIRN_MUST_USE enum cairn_status cairn_mirror_find_repo(const struct cairn_hub *hub, enum cairn_index_repo_kind kind,
							const char *account, const char *name,
							struct cairn_index_repo *repo, struct cairn_index_commit *head,
							struct cairn_diag *diag);

/** Copies the next pattern of a text that has one per line. Pure. @param[in,out] at  moves past the pattern @return
 * false: none is left */
bool cairn_mirror_next_pattern(const char **at, char out[static CAIRN_INDEX_INCLUDE_MAX + 1]);

/** Does a path match one of the patterns? @param patterns  one per line, with "*" and "?" for any characters, also for
 * slashes; "": every path matches. Pure. */
bool cairn_mirror_fits(const char *patterns, const char *path);

/** Counts files of a commit. Reads an entry for each: at most 50,000, in some 0.1 s.
 * @param mirror  NULL: none  @param patterns  as for cairn_mirror_fits()
 * @return as cairn_index_each_entry() */
CAIRN_MUST_USE enum cairn_status cairn_mirror_count(const struct cairn_hub *hub, struct cairn_mirror *mirror,
						    int64_t repo, const struct cairn_index_commit *commit,
						    const char *patterns, struct cairn_mirror_counts *out);

enum cairn_mirror_file_state {
	CAIRN_MIRROR_FILE_HERE,
	CAIRN_MIRROR_FILE_COMING, /* it is being fetched, or waits for its turn */
	CAIRN_MIRROR_FILE_FAILED, /* not fetched again before until_unix_s */
	CAIRN_MIRROR_FILE_PART,   /* its first bytes were fetched, as parts */
	CAIRN_MIRROR_FILE_ABSENT,
};
/** The state of a file. Plain value. */
struct cairn_mirror_file {
	uint64_t size_bytes, here_bytes; /* here_bytes: bytes fetched from its beginning on */
	enum cairn_mirror_file_state state;
	struct cairn_diag diag; /* why it failed */
	int64_t until_unix_s;
};
/** Visits a page of the files of a commit, by the bytes of the folders and then of the names.
 * @param after  the last path of the page before; "" at the beginning  @param limit  at most CAIRN_INDEX_PAGE_MAX
 * @param[out] more  there are further files  @return CAIRN_E_NOMEM; as cairn_index_each_entry() */
CAIRN_MUST_USE enum cairn_status cairn_mirror_each_file(
	const struct cairn_hub *hub, struct cairn_mirror *mirror, int64_t repo, const struct cairn_index_commit *commit,
	const char *after, uint32_t limit,
	void (*visit)(void *ctx, const char *path, const struct cairn_mirror_file *file), void *ctx, bool *more);

/** Finds a mirrored repository with its data for operators. @return as cairn_mirror_find_repo() */
CAIRN_MUST_USE enum cairn_status cairn_mirror_find(const struct cairn_hub *hub, enum cairn_index_repo_kind kind,
						   const char *account, const char *name,
						   struct cairn_index_mirrored *out, struct cairn_index_commit *head,
						   struct cairn_diag *diag);
/** Visits all mirrored repositories, a page at a time. @return as cairn_index_each_mirrored() */
CAIRN_MUST_USE enum cairn_status cairn_mirror_each_repo(const struct cairn_hub *hub, int64_t from_id, uint32_t limit,
							void (*visit)(void *ctx,
								      const struct cairn_index_mirrored *mirrored),
							void *ctx, int64_t *next_id);

enum { CAIRN_MIRROR_AHEAD_MAX = 1024 }; /* repositories that are fetched ahead of requests, and again */

/** Stores the operator's settings for a mirrored repository. A daemon of those that share the index then fetches
 * it ahead of requests: its files come after those that clients wait for. Waits for the index's writer.
 * @return as cairn_index_set_ahead(); CAIRN_E_CONFLICT there are CAIRN_MIRROR_AHEAD_MAX (mirror.ahead) */
CAIRN_MUST_USE enum cairn_status cairn_mirror_set_ahead(struct cairn_mirror *mirror, int64_t repo,
							const struct cairn_index_ahead *ahead, struct cairn_diag *diag);

/** The state of a repository that is fetched ahead of requests. Plain value. */
struct cairn_mirror_ahead {
	bool is_running;
	bool is_over;      /* the fetch has ended: it got all available files */
	uint64_t n_failed; /* files of the last round; a failed look-up counts as one */
	/* reason of the last failure; "": none */
	char rule[CAIRN_INDEX_AHEAD_RULE_BYTES], message[CAIRN_INDEX_AHEAD_MESSAGE_BYTES];
};
/** Finds the state of a repository. All daemons that share the index find the same; but the one that fetches it finds
 * failures of its first round at once. @param mirror  NULL: none  @param row  as it was just read */
void cairn_mirror_ahead_state(struct cairn_mirror *mirror, const struct cairn_index_mirrored *row,
			      struct cairn_mirror_ahead *out);
/** Returns the revision to fetch: that of the first line, if it begins with "@", else main. Pure. */
void cairn_mirror_ahead_revision(const char *include, char out[static CAIRN_INDEX_REF_NAME_MAX + 1]);
/** Returns the patterns after the revision. Pure. */
const char *cairn_mirror_ahead_patterns(const char *include);
/** Finds the commit of the revision to fetch. @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_mirror_find_wanted(const struct cairn_hub *hub,
							  const struct cairn_index_mirrored *m,
							  struct cairn_index_commit *out);
/** Has the rule of a repository a token? Without one, files of a private or gated repository are not fetched ahead of
 * requests. */
bool cairn_mirror_has_token(struct cairn_mirror *mirror, enum cairn_index_repo_kind kind, const char *name);

enum { CAIRN_MIRROR_REMOVES_MAX = 256 }; /* repositories that one call removes */

/** Removes a mirrored repository and the aliases that lead to it. A later collection frees its bytes. If the repository
 * is requested, it is fetched again. On a worker.
 * @param mirror  NULL: none
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND no mirrored repository has this name (repo.unknown); as index */
CAIRN_MUST_USE enum cairn_status cairn_mirror_remove_repo(const struct cairn_hub *hub, struct cairn_mirror *mirror,
							  enum cairn_index_repo_kind kind, const char *account,
							  const char *name, struct cairn_diag *diag);

/** Removes up to CAIRN_MIRROR_REMOVES_MAX repositories of a mirrored namespace. After the last one, the name is free
 * for an account of this server. On a worker.
 * @param mirror  NULL: none @param[out] n  number of repositories removed
 * @param[out] more  the namespace has more: call again
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND there is no such namespace (account.unknown); CAIRN_E_CONFLICT a repository was
 *         added meanwhile (account.in_use); as index */
CAIRN_MUST_USE enum cairn_status cairn_mirror_remove_namespace(const struct cairn_hub *hub, struct cairn_mirror *mirror,
							       const char *account, unsigned *n, bool *more,
							       struct cairn_diag *diag);

/** Does what cairn_mirror_want_revision() does, even if the revision was looked up lately. */
void cairn_mirror_look_again(struct cairn_mirror *mirror, struct cairn_mirror_want *want);

#endif
