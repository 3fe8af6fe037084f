/* Pull requests of git-like repositories: the branch to merge into, who opened it, and how it ended. Their commits are
 * those of a ref (CAIRN_INDEX_PULL, history.h), which is made, committed to and ended there, in the same
 * transaction. */
#ifndef CAIRN_INDEX_PULLS_H
#define CAIRN_INDEX_PULLS_H

#include "index/hub/history.h"

enum cairn_index_pull_state {
	CAIRN_INDEX_PULL_OPEN,
	CAIRN_INDEX_PULL_CLOSED,
	CAIRN_INDEX_PULL_MERGED,
};

/** A pull request. Plain value, except for texts that are borrowed during a visit. */
struct cairn_index_pull {
	int64_t number;
	enum cairn_index_pull_state state;
	char base[CAIRN_INDEX_REF_NAME_MAX + 1]; /* the branch to merge into */
	int64_t start;                           /* id of the commit at which it was forked from that branch */
	int64_t account;                         /* account that opened it; 0: an operator, or unknown */
	int64_t at_unix_s;
	char author[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1]; /* name of the account when it opened the pull request */
	char title[CAIRN_INDEX_TITLE_MAX + 1];
	const char *message;  /* borrowed during the visit, as is comment */
	int64_t ended_unix_s; /* 0: it is open */
	char ended_by[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1];
	const char *comment;         /* of the person who ended it */
	bool is_merged;              /* it was merged, and `merged` is known */
	struct cairn_git_oid merged; /* the commit of the branch that merged it */
};

/** Receives a pull request; must not call the index. */
typedef void cairn_index_visit_pull(void *ctx, const struct cairn_index_pull *pull);

/** Visits the pull request with this number. @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_find_pull(struct cairn_index *ix, int64_t repo, int64_t number,
						       cairn_index_visit_pull *visit, void *ctx);

/** Selects the pull requests to list. */
struct cairn_index_pull_list {
	bool is_open, is_ended; /* both: all */
	const char *author;     /* NULL: any author */
	uint32_t skip, limit;
};
/** Visits a page of the list, the newest first. @param[out] n  number of pull requests on all pages
 *  @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_pull(struct cairn_index *ix, int64_t repo,
						       const struct cairn_index_pull_list *list,
						       cairn_index_visit_pull *visit, void *ctx, uint32_t *n);

#endif
