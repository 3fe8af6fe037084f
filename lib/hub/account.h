/* Accounts, and who asks. */
#ifndef CAIRN_HUB_ACCOUNT_H
#define CAIRN_HUB_ACCOUNT_H

#include "cas/cas.h"
#include "cas/keys.h"
#include "index/hub.h"

/* Statuses, for all headers of this room: "as index and store" and "as a write" stand for what cas/cas.h lists. */

/** The name of CAIRN_HUB_OPERATOR. */
#define CAIRN_HUB_OPERATOR_NAME "operator"

enum cairn_hub_asker_kind {
	CAIRN_HUB_NOBODY,
	CAIRN_HUB_ACCOUNT,
	CAIRN_HUB_OPERATOR, /* with a key of no account, or where no tokens are needed */
};

/** Who asks, by the API key that came along. Plain value; zeroed it is nobody. */
struct cairn_hub_asker {
	enum cairn_hub_asker_kind kind;
	bool shut_out;                                  /* of CAIRN_HUB_NOBODY: sees not even what is public */
	unsigned scopes;                                /* enum cairn_token_scope, implied ones included */
	int64_t key;                                    /* its number; 0: there was none */
	int64_t key_created_unix_s, key_expires_unix_s; /* expires: 0 never */
	char key_name[CAIRN_KEY_NAME_MAX + 1];
	char key_repo[CAIRN_KEY_NAME_MAX + 1]; /* the one repository that it is for; empty: any */
	struct cairn_index_account account;    /* of CAIRN_HUB_ACCOUNT */
};

/** Whoever asks where no tokens are needed. */
void cairn_hub_set_operator(struct cairn_hub_asker *out);

/** Who holds the key with this digest? @return CAIRN_OK; CAIRN_E_DENIED it is unknown or revoked, or its account is
 *  disabled (key.unknown); as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_identify(struct cairn_cas *cas,
						    const uint8_t digest[static CAIRN_SHA256_BYTES],
						    struct cairn_hub_asker *out, struct cairn_diag *diag);

/** Finds the user whom a trusted proxy names. The user may do what the account may, except for what takes an operator.
 *  @return CAIRN_OK; CAIRN_E_DENIED there is no user of this name, or the user is disabled (user.refused); as index and
 *  store */
CAIRN_MUST_USE enum cairn_status cairn_hub_identify_user(struct cairn_cas *cas, const char *name,
							 struct cairn_hub_asker *out, struct cairn_diag *diag);

/** What to know of a new account. Borrowed. */
struct cairn_hub_new_account {
	enum cairn_index_account_kind kind;
	const char *name, *fullname, *email;
};

/**
 * Make an account. Waits for the index's writer.
 * @return CAIRN_OK; CAIRN_E_USAGE the name is none (account.name), or reserved (account.reserved);
 *         CAIRN_E_CONFLICT it is taken (account.known); as a write
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_add_account(struct cairn_cas *cas,
						       const struct cairn_hub_new_account *account, int64_t *id,
						       struct cairn_diag *diag);

/** Refuse the keys of an account, and the tokens got with them, or take them again. Waits for the index's writer.
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND (account.unknown); as a write */
CAIRN_MUST_USE enum cairn_status cairn_hub_disable_account(struct cairn_cas *cas, const char *name, bool disabled,
							   bool *changed, struct cairn_diag *diag);

/** Say what a user is in an organisation. The last admin stays one, unless an operator says so. Waits for the index's
 *  writer. @return CAIRN_OK; CAIRN_E_NOT_FOUND (account.unknown, user.unknown); CAIRN_E_CONFLICT (member.last_admin);
 * as a write */
CAIRN_MUST_USE enum cairn_status cairn_hub_set_member(struct cairn_cas *cas, bool by_operator, const char *organisation,
						      const char *user, enum cairn_index_role role, bool *changed,
						      struct cairn_diag *diag);

/** "read", "write", "admin"; "none" for no member. */
const char *cairn_hub_role_name(enum cairn_index_role role);
/** @return false: it is the name of none */
bool cairn_hub_role_parse(const char *name, enum cairn_index_role *out);

/** Say that there is no such account (account.unknown), also where there is one that is not shown.
 *  @return CAIRN_E_NOT_FOUND */
CAIRN_MUST_USE enum cairn_status cairn_hub_no_account(struct cairn_diag *diag);

/** The number of an account, to make a key for it. @return CAIRN_OK; CAIRN_E_NOT_FOUND (account.unknown); as index and
 * store */
CAIRN_MUST_USE enum cairn_status cairn_hub_find_account(struct cairn_cas *cas, const char *name,
							struct cairn_index_account *out, struct cairn_diag *diag);

/** Visit all accounts. @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_each_account(
	struct cairn_cas *cas, void (*visit)(void *ctx, const struct cairn_index_account *account), void *ctx);
/** Visit all members of an organisation. @return as above; CAIRN_E_NOT_FOUND none has this name,
 * or it is a user's (account.unknown) */
CAIRN_MUST_USE enum cairn_status cairn_hub_each_member(struct cairn_cas *cas, const char *organisation,
						       cairn_index_visit_member *visit, void *ctx,
						       struct cairn_diag *diag);
/** Visits all organisations of a user, by the number of the user. @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_each_organisation(struct cairn_cas *cas, int64_t user,
							     cairn_index_visit_member *visit, void *ctx);

/** What a commit's author is called. */
const char *cairn_hub_author(const struct cairn_hub_asker *asker);

/** The email that a commit's author has in git: it tells no more than the name. */
enum { CAIRN_HUB_EMAIL_BYTES = CAIRN_INDEX_ACCOUNT_NAME_MAX + 32 };
void cairn_hub_email(char out[static CAIRN_HUB_EMAIL_BYTES], const char *author);

#endif
