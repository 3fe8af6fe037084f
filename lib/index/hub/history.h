/* Git-like repositories of a hub: lines of commits, refs (branches, tags, pull requests), and files of each commit. */
#ifndef CAIRN_INDEX_HUB_HISTORY_H
#define CAIRN_INDEX_HUB_HISTORY_H

#include "hash/git_object.h"
#include "index/hub/hub.h"

/* Limits for pull requests of strangers. */
enum {
	CAIRN_INDEX_STRANGERS_OPEN_MAX = 100, /* open pull requests of a repository */
	CAIRN_INDEX_STRANGER_OPEN_MAX = 10,   /* open pull requests of an account in a repository */
	CAIRN_INDEX_STRANGER_PULLS_MAX = 200, /* pull requests of an account in all, unless merged */
	/* bytes of one pull request: its texts and rows, as quotas count them */
	CAIRN_INDEX_STRANGER_BYTES_MAX = 16 << 20,
	CAIRN_INDEX_STRANGER_OPERATIONS_MAX = 1000, /* operations of one commit */
	CAIRN_INDEX_STRANGER_ROWS_MAX =
		10000, /* files that one commit may change, or rows that its deletions may read */
};

enum {
	CAIRN_INDEX_COMMIT_DIGITS_MIN = 4,      /* fewest digits of a commit's id that name it */
	CAIRN_INDEX_REF_NAME_MAX = 255,         /* bytes of a branch's or a tag's name */
	CAIRN_INDEX_TITLE_MAX = 1024,           /* bytes of a commit's title */
	CAIRN_INDEX_MESSAGE_MAX = 65536,        /* bytes of the rest of its message */
	CAIRN_INDEX_INLINE_MAX = 65536,         /* bytes of a file that is kept in the index */
	CAIRN_INDEX_OPERATIONS_MAX = 50000,     /* operations of one commit */
	CAIRN_INDEX_OPERATIONS_AT_ONCE = 10000, /* operations of a commit that is made in one transaction, or files that
						   it deletes with their folders */
	CAIRN_INDEX_COMMIT_ROWS_MAX = 200000,   /* files that one commit may change, with those of deleted folders */
	CAIRN_INDEX_COMMIT_FOLDERS_MAX = 100000, /* folders in which, or above which, one commit may change something */
	CAIRN_INDEX_COMMIT_SCAN_MAX = 300000, /* rows that deletions of one commit may read before the last deletion */
	CAIRN_INDEX_NAMES_MAX = 100000,       /* entries of one folder */
	CAIRN_INDEX_PATH_DEPTH_MAX = 64,      /* names between the slashes of a path */
	CAIRN_INDEX_LINE_DEPTH_MAX = 8,       /* lines that one lookup may read */
	/* rows that a branch from the deepest line may copy; copying blocks the writer */
	CAIRN_INDEX_FORK_ROWS_MAX = 20000,
};

/* --- commits and what names them ---------------------------------------------------------------------------------- */

/** A commit. Plain value. In cairn_index_each_commit() the message comes without the title. */
struct cairn_index_commit {
	int64_t id; /* ids rise, and are never reused */
	int64_t repo, line;
	int64_t parent;  /* id of the commit before; 0: this is the first */
	uint64_t number; /* number of commits up to and including this one */
	struct cairn_git_oid oid, root;
	int64_t at_unix_s;
	uint64_t n_files, bytes;                       /* as of this commit */
	char author[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1]; /* name of the account when it made the commit */
	char title[CAIRN_INDEX_TITLE_MAX + 1];
};

enum cairn_index_ref_kind {
	CAIRN_INDEX_BRANCH = 1,
	CAIRN_INDEX_TAG = 2,
	CAIRN_INDEX_PULL = 3, /* refs/pr/N: the name is the number */
};

/** Returns the commit that a branch, tag or pull request names. @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_ref(struct cairn_index *ix, int64_t repo, enum cairn_index_ref_kind kind,
						 const char *name, struct cairn_index_commit *out);

/** A name of a commit. Borrowed for the time of the call. */
struct cairn_index_ref_row {
	enum cairn_index_ref_kind kind;
	const char *name;
	struct cairn_git_oid commit;
	bool ended; /* a pull request that accepts no more commits */
};

/** Visits the refs of a repository by kinds and then by the bytes of their names.
 * @param visit  must not call the index; returns false to stop
 * @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_ref(struct cairn_index *ix, int64_t repo,
						      bool (*visit)(void *ctx, const struct cairn_index_ref_row *ref),
						      void *ctx);

/** The commits of a repository that a lookup by id may find. */
enum cairn_index_commits {
	CAIRN_INDEX_REACHED,     /* commits that a branch, a tag or a pull request reaches */
	CAIRN_INDEX_ALL_COMMITS, /* also commits that the next collection will remove */
};

