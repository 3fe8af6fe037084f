/* The hub's part of an index: accounts, memberships, repositories, and files of buckets. For commits and files of
 * git-like repositories see history.h. */
#ifndef CAIRN_INDEX_HUB_HUB_H
#define CAIRN_INDEX_HUB_HUB_H

#include "index/index.h"
#include "index/owner.h"

enum {
	CAIRN_INDEX_ACCOUNT_NAME_MAX = 96,  /* bytes of an account's name */
	CAIRN_INDEX_ACCOUNT_TEXT_MAX = 255, /* bytes of an account's full name or email */
};

enum cairn_index_account_kind { CAIRN_INDEX_USER = 1, CAIRN_INDEX_ORGANISATION = 2 };

/** A member's rights in an organisation; each role includes the rights of those before it. */
enum cairn_index_role {
	CAIRN_INDEX_ROLE_NONE,
	CAIRN_INDEX_ROLE_READ,
	CAIRN_INDEX_ROLE_WRITE,
	CAIRN_INDEX_ROLE_ADMIN,
};

#define CAIRN_INDEX_NO_QUOTA UINT64_MAX

/** A limit on stored bytes, and the bytes stored now; see quota.h. */
struct cairn_index_room {
	uint64_t limit_bytes; /* CAIRN_INDEX_NO_QUOTA: no limit */
	uint64_t stored_bytes;
};

/** A user or an organisation. Plain value. */
struct cairn_index_account {
	int64_t id; /* never reused */
	enum cairn_index_account_kind kind;
	char name[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1];     /* unique if case is ignored */
	char fullname[CAIRN_INDEX_ACCOUNT_TEXT_MAX + 1]; /* for people; may be empty */
	char email[CAIRN_INDEX_ACCOUNT_TEXT_MAX + 1];    /* may be empty */
	int64_t created_unix_s;
	int64_t disabled_unix_s; /* when it was disabled, so that its keys are refused; 0: it is enabled */
	bool is_mirrored; /* a namespace of the mirrored hub: an organisation whose repositories nobody may write */
	struct cairn_index_room room; /* set only by cairn_index_each_account() */
};

/** Returns the account with this name, ignoring case. @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_account(struct cairn_index *ix, const char *name,
						     struct cairn_index_account *out);
/** Returns the account with this id, as cairn_index_account() does by name. */
CAIRN_MUST_USE enum cairn_status cairn_index_account_by_id(struct cairn_index *ix, int64_t id,
							   struct cairn_index_account *out);

/** Visits all accounts in the order of their creation, a page at a time.
 *  @return as cairn_index_each_xorb() (operate.h) */
CAIRN_MUST_USE enum cairn_status cairn_index_each_account(struct cairn_index *ix, int64_t from_id, uint32_t limit,
							  void (*visit)(void *ctx,
									const struct cairn_index_account *account),
							  void *ctx, int64_t *next_id);

/** Returns a user's role in an organisation. @param[out] role  CAIRN_INDEX_ROLE_NONE: no member
 *  @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_role(struct cairn_index *ix, int64_t organisation, int64_t user,
						  enum cairn_index_role *role);

/** Receives the other account of a membership, and the role. Borrowed during the call. */
typedef void cairn_index_visit_member(void *ctx, const struct cairn_index_account *account, enum cairn_index_role role);

/** Visits the members of an organisation in the order of their ids, a page at a time. from_id and next_id are ids of
 * accounts.
 * @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_member(struct cairn_index *ix, int64_t organisation, int64_t from_id,
							 cairn_index_visit_member *visit, void *ctx, int64_t *next_id);
/** Visits the organisations that a user is a member of, in the same way. */
CAIRN_MUST_USE enum cairn_status cairn_index_each_organisation(struct cairn_index *ix, int64_t user, int64_t from_id,
							       cairn_index_visit_member *visit, void *ctx,
							       int64_t *next_id);

