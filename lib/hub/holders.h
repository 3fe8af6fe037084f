/* Lists for an operator which account holds which keys. Never shows a key itself, which is not stored. */
#ifndef CAIRN_HUB_HOLDERS_H
#define CAIRN_HUB_HOLDERS_H

#include "hub/account.h"

enum {
	CAIRN_HOLDERS_MAX = 26,       /* accounts of a page, the operator's included */
	CAIRN_HOLDER_KEYS_MAX = 100,  /* keys of one account that are listed */
	CAIRN_HOLDER_SCOPES_MAX = 23, /* bytes of the scopes of a key */
};

/** A key that was not revoked. */
struct cairn_held_key {
	int64_t id;
	int64_t created_unix_s, expires_unix_s, used_unix_s; /* as in struct cairn_key */
	char name[CAIRN_KEY_NAME_MAX + 1], repo[CAIRN_KEY_NAME_MAX + 1];
	char scopes[CAIRN_HOLDER_SCOPES_MAX + 1];
};

struct cairn_holder {
	struct cairn_index_account account; /* zeroed for the operator's keys */
	struct cairn_held_key *keys;        /* owned; in the order in which they were made */
	uint32_t n_keys, n_more;            /* keys listed, and omitted */
};

/** A page. Zeroed is empty. */
struct cairn_holders {
	uint32_t n;
	struct cairn_holder all[CAIRN_HOLDERS_MAX];
	int64_t next_id; /* from_id of the next page; 0: this is the last page */
};

/**
 * Lists accounts in the order in which they were made, with the keys of each. The operator's keys come first. Reads all
 * keys of the index. For workers.
 * @param from_id  0, then next_id; or the id of any account, to list accounts after it
 * @param[out] out  empty unless CAIRN_OK
 * @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_list_holders(struct cairn_holders *out, const struct cairn_hub *hub,
							int64_t from_id);
void cairn_holders_fini(struct cairn_holders *holders);

#endif
