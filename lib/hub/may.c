#include "hub/may.h"

#include "token/token.h"

static enum cairn_hub_access may_by_role(enum cairn_index_role role)
{
	switch (role) {
	case CAIRN_INDEX_ROLE_NONE:
		return CAIRN_HUB_SEE;
	case CAIRN_INDEX_ROLE_READ:
		return CAIRN_HUB_READ;
	case CAIRN_INDEX_ROLE_WRITE:
		return CAIRN_HUB_WRITE;
	case CAIRN_INDEX_ROLE_ADMIN:
		return CAIRN_HUB_ADMIN;
	}
	return CAIRN_HUB_SEE;
}

enum cairn_hub_access cairn_hub_access(const struct cairn_hub_asker *asker, int64_t account, enum cairn_index_role role)
{
	enum cairn_hub_access access = may_by_role(role);
	if (asker->kind == CAIRN_HUB_NOBODY || asker->key_repo[0] || !(asker->scopes & CAIRN_TOKEN_READ))
		return CAIRN_HUB_SEE;
	if (asker->kind == CAIRN_HUB_OPERATOR || asker->account.id == account)
		access = CAIRN_HUB_ADMIN;
	return access > CAIRN_HUB_READ && !(asker->scopes & CAIRN_TOKEN_WRITE) ? CAIRN_HUB_READ : access;
}

bool cairn_hub_acts_for_account(const struct cairn_hub_asker *asker)
{
	return asker->kind == CAIRN_HUB_ACCOUNT && !asker->key_repo[0] && (asker->scopes & CAIRN_TOKEN_WRITE);
}
