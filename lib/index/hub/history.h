/* Git-like repositories of a hub: lines of commits, the branches, tags and pull requests that name commits, and the
 * files of each commit. */
#ifndef CAIRN_INDEX_HUB_HISTORY_H
#define CAIRN_INDEX_HUB_HISTORY_H

#include "hash/git_object.h"
#include "index/hub/hub.h"

/* Bounds on pull requests of people who may not write in the repository. */
enum {
	CAIRN_INDEX_STRANGERS_OPEN_MAX = 100,       /* open ones of a repository */
	CAIRN_INDEX_STRANGER_OPEN_MAX = 10,         /* open ones of an account in a repository */
	CAIRN_INDEX_STRANGER_PULLS_MAX = 200,       /* of an account in all, unless merged */
	CAIRN_INDEX_STRANGER_BYTES_MAX = 16 << 20,  /* of one: its texts and rows, as quotas count them */
	CAIRN_INDEX_STRANGER_OPERATIONS_MAX = 1000, /* of one commit */
	CAIRN_INDEX_STRANGER_ROWS_MAX =
		10000, /* files that one commit may change, or rows that its deletions may read */
};

enum {
	CAIRN_INDEX_COMMIT_DIGITS_MIN = 4,      /* of a commit's id, to name it */
	CAIRN_INDEX_REF_NAME_MAX = 255,         /* bytes of a branch's or a tag's name */
	CAIRN_INDEX_TITLE_MAX = 1024,           /* bytes of a commit's title */
	CAIRN_INDEX_MESSAGE_MAX = 65536,        /* bytes of the rest of its message */
	CAIRN_INDEX_INLINE_MAX = 65536,         /* bytes of a file that is kept in the index */
	CAIRN_INDEX_OPERATIONS_MAX = 50000,     /* of one commit */
	CAIRN_INDEX_OPERATIONS_AT_ONCE = 10000, /* of a commit that is made in one transaction, or files that it
						   deletes with their folders */
	CAIRN_INDEX_COMMIT_ROWS_MAX = 200000, /* files that one commit may change, those of deleted folders included */
	CAIRN_INDEX_COMMIT_FOLDERS_MAX = 100000, /* folders in which, or above which, one commit may change something */
	CAIRN_INDEX_COMMIT_SCAN_MAX = 300000, /* rows that deletions of one commit may read before the last of them */
	CAIRN_INDEX_NAMES_MAX = 100000,       /* of one folder */
	CAIRN_INDEX_PATH_DEPTH_MAX = 64,      /* names between slashes */
	CAIRN_INDEX_LINE_DEPTH_MAX = 8,       /* lines that one lookup may read */
	CAIRN_INDEX_FORK_ROWS_MAX = 20000,    /* rows that a branch at that depth may copy, which blocks the writer */
};

/* --- commits and what names them ---------------------------------------------------------------------------------- */

/** A commit. Plain value. Only cairn_index_each_commit() gives its message without the title. */
struct cairn_index_commit {
	int64_t id; /* numbers rise, and are never given again */
	int64_t repo, line;
	int64_t parent;  /* number of the commit before; 0: this is the first one */
	uint64_t number; /* number of commits up to and including this one */
	struct cairn_git_oid oid, root;
	int64_t at_unix_s;
	uint64_t n_files, bytes;                       /* as of this commit */
	char author[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1]; /* as the account was called then */
	char title[CAIRN_INDEX_TITLE_MAX + 1];
};

enum cairn_index_ref_kind {
	CAIRN_INDEX_BRANCH = 1,
	CAIRN_INDEX_TAG = 2,
	CAIRN_INDEX_PULL = 3, /* refs/pr/N: the name is the number */
};

/** Returns the commit that a branch, a tag or a pull request names now. @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every
 * read */
CAIRN_MUST_USE enum cairn_status cairn_index_ref(struct cairn_index *ix, int64_t repo, enum cairn_index_ref_kind kind,
						 const char *name, struct cairn_index_commit *out);

/** A name of a commit. Borrowed for the time of the call. */
struct cairn_index_ref_row {
	enum cairn_index_ref_kind kind;
	const char *name;
	struct cairn_git_oid commit;
	bool ended; /* a pull request that takes no more commits */
};

/** Visit the refs of a repository by kinds and then by the bytes of their names.
 *  @param visit  only takes notes; returns false to stop
 *  @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_ref(struct cairn_index *ix, int64_t repo,
						      bool (*visit)(void *ctx, const struct cairn_index_ref_row *ref),
						      void *ctx);

/** The commits of a repository that a lookup by id may find. */
enum cairn_index_commits {
	CAIRN_INDEX_REACHED,     /* those to which a branch, a tag or a pull request leads */
	CAIRN_INDEX_ALL_COMMITS, /* also those that the next collection will remove */
};

