/* Lists mirrored repositories, and stores the operator's settings for each: fetch it ahead of requests, never evict
 * it. */
#ifndef CAIRN_INDEX_HUB_MIRROR_LIST_H
#define CAIRN_INDEX_HUB_MIRROR_LIST_H

#include "index/hub/mirror_state.h"

enum { CAIRN_INDEX_INCLUDE_MAX = 1024 }; /* bytes of a repository's patterns */

/** The interval of a repository that is fetched ahead of requests only once: a hundred years. */
#define CAIRN_INDEX_AHEAD_ONCE_S INT64_C(3155760000)

/** The operator's settings for a mirrored repository. Plain value; zeroed: none. */
struct cairn_index_ahead {
	int64_t every_s; /* interval of fetches; CAIRN_INDEX_AHEAD_ONCE_S: fetch once; 0: fetch only on request */
	bool keeps;      /* its files are never evicted */
	/* patterns of paths, a line each; may begin with a line of "@" and a revision */
	char include[CAIRN_INDEX_INCLUDE_MAX + 1];
};

enum {
	CAIRN_INDEX_AHEAD_RULE_BYTES = 64,
	CAIRN_INDEX_AHEAD_MESSAGE_BYTES = 1024,
};

/** How fetching a repository ahead of requests has come, for all daemons that share the index. Plain value. */
struct cairn_index_fetched {
	int64_t asked;     /* grows each time the settings are set */
	int64_t at_unix_s; /* when the last round ended that fetched all available files; 0: none did with these
			      settings */
	bool is_going;     /* a round is under way, or was when its daemon died */
	uint64_t n_failed; /* files of the last round; a failed look-up counts as one */
	char rule[CAIRN_INDEX_AHEAD_RULE_BYTES]; /* reason of the last failure; "": none */
	char message[CAIRN_INDEX_AHEAD_MESSAGE_BYTES];
};

/** A mirrored repository. Plain value. */
struct cairn_index_mirrored {
	struct cairn_index_repo repo;
	enum cairn_index_mirror_state state;
	int64_t looked_unix_s; /* as in cairn_index_mirror_state() */
	uint64_t stored_bytes; /* as quotas count it: all revisions, and parts of files */
	int64_t used_day;      /* day since 1970 on which a file of the store was read last; 0: none is here */
	struct cairn_index_ahead ahead;
	struct cairn_index_fetched fetched;
};

/** Finds a mirrored repository by its number. @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_mirrored(struct cairn_index *ix, int64_t repo,
						      struct cairn_index_mirrored *out);
/** Visits mirrored repositories with a state, in the order in which they were made, a page at a time.
 * @param ahead_only  skips repositories that are not fetched ahead of requests
 * @return as cairn_index_each_xorb() (operate.h) */
CAIRN_MUST_USE enum cairn_status cairn_index_each_mirrored(
	struct cairn_index *ix, int64_t from_id, bool ahead_only, uint32_t limit,
	void (*visit)(void *ctx, const struct cairn_index_mirrored *mirrored), void *ctx, int64_t *next_id);

/** The choice and the order of cairn_index_each_top(). */
enum cairn_index_top {
	CAIRN_INDEX_TOP_LARGEST, /* those that hold most bytes, the largest first */
	CAIRN_INDEX_TOP_OLDEST,  /* those with files in the store, the least recently read first */
};
/** Visits a few mirrored repositories in the order of an index. Reads only these, however many there are.
 * @param limit  at most CAIRN_INDEX_PAGE_MAX (operate.h)  @param visit  must not call the index
 * @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_top(struct cairn_index *ix, enum cairn_index_top top, uint32_t limit,
						      void (*visit)(void *ctx,
								    const struct cairn_index_mirrored *mirrored),
						      void *ctx);

/** Replaces the operator's settings for a mirrored repository. It is then to be fetched anew. CAIRN_E_NOT_FOUND: no
 * repository with this number has a state (repo.unknown); CAIRN_E_CONFLICT: as many others as n_max are fetched ahead
 * of requests (mirror.ahead). */
struct cairn_index_set_ahead {
	struct cairn_index_write write;
	int64_t repo;
	struct cairn_index_ahead ahead;
	uint32_t n_max; /* 0: no limit */
};
CAIRN_MUST_USE enum cairn_status cairn_index_set_ahead(struct cairn_index *ix, struct cairn_index_set_ahead *set);

/** Records how fetching a repository ahead of requests has come. If it was to be fetched once, a round that fetched all
 * available files ends that. Records nothing if the settings have changed since. */
struct cairn_index_note_ahead {
	struct cairn_index_write write;
	int64_t repo;
	struct cairn_index_fetched now; /* asked: as it was read; at_unix_s 0: unchanged; texts in UTF-8 */
	bool is_current;                /* result; false: the settings have changed, or the repository is gone */
};
CAIRN_MUST_USE enum cairn_status cairn_index_note_ahead(struct cairn_index *ix, struct cairn_index_note_ahead *note);

#endif
