#include "hub/reach.h"

#include <stdlib.h>
#include <string.h>

void cairn_hub_reach_fini(struct cairn_hub_reach *reach)
{
	free(reach->page);
	reach->page = NULL;
}

static void reach_take(void *ctx, const struct cairn_index_repo *repo)
{
	struct cairn_hub_reach *reach = ctx;
	if (reach->n < CAIRN_HUB_REACH_PAGE)
		reach->page[reach->n++] = *repo;
}

static enum cairn_status reach_read(struct cairn_hub_reach *reach)
{
	char cursor[CAIRN_HUB_CURSOR_BYTES];
	memcpy(cursor, reach->next, sizeof(cursor));
	const struct cairn_hub_repo_list list = {.cursor = cursor, .limit = CAIRN_HUB_REACH_PAGE};
	if (!reach->page)
		reach->page = malloc(CAIRN_HUB_REACH_PAGE * sizeof(*reach->page));
	if (!reach->page)
		return CAIRN_E_NOMEM;
	reach->begun = true;
	reach->n = reach->at = 0;
	return cairn_hub_list_repos(reach->hub, reach->asker, &list, reach_take, reach, reach->next);
}

/* Steps over up to `most` repositories of a page. */
static enum cairn_status reach_step(struct cairn_hub_reach *reach, uint32_t most, const struct cairn_index_repo **out,
				    uint32_t *n)
{
	enum cairn_status status = CAIRN_OK;
	uint32_t left = CAIRN_HUB_REACH_REPOS_MAX - reach->n_seen;
	*n = 0;
	if (reach->at == reach->n && (!reach->begun || reach->next[0]))
		status = reach_read(reach);
	if (status != CAIRN_OK || reach->at == reach->n)
		return status;
	reach->more = left == 0;
	*n = reach->n - reach->at < most ? reach->n - reach->at : most;
	*n = *n < left ? *n : left;
	*out = &reach->page[reach->at];
	reach->at += *n;
	reach->n_seen += *n;
	return CAIRN_OK;
}

enum cairn_status cairn_hub_reach_next(struct cairn_hub_reach *reach, const struct cairn_index_repo **out)
{
	uint32_t n;
	enum cairn_status status = reach_step(reach, 1, out, &n);
	if (n == 0)
		*out = NULL;
	return status;
}

enum cairn_status cairn_hub_reach_next_page(struct cairn_hub_reach *reach, const struct cairn_index_repo **out,
					    uint32_t *n)
{
	return reach_step(reach, CAIRN_HUB_REACH_PAGE, out, n);
}

enum cairn_status cairn_hub_reach_may_read(const struct cairn_hub_reach *reach, const struct cairn_index_repo *repo,
					   bool *may)
{
	enum cairn_hub_access access;
	*may = repo->gate == CAIRN_INDEX_GATE_NONE;
	if (*may)
		return CAIRN_OK;
	enum cairn_status status = cairn_hub_access_to(reach->hub, reach->asker, repo, &access);
	*may = status == CAIRN_OK && access >= CAIRN_HUB_READ;
	return status;
}
