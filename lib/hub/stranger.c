#include "hub/stranger.h"

#include "hub/revision.h"
#include "index/hub/pulls.h"

#include "base/decimal.h"

static void stranger_take_account(void *ctx, const struct cairn_index_pull *pull)
{
	*(int64_t *)ctx = pull->account;
}

/* Finds the account that opened the pull request of a revision. @param[out] account  0: unknown */
static enum cairn_status stranger_find_author(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
					      const char *revision, int64_t *account)
{
	struct cairn_hub_ref_name ref;
	uint64_t number;
	*account = 0;
	cairn_hub_ref_name(revision, &ref);
	if (ref.kind != CAIRN_INDEX_PULL || !cairn_decimal_parse(ref.name, 1, INT64_MAX, &number))
		return CAIRN_OK;
	enum cairn_status status =
		cairn_index_find_pull(hub->index, repo->id, (int64_t)number, stranger_take_account, account);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status cairn_hub_may_propose(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					const struct cairn_index_repo *repo, enum cairn_hub_access access,
					const char *revision, struct cairn_diag *diag)
{
	bool may = cairn_hub_acts_for_account(asker);
	enum cairn_status status = CAIRN_OK;
	int64_t author = asker->account.id;
	if (repo->is_mirrored)
		return cairn_hub_refuse_mirrored(diag);
	if (access >= CAIRN_HUB_WRITE)
		return CAIRN_OK;
	if (may && revision)
		status = stranger_find_author(hub, repo, revision, &author);
	if (status != CAIRN_OK || (may && author == asker->account.id))
		return status;
	return cairn_fail(diag, CAIRN_E_DENIED, "repo.denied", CAIRN_NO_OFFSET,
			  "you may not write in this repository. Propose the change in a pull request "
			  "(create_pr=True, hf upload --create-pr), with a key that may write and is not for "
			  "one repository");
}

enum cairn_status cairn_hub_find_own_proposal(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					      enum cairn_index_repo_kind kind, const char *account, const char *name,
					      const char *revision, struct cairn_index_repo *out)
{
	int64_t author;
	if (!cairn_hub_acts_for_account(asker))
		return CAIRN_E_NOT_FOUND;
	enum cairn_status status = cairn_index_repo(hub->index, kind, account, name, out);
	if (status == CAIRN_OK)
		status = stranger_find_author(hub, out, revision, &author);
	return status == CAIRN_OK && author != asker->account.id ? CAIRN_E_NOT_FOUND : status;
}

static enum cairn_status stranger_check_open(const struct cairn_index_repo *repo, struct cairn_diag *diag)
{
	if (!repo->pulls_closed)
		return CAIRN_OK;
	return cairn_fail(diag, CAIRN_E_DENIED, "pr.closed", CAIRN_NO_OFFSET,
			  "this repository takes pull requests only from those who may write in it");
}

enum cairn_status cairn_hub_check_proposal(const struct cairn_index_repo *repo, const struct cairn_hub_commit *commit,
					   struct cairn_diag *diag)
{
	enum cairn_status status = stranger_check_open(repo, diag);
	if (status != CAIRN_OK || commit->n <= CAIRN_INDEX_STRANGER_OPERATIONS_MAX)
		return status;
	return cairn_fail(diag, CAIRN_E_LIMIT, "commit.lines", CAIRN_NO_OFFSET,
			  "more than %d operations by somebody who may not write here; make several commits",
			  CAIRN_INDEX_STRANGER_OPERATIONS_MAX);
}

static enum cairn_status stranger_find_bucket(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					      struct cairn_index_repo *out)
{
	return cairn_index_repo(hub->index, CAIRN_INDEX_BUCKET, asker->account.name, CAIRN_INDEX_PROPOSALS, out);
}

static enum cairn_status stranger_make_bucket(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					      struct cairn_diag *diag)
{
	struct cairn_index_add_repo add = {.kind = CAIRN_INDEX_BUCKET,
					   .account = asker->account.id,
					   .name = CAIRN_INDEX_PROPOSALS,
					   .is_private = true};
	enum cairn_status status = cairn_index_add_repo(hub->index, &add);
	if (status == CAIRN_E_CONFLICT) /* another request has made it */
		return CAIRN_OK;
	*diag = add.write.diag;
	return status;
}

enum cairn_status cairn_hub_find_proposals(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					   const struct cairn_index_repo *repo, struct cairn_index_repo *out,
					   struct cairn_diag *diag)
{
	enum cairn_status status = stranger_check_open(repo, diag);
	if (status == CAIRN_OK)
		status = stranger_find_bucket(hub, asker, out);
	if (status != CAIRN_E_NOT_FOUND)
		return status;
	status = stranger_make_bucket(hub, asker, diag);
	return status == CAIRN_OK ? stranger_find_bucket(hub, asker, out) : status;
}

enum cairn_status cairn_hub_close_to_strangers(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
					       bool closed, struct cairn_diag *diag)
{
	struct cairn_index_set_repo set = {
		.id = repo->id, .keeps_private = true, .keeps_gate = true, .sets_pulls = true, .pulls_closed = closed};
	enum cairn_status status = cairn_index_set_repo(hub->index, &set);
	*diag = set.write.diag;
	return status;
}
