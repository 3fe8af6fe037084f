#include "hub/holders.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct holders_walk {
	struct cairn_holders *out;
	enum cairn_status status;
};

void cairn_holders_fini(struct cairn_holders *holders)
{
	for (uint32_t i = 0; i < holders->n; i++)
		free(holders->all[i].keys);
	*holders = (struct cairn_holders){0};
}

static void holders_take_account(void *ctx, const struct cairn_index_account *account)
{
	struct cairn_holders *out = ((struct holders_walk *)ctx)->out;
	if (out->n < CAIRN_HOLDERS_MAX)
		out->all[out->n++].account = *account;
}

static struct cairn_holder *holders_find(struct cairn_holders *out, const char *account)
{
	for (uint32_t i = 0; i < out->n; i++)
		if (strcasecmp(out->all[i].account.name, account) == 0)
			return &out->all[i];
	return NULL;
}

static void holders_take_key(void *ctx, const struct cairn_key *key)
{
	struct holders_walk *walk = ctx;
	struct cairn_holder *holder = holders_find(walk->out, key->account);
	if (!holder || key->revoked || walk->status != CAIRN_OK)
		return;
	if (holder->n_keys == CAIRN_HOLDER_KEYS_MAX) {
		holder->n_more++;
		return;
	}
	if (!holder->keys && !(holder->keys = calloc(CAIRN_HOLDER_KEYS_MAX, sizeof(*holder->keys)))) {
		walk->status = CAIRN_E_NOMEM;
		return;
	}
	struct cairn_held_key *held = &holder->keys[holder->n_keys++];
	held->id = key->id;
	held->created_unix_s = key->created_unix_s;
	held->expires_unix_s = key->expires_unix_s;
	held->used_unix_s = key->used_unix_s;
	(void)memccpy(held->name, key->name, '\0', CAIRN_KEY_NAME_MAX);
	(void)memccpy(held->repo, key->repo, '\0', CAIRN_KEY_NAME_MAX);
	(void)memccpy(held->scopes, key->scopes, '\0', CAIRN_HOLDER_SCOPES_MAX);
}

enum cairn_status cairn_hub_list_holders(struct cairn_holders *out, const struct cairn_hub *hub, int64_t from_id)
{
	struct holders_walk walk = {.out = out};
	*out = (struct cairn_holders){.n = from_id <= 0};
	enum cairn_status status = cairn_index_each_account(hub->index, from_id, CAIRN_HOLDERS_MAX - 1,
							    holders_take_account, &walk, &out->next_id);
	if (status == CAIRN_OK)
		status = cairn_cas_each_key(hub->cas, holders_take_key, &walk);
	if (status == CAIRN_OK)
		status = walk.status;
	if (status != CAIRN_OK)
		cairn_holders_fini(out);
	return status;
}
