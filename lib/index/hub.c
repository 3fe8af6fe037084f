/* The calls of hub.h and history.h that read, each handed to the engine. */
#include "index/backend.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char INDEX_OWNER_HERE[] = "hub/", INDEX_OWNER_GONE[] = "gone/";

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

enum cairn_status cairn_index_key_check(struct cairn_index_add_key *add, int64_t n_good, int64_t n_kept)
{
	struct cairn_diag *diag = &add->write.diag;
	if (add->good_max != 0 && n_good >= add->good_max)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "key.many", CAIRN_NO_OFFSET,
				  "this account has %" PRId64 " keys, and may have %" PRIu32
				  "; revoke one that is not needed",
				  n_good, add->good_max);
	if (add->kept_max != 0 && n_kept >= add->kept_max)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "key.many", CAIRN_NO_OFFSET,
				  "of this account %" PRId64 " keys are kept, the revoked and expired ones among them, "
				  "and %" PRIu32 " may be; those go some time after they have ended",
				  n_kept, add->kept_max);
	return CAIRN_OK;
}

void cairn_index_repo_owner(char out[static CAIRN_INDEX_OWNER_BYTES], int64_t repo)
{
	(void)snprintf(out, CAIRN_INDEX_OWNER_BYTES, "%s%" PRId64, INDEX_OWNER_HERE, repo);
}

bool cairn_index_is_repo_owner(const char *owner)
{
	return strncmp(owner, INDEX_OWNER_HERE, sizeof(INDEX_OWNER_HERE) - 1) == 0;
}

int64_t cairn_index_owner_repo(const char *owner)
{
	return cairn_index_is_repo_owner(owner) ? strtoll(owner + sizeof(INDEX_OWNER_HERE) - 1, NULL, 10) : 0;
}

void cairn_index_gone_owner(char out[static CAIRN_INDEX_OWNER_BYTES], int64_t repo)
{
	(void)snprintf(out, CAIRN_INDEX_OWNER_BYTES, "%s%" PRId64, INDEX_OWNER_GONE, repo);
}

bool cairn_index_owner_is_gone(const char *owner)
{
	return strncmp(owner, INDEX_OWNER_GONE, sizeof(INDEX_OWNER_GONE) - 1) == 0;
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

enum cairn_status cairn_index_each_owner(struct cairn_index *ix,
					 void (*visit)(void *ctx, int64_t owner, const char *name), void *ctx)
{
	return ix->backend->each_owner(ix, visit, ctx);
}

enum cairn_status cairn_index_each_owned_file(struct cairn_index *ix, int64_t from_id,
					      cairn_index_visit_owned_file *visit, void *ctx, int64_t *next_id)
{
	return ix->backend->each_owned_file(ix, from_id, visit, ctx, next_id);
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

enum cairn_status cairn_index_list_repos(struct cairn_index *ix, struct cairn_index_repo_list *list,
					 cairn_index_visit_repo *visit, void *ctx, bool *more)
{
	return ix->backend->list_repos(ix, list, visit, ctx, more);
}

enum cairn_status cairn_index_ref(struct cairn_index *ix, int64_t repo, enum cairn_index_ref_kind kind,
				  const char *name, struct cairn_index_commit *out)
{
	return ix->backend->ref(ix, repo, kind, name, out);
}

enum cairn_status cairn_index_each_ref(struct cairn_index *ix, int64_t repo,
				       bool (*visit)(void *ctx, const struct cairn_index_ref_row *ref), void *ctx)
{
	return ix->backend->each_ref(ix, repo, visit, ctx);
}

enum cairn_status cairn_index_find_commit(struct cairn_index *ix, int64_t repo, const char *prefix,
					  struct cairn_index_commit *out)
{
	return ix->backend->find_commit(ix, repo, prefix, out);
}

enum cairn_status cairn_index_commit_by_id(struct cairn_index *ix, int64_t id, struct cairn_index_commit *out)
{
	return ix->backend->commit_by_id(ix, id, out);
}

enum cairn_status cairn_index_each_commit(struct cairn_index *ix, const struct cairn_index_commit *from, uint64_t skip,
					  bool (*visit)(void *ctx, const struct cairn_index_commit *commit,
							const char *message),
					  void *ctx)
{
	return ix->backend->each_commit(ix, from, skip, visit, ctx);
}

enum cairn_status cairn_index_entry(struct cairn_index *ix, const struct cairn_index_commit *commit, const char *path,
				    struct cairn_index_entry *out)
{
	return ix->backend->entry(ix, commit, path, out);
}

enum cairn_status cairn_index_each_entry(struct cairn_index *ix, const struct cairn_index_commit *commit,
					 const struct cairn_index_listing *listing,
					 bool (*visit)(void *ctx, const struct cairn_index_entry *entry), void *ctx)
{
	return ix->backend->each_entry(ix, commit, listing, visit, ctx);
}

enum cairn_status cairn_index_inline(struct cairn_index *ix, int64_t content, uint8_t *out, size_t *len)
{
	return ix->backend->inline_bytes(ix, content, out, len);
}
