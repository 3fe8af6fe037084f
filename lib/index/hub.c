/* The calls of hub.h that read, each handed to the engine. */
#include "index/backend.h"

#include <inttypes.h>
#include <stdio.h>

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

void cairn_index_repo_owner(char out[static CAIRN_INDEX_OWNER_BYTES], int64_t repo)
{
	(void)snprintf(out, CAIRN_INDEX_OWNER_BYTES, "hub/%" PRId64, repo);
}

enum cairn_status cairn_index_repo(struct cairn_index *ix, enum cairn_index_repo_kind kind, const char *account,
				   const char *name, struct cairn_index_repo *out)
{
	return ix->backend->repo(ix, kind, account, name, out);
}

enum cairn_status cairn_index_each_repo(struct cairn_index *ix, int64_t account, enum cairn_index_repo_kind kind,
					int64_t from_id, cairn_index_visit_repo *visit, void *ctx, int64_t *next_id)
{
	return ix->backend->each_repo(ix, account, kind, from_id, visit, ctx, next_id);
}

enum cairn_status cairn_index_object(struct cairn_index *ix, int64_t repo, const char *path,
				     struct cairn_index_object *out)
{
	return ix->backend->object(ix, repo, path, out);
}

enum cairn_status cairn_index_each_object(struct cairn_index *ix, int64_t repo, const char *prefix, const char *from,
					  bool (*visit)(void *ctx, const struct cairn_index_object *object), void *ctx)
{
	return ix->backend->each_object(ix, repo, prefix, from, visit, ctx);
}
