#include "hub/account.h"

#include "hub/name.h"
#include "index/daemon/keys.h"
#include "index/operate.h"
#include "token/token.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

_Static_assert((int)CAIRN_HUB_NAME_MAX == (int)CAIRN_INDEX_ACCOUNT_NAME_MAX, "what the index keeps of a name");

void cairn_hub_set_operator(struct cairn_hub_asker *out)
{
	*out = (struct cairn_hub_asker){.kind = CAIRN_HUB_OPERATOR,
					.scopes = CAIRN_TOKEN_READ | CAIRN_TOKEN_WRITE | CAIRN_TOKEN_ADMIN};
}

static enum cairn_status account_denied(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_DENIED, "key.unknown", CAIRN_NO_OFFSET,
			  "this API key is not known here, or was revoked; make one with cairn key");
}

enum cairn_status cairn_hub_identify(const struct cairn_hub *hub, const uint8_t digest[static CAIRN_SHA256_BYTES],
				     struct cairn_hub_asker *out, struct cairn_diag *diag)
{
	struct cairn_index_key key;
	*out = (struct cairn_hub_asker){0};
	enum cairn_status status = cairn_cas_use_key(hub->cas, digest, &key, diag);
	if (status == CAIRN_OK && key.account != 0)
		status = cairn_index_account_by_id(hub->index, key.account, &out->account);
	if (status != CAIRN_OK)
		return status;
	if (out->account.disabled_unix_s != 0)
		return account_denied(diag);
	out->kind = key.account != 0 ? CAIRN_HUB_ACCOUNT : CAIRN_HUB_OPERATOR;
	out->scopes = cairn_key_allows(key.scopes);
	out->key = key.id;
	out->key_created_unix_s = key.created_unix_s;
	out->key_expires_unix_s = key.expires_unix_s;
	memcpy(out->key_name, key.name, sizeof(out->key_name));
	memcpy(out->key_repo, key.repo, sizeof(out->key_repo));
	return CAIRN_OK;
}

enum cairn_status cairn_hub_identify_user(const struct cairn_hub *hub, const char *name, struct cairn_hub_asker *out,
					  struct cairn_diag *diag)
{
	*out = (struct cairn_hub_asker){0};
	enum cairn_status status = cairn_index_account(hub->index, name, &out->account);
	if (status != CAIRN_OK && status != CAIRN_E_NOT_FOUND)
		return status;
	/* Nobody has the operator's own account, whatever a proxy calls its users. */
	bool is_nobodys = status == CAIRN_OK && strcasecmp(out->account.name, CAIRN_HUB_OPERATOR_NAME) == 0;
	if (status != CAIRN_OK || is_nobodys || out->account.kind != CAIRN_INDEX_USER ||
	    out->account.disabled_unix_s != 0)
		return cairn_fail(
			diag, CAIRN_E_DENIED, "user.refused", CAIRN_NO_OFFSET,
			"you are signed in as %.96s, of whom there is no account here, or a disabled one; ask "
			"the operator for one (cairn user add)",
			name);
	out->kind = CAIRN_HUB_ACCOUNT;
	out->scopes = CAIRN_TOKEN_READ | CAIRN_TOKEN_WRITE;
	return CAIRN_OK;
}

enum cairn_status cairn_hub_add_account(const struct cairn_hub *hub, const struct cairn_hub_new_account *account,
					int64_t *id, struct cairn_diag *diag)
{
	*id = 0;
	if (!cairn_hub_name_is_good(account->name))
		return cairn_fail(
			diag, CAIRN_E_USAGE, "account.name", CAIRN_NO_OFFSET,
			"a name has 1 to %d letters, digits, \"-\", \"_\" and \".\"; not \"-\" or \".\" at an "
			"end, and not \"--\" or \"..\"",
			CAIRN_HUB_NAME_MAX);
	if (cairn_hub_name_is_reserved(account->name))
		return cairn_fail(diag, CAIRN_E_USAGE, "account.reserved", CAIRN_NO_OFFSET,
				  "the name \"%s\" is kept for the server's own addresses; take another",
				  account->name);
	struct cairn_index_add_account add = {
		.kind = account->kind, .name = account->name, .fullname = account->fullname, .email = account->email};
	enum cairn_status status = cairn_index_add_account(hub->index, &add);
	*diag = add.write.diag;
	*id = add.id;
	return status;
}