/** Returns the commit whose id has this prefix. @param prefix  4 to 40 lower-case digits
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND there is none among those that may be found, or more than one; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_find_commit(struct cairn_index *ix, int64_t repo, const char *prefix,
							 enum cairn_index_commits among,
							 struct cairn_index_commit *out);
/** Returns the commit with this number. @return as cairn_index_find_commit() */
CAIRN_MUST_USE enum cairn_status cairn_index_commit_by_id(struct cairn_index *ix, int64_t id,
							  struct cairn_index_commit *out);

/** Visit commits from this one back to the first. @param skip  number of commits to skip at the start; takes no time
 *  @param visit  only takes notes; message is borrowed, "" when there is none; returns false to stop
 *  @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_commit(
	struct cairn_index *ix, const struct cairn_index_commit *from, uint64_t skip,
	bool (*visit)(void *ctx, const struct cairn_index_commit *commit, const char *message), void *ctx);

/* --- files at a commit -------------------------------------------------------------------------------------------- */

enum cairn_index_entry_kind {
	CAIRN_INDEX_FOLDER = 1,
	CAIRN_INDEX_INLINE = 2, /* kept in the index; read with cairn_index_inline() */
	CAIRN_INDEX_XET = 3,    /* a file of the store; in git it is a pointer */
	CAIRN_INDEX_PLAIN = 4,  /* a file of the store; in git it is itself. Only of a mirrored repository */
};

/** A file or a folder at a commit. */
struct cairn_index_entry {
	const char *folder, *name; /* set only during a visit, else NULL; folder is "" for the top folder */
	enum cairn_index_entry_kind kind;
	struct cairn_git_oid oid; /* of its blob or tree; of CAIRN_INDEX_XET that of the pointer */
	int64_t commit;           /* the number of the commit that changed it last */
	int64_t content;          /* of a file */
	uint64_t size_bytes;      /* of a folder 0 */
	/* The content has no bytes. In a mirrored repository they were not fetched yet; else they were deleted for
	 * good. */
	bool is_absent;
	bool has_file; /* of CAIRN_INDEX_PLAIN true; of CAIRN_INDEX_XET false: the bytes are absent, or differ from
			  sha256 */
	struct cairn_hash file;
	uint8_t sha256[CAIRN_SHA256_BYTES]; /* of CAIRN_INDEX_XET: the owner's word */
	enum cairn_index_belief belief; /* of CAIRN_INDEX_XET, in sha256; CAIRN_INDEX_FALSE: there is no file with it */
};

/** Returns the file or folder at a path of a commit. @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_entry(struct cairn_index *ix, const struct cairn_index_commit *commit,
						   const char *path, struct cairn_index_entry *out);

/** Selects the entries to visit. */
struct cairn_index_listing {
	const char *folder; /* "": the top one; a missing folder has no entries */
	bool recursive;     /* also entries of its subfolders, one folder after the other */
	const char *after;  /* the last path visited: continue after it; "" at the beginning */
};

/** Visit entries at a commit, by the bytes of the folders and then of the names. A reader of the index is held
 * meanwhile: a visitor only takes notes. @param visit  returns false to stop
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
	CAIRN_INDEX_DELETE_FOLDER, /* a folder only */
};

/** An operation of a commit. */
struct cairn_index_operation {
	enum cairn_index_operation_kind kind;
	const char *path;                   /* valid, as lib/hub checks; borrowed, as all here */
	const uint8_t *bytes;               /* of PUT_INLINE; no text of an LFS pointer */
	size_t len;                         /* at most CAIRN_INDEX_INLINE_MAX */
	struct cairn_git_oid oid;           /* of PUT_INLINE: of the blob; of PUT_ABSENT too, unless it has a pointer */
	uint8_t sha256[CAIRN_SHA256_BYTES]; /* of PUT_FILE; of PUT_ABSENT where it has a pointer */
	bool has_pointer;                   /* of PUT_ABSENT: in git it is a pointer */
	uint64_t size_bytes;                /* of PUT_ABSENT: of the file */
};