/** Creates an account. CAIRN_E_CONFLICT: the name is taken, or a text is too long (account.known). */
struct cairn_index_add_account {
	struct cairn_index_write write;
	enum cairn_index_account_kind kind;
	const char *name, *fullname, *email; /* borrowed */
	bool is_mirrored;                    /* as in struct cairn_index_account */
	int64_t id;                          /* result */
};
CAIRN_MUST_USE enum cairn_status cairn_index_add_account(struct cairn_index *ix, struct cairn_index_add_account *add);

/** Disables an account, whose keys are then refused, or enables it again. CAIRN_E_NOT_FOUND (account.unknown). */
struct cairn_index_disable_account {
	struct cairn_index_write write;
	const char *name; /* borrowed */
	bool disabled;    /* the new state */
	bool changed;     /* result; false: it had this state before */
};
CAIRN_MUST_USE enum cairn_status cairn_index_disable_account(struct cairn_index *ix,
							     struct cairn_index_disable_account *disable);

/** Gives up a namespace of the mirrored hub: it is no longer found, and its name is free. Its row stays, under a name
 * that no account can have, because rows of dropped repositories refer to it. CAIRN_E_NOT_FOUND: there is no such
 * namespace (account.unknown); CAIRN_E_CONFLICT: it has repositories, which must be dropped before (account.in_use). */
struct cairn_index_drop_namespace {
	struct cairn_index_write write;
	const char *name; /* borrowed */
};
CAIRN_MUST_USE enum cairn_status cairn_index_drop_namespace(struct cairn_index *ix,
							    struct cairn_index_drop_namespace *drop);

/** Sets a user's role in an organisation. CAIRN_E_NOT_FOUND: there is no such organisation (account.unknown), or no
 * such user (user.unknown). CAIRN_E_CONFLICT: no enabled admin would be left (member.last_admin). */
struct cairn_index_set_member {
	struct cairn_index_write write;
	const char *organisation, *user; /* borrowed */
	enum cairn_index_role role;      /* CAIRN_INDEX_ROLE_NONE: no member any more */
	bool keeps_admin;                /* if this is the last admin, do not change the role */
	bool changed;                    /* result; false: the role was the same before */
};
CAIRN_MUST_USE enum cairn_status cairn_index_set_member(struct cairn_index *ix, struct cairn_index_set_member *set);

/* --- repositories ------------------------------------------------------------------------------------------------- */

/** The name of an account's hidden bucket, which holds the files of pull requests that the account opened as a
 * stranger, until they are merged. Nobody can give a repository this name. */
#define CAIRN_INDEX_PROPOSALS ".proposals"

enum {
	CAIRN_INDEX_REPO_NAME_MAX = 96, /* bytes of a repository's name */
	CAIRN_INDEX_PATH_MAX = 1024,    /* bytes of a file's path */
	CAIRN_INDEX_TYPE_MAX = 127,     /* bytes of the media type of a file in a bucket */
	CAIRN_INDEX_CHANGES_MAX = 1000, /* changes of one cairn_index_change_objects() */
	CAIRN_INDEX_SDK_MAX = 32,       /* bytes of the name of a space's SDK */
};

/** Kinds of repositories. All but buckets are git-like: they have lines of commits. */
enum cairn_index_repo_kind {
	CAIRN_INDEX_MODEL = 1,
	CAIRN_INDEX_DATASET = 2,
	CAIRN_INDEX_SPACE = 3,
	CAIRN_INDEX_BUCKET = 4,
	CAIRN_INDEX_KERNEL = 5,
};

enum { CAIRN_INDEX_NO_ACCOUNT = -1 }; /* no account: only operators are its admins */

/** Access to the files of a public repository. */
enum cairn_index_gate {
	CAIRN_INDEX_GATE_NONE,   /* everybody */
	CAIRN_INDEX_GATE_AUTO,   /* members, and accounts that asked for access (access.h) */
	CAIRN_INDEX_GATE_MANUAL, /* members, and accounts to which an admin granted access */
};

