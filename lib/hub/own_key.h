/* Keys that the holder of an account makes for their own use. */
#ifndef CAIRN_HUB_OWN_KEY_H
#define CAIRN_HUB_OWN_KEY_H

#include "hub/account.h"

enum {
	CAIRN_HUB_OWN_KEYS_MAX = 100,   /* keys that are neither revoked nor expired */
	CAIRN_HUB_KEPT_KEYS_MAX = 1000, /* all keys, those kept after their end included */
};

/** May the asker make keys for their own account? @return CAIRN_OK; CAIRN_E_DENIED the asker has no account, or used a
 * key for one repository, or one that only reads (key.own) */
CAIRN_MUST_USE enum cairn_status cairn_hub_check_own_keys(const struct cairn_hub_asker *asker, struct cairn_diag *diag);

/** Makes a key for the asker's own account. The key expires no later than the key of the request, and is revoked with
 * it. Waits for the index's writer.
 * @param name     for people; not empty
 * @param writing  the key may also write
 * @param[out] text  the key itself, which is not stored
 * @return CAIRN_OK; CAIRN_E_USAGE the name is empty or too long (key.name); CAIRN_E_DENIED the asker has no account, or
 *         used a key for one repository, or one that only reads (key.own); CAIRN_E_CONFLICT the account has too many
 *         keys (key.many); as a write */
CAIRN_MUST_USE enum cairn_status cairn_hub_make_own_key(const struct cairn_hub *hub,
							const struct cairn_hub_asker *asker, const char *name,
							bool writing, char text[static CAIRN_KEY_TEXT_BYTES],
							struct cairn_diag *diag);

/** Revokes a key of the asker's own account, and the keys made with it, if the key of the request may write. Sessions
 * and tokens obtained with the revoked keys end. Waits for the index's writer. @return CAIRN_OK; CAIRN_E_NOT_FOUND the
 * account has no such key (key.unknown); CAIRN_E_DENIED as cairn_hub_make_own_key(); as a write */
CAIRN_MUST_USE enum cairn_status cairn_hub_revoke_own_key(const struct cairn_hub *hub,
							  const struct cairn_hub_asker *asker, int64_t id,
							  struct cairn_diag *diag);

/** Visits the keys of the asker's own account, even revoked ones. @return CAIRN_OK; CAIRN_E_DENIED as
 * cairn_hub_make_own_key(); as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_each_own_key(const struct cairn_hub *hub,
							const struct cairn_hub_asker *asker,
							void (*visit)(void *ctx, const struct cairn_key *key),
							void *ctx, struct cairn_diag *diag);

#endif
