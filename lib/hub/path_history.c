#include "hub/path_history.h"

#include "hub/changes.h"

/* Finds the path's entry before a commit. @param[out] at  the commit before */
static enum cairn_status history_before(const struct cairn_hub *hub, const struct cairn_index_commit *commit,
					const char *path, struct cairn_index_commit *at,
					struct cairn_index_entry *entry)
{
	struct cairn_diag unsaid = {0};
	enum cairn_status status = cairn_hub_find_parent(hub, commit, at);
	return status == CAIRN_OK ? cairn_hub_find_entry(hub, at, path, entry, &unsaid) : status;
}

enum cairn_status cairn_hub_each_change_of(const struct cairn_hub *hub, const struct cairn_index_commit *commit,
					   const char *path, uint32_t limit, cairn_hub_visit_change *visit, void *ctx,
					   struct cairn_index_commit *next, bool *more, struct cairn_diag *diag)
{
	struct cairn_index_commit changed;
	struct cairn_index_entry entry;
	*more = false;
	*next = *commit;
	enum cairn_status status = cairn_hub_find_entry(hub, commit, path, &entry, diag);
	for (uint32_t i = 0; status == CAIRN_OK; i++) {
		*more = i == limit;
		if (*more)
			return CAIRN_OK;
		status = cairn_hub_last_commit(hub, &entry, &changed);
		if (status == CAIRN_OK && !visit(ctx, &changed, &entry)) {
			*more = true;
			return CAIRN_OK;
		}
		if (status == CAIRN_OK)
			status = history_before(hub, &changed, path, next, &entry);
		if (status == CAIRN_E_NOT_FOUND) /* the path was added there, or the commit before is gone */
			return CAIRN_OK;
	}
	return status;
}
