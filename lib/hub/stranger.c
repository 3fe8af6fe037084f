#include "hub/stranger.h"

#include "hub/revision.h"
#include "index/hub/pulls.h"

#include "base/decimal.h"

static void stranger_take_account(void *ctx, const struct cairn_index_pull *pull)
{
	*(int64_t *)ctx = pull->account;
}

/* Finds who opened the pull request that a revision names. @param[out] account  0: nobody known */
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
					const struct cairn_index_repo *repo, const char *revision, bool *is_stranger,
					struct cairn_diag *diag)
{
	enum cairn_hub_access access = CAIRN_HUB_SEE;
	bool may = cairn_hub_acts_for_account(asker);
	enum cairn_status status = cairn_hub_access_to(hub, asker, repo, &access);
	int64_t author = asker->account.id;
	*is_stranger = access < CAIRN_HUB_WRITE;
	if (status == CAIRN_OK && repo->is_mirrored)
		return cairn_hub_refuse_mirrored(diag);
	if (status != CAIRN_OK || !*is_stranger)
		return status;
	if (may && revision)
		status = stranger_find_author(hub, repo, revision, &author);
	if (status != CAIRN_OK || (may && author == asker->account.id))
		return status;
	return cairn_fail(diag, CAIRN_E_DENIED, "repo.denied", CAIRN_NO_OFFSET,
			  "you do not have the right to do that with this repository");
}

enum cairn_status cairn_hub_refuse_files(struct cairn_diag *diag)
{
	return cairn_fail(
		diag, CAIRN_E_DENIED, "pr.files", CAIRN_NO_OFFSET,
		"whoever may not write in a repository proposes texts of at most %d bytes: other files are not "
		"taken from them. Ask somebody who may write, or upload to a repository of your own",
		CAIRN_INDEX_INLINE_MAX);
}

enum cairn_status cairn_hub_check_proposal(const struct cairn_index_repo *repo, const struct cairn_hub_commit *commit,
					   struct cairn_diag *diag)
{
	if (repo->pulls_closed)
		return cairn_fail(diag, CAIRN_E_DENIED, "pr.closed", CAIRN_NO_OFFSET,
				  "this repository takes pull requests only from those who may write in it");
	if (commit->n > CAIRN_INDEX_STRANGER_OPERATIONS_MAX)
		return cairn_fail(diag, CAIRN_E_LIMIT, "commit.lines", CAIRN_NO_OFFSET,
				  "more than %d operations by somebody who may not write here; make several commits",
				  CAIRN_INDEX_STRANGER_OPERATIONS_MAX);
	for (uint32_t i = 0; i < commit->n; i++)
		if (commit->operations[i].kind == CAIRN_INDEX_PUT_FILE)
			return cairn_hub_refuse_files(diag);
	return CAIRN_OK;
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
