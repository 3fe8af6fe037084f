#include "hub/own_key.h"

#include "hub/may.h"

#include <string.h>
#include <strings.h>

static enum cairn_status own_key_denied(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_DENIED, "key.own", CAIRN_NO_OFFSET,
			  "only an account can make its own keys, with a key that may write and is not for one "
			  "repository; the operator makes other keys with cairn key add");
}

static bool own_key_has_account(const struct cairn_hub_asker *asker)
{
	return asker->kind == CAIRN_HUB_ACCOUNT && !asker->key_repo[0];
}

/* Keys made by a read-only key would outlive its revocation, and use up the account's limit of keys. */
enum cairn_status cairn_hub_check_own_keys(const struct cairn_hub_asker *asker, struct cairn_diag *diag)
{
	return cairn_hub_acts_for_account(asker) ? CAIRN_OK : own_key_denied(diag);
}

struct own_key_walk {
	const char *account;
	int64_t id; /* the key to find; 0: found */
	void (*visit)(void *ctx, const struct cairn_key *key);
	void *ctx;
};

static void own_key_take(void *ctx, const struct cairn_key *key)
{
	struct own_key_walk *walk = ctx;
	if (strcasecmp(key->account, walk->account) != 0)
		return;
	if (key->id == walk->id)
		walk->id = 0;
	if (walk->visit)
		walk->visit(walk->ctx, key);
}

enum cairn_status cairn_hub_make_own_key(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					 const char *name, bool writing, char text[static CAIRN_KEY_TEXT_BYTES],
					 struct cairn_diag *diag)
{
	char repo[CAIRN_KEY_NAME_MAX + 1];
	int64_t id;
	enum cairn_status status = cairn_hub_check_own_keys(asker, diag);
	if (status != CAIRN_OK)
		return status;
	const struct cairn_key key = {.name = name,
				      .repo = "",
				      .scopes = writing ? "write" : "read",
				      .account = asker->account.name,
				      .expires_unix_s = asker->key_expires_unix_s,
				      .parent = asker->key};
	const struct cairn_key_limits limits = {.good_max = CAIRN_HUB_OWN_KEYS_MAX,
						.kept_max = CAIRN_HUB_KEPT_KEYS_MAX};
	status = cairn_cas_make_limited_key(hub->cas, &key, &limits, repo, text, &id, diag);
	if (status == CAIRN_E_USAGE)
		return cairn_fail(diag, status, "key.name", CAIRN_NO_OFFSET,
				  "a key needs a name of 1 to %d bytes, by which you know it again",
				  CAIRN_KEY_NAME_MAX);
	return status;
}

enum cairn_status cairn_hub_each_own_key(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					 void (*visit)(void *ctx, const struct cairn_key *key), void *ctx,
					 struct cairn_diag *diag)
{
	struct own_key_walk walk = {.account = asker->account.name, .visit = visit, .ctx = ctx};
	return own_key_has_account(asker) ? cairn_cas_each_key(hub->cas, own_key_take, &walk) : own_key_denied(diag);
}

enum cairn_status cairn_hub_revoke_own_key(const struct cairn_hub *hub, const struct cairn_hub_asker *asker, int64_t id,
					   struct cairn_diag *diag)
{
	struct own_key_walk walk = {.account = asker->account.name, .id = id};
	bool revoked;
	enum cairn_status status = cairn_hub_check_own_keys(asker, diag);
	if (status == CAIRN_OK)
		status = cairn_cas_each_key(hub->cas, own_key_take, &walk);
	if (status == CAIRN_OK && (walk.id != 0 || id == 0))
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "key.unknown", CAIRN_NO_OFFSET,
				  "there is no key of this number");
	return status == CAIRN_OK ? cairn_cas_revoke_key(hub->cas, id, &revoked) : status;
}
