/* Finds the commit that a revision names. Callers found the repository with the access that a call needs. */
#ifndef CAIRN_HUB_REVISION_H
#define CAIRN_HUB_REVISION_H

#include "hub/repo.h"
#include "index/hub/history.h"

/** The branch that each repository has. */
#define CAIRN_HUB_MAIN "main"

enum { CAIRN_HUB_REVISION_MAX = 270 }; /* bytes of a revision, such as "refs/heads/" and the name of a ref */

/** The ref that a revision names: "x" and "refs/heads/x" name the branch x, "refs/pr/3" a pull request, "refs/tags/v1"
 * a tag, "HEAD" the branch main. Pure. */
struct cairn_hub_ref_name {
	enum cairn_index_ref_kind kind;
	const char *name; /* points into the revision */
	bool sure;        /* the revision cannot name anything else, such as a tag or a commit */
};
void cairn_hub_ref_name(const char *revision, struct cairn_hub_ref_name *out);

/** May a branch or a tag have this name? By git's rules it has, among others, no control character, space, "~^:?*[\",
 * "..", "@{", "//", no slash or dot at an end, no leading "-", and no part that begins with a dot or ends with
 * ".lock". "@", "HEAD", "refs/…", 40 digits of a commit, and long names are refused, too. Pure. */
bool cairn_hub_ref_is_good(const char *name);

/** Splits the raw end of an address, "feat%2Fx/a%20b/c", after n_segments segments, and decodes both parts. Pure.
 * @param[out] revision, path  path is "" if nothing is left
 * @return false: fewer segments, a part does not fit, or an escape is incomplete */
bool cairn_hub_split_revision(const char *raw, unsigned n_segments, char revision[static CAIRN_HUB_REVISION_MAX + 1],
			      char path[static CAIRN_INDEX_PATH_MAX + 1]);

/** Finds the commit of a branch, a tag or a pull request, like cairn_hub_find_revision(), but not by a commit's id. */
CAIRN_MUST_USE enum cairn_status cairn_hub_find_ref(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
						    const char *revision, struct cairn_index_commit *out,
						    struct cairn_diag *diag);

/** Finds the commit of a revision: a branch, a tag, a commit's id or at least 4 digits of it, "HEAD", "refs/heads/x",
 * "refs/tags/x", "refs/pr/N". Only an asker who may write finds a commit that no branch, tag or pull request reaches.
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND (revision.unknown); as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_find_revision(const struct cairn_hub *hub,
							 const struct cairn_hub_asker *asker,
							 const struct cairn_index_repo *repo, const char *revision,
							 struct cairn_index_commit *out, struct cairn_diag *diag);

/** Finds revision and path in the raw end of an address, "feat/x/a/b": the longest start that is a known revision
 * counts.
 * @param[out] path  CAIRN_INDEX_PATH_MAX + 1 bytes; "" for the top folder
 * @return as cairn_hub_find_revision(); CAIRN_E_FORMAT an escape is broken, or a part is too long (revision.text) */
CAIRN_MUST_USE enum cairn_status cairn_hub_find_place(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
						      const struct cairn_index_repo *repo, const char *raw,
						      struct cairn_index_commit *out,
						      char path[static CAIRN_INDEX_PATH_MAX + 1],
						      struct cairn_diag *diag);

/** Visits all refs; visit() must not call the index. @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_each_ref(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
						    bool (*visit)(void *ctx, const struct cairn_index_ref_row *ref),
						    void *ctx);

/** Makes a branch or a tag at a revision (NULL: main). Waits for the index's writer.
 * @param empty      make a branch without files, and ignore start
 * @param overwrite  move an existing branch
 * @return CAIRN_OK; CAIRN_E_USAGE the name is not valid (ref.name); CAIRN_E_CONFLICT the ref exists (ref.known);
 *         CAIRN_E_NOT_FOUND (repo.unknown, revision.unknown); as a write */
struct cairn_hub_new_ref {
	enum cairn_index_ref_kind kind; /* CAIRN_INDEX_BRANCH or CAIRN_INDEX_TAG */
	const char *name;
	const char *start;
	bool empty, overwrite;
};
CAIRN_MUST_USE enum cairn_status cairn_hub_add_ref(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
						   const struct cairn_index_repo *repo,
						   const struct cairn_hub_new_ref *ref, struct cairn_diag *diag);

/** Replaces the history of a branch or a pull request ("refs/pr/N") by one commit without a parent, with the same
 * files. Waits for the index's writer.
 * @param title  title of that commit
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND (revision.unknown, repo.unknown); CAIRN_E_CONFLICT (pr.ended); CAIRN_E_LIMIT
 *         (commit.rows, commit.limit); as a write */
CAIRN_MUST_USE enum cairn_status cairn_hub_squash(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
						  const struct cairn_index_repo *repo, const char *revision,
						  const char *title, struct cairn_diag *diag);

/** Removes a branch (any but main) or a tag. Waits for the index's writer. @return CAIRN_OK; CAIRN_E_NOT_FOUND
 * (revision.unknown, repo.unknown); CAIRN_E_DENIED (ref.main); as a write */
CAIRN_MUST_USE enum cairn_status cairn_hub_drop_ref(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
						    enum cairn_index_ref_kind kind, const char *name,
						    struct cairn_diag *diag);

#endif
