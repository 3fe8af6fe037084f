/* What a hub asks of an index: whose names there are, and who belongs to whom. */
#ifndef CAIRN_INDEX_HUB_H
#define CAIRN_INDEX_HUB_H

#include "index/index.h"

enum {
	CAIRN_INDEX_ACCOUNT_NAME_MAX = 96,  /* bytes of an account's name */
	CAIRN_INDEX_ACCOUNT_TEXT_MAX = 255, /* bytes of what is told of it */
};

enum cairn_index_account_kind { CAIRN_INDEX_USER = 1, CAIRN_INDEX_ORGANISATION = 2 };

/** What a member may do in an organisation: each may what the ones before it may. */
enum cairn_index_role {
	CAIRN_INDEX_ROLE_NONE,
	CAIRN_INDEX_ROLE_READ,
	CAIRN_INDEX_ROLE_WRITE,
	CAIRN_INDEX_ROLE_ADMIN,
};

/** A user or an organisation. Plain value. */
struct cairn_index_account {
	int64_t id; /* never given again */
	enum cairn_index_account_kind kind;
	char name[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1];     /* one whatever the case of its letters */
	char fullname[CAIRN_INDEX_ACCOUNT_TEXT_MAX + 1]; /* for people; may be empty */
	char email[CAIRN_INDEX_ACCOUNT_TEXT_MAX + 1];    /* may be empty */
	int64_t created_unix_s;
	int64_t disabled_unix_s; /* 0: its keys are good */
};

/** The account of this name, in any case. @return CAIRN_OK; CAIRN_E_NOT_FOUND; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_index_account(struct cairn_index *ix, const char *name,
						     struct cairn_index_account *out);
/** Likewise by its number. */
CAIRN_MUST_USE enum cairn_status cairn_index_account_by_id(struct cairn_index *ix, int64_t id,
							   struct cairn_index_account *out);

/** Visit all accounts in the order in which they were made, as cairn_index_each_key() (operate.h). */
CAIRN_MUST_USE enum cairn_status cairn_index_each_account(struct cairn_index *ix, int64_t from_id, uint32_t limit,
							  void (*visit)(void *ctx,
									const struct cairn_index_account *account),
							  void *ctx, int64_t *next_id);

/** What a user is in an organisation. @param[out] role  CAIRN_INDEX_ROLE_NONE: no member
 *  @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_index_role(struct cairn_index *ix, int64_t organisation, int64_t user,
						  enum cairn_index_role *role);

/** What is visited of a membership: the other account, and the role. Borrowed for the time of the call. */
typedef void cairn_index_visit_member(void *ctx, const struct cairn_index_account *account, enum cairn_index_role role);

/** Visit the members of an organisation in the order of their numbers, a page at a time; from_id and next_id are
 * theirs.
 *  @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_index_each_member(struct cairn_index *ix, int64_t organisation, int64_t from_id,
							 cairn_index_visit_member *visit, void *ctx, int64_t *next_id);
/** Likewise the organisations that a user is a member of. */
CAIRN_MUST_USE enum cairn_status cairn_index_each_organisation(struct cairn_index *ix, int64_t user, int64_t from_id,
							       cairn_index_visit_member *visit, void *ctx,
							       int64_t *next_id);

/** Make an account. CAIRN_E_CONFLICT: the name is taken, or a text is too long. */
struct cairn_index_add_account {
	struct cairn_index_write write;
	enum cairn_index_account_kind kind;
	const char *name, *fullname, *email; /* borrowed */
	int64_t id;                          /* result */
};
CAIRN_MUST_USE enum cairn_status cairn_index_add_account(struct cairn_index *ix, struct cairn_index_add_account *add);

/** Refuse the keys of an account from now on, or take them again. CAIRN_E_NOT_FOUND: there is none of this name. */
struct cairn_index_disable_account {
	struct cairn_index_write write;
	const char *name; /* borrowed */
	bool disabled;    /* what it is to be */
	bool changed;     /* result; false: it was so before */
};
CAIRN_MUST_USE enum cairn_status cairn_index_disable_account(struct cairn_index *ix,
							     struct cairn_index_disable_account *disable);

/** Say what a user is in an organisation. CAIRN_E_NOT_FOUND: there is no such organisation (account.unknown), or no
 * such user (user.unknown). */
struct cairn_index_set_member {
	struct cairn_index_write write;
	const char *organisation, *user; /* borrowed */
	enum cairn_index_role role;      /* CAIRN_INDEX_ROLE_NONE: no member any more */
	bool changed;                    /* result; false: it was so before */
};
CAIRN_MUST_USE enum cairn_status cairn_index_set_member(struct cairn_index *ix, struct cairn_index_set_member *set);

#endif
