#include "cas/service/owner.h"

#include <stdio.h>
#include <string.h>

static const char *const OWNER_KINDS[] = {
	[CAIRN_INDEX_MODEL] = "models/",   [CAIRN_INDEX_DATASET] = "datasets/", [CAIRN_INDEX_SPACE] = "spaces/",
	[CAIRN_INDEX_BUCKET] = "buckets/", [CAIRN_INDEX_KERNEL] = "kernels/",
};

/* Parses the kind before the name. @return "": not a kind */
static const char *owner_kind(const char *repo, enum cairn_index_repo_kind *kind)
{
	for (unsigned i = CAIRN_INDEX_MODEL; i < sizeof(OWNER_KINDS) / sizeof(OWNER_KINDS[0]); i++) {
		size_t len = strlen(OWNER_KINDS[i]);
		*kind = (enum cairn_index_repo_kind)i;
		if (strncmp(repo, OWNER_KINDS[i], len) == 0 && strchr(repo + len, '/'))
			return OWNER_KINDS[i];
	}
	return "";
}

bool cairn_cas_owner_name(char *out, size_t size, const char *repo)
{
	enum cairn_index_repo_kind kind;
	char plain[CAIRN_CAS_OWNER_TEXT_MAX + 1];
	const char *before = owner_kind(repo, &kind);
	if (!*before || kind < CAIRN_INDEX_BUCKET)
		return cairn_repo_full_name(out, size, repo);
	const char *name = repo + strlen(before);
	bool ok = cairn_repo_full_name(plain, sizeof(plain), name);
	int n = ok ? snprintf(out, size, "%s%s", before, name) : -1;
	return n >= 0 && (size_t)n < size;
}

bool cairn_cas_owner_is_of_hub(const char *owner)
{
	return cairn_index_is_repo_owner(owner);
}

enum cairn_status cairn_cas_find_owner(struct cairn_cas *cas, const char *name, char *owner, bool *in_hub)
{
	char account[CAIRN_CAS_OWNER_TEXT_MAX + 1];
	enum cairn_index_repo_kind kind;
	struct cairn_index_repo repo;
	(void)snprintf(owner, CAIRN_CAS_OWNER_TEXT_MAX + 1, "%s", name);
	*in_hub = false;
	const char *before = owner_kind(name, &kind);
	if (!*before)
		return CAIRN_OK;
	(void)snprintf(account, sizeof(account), "%s", name + strlen(before));
	char *slash = strchr(account, '/');
	*slash = '\0';
	enum cairn_status status = cairn_index_repo(cairn_cas_index(cas), kind, account, slash + 1, &repo);
	*in_hub = status == CAIRN_OK;
	if (*in_hub)
		cairn_index_repo_owner(owner, repo.id);
	/* an engine without a hub has no repositories */
	return status == CAIRN_E_NOT_FOUND || status == CAIRN_E_USAGE ? CAIRN_OK : status;
}