/** Returns the commit whose id has this prefix. @param prefix  4 to 40 lower-case digits
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND none may be found, or several have this prefix; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_find_commit(struct cairn_index *ix, int64_t repo, const char *prefix,
							 enum cairn_index_commits among,
							 struct cairn_index_commit *out);
/** Returns the commit with this id in the index. @return as cairn_index_find_commit() */
CAIRN_MUST_USE enum cairn_status cairn_index_commit_by_id(struct cairn_index *ix, int64_t id,
							  struct cairn_index_commit *out);

/** Visits commits from this one back to the first. @param skip  number of commits to skip at the start; takes no time
 * @param visit  must not call the index; message is borrowed, "" if there is none; returns false to stop
 * @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_commit(
	struct cairn_index *ix, const struct cairn_index_commit *from, uint64_t skip,
	bool (*visit)(void *ctx, const struct cairn_index_commit *commit, const char *message), void *ctx);

/* --- files at a commit -------------------------------------------------------------------------------------------- */

enum cairn_index_entry_kind {
	CAIRN_INDEX_FOLDER = 1,
	CAIRN_INDEX_INLINE = 2, /* kept in the index; read with cairn_index_inline() */
	CAIRN_INDEX_XET = 3,    /* a file of the store; git has a pointer to it */
	CAIRN_INDEX_PLAIN = 4,  /* a file of the store; git has the file itself. Only in a mirrored repository */
};

/** A file or a folder at a commit. */
struct cairn_index_entry {
	const char *folder, *name; /* set only during a visit, else NULL; the top folder is "" */
	enum cairn_index_entry_kind kind;
	struct cairn_git_oid oid; /* of its blob or tree; of CAIRN_INDEX_XET: of the pointer */
	int64_t commit;           /* id of the commit that changed it last */
	int64_t content;          /* of a file; 0: a folder */
	uint64_t size_bytes;      /* of a file; 0: a folder */
	/* The content has no bytes: in a mirrored repository not fetched yet, elsewhere deleted for good. */
	bool is_absent;
	bool has_file; /* of CAIRN_INDEX_PLAIN true; of CAIRN_INDEX_XET false: the bytes are absent, or do not have this
			  sha256 */
	struct cairn_hash file;
	uint8_t sha256[CAIRN_SHA256_BYTES]; /* of CAIRN_INDEX_XET: the SHA-256 that the owner claims */
	/* of CAIRN_INDEX_XET: whether the claim is true; CAIRN_INDEX_FALSE: no file has this SHA-256 */
	enum cairn_index_belief belief;
};

/** Returns the file or folder at a path of a commit. @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_entry(struct cairn_index *ix, const struct cairn_index_commit *commit,
						   const char *path, struct cairn_index_entry *out);

/** Selects the entries to visit. */
struct cairn_index_listing {
	const char *folder; /* "": the top folder; a missing folder has no entries */
	bool recursive;     /* also visit its subfolders, one after the other */
	const char *after;  /* the last path visited; "" at the beginning */
};

/** Visits entries at a commit, by the bytes of the folders and then of the names. The visit occupies a reader of the
 * index, so visit() must not call it. @param visit  returns false to stop
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND the commit is gone; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_entry(struct cairn_index *ix, const struct cairn_index_commit *commit,
							const struct cairn_index_listing *listing,
							bool (*visit)(void *ctx, const struct cairn_index_entry *entry),
							void *ctx);

/** Reads the bytes of an inline file. @param[out] out  CAIRN_INDEX_INLINE_MAX bytes of room
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_inline(struct cairn_index *ix, int64_t content, uint8_t *out, size_t *len);

/* --- writing ------------------------------------------------------------------------------------------------------ */

enum cairn_index_operation_kind {
	CAIRN_INDEX_PUT_INLINE,
	CAIRN_INDEX_PUT_FILE,      /* by the SHA-256 under which it was uploaded to the repository */
	CAIRN_INDEX_PUT_ABSENT,    /* a file of a mirrored repository whose bytes are fetched later */
	CAIRN_INDEX_DELETE,        /* a file, or a folder with its contents */
	CAIRN_INDEX_DELETE_FOLDER, /* a folder with its contents, but no file */
};