/** A repository. Plain value. */
struct cairn_index_repo {
	int64_t id; /* never reused */
	enum cairn_index_repo_kind kind;
	int64_t account;                                     /* account of the repository */
	char account_name[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1]; /* name of the account, in the case in which it was made */
	char name[CAIRN_INDEX_REPO_NAME_MAX + 1];            /* unique in its kind and account if case is ignored */
	bool is_private;
	enum cairn_index_gate gate;
	char sdk[CAIRN_INDEX_SDK_MAX + 1]; /* of a space; may be empty */
	int64_t guard; /* of a copy, or with copied files: the account whose admin may make the repository public; 0: no
			  other account; or CAIRN_INDEX_NO_ACCOUNT */
	bool pulls_closed; /* only those who may write open pull requests */
	bool is_mirrored;  /* it is of the mirrored hub; always false in lists */
	int64_t created_unix_ms, updated_unix_ms;
	uint64_t n_files, bytes; /* of all files of a bucket; else at the head of main */
	/* Set only if cairn_index_list_repos() was asked for them, and only during its visit; else NULL. */
	const struct cairn_index_card *card; /* card.h; empty where the repository has none */
	const struct cairn_git_oid *head;    /* head of main; NULL: a bucket */
};

/** Returns the repository with this name, ignoring case, or else the git-like one that was moved away from this name
 * last. @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_repo(struct cairn_index *ix, enum cairn_index_repo_kind kind,
						  const char *account, const char *name, struct cairn_index_repo *out);

typedef void cairn_index_visit_repo(void *ctx, const struct cairn_index_repo *repo);

/** The order of a list of repositories. */
enum cairn_index_repo_sort { CAIRN_INDEX_BY_UPDATE, CAIRN_INDEX_BY_CREATION, CAIRN_INDEX_BY_NAME };

/** A property by which a list may be narrowed. */
enum cairn_index_wanted { CAIRN_INDEX_EITHER, CAIRN_INDEX_WITH, CAIRN_INDEX_WITHOUT };

/** Selects the repositories to list. */
struct cairn_index_repo_list {
	enum cairn_index_repo_kind kind; /* 0: any */
	int64_t account;                 /* account of the repositories; 0: any */
	const char *search; /* a part of "account/name", ignoring the case of ASCII letters; NULL or "": any */
	bool all;           /* list private repositories, too */
	int64_t reader;     /* else public ones, and those of this account and of its organisations */
	enum cairn_index_wanted is_private, gated;
	const char *const *words; /* words in lower case, all of which the card has; borrowed */
	uint32_t n_words;         /* at most CAIRN_INDEX_WORDS_ASKED_MAX */
	bool cards, heads;        /* give visit() the card, the head */
	enum cairn_index_repo_sort sort;
	bool ascending;
	uint32_t limit; /* at most CAIRN_INDEX_REPOS_MAX */
	/* The last repository looked at, whether listed or not; all zero at the beginning. */
	int64_t after_id;
	int64_t after_unix_ms;                          /* set when sorted by update */
	char after_name[CAIRN_INDEX_REPO_NAME_MAX + 1]; /* set when sorted by name */
};
enum {
	CAIRN_INDEX_REPOS_MAX = 1000,
	/* most repositories looked at for a page; at least CAIRN_INDEX_REPOS_MAX */
	CAIRN_INDEX_REPOS_LOOKED_MAX = 2000,
};

