#include "index/owner.h"

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