/** An operation of a commit. */
struct cairn_index_operation {
	enum cairn_index_operation_kind kind;
	const char *path;         /* valid, as lib/hub checks. All pointers here are borrowed */
	const uint8_t *bytes;     /* of PUT_INLINE: the file; not an LFS pointer */
	size_t len;               /* at most CAIRN_INDEX_INLINE_MAX */
	struct cairn_git_oid oid; /* of PUT_INLINE: id of the blob; also of PUT_ABSENT, unless it has a pointer */
	uint8_t sha256[CAIRN_SHA256_BYTES]; /* of PUT_FILE; of PUT_ABSENT if it has a pointer */
	bool has_pointer;                   /* of PUT_ABSENT: git has a pointer to the file */
	uint64_t size_bytes;                /* of PUT_ABSENT: length of the file */
};

/** A pull request that a commit of a branch merges and ends, in the same transaction. All pointers are borrowed. */
struct cairn_index_merge {
	const char *pull; /* the pull request's name; NULL: none */
	const char *head; /* prefix that the id of its head must have */
};

/** Changes files of a branch or a pull request: applies all operations in order, or none. If nothing changes, no commit
 * is made.
 *   CAIRN_E_NOT_FOUND  repo.unknown, revision.unknown; entry.unknown ("A file with this name doesn't exist")
 *   CAIRN_E_CONFLICT   commit.parent: "The branch was updated since you opened this page. Please refresh and try
 *                      again."; commit.sha256: no file of that SHA-256 was uploaded to the repository; commit.path: a
 *                      file where a folder is needed, or the other way round; commit.known: another commit of the
 *                      repository has that id; pr.ended: the pull request takes no more
 *   CAIRN_E_LIMIT      commit.limit, commit.rows, commit.names, commit.depth
 *   CAIRN_E_DENIED     quota.repo, quota.account: the repository would hold too much */
struct cairn_index_add_commit {
	struct cairn_index_write write;
	int64_t repo;
	enum cairn_index_ref_kind kind; /* CAIRN_INDEX_BRANCH or CAIRN_INDEX_PULL */
	const char *ref;                /* its name; borrowed */
	const char *parent;             /* prefix that the id of the head must have; NULL: any */
	const struct cairn_git_oid
		*id; /* the id that the commit has elsewhere and keeps; borrowed. NULL: computed as git does */
	struct cairn_index_message message;
	const struct cairn_index_operation *operations; /* borrowed */
	uint32_t n;                                     /* at most CAIRN_INDEX_OPERATIONS_MAX */
	bool ends; /* of a pull request: accept no more commits; message says who ends it, with their comment */
	const char *merged; /* if it ends: id of the commit that merged it; borrowed. NULL: it is closed */
	/* of a branch: the pull request that the commit merges; the errors are as above */
	struct cairn_index_merge merge;
	/* The account of the stranger who opened the pull request and may not write in the repository. The bytes that
	 * the commit adds count for this account, at full size, until the pull request is merged or squashed. May fail
	 * with CAIRN_E_DENIED (quota.account) or CAIRN_E_LIMIT (pr.full). 0: the bytes count for the repository. */
	int64_t stranger;
	struct cairn_git_oid oid; /* result: id of the new commit, or of the head if nothing changed */
	bool added;               /* result: a commit was made */
};
CAIRN_MUST_USE enum cairn_status cairn_index_add_commit(struct cairn_index *ix, struct cairn_index_add_commit *commit);

/** Gives bytes to an absent content of a mirrored repository. The caller has compared them with the length and id in
 * the tree. Does nothing if the content has bytes. CAIRN_E_NOT_FOUND: the content is gone, has another length, or the
 * repository has no file with the SHA-256 (content.unknown). */
struct cairn_index_fill_content {
	struct cairn_index_write write;
	int64_t repo, content;
	const uint8_t *bytes;               /* bytes to keep in the index; borrowed. NULL: the file is in the store */
	size_t len;                         /* at most CAIRN_INDEX_INLINE_MAX */
	uint8_t sha256[CAIRN_SHA256_BYTES]; /* of a file in the store */
};
CAIRN_MUST_USE enum cairn_status cairn_index_fill_content(struct cairn_index *ix,
							  struct cairn_index_fill_content *fill);

/** Makes a branch, a tag or a pull request. CAIRN_E_CONFLICT: the name exists (ref.known: "Reference refs/heads/X
 * already exists"); CAIRN_E_USAGE (ref.nested): this name and an existing one are a path and its folder, as "a/b" and
 * "a"; CAIRN_E_NOT_FOUND: repo.unknown; revision.unknown, the commit is gone; CAIRN_E_LIMIT: ref.depth, the new branch
 * starts from a branch as deep as lookups go, and would copy more than CAIRN_INDEX_FORK_ROWS_MAX rows. */
