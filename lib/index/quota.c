#include "index/quota.h"

#include "index/backend.h"

#include <inttypes.h>
#include <stdio.h>

enum cairn_status cairn_index_quota(struct cairn_index *ix, int64_t account, int64_t repo,
				    struct cairn_index_quota *out)
{
	return ix->backend->quota(ix, account, repo, out);
}

enum cairn_status cairn_index_each_owned_size(struct cairn_index *ix, int64_t repo,
					      void (*visit)(void *ctx, uint64_t size_bytes), void *ctx)
{
	return ix->backend->each_owned_size(ix, repo, visit, ctx);
}

enum cairn_status cairn_index_owner_quota(struct cairn_index *ix, const char *owner, bool adds_up,
					  struct cairn_index_room *out)
{
	return ix->backend->owner_quota(ix, owner, adds_up, out);
}

enum cairn_status cairn_index_each_quota(struct cairn_index *ix, const char *after, uint32_t limit,
					 cairn_index_visit_quota *visit, void *ctx, bool *more)
{
	return ix->backend->each_quota(ix, after ? after : "", limit, visit, ctx, more);
}

const char *cairn_index_kind_name(enum cairn_index_repo_kind kind)
{
	static const char *const KINDS[] = {[CAIRN_INDEX_MODEL] = "models",
					    [CAIRN_INDEX_DATASET] = "datasets",
					    [CAIRN_INDEX_SPACE] = "spaces",
					    [CAIRN_INDEX_BUCKET] = "buckets",
					    [CAIRN_INDEX_KERNEL] = "kernels"};
	return KINDS[kind];
}

static uint64_t quota_would_be(const struct cairn_index_room *room, uint64_t more_bytes)
{
	return more_bytes < UINT64_MAX - room->stored_bytes ? room->stored_bytes + more_bytes : UINT64_MAX;
}

static enum cairn_status quota_refuse(struct cairn_diag *diag, const char *rule, const char *place,
				      const struct cairn_index_room *room, uint64_t more_bytes)
{
	uint64_t would_be = quota_would_be(room, more_bytes);
	(void)cairn_fail(diag, CAIRN_E_DENIED, rule, CAIRN_NO_OFFSET,
			 "Quota exceeded: %s may hold %" PRIu64 " bytes, and would hold %" PRIu64
			 ". Delete what is not needed, or ask the operator for more.",
			 place, room->limit_bytes, would_be);
	cairn_diag_numbers(diag, room->limit_bytes, would_be);
	return CAIRN_E_DENIED;
}

enum cairn_status cairn_index_room_check(const char *place, const struct cairn_index_room *room, uint64_t more_bytes,
					 struct cairn_diag *diag)
{
	if (quota_would_be(room, more_bytes) <= room->limit_bytes)
		return CAIRN_OK;
	return quota_refuse(diag, "quota.repo", place, room, more_bytes);
}

enum cairn_status cairn_index_quota_check(const struct cairn_index_quota *quota, uint64_t more_bytes,
					  struct cairn_diag *diag)
{
	char place[CAIRN_INDEX_ACCOUNT_NAME_MAX + CAIRN_INDEX_REPO_NAME_MAX + 32];
	if (quota->kind != 0) {
		(void)snprintf(place, sizeof(place), "%s/%s/%s", cairn_index_kind_name(quota->kind),
			       quota->account_name, quota->repo_name);
		enum cairn_status status = cairn_index_room_check(place, &quota->repo, more_bytes, diag);
		if (status != CAIRN_OK)
			return status;
	}
	if (quota_would_be(&quota->account, more_bytes) <= quota->account.limit_bytes)
		return CAIRN_OK;
	(void)snprintf(place, sizeof(place), "the account %s", quota->account_name);
	return quota_refuse(diag, "quota.account", place, &quota->account, more_bytes);
}
