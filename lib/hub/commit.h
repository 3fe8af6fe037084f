/* Parses commit requests (lines of JSON) and commits them. Callers found the repository with CAIRN_HUB_WRITE. */
#ifndef CAIRN_HUB_COMMIT_H
#define CAIRN_HUB_COMMIT_H

#include "hub/repo.h"
#include "index/hub/history.h"

/** The content of one commit request. Zeroed is empty. */
struct cairn_hub_commit {
	const char *title, *message, *parent; /* from the header; parent NULL: any */
	bool has_id;
	bool is_stranger;        /* the asker is a stranger (stranger.h); set by the caller */
	struct cairn_git_oid id; /* from the header, if has_id: the id that the commit has elsewhere and keeps */
	uint32_t n;
	struct cairn_index_operation *operations; /* owned: n operations */
	struct cairn_hub_commit_part *parts;      /* owned: the memory that all members borrow */
};

/** Reads lines of {"key":K,"value":{…}}: "header" first (summary, description, parentCommit, commitId), then "file"
 * (path, content, encoding: "base64" or "utf-8"), "lfsFile" (path, algo, oid, size), "deletedFile", "deletedFolder"
 * (path, which may end with a slash). Skips unknown members and empty lines. A "file" whose content is an LFS pointer
 * stands for the file that the pointer names. Pure.
 * @param[out] out  empty unless CAIRN_OK; does not borrow from text
 * @return CAIRN_OK; CAIRN_E_FORMAT (commit.line, commit.header, commit.name, commit.content, commit.sha256_text,
 *         commit.id_text); CAIRN_E_LIMIT (commit.lines; commit.inline: more than CAIRN_INDEX_INLINE_MAX bytes);
 *         CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_hub_commit_read(struct cairn_hub_commit *out, const char *text, size_t len,
						       struct cairn_diag *diag);
void cairn_hub_commit_fini(struct cairn_hub_commit *commit);

/** Checks whether the asker may choose the id of a commit. @return CAIRN_OK; CAIRN_E_DENIED (commit.id) */
CAIRN_MUST_USE enum cairn_status cairn_hub_may_name(const struct cairn_hub_asker *asker,
						    const struct cairn_hub_commit *commit, struct cairn_diag *diag);

/** Commits to a branch, or to a pull request ("refs/pr/N"). Waits for the index's writer.
 * @param[out] oid    id of the new commit, or of the head if the commit changes nothing
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND (repo.unknown; revision.unknown: no such branch; entry.unknown: a path to delete
 *         does not exist); CAIRN_E_CONFLICT (commit.parent: 412 for clients; commit.sha256, commit.path, commit.known:
 *         400); CAIRN_E_DENIED only an operator may choose the id (commit.id), and as cairn_hub_check_proposal();
 *         CAIRN_E_LIMIT (commit.rows, commit.names, commit.depth, commit.limit); as a write */
CAIRN_MUST_USE enum cairn_status cairn_hub_commit(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
						  const struct cairn_index_repo *repo, const char *revision,
						  const struct cairn_hub_commit *commit, struct cairn_git_oid *oid,
						  struct cairn_diag *diag);

/** Visits a commit and those before it, newest first, a page at a time. There are from->number of them in all.
 * @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_each_commit(
	const struct cairn_hub *hub, const struct cairn_index_commit *from, uint64_t skip, uint32_t limit,
	void (*visit)(void *ctx, const struct cairn_index_commit *commit, const char *message), void *ctx);

#endif
