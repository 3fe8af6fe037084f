/* What a hub asks of an index: whose names there are, who belongs to whom, which repositories there are, and what is in
 * buckets. What is in the others: history.h. */
#ifndef CAIRN_INDEX_HUB_H
#define CAIRN_INDEX_HUB_H

#include "index/index.h"

enum {
	CAIRN_INDEX_ACCOUNT_NAME_MAX = 96,  /* bytes of an account's name */
	CAIRN_INDEX_ACCOUNT_TEXT_MAX = 255, /* bytes of what is said about it */
};

enum cairn_index_account_kind { CAIRN_INDEX_USER = 1, CAIRN_INDEX_ORGANISATION = 2 };

/** What a member may do in an organisation: each may what the ones before it may. */
enum cairn_index_role {
	CAIRN_INDEX_ROLE_NONE,
	CAIRN_INDEX_ROLE_READ,
	CAIRN_INDEX_ROLE_WRITE,
	CAIRN_INDEX_ROLE_ADMIN,
};

#define CAIRN_INDEX_NO_QUOTA UINT64_MAX

/** What may be held, and what is: quota.h. */
struct cairn_index_room {
	uint64_t limit_bytes; /* CAIRN_INDEX_NO_QUOTA: any */
	uint64_t stored_bytes;
};

/** A user or an organisation. Plain value. */
struct cairn_index_account {
	int64_t id; /* never given again */
	enum cairn_index_account_kind kind;
	char name[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1];     /* one whatever the case of its letters */
	char fullname[CAIRN_INDEX_ACCOUNT_TEXT_MAX + 1]; /* for people; may be empty */
	char email[CAIRN_INDEX_ACCOUNT_TEXT_MAX + 1];    /* may be empty */
	int64_t created_unix_s;
	int64_t disabled_unix_s;      /* 0: its keys are good */
	struct cairn_index_room room; /* while it is visited by cairn_index_each_account(); else unset */
};

/** The account of this name, in any case. @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_account(struct cairn_index *ix, const char *name,
						     struct cairn_index_account *out);
/** Likewise by its number. @return likewise */
CAIRN_MUST_USE enum cairn_status cairn_index_account_by_id(struct cairn_index *ix, int64_t id,
							   struct cairn_index_account *out);

/** Visit all accounts in the order in which they were made, a page at a time.
 *  @return as cairn_index_each_xorb() (operate.h) */
CAIRN_MUST_USE enum cairn_status cairn_index_each_account(struct cairn_index *ix, int64_t from_id, uint32_t limit,
							  void (*visit)(void *ctx,
									const struct cairn_index_account *account),
							  void *ctx, int64_t *next_id);

/** What a user is in an organisation. @param[out] role  CAIRN_INDEX_ROLE_NONE: no member
 *  @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_role(struct cairn_index *ix, int64_t organisation, int64_t user,
						  enum cairn_index_role *role);

/** What is visited of a membership: the other account, and the role. Borrowed for the time of the call. */
typedef void cairn_index_visit_member(void *ctx, const struct cairn_index_account *account, enum cairn_index_role role);

/** Visit the members of an organisation in the order of their numbers, a page at a time; from_id and next_id are
 * theirs.
 *  @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_member(struct cairn_index *ix, int64_t organisation, int64_t from_id,
							 cairn_index_visit_member *visit, void *ctx, int64_t *next_id);
/** Likewise the organisations that a user is a member of. @return likewise */
CAIRN_MUST_USE enum cairn_status cairn_index_each_organisation(struct cairn_index *ix, int64_t user, int64_t from_id,
							       cairn_index_visit_member *visit, void *ctx,
							       int64_t *next_id);

/** Make an account. CAIRN_E_CONFLICT: the name is taken, or a text is too long (account.known). */
struct cairn_index_add_account {
	struct cairn_index_write write;
	enum cairn_index_account_kind kind;
	const char *name, *fullname, *email; /* borrowed */
	int64_t id;                          /* result */
};
CAIRN_MUST_USE enum cairn_status cairn_index_add_account(struct cairn_index *ix, struct cairn_index_add_account *add);

/** Refuse the keys of an account from now on, or take them again. CAIRN_E_NOT_FOUND: none has this name
 * (account.unknown). */
struct cairn_index_disable_account {
	struct cairn_index_write write;
	const char *name; /* borrowed */
	bool disabled;    /* what it is to be */
	bool changed;     /* result; false: it was so before */
};
CAIRN_MUST_USE enum cairn_status cairn_index_disable_account(struct cairn_index *ix,
							     struct cairn_index_disable_account *disable);

