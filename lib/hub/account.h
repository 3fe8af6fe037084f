/* Accounts, and the client that sends a request ("the asker"). */
#ifndef CAIRN_HUB_ACCOUNT_H
#define CAIRN_HUB_ACCOUNT_H

#include "cas/service/keys.h"
#include "hub/hub.h"
#include "index/hub/hub.h"

/* In all headers of this folder, "as index and store" and "as a write" stand for the statuses that cas/cas.h lists. */

#define CAIRN_HUB_OPERATOR_NAME "operator"

enum cairn_hub_asker_kind {
	CAIRN_HUB_NOBODY,
	CAIRN_HUB_ACCOUNT,
	CAIRN_HUB_OPERATOR, /* has a key of no account, or no tokens are needed */
};

/** The asker, as the API key of the request identifies it. Plain value; zeroed: nobody. */
struct cairn_hub_asker {
	enum cairn_hub_asker_kind kind;
	bool shut_out;                                  /* nobody, who may not even see public repositories */
	unsigned scopes;                                /* bits of enum cairn_token_scope, implied ones included */
	int64_t key;                                    /* number of the key; 0: no key */
	int64_t key_created_unix_s, key_expires_unix_s; /* expires: 0 never */
	char key_name[CAIRN_KEY_NAME_MAX + 1];
	char key_repo[CAIRN_KEY_NAME_MAX + 1]; /* the only repository that the key opens; empty: any */
	struct cairn_index_account account;
	int64_t admitted; /* number of a mirrored repository that the mirrored hub lets the asker read; 0: none */
};

/** Sets the asker to the operator, as for all requests to a daemon that needs no tokens. */
void cairn_hub_set_operator(struct cairn_hub_asker *out);

/** Finds the holder of the key with this digest. @return CAIRN_OK; CAIRN_E_DENIED the key is unknown or revoked, or its
 * account is disabled (key.unknown); as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_identify(const struct cairn_hub *hub,
						    const uint8_t digest[static CAIRN_SHA256_BYTES],
						    struct cairn_hub_asker *out, struct cairn_diag *diag);

/** Finds the user whom a trusted proxy names. The user may do all that the account may, but nothing that takes an
 * operator.
 * @return CAIRN_OK; CAIRN_E_DENIED no such user, or a disabled one (user.refused); as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_identify_user(const struct cairn_hub *hub, const char *name,
							 struct cairn_hub_asker *out, struct cairn_diag *diag);

/** The properties of a new account. Borrowed. */
struct cairn_hub_new_account {
	enum cairn_index_account_kind kind;
	const char *name, *fullname, *email;
};

/** Makes an account. Waits for the index's writer.
 * @return CAIRN_OK; CAIRN_E_USAGE the name is not valid (account.name), or reserved (account.reserved);
 *         CAIRN_E_CONFLICT the name is taken (account.known); as a write */
CAIRN_MUST_USE enum cairn_status cairn_hub_add_account(const struct cairn_hub *hub,
						       const struct cairn_hub_new_account *account, int64_t *id,
						       struct cairn_diag *diag);

/** Disables or enables an account: while it is disabled, its keys and the tokens obtained with them are refused. Waits
 * for the index's writer.
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND (account.unknown); as a write */
CAIRN_MUST_USE enum cairn_status cairn_hub_disable_account(const struct cairn_hub *hub, const char *name, bool disabled,
							   bool *changed, struct cairn_diag *diag);

/** Sets the role of a user in an organisation. Only an operator may take the role from the last admin. Waits for the
 *  index's writer. @return CAIRN_OK; CAIRN_E_NOT_FOUND (account.unknown, user.unknown); CAIRN_E_CONFLICT
 * (member.last_admin); as a write */
CAIRN_MUST_USE enum cairn_status cairn_hub_set_member(const struct cairn_hub *hub, bool by_operator,
						      const char *organisation, const char *user,
						      enum cairn_index_role role, bool *changed,
						      struct cairn_diag *diag);

/** Returns "read", "write" or "admin"; "none" for a user who is not a member. */
const char *cairn_hub_role_name(enum cairn_index_role role);
/** Finds the role with this name. @return false: no role has it */
bool cairn_hub_role_parse(const char *name, enum cairn_index_role *out);

/** Fails: there is no such account (account.unknown), or the asker may not see it.
 * @return CAIRN_E_NOT_FOUND */
CAIRN_MUST_USE enum cairn_status cairn_hub_no_account(struct cairn_diag *diag);

/** Finds an account by name, for a key. @return CAIRN_OK; CAIRN_E_NOT_FOUND (account.unknown); as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_find_account(const struct cairn_hub *hub, const char *name,
							struct cairn_index_account *out, struct cairn_diag *diag);

/** Visits all accounts. @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_each_account(
	const struct cairn_hub *hub, void (*visit)(void *ctx, const struct cairn_index_account *account), void *ctx);
/** Visits all members of an organisation. @return CAIRN_OK; CAIRN_E_NOT_FOUND no organisation has this name
 * (account.unknown); as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_each_member(const struct cairn_hub *hub, const char *organisation,
						       cairn_index_visit_member *visit, void *ctx,
						       struct cairn_diag *diag);
/** Visits all organisations of a user, by the number of the user. @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_each_organisation(const struct cairn_hub *hub, int64_t user,
							     cairn_index_visit_member *visit, void *ctx);

/** Returns the author's name for commits of the asker. */
const char *cairn_hub_author(const struct cairn_hub_asker *asker);

/** Writes the author's email for git. It contains only the name, so it reveals nothing else. */
enum { CAIRN_HUB_EMAIL_BYTES = CAIRN_INDEX_ACCOUNT_NAME_MAX + 32 };
void cairn_hub_email(char out[static CAIRN_HUB_EMAIL_BYTES], const char *author);

#endif