enum cairn_status cairn_hub_disable_account(const struct cairn_hub *hub, const char *name, bool disabled, bool *changed,
					    struct cairn_diag *diag)
{
	struct cairn_index_disable_account disable = {.name = name, .disabled = disabled};
	enum cairn_status status = cairn_index_disable_account(hub->index, &disable);
	*diag = disable.write.diag;
	*changed = status == CAIRN_OK && disable.changed;
	return status;
}

enum cairn_status cairn_hub_set_member(const struct cairn_hub *hub, bool by_operator, const char *organisation,
				       const char *user, enum cairn_index_role role, bool *changed,
				       struct cairn_diag *diag)
{
	struct cairn_index_set_member set = {
		.organisation = organisation, .user = user, .role = role, .keeps_admin = !by_operator};
	enum cairn_status status = cairn_index_set_member(hub->index, &set);
	*diag = set.write.diag;
	*changed = status == CAIRN_OK && set.changed;
	return status;
}

static const char *const ROLES[] = {
	[CAIRN_INDEX_ROLE_NONE] = "none",
	[CAIRN_INDEX_ROLE_READ] = "read",
	[CAIRN_INDEX_ROLE_WRITE] = "write",
	[CAIRN_INDEX_ROLE_ADMIN] = "admin",
};

const char *cairn_hub_role_name(enum cairn_index_role role)
{
	return ROLES[role];
}

bool cairn_hub_role_parse(const char *name, enum cairn_index_role *out)
{
	for (*out = CAIRN_INDEX_ROLE_NONE; *out <= CAIRN_INDEX_ROLE_ADMIN; (*out)++)
		if (strcmp(name, ROLES[*out]) == 0)
			return true;
	return false;
}

enum cairn_status cairn_hub_no_account(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_NOT_FOUND, "account.unknown", CAIRN_NO_OFFSET,
			  "there is no account of this name; make one with cairn user or cairn org");
}

enum cairn_status cairn_hub_find_account(const struct cairn_hub *hub, const char *name, struct cairn_index_account *out,
					 struct cairn_diag *diag)
{
	enum cairn_status status = cairn_index_account(hub->index, name, out);
	return status == CAIRN_E_NOT_FOUND ? cairn_hub_no_account(diag) : status;
}

enum cairn_status cairn_hub_each_account(const struct cairn_hub *hub,
					 void (*visit)(void *ctx, const struct cairn_index_account *account), void *ctx)
{
	int64_t from_id = 0;
	enum cairn_status status;
	do {
		status = cairn_index_each_account(hub->index, from_id, CAIRN_INDEX_PAGE_MAX, visit, ctx, &from_id);
	} while (status == CAIRN_OK && from_id != 0);
	return status;
}

enum cairn_status cairn_hub_each_member(const struct cairn_hub *hub, const char *organisation,
					cairn_index_visit_member *visit, void *ctx, struct cairn_diag *diag)
{
	struct cairn_index_account account;
	int64_t from_id = 0;
	enum cairn_status status = cairn_hub_find_account(hub, organisation, &account, diag);
	if (status == CAIRN_OK && account.kind != CAIRN_INDEX_ORGANISATION)
		status = cairn_fail(diag, CAIRN_E_NOT_FOUND, "account.unknown", CAIRN_NO_OFFSET,
				    "\"%s\" is a user, who has no members; cairn org list shows the organisations",
				    account.name);
	if (status != CAIRN_OK)
		return status;
	do {
		status = cairn_index_each_member(hub->index, account.id, from_id, visit, ctx, &from_id);
	} while (status == CAIRN_OK && from_id != 0);
	return status;
}

enum cairn_status cairn_hub_each_organisation(const struct cairn_hub *hub, int64_t user,
					      cairn_index_visit_member *visit, void *ctx)
{
	int64_t from_id = 0;
	enum cairn_status status;
	do {
		status = cairn_index_each_organisation(hub->index, user, from_id, visit, ctx, &from_id);
	} while (status == CAIRN_OK && from_id != 0);
	return status;
}

const char *cairn_hub_author(const struct cairn_hub_asker *asker)
{
	return asker->kind == CAIRN_HUB_ACCOUNT ? asker->account.name : CAIRN_HUB_OPERATOR_NAME;
}

void cairn_hub_email(char out[static CAIRN_HUB_EMAIL_BYTES], const char *author)
{
	(void)snprintf(out, CAIRN_HUB_EMAIL_BYTES, "%s@users.noreply.invalid", author);
}
