/* Removes mirrored repositories, and whole namespaces, for operators. */
#include "hub/repo.h"
#include "mirror/operate.h"
#include "mirror/parts.h"

#include <stdlib.h>

static enum cairn_status remove_aliases(const struct cairn_hub *hub, enum cairn_index_repo_kind kind,
					const char *account, const char *name, struct cairn_diag *diag)
{
	struct cairn_index_drop_aliases drop = {.kind = kind, .account = account, .name = name};
	enum cairn_status status = cairn_index_drop_aliases(hub->index, &drop);
	*diag = drop.write.diag;
	return status;
}

/* Removes a repository. Aliases go first, so that a failure leaves a repository that can be removed again. Outcomes are
 * dropped, because they claim that its names exist. */
static enum cairn_status remove_one(const struct cairn_hub *hub, struct cairn_mirror *mirror,
				    const struct cairn_index_repo *repo, struct cairn_diag *diag)
{
	enum cairn_status status = remove_aliases(hub, repo->kind, repo->account_name, repo->name, diag);
	if (status == CAIRN_OK)
		status = cairn_hub_drop_repo(hub, repo, diag);
	if (mirror)
		mirror_forget_all(mirror);
	return status;
}

enum cairn_status cairn_mirror_remove_repo(const struct cairn_hub *hub, struct cairn_mirror *mirror,
					   enum cairn_index_repo_kind kind, const char *account, const char *name,
					   struct cairn_diag *diag)
{
	struct cairn_index_repo repo;
	struct cairn_index_commit head;
	enum cairn_status status = cairn_mirror_find_repo(hub, kind, account, name, &repo, &head, diag);
	return status == CAIRN_OK ? remove_one(hub, mirror, &repo, diag) : status;
}

struct remove_page {
	struct cairn_index_repo repo[CAIRN_MIRROR_REMOVES_MAX];
	unsigned n;
};

static void remove_note(void *ctx, const struct cairn_index_repo *repo)
{
	struct remove_page *page = ctx;
	page->repo[page->n++] = *repo;
}

static enum cairn_status remove_page(const struct cairn_hub *hub, struct cairn_mirror *mirror, int64_t account,
				     unsigned *n, bool *more, struct cairn_diag *diag)
{
	struct cairn_index_repo_list list = {.account = account,
					     .all = true,
					     .sort = CAIRN_INDEX_BY_CREATION,
					     .ascending = true,
					     .limit = CAIRN_MIRROR_REMOVES_MAX};
	struct remove_page *page = calloc(1, sizeof(*page));
	if (!page)
		return CAIRN_E_NOMEM;
	enum cairn_status status = cairn_index_list_repos(hub->index, &list, remove_note, page, more);
	for (unsigned i = 0; i < page->n && status == CAIRN_OK; i++) {
		status = remove_one(hub, mirror, &page->repo[i], diag);
		*n += status == CAIRN_OK;
	}
	free(page);
	return status;
}

/* Removes a namespace without repositories, and its aliases to repositories that were never fetched. */
static enum cairn_status remove_empty(const struct cairn_hub *hub, const char *account, struct cairn_diag *diag)
{
	struct cairn_index_drop_namespace drop = {.name = account};
	enum cairn_status status = CAIRN_OK;
	for (int kind = CAIRN_INDEX_MODEL; kind <= CAIRN_INDEX_KERNEL && status == CAIRN_OK; kind++)
		status = remove_aliases(hub, (enum cairn_index_repo_kind)kind, account, NULL, diag);
	if (status != CAIRN_OK)
		return status;
	status = cairn_index_drop_namespace(hub->index, &drop);
	*diag = drop.write.diag;
	return status;
}

enum cairn_status cairn_mirror_remove_namespace(const struct cairn_hub *hub, struct cairn_mirror *mirror,
						const char *account, unsigned *n, bool *more, struct cairn_diag *diag)
{
	struct cairn_index_account found = {0};
	*n = 0;
	*more = false;
	enum cairn_status status = cairn_index_account(hub->index, account, &found);
	if (status == CAIRN_E_NOT_FOUND || (status == CAIRN_OK && !found.is_mirrored))
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "account.unknown", CAIRN_NO_OFFSET,
				  "no mirrored namespace has this name");
	if (status == CAIRN_OK)
		status = remove_page(hub, mirror, found.id, n, more, diag);
	return status == CAIRN_OK && !*more ? remove_empty(hub, found.name, diag) : status;
}