/** A pull request that a commit of its branch merges and ends, in the same transaction. All is borrowed. */
struct cairn_index_merge {
	const char *pull; /* the pull request's name; NULL: none */
	const char *head; /* how the id of its head must begin */
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
	const char *parent;             /* how the id of the head must begin; NULL: any */
	const struct cairn_git_oid
		*id; /* the commit's id elsewhere, which it keeps; borrowed. NULL: computed as git does */
	struct cairn_index_message message;
	const struct cairn_index_operation *operations; /* borrowed */
	uint32_t n;                                     /* at most CAIRN_INDEX_OPERATIONS_MAX */
	bool ends;          /* of a pull request: it takes no more; message says who ends it, with what comment */
	const char *merged; /* if it ends: the id of the commit that merged it; borrowed. NULL: it is closed */
	struct cairn_index_merge merge; /* of a branch: the pull request that it merges; its errors are as above */
	/* The account of the stranger who opened the pull request and may not write in the repository. The bytes
	 * that the commit adds count for this account, at full size, until the pull request is merged or squashed. Then
	 * CAIRN_E_DENIED (quota.account), CAIRN_E_LIMIT (pr.full). 0: they count for the repository. */
	int64_t stranger;
	struct cairn_git_oid oid; /* result: of the new commit, or of the head if nothing changed */
	bool added;               /* result: there is a new commit */
};
CAIRN_MUST_USE enum cairn_status cairn_index_add_commit(struct cairn_index *ix, struct cairn_index_add_commit *commit);

/** Gives bytes to an absent content of a mirrored repository. The caller has compared them with what the tree says. If
 * the content has bytes already, nothing changes. CAIRN_E_NOT_FOUND: the content is gone, has another length, or the
 * repository has no file with the SHA-256 (content.unknown). */
struct cairn_index_fill_content {
	struct cairn_index_write write;
	int64_t repo, content;
	const uint8_t *bytes;               /* to keep in the index; borrowed. NULL: the file is in the store */
	size_t len;                         /* at most CAIRN_INDEX_INLINE_MAX */
	uint8_t sha256[CAIRN_SHA256_BYTES]; /* of a file in the store */
};
CAIRN_MUST_USE enum cairn_status cairn_index_fill_content(struct cairn_index *ix,
							  struct cairn_index_fill_content *fill);

/** Makes a branch, a tag or a pull request. CAIRN_E_CONFLICT: the name exists (ref.known: "Reference refs/heads/X
 * already exists"); CAIRN_E_USAGE (ref.nested): this name and that of an existing branch or tag are a path and its
 * folder, as "a/b" and "a"; CAIRN_E_NOT_FOUND: repo.unknown; revision.unknown, the commit is gone; CAIRN_E_LIMIT:
 * ref.depth, the new branch starts from a branch as deep as lookups go, and would copy more than
 * CAIRN_INDEX_FORK_ROWS_MAX rows. */
struct cairn_index_add_ref {
	struct cairn_index_write write;
	int64_t repo;
	enum cairn_index_ref_kind kind;
	const char *name; /* borrowed; of CAIRN_INDEX_PULL NULL: the next number */
	int64_t commit;   /* the commit to name; 0: a branch without files, with a first commit of its own */
	bool overwrite;   /* move an existing branch to that commit */
	struct cairn_index_message first; /* the first commit's message; of CAIRN_INDEX_PULL also what it proposes */
	/* The rest is for CAIRN_INDEX_PULL. */
	const char *base; /* the branch that it is for; borrowed */
	int64_t account;  /* who opens it; 0: an operator */
	bool is_stranger; /* who may not write in the repository: as cairn_index_add_commit.stranger. CAIRN_E_DENIED
			     (pr.many); CAIRN_E_LIMIT (ref.depth): as below */
	/* The operations of its first commit, with the errors of cairn_index_add_commit(). Nobody sees one without the
	 * other. */
	const struct cairn_index_operation *operations; /* borrowed */
	uint32_t n;                                     /* 0: it has no commit of its own yet */
	const struct cairn_git_oid *id;                 /* of that commit; borrowed. NULL: computed as git does */
	int64_t number;                                 /* result */
	struct cairn_git_oid oid;                       /* result: of its head */
};
CAIRN_MUST_USE enum cairn_status cairn_index_add_ref(struct cairn_index *ix, struct cairn_index_add_ref *add);

/** Replaces the history of a branch or a pull request by one commit without a parent, with the same files. The next
 * collection removes the earlier commits, unless another branch or a tag comes from them. A history of one
 * commit stays as it is. CAIRN_E_NOT_FOUND: repo.unknown, revision.unknown; CAIRN_E_CONFLICT (pr.ended);
 * CAIRN_E_LIMIT (commit.rows): it has more than CAIRN_INDEX_COMMIT_ROWS_MAX files. */
struct cairn_index_squash {
	struct cairn_index_write write;
	int64_t repo;
	enum cairn_index_ref_kind kind; /* CAIRN_INDEX_BRANCH or CAIRN_INDEX_PULL */
	const char *name;               /* borrowed */
	struct cairn_index_message message;
	struct cairn_git_oid oid; /* result: of the branch's commit */
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
	uint8_t sha256[CAIRN_SHA256_BYTES]; /* under which the source has the file */
	bool failed; /* result: the source has no such file, or the SHA-256 is known to be false */
};
enum { CAIRN_INDEX_ADOPTED_MAX = 1000 }; /* of one cairn_index_adopt_files() */

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