struct cairn_index_add_ref {
	struct cairn_index_write write;
	int64_t repo;
	enum cairn_index_ref_kind kind;
	const char *name; /* borrowed; of CAIRN_INDEX_PULL NULL: use the next number */
	int64_t commit;   /* the commit to name; 0: make a branch without files, with a first commit of its own */
	bool overwrite;   /* move an existing branch to that commit */
	/* message of the first commit; of CAIRN_INDEX_PULL also title and text of the pull request */
	struct cairn_index_message first;
	/* The other members are for CAIRN_INDEX_PULL. */
	const char *base; /* the branch to merge into; borrowed */
	int64_t account;  /* account that opens it; 0: an operator */
	bool is_stranger; /* the account is a stranger (cairn_index_add_commit.stranger). CAIRN_E_DENIED (pr.many);
			     CAIRN_E_LIMIT (ref.depth): as above */
	/* Operations of its first commit, with errors of cairn_index_add_commit(). Both become visible at once. */
	const struct cairn_index_operation *operations; /* borrowed */
	uint32_t n;                                     /* 0: the pull request has no commit of its own yet */
	const struct cairn_git_oid *id;                 /* id of that commit; borrowed. NULL: computed as git does */
	int64_t number;                                 /* result */
	struct cairn_git_oid oid;                       /* result: id of its head */
};
CAIRN_MUST_USE enum cairn_status cairn_index_add_ref(struct cairn_index *ix, struct cairn_index_add_ref *add);

/** Replaces the history of a branch or a pull request by one commit without a parent, with the same files. The next
 * collection removes the earlier commits, unless another branch or a tag reaches them. A history of one commit stays
 * as it is. CAIRN_E_NOT_FOUND: repo.unknown, revision.unknown; CAIRN_E_CONFLICT (pr.ended); CAIRN_E_LIMIT
 * (commit.rows): the branch has more than CAIRN_INDEX_COMMIT_ROWS_MAX files. */
struct cairn_index_squash {
	struct cairn_index_write write;
	int64_t repo;
	enum cairn_index_ref_kind kind; /* CAIRN_INDEX_BRANCH or CAIRN_INDEX_PULL */
	const char *name;               /* borrowed */
	struct cairn_index_message message;
	struct cairn_git_oid oid; /* result: id of the branch's commit */
};
CAIRN_MUST_USE enum cairn_status cairn_index_squash(struct cairn_index *ix, struct cairn_index_squash *squash);

/** Removes a branch or a tag. CAIRN_E_NOT_FOUND: repo.unknown, revision.unknown; CAIRN_E_DENIED: "Cannot delete
 * refs/heads/main" (ref.main). */
struct cairn_index_drop_ref {
	struct cairn_index_write write;
	int64_t repo;
	enum cairn_index_ref_kind kind;
	const char *name; /* borrowed */
};
CAIRN_MUST_USE enum cairn_status cairn_index_drop_ref(struct cairn_index *ix, struct cairn_index_drop_ref *drop);

/** A file that one repository adopts from another. */
struct cairn_index_adopted {
	struct cairn_hash file;
	uint8_t sha256[CAIRN_SHA256_BYTES]; /* SHA-256 under which the source has the file */
	bool failed; /* result: the source has no such file, or the SHA-256 is known to be false */
};
enum { CAIRN_INDEX_ADOPTED_MAX = 1000 }; /* files of one cairn_index_adopt_files() */

/** Gives files of a repository to another one, in one transaction, so that commits there may name them. A proved
 * SHA-256 stays proved; the source's unproved claim becomes CAIRN_INDEX_COPIED. A file that fails changes nothing, and
 * the others are adopted. CAIRN_E_NOT_FOUND: one of the repositories is gone (repo.unknown); CAIRN_E_LIMIT: n is too
 * large; CAIRN_E_DENIED: the repository would hold too much (quota.repo, quota.account). */
struct cairn_index_adopt_files {
	struct cairn_index_write write;
	int64_t source, repo;
	struct cairn_index_adopted *files; /* borrowed */
	uint32_t n;                        /* at most CAIRN_INDEX_ADOPTED_MAX */
};
CAIRN_MUST_USE enum cairn_status cairn_index_adopt_files(struct cairn_index *ix, struct cairn_index_adopt_files *adopt);

#endif