/** Say what a user is in an organisation. CAIRN_E_NOT_FOUND: there is no such organisation (account.unknown), or no
 * such user (user.unknown). CAIRN_E_CONFLICT: nobody would be left who is an admin of it, and is not disabled
 * (member.last_admin). */
struct cairn_index_set_member {
	struct cairn_index_write write;
	const char *organisation, *user; /* borrowed */
	enum cairn_index_role role;      /* CAIRN_INDEX_ROLE_NONE: no member any more */
	bool keeps_admin;                /* the last admin keeps the role */
	bool changed;                    /* result; false: it was so before */
};
CAIRN_MUST_USE enum cairn_status cairn_index_set_member(struct cairn_index *ix, struct cairn_index_set_member *set);

/* --- repositories ------------------------------------------------------------------------------------------------- */

enum {
	CAIRN_INDEX_REPO_NAME_MAX = 96, /* bytes of a repository's name */
	CAIRN_INDEX_PATH_MAX = 1024,    /* bytes of an object's path */
	CAIRN_INDEX_TYPE_MAX = 127,     /* bytes of an object's media type */
	CAIRN_INDEX_CHANGES_MAX = 1000, /* of one cairn_index_change_objects() */
	CAIRN_INDEX_OWNER_BYTES = 32,   /* room for "hub/NUMBER" */
	CAIRN_INDEX_SDK_MAX = 32,       /* bytes of what a space runs with */
};

/** All but buckets are git-like: they have lines of commits. */
enum cairn_index_repo_kind {
	CAIRN_INDEX_MODEL = 1,
	CAIRN_INDEX_DATASET = 2,
	CAIRN_INDEX_SPACE = 3,
	CAIRN_INDEX_BUCKET = 4,
	CAIRN_INDEX_KERNEL = 5,
};

enum { CAIRN_INDEX_NO_ACCOUNT = -1 }; /* nobody is its admin but operators */

/** Whom a public repository shows its files to. */
enum cairn_index_gate {
	CAIRN_INDEX_GATE_NONE,   /* everybody */
	CAIRN_INDEX_GATE_AUTO,   /* members only; how others would be let in is the public hub's matter */
	CAIRN_INDEX_GATE_MANUAL, /* likewise */
};

/** A repository. Plain value. */
struct cairn_index_repo {
	int64_t id; /* never given again */
	enum cairn_index_repo_kind kind;
	int64_t account;                                     /* whose */
	char account_name[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1]; /* as it was made */
	char name[CAIRN_INDEX_REPO_NAME_MAX + 1]; /* one of its kind and account, whatever the case of its letters */
	bool is_private;
	enum cairn_index_gate gate;
	char sdk[CAIRN_INDEX_SDK_MAX + 1]; /* of a space; may be empty */
	int64_t guard; /* a copy, or with copied files: the account whose admin may show it to others; 0: nobody else's;
			  CAIRN_INDEX_NO_ACCOUNT */
	int64_t created_unix_ms, updated_unix_ms;
	uint64_t n_files, bytes; /* of a bucket: its objects, and the sum of their sizes; else at the head of main */
};

/** The owner under which a repository's files are registered: "hub/NUMBER". Only repositories have such owners: an
 * upload under one that is not, or not any more, is refused (repo.gone). */
void cairn_index_repo_owner(char out[static CAIRN_INDEX_OWNER_BYTES], int64_t repo);
/** Is it such a name? That tells nothing about whether there is such a repository. */
bool cairn_index_is_repo_owner(const char *owner);
/** The repository's number. @return 0: it is no such name */
int64_t cairn_index_owner_repo(const char *owner);

/** What that owner is called once its repository is deleted, for as long as files are registered under it. No token has
 * such a name. */
void cairn_index_gone_owner(char out[static CAIRN_INDEX_OWNER_BYTES], int64_t repo);
bool cairn_index_owner_is_gone(const char *owner);

/** The repository of this name, in any case; else the git-like one that had it last before it was moved, with its name
 * of today. @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_repo(struct cairn_index *ix, enum cairn_index_repo_kind kind,
						  const char *account, const char *name, struct cairn_index_repo *out);

typedef void cairn_index_visit_repo(void *ctx, const struct cairn_index_repo *repo);

/** Visit the repositories of an account and kind in the order in which they were made, a page at a time.
 *  @return as cairn_index_each_xorb() (operate.h) */
CAIRN_MUST_USE enum cairn_status cairn_index_each_repo(struct cairn_index *ix, int64_t account,
						       enum cairn_index_repo_kind kind, int64_t from_id,
						       cairn_index_visit_repo *visit, void *ctx, int64_t *next_id);

/** In which order repositories are listed. */
enum cairn_index_repo_sort { CAIRN_INDEX_BY_UPDATE, CAIRN_INDEX_BY_CREATION, CAIRN_INDEX_BY_NAME };

