/* The reading functions of hub.h and history.h, each passed to the engine. */
#include "index/backend.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char INDEX_OWNER_HERE[] = "hub/", INDEX_OWNER_GONE[] = "gone/";

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
