/* The calls of hub.h that read, each handed to the engine. */
#include "index/backend.h"

enum cairn_status cairn_index_account(struct cairn_index *ix, const char *name, struct cairn_index_account *out)
{
	return ix->backend->account(ix, name, out);
}

enum cairn_status cairn_index_account_by_id(struct cairn_index *ix, int64_t id, struct cairn_index_account *out)
{
	return ix->backend->account_by_id(ix, id, out);
}

enum cairn_status cairn_index_each_account(struct cairn_index *ix, int64_t from_id, uint32_t limit,
					   void (*visit)(void *ctx, const struct cairn_index_account *account),
					   void *ctx, int64_t *next_id)
{
	return ix->backend->each_account(ix, from_id, limit, visit, ctx, next_id);
}

enum cairn_status cairn_index_role(struct cairn_index *ix, int64_t organisation, int64_t user,
				   enum cairn_index_role *role)
{
	return ix->backend->role(ix, organisation, user, role);
}

enum cairn_status cairn_index_each_member(struct cairn_index *ix, int64_t organisation, int64_t from_id,
					  cairn_index_visit_member *visit, void *ctx, int64_t *next_id)
{
	return ix->backend->each_member(ix, organisation, from_id, visit, ctx, next_id);
}

enum cairn_status cairn_index_each_organisation(struct cairn_index *ix, int64_t user, int64_t from_id,
						cairn_index_visit_member *visit, void *ctx, int64_t *next_id)
{
	return ix->backend->each_organisation(ix, user, from_id, visit, ctx, next_id);
}