/** Which repositories are listed. */
struct cairn_index_repo_list {
	enum cairn_index_repo_kind kind; /* 0: any */
	int64_t account;                 /* whose; 0: anybody's */
	const char *search; /* letters of ASCII, in any case, or other bytes that "account/name" has; NULL or "": any */
	bool all;           /* whoever may see them */
	int64_t reader; /* else public ones, and those of this account and of the organisations that it is a member of
			 */
	enum cairn_index_repo_sort sort;
	bool ascending;
	uint32_t limit; /* at most CAIRN_INDEX_REPOS_MAX */
	/* Behind which one; all zero at the beginning. */
	int64_t after_id;
	int64_t after_unix_ms;                          /* by update */
	char after_name[CAIRN_INDEX_REPO_NAME_MAX + 1]; /* by name */
};
enum { CAIRN_INDEX_REPOS_MAX = 1000 };

/** Visit a page of repositories. Takes notes only; looks at each there is, 10 ms for 10,000.
 *  @param[in,out] list  its after_ members are set behind the last that was visited
 *  @param[out] more     there may be further ones
 *  @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_list_repos(struct cairn_index *ix, struct cairn_index_repo_list *list,
							cairn_index_visit_repo *visit, void *ctx, bool *more);

struct cairn_index_operation;

/** What a commit says of itself. Borrowed. */
struct cairn_index_message {
	const char *author,
		*email;      /* author: at most CAIRN_INDEX_ACCOUNT_NAME_MAX bytes; the email is only in its id */
	const char *title;   /* at most CAIRN_INDEX_TITLE_MAX */
	const char *message; /* at most CAIRN_INDEX_MESSAGE_MAX; "": nothing more */
};

/* --- who has what ------------------------------------------------------------------------------------------------- */

/** Visit who owns files, by number; the owners of cairn_index_each_owned_file() are these.
 *  @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_owner(struct cairn_index *ix,
							void (*visit)(void *ctx, int64_t owner, const char *name),
							void *ctx);

/** What is visited of a file: with its terms, and the numbers of its owners in their order. Borrowed. */
typedef void cairn_index_visit_owned_file(void *ctx, const struct cairn_index_file *file, const int64_t *owners,
					  uint32_t n_owners);

/** Visit all files a page at a time, each page in one snapshot. @return as cairn_index_each_file() (operate.h) */
CAIRN_MUST_USE enum cairn_status cairn_index_each_owned_file(struct cairn_index *ix, int64_t from_id,
							     cairn_index_visit_owned_file *visit, void *ctx,
							     int64_t *next_id);

/** Make a repository; a git-like one with the branch main and a first commit. CAIRN_E_CONFLICT: the name is taken, or
 * too long (repo.known); of its first commit as cairn_index_add_commit(). */
struct cairn_index_add_repo {
	struct cairn_index_write write;
	enum cairn_index_repo_kind kind;
	int64_t account;
	const char *name; /* borrowed */
	bool is_private;
	const char *sdk;                                /* borrowed; NULL: none */
	struct cairn_index_message first;               /* of a git-like one: what its first commit says, */
	const struct cairn_index_operation *operations; /* and does; borrowed */
	uint32_t n;
	int64_t source; /* a repository whose files operations may name, too, as that one calls them; 0: none */
	int64_t guard;  /* struct cairn_index_repo */
	int64_t id;     /* result */
};
CAIRN_MUST_USE enum cairn_status cairn_index_add_repo(struct cairn_index *ix, struct cairn_index_add_repo *add);

/** Say who may see a repository, and its files. CAIRN_E_NOT_FOUND: none has this number (repo.unknown). */
struct cairn_index_set_repo {
	struct cairn_index_write write;
	int64_t id;
	bool keeps_private, keeps_gate; /* leave that as it is when this is written */
	bool is_private;
	enum cairn_index_gate gate;
};
CAIRN_MUST_USE enum cairn_status cairn_index_set_repo(struct cairn_index *ix, struct cairn_index_set_repo *set);

/** Note that an account's admin decides whether everybody may have a repository's files, because it gets files of that
 * account that not everybody may have. With another such account before, an operator alone decides. CAIRN_E_NOT_FOUND:
 * none has this number, or everybody may have its files already (repo.unknown). */
struct cairn_index_guard_repo {
	struct cairn_index_write write;
	int64_t id;
	int64_t guard; /* as in struct cairn_index_repo, not 0 */
};
CAIRN_MUST_USE enum cairn_status cairn_index_guard_repo(struct cairn_index *ix, struct cairn_index_guard_repo *guard);