/** Visits a page of repositories; visit() must not call the index. Looks only at repositories that the reader may see.
 * A page may be shorter than the limit, or empty, although the list goes on.
 * @param[in,out] list  its after_ members are set to the last repository looked at
 * @param[out] more     there may be further ones
 * @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_list_repos(struct cairn_index *ix, struct cairn_index_repo_list *list,
							cairn_index_visit_repo *visit, void *ctx, bool *more);

struct cairn_index_operation;

/** Author and text of a commit. Borrowed. */
struct cairn_index_message {
	const char *author, *email; /* author: at most CAIRN_INDEX_ACCOUNT_NAME_MAX bytes; the email is only hashed into
				       the commit's id */
	const char *title;          /* at most CAIRN_INDEX_TITLE_MAX */
	const char *message;        /* at most CAIRN_INDEX_MESSAGE_MAX; "": only the title */
};

/** Creates a repository; a git-like one gets the branch main and a first commit. CAIRN_E_CONFLICT: the name is taken,
 * or too long (repo.known); the first commit may fail as cairn_index_add_commit(). */
struct cairn_index_add_repo {
	struct cairn_index_write write;
	enum cairn_index_repo_kind kind;
	int64_t account;
	const char *name; /* borrowed */
	bool is_private;
	enum cairn_index_gate gate;
	const char *sdk;                  /* borrowed; NULL: none */
	struct cairn_index_message first; /* message of the first commit of a git-like repository */
	const struct cairn_git_oid
		*first_id; /* its id elsewhere, which it keeps; borrowed. NULL: computed as git does */
	const struct cairn_index_operation *operations; /* operations of the first commit; borrowed */
	uint32_t n;
	int64_t source; /* a repository whose files the operations may name, too, by its SHA-256 claims; 0: none */
	int64_t guard;  /* as in struct cairn_index_repo */
	/* A mirrored repository that this write drops, if it still exists. The new one takes over its state and the
	 * operator's settings (mirror_list.h), and may have its name. 0: none */
	int64_t replaces;
	int64_t created_unix_ms; /* 0: now */
	int64_t id;              /* result */
};
CAIRN_MUST_USE enum cairn_status cairn_index_add_repo(struct cairn_index *ix, struct cairn_index_add_repo *add);

/** Sets who may see a repository and read its files. CAIRN_E_NOT_FOUND: no such repository (repo.unknown). */
struct cairn_index_set_repo {
	struct cairn_index_write write;
	int64_t id;
	bool keeps_private, keeps_gate; /* do not change this value */
	bool is_private;
	enum cairn_index_gate gate;
	bool sets_pulls, pulls_closed; /* sets_pulls: set pulls_closed */
};
CAIRN_MUST_USE enum cairn_status cairn_index_set_repo(struct cairn_index *ix, struct cairn_index_set_repo *set);

/** Sets a repository's guard: an account whose restricted files it gets, and whose admin decides whether everybody may
 * read them. If it has another guard already, only an operator decides. CAIRN_E_NOT_FOUND: no repository has this
 * number, or it is not private (repo.unknown). */
struct cairn_index_guard_repo {
	struct cairn_index_write write;
	int64_t id;
	int64_t guard; /* as in struct cairn_index_repo, not 0 */
};
CAIRN_MUST_USE enum cairn_status cairn_index_guard_repo(struct cairn_index *ix, struct cairn_index_guard_repo *guard);

/** Renames a repository. A git-like one is also found by its old name, until another repository takes that.
 * CAIRN_E_NOT_FOUND: no such repository (repo.unknown); CAIRN_E_CONFLICT: the name is taken, or too long
 * (repo.known). */
struct cairn_index_move_repo {
	struct cairn_index_write write;
	int64_t id;
	int64_t account;  /* the new account */
	const char *name; /* borrowed */
};
CAIRN_MUST_USE enum cairn_status cairn_index_move_repo(struct cairn_index *ix, struct cairn_index_move_repo *move);

/** Deletes a repository: from now on it is not found, its name is free, and no viewer may read its files.
 * cairn_index_sweep_repos() removes its contents. CAIRN_E_NOT_FOUND: no repository has this number (repo.unknown). */
struct cairn_index_drop_repo {
	struct cairn_index_write write;
	int64_t id;
};
CAIRN_MUST_USE enum cairn_status cairn_index_drop_repo(struct cairn_index *ix, struct cairn_index_drop_repo *drop);