/** Give a repository another name; a git-like one is found by the old name, too, until somebody else takes that.
 * CAIRN_E_NOT_FOUND: likewise; CAIRN_E_CONFLICT: the name is taken, or too long (repo.known). */
struct cairn_index_move_repo {
	struct cairn_index_write write;
	int64_t id;
	int64_t account;  /* whose it is to be */
	const char *name; /* borrowed */
};
CAIRN_MUST_USE enum cairn_status cairn_index_move_repo(struct cairn_index *ix, struct cairn_index_move_repo *move);

/** Delete a repository: from now on it is not found, its name is free, and no viewer has its files. What it had goes by
 * cairn_index_sweep_repos(). CAIRN_E_NOT_FOUND: likewise. */
struct cairn_index_drop_repo {
	struct cairn_index_write write;
	int64_t id;
};
CAIRN_MUST_USE enum cairn_status cairn_index_drop_repo(struct cairn_index *ix, struct cairn_index_drop_repo *drop);

/** Remove a piece of what nobody can reach, for about CAIRN_INDEX_GC_MS: what deleted repositories had; lines of
 * commits that no branch, tag or pull request comes from, and of the others the commits behind the last one that any of
 * these comes from; the ownership of files that were uploaded to a bucket at
 * least grace_s ago and that nothing in it names. Those of the others stay: Git LFS names them elsewhere. */
struct cairn_index_sweep_repos {
	struct cairn_index_write write;
	int64_t grace_s;
	struct cairn_index_sweep_place {
		int stage;
		int64_t repo, line, file;
		int64_t keep; /* the last commit of the line that stays */
		char folder[CAIRN_INDEX_PATH_MAX + 1], name[CAIRN_INDEX_PATH_MAX + 1]; /* of the line */
		uint8_t sha256[CAIRN_SHA256_BYTES];
		bool has_sha256;
	} at;      /* all zero, then as it was left */
	bool more; /* result: there may be more to remove */
};
CAIRN_MUST_USE enum cairn_status cairn_index_sweep_repos(struct cairn_index *ix, struct cairn_index_sweep_repos *sweep);

/* --- objects of buckets ------------------------------------------------------------------------------------------- */

/** A file under a path. */
struct cairn_index_object {
	const char *path;       /* while it is visited; else NULL */
	struct cairn_hash file; /* all zero: the empty file */
	uint64_t size_bytes;
	bool has_mtime;
	int64_t mtime_unix_ms; /* what the client said */
	int64_t uploaded_unix_ms;
	char type[CAIRN_INDEX_TYPE_MAX + 1]; /* likewise; empty: nothing */
};

/** The object of this path. @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_object(struct cairn_index *ix, int64_t repo, const char *path,
						    struct cairn_index_object *out);

/** Visit the objects whose paths begin so, in the order of their bytes. A reader of the index is held meanwhile: a
 * visitor only takes notes.
 * @param from   the first path that counts; "" for the first there is
 * @param visit  answers false to end it there
 * @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_object(
	struct cairn_index *ix, int64_t repo, const char *prefix, const char *from,
	bool (*visit)(void *ctx, const struct cairn_index_object *object), void *ctx);

enum cairn_index_change_kind { CAIRN_INDEX_OBJECT_SET, CAIRN_INDEX_OBJECT_COPY, CAIRN_INDEX_OBJECT_DROP };

/** One change of a bucket. */
struct cairn_index_change {
	enum cairn_index_change_kind kind;
	bool has_mtime;
	const char *path;       /* 1 to CAIRN_INDEX_PATH_MAX bytes; borrowed */
	struct cairn_hash file; /* of SET and COPY; all zero: the empty file */
	int64_t source;         /* of COPY: a bucket with an object of that file, or another repository that has it */
	int64_t mtime_unix_ms;
	const char *type; /* at most CAIRN_INDEX_TYPE_MAX bytes; borrowed */
	bool failed;      /* result: the file is not the bucket's, or none of the source's objects is of it */
};

/** Change objects of a bucket, all in one transaction and in this order. One that fails changes nothing, and the others
 * are done. A file that no object of the bucket has any more afterwards is not the bucket's any more; removing what is
 * not there is no failure. CAIRN_E_NOT_FOUND: there is no such bucket (repo.unknown); CAIRN_E_LIMIT: there are more
 * changes than that; CAIRN_E_DENIED: the bucket would hold too much (quota.repo, quota.account). */
struct cairn_index_change_objects {
	struct cairn_index_write write;
	int64_t repo;
	struct cairn_index_change *changes; /* borrowed */
	uint32_t n;                         /* at most CAIRN_INDEX_CHANGES_MAX */
};
CAIRN_MUST_USE enum cairn_status cairn_index_change_objects(struct cairn_index *ix,
							    struct cairn_index_change_objects *change);

#endif