/** Removes unreachable rows for about CAIRN_INDEX_GC_MS: contents of deleted repositories; lines and commits that no
 * branch, tag or pull request reaches; and the ownership of files that were uploaded to a bucket at least grace_s ago
 * and have no path in it. Git-like repositories keep all their files, because Git LFS refers to files elsewhere. */
struct cairn_index_sweep_repos {
	struct cairn_index_write write;
	int64_t grace_s;
	struct cairn_index_sweep_place {
		int stage;
		int64_t repo, line, file;
		int64_t keep; /* the last commit of the line to keep */
		char folder[CAIRN_INDEX_PATH_MAX + 1], name[CAIRN_INDEX_PATH_MAX + 1]; /* path in the line */
		uint8_t sha256[CAIRN_SHA256_BYTES];
		bool has_sha256;
	} at;      /* all zero at first; later as the last call left it */
	bool more; /* result: there may be more to remove */
};
CAIRN_MUST_USE enum cairn_status cairn_index_sweep_repos(struct cairn_index *ix, struct cairn_index_sweep_repos *sweep);

/* --- files of buckets (struct cairn_index_object) ----------------------------------------------------------------- */

/** A file at a path of a bucket. */
struct cairn_index_object {
	const char *path;       /* set only during a visit; else NULL */
	struct cairn_hash file; /* all zero: the empty file */
	uint64_t size_bytes;
	bool has_mtime;
	int64_t mtime_unix_ms; /* as the client reported it */
	int64_t uploaded_unix_ms;
	char type[CAIRN_INDEX_TYPE_MAX + 1]; /* as the client reported it; empty: not reported */
};

/** Returns the file at this path of a bucket. @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_object(struct cairn_index *ix, int64_t repo, const char *path,
						    struct cairn_index_object *out);

/** Visits the files of a bucket whose paths have this prefix, in the order of the bytes of the paths. The visit
 * occupies a reader of the index, so visit() must not call it.
 * @param from   the path to start at; "": from the first
 * @param visit  returns false to stop
 * @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_object(
	struct cairn_index *ix, int64_t repo, const char *prefix, const char *from,
	bool (*visit)(void *ctx, const struct cairn_index_object *object), void *ctx);

enum cairn_index_change_kind { CAIRN_INDEX_OBJECT_SET, CAIRN_INDEX_OBJECT_COPY, CAIRN_INDEX_OBJECT_DROP };

/** A change of a bucket. */
struct cairn_index_change {
	enum cairn_index_change_kind kind;
	bool has_mtime;
	const char *path;       /* 1 to CAIRN_INDEX_PATH_MAX bytes; borrowed */
	struct cairn_hash file; /* of SET and COPY; all zero: the empty file */
	int64_t source; /* of COPY: a bucket that has the file at some path, or another repository that owns it */
	int64_t mtime_unix_ms;
	const char *type; /* at most CAIRN_INDEX_TYPE_MAX bytes; borrowed */
	bool failed;      /* result: the bucket, or the source of a copy, does not have the file */
};

/** Changes files of a bucket, in one transaction and in order. A change that fails changes nothing, and the others are
 * applied. A file left without a path stops being the bucket's. Removing a missing path is no error.
 * CAIRN_E_NOT_FOUND: there is no such bucket (repo.unknown); CAIRN_E_LIMIT: there are too many changes;
 * CAIRN_E_DENIED: the bucket would hold too much (quota.repo, quota.account). */
struct cairn_index_change_objects {
	struct cairn_index_write write;
	int64_t repo;
	struct cairn_index_change *changes; /* borrowed */
	uint32_t n;                         /* at most CAIRN_INDEX_CHANGES_MAX */
};
CAIRN_MUST_USE enum cairn_status cairn_index_change_objects(struct cairn_index *ix,
							    struct cairn_index_change_objects *change);

#endif
