#include "hub/quota.h"

#include "cas/service/owner.h"
#include "hub/account.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t cairn_hub_file_counts(uint64_t size_bytes)
{
	return cairn_index_file_counts(size_bytes);
}

enum cairn_status cairn_hub_check_room(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
				       uint64_t more_bytes, struct cairn_diag *diag)
{
	struct cairn_index_quota quota;
	enum cairn_status status = cairn_index_quota(hub->index, repo->account, repo->id, &quota);
	return status == CAIRN_OK ? cairn_index_quota_check(&quota, more_bytes, diag) : status;
}

static int quota_by_size(const void *a, const void *b)
{
	const struct cairn_hub_wanted *x = a, *y = b;
	if (x->size_bytes != y->size_bytes)
		return x->size_bytes < y->size_bytes ? -1 : 1;
	return strcmp(x->sample ? x->sample : "", y->sample ? y->sample : "");
}

/* The files to upload by size, without those that may equal another one. */
struct quota_wanted {
	struct cairn_hub_wanted *all;
	size_t n;
};

static uint64_t quota_sum(const struct quota_wanted *wanted)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < wanted->n; i++) {
		uint64_t counts = cairn_index_file_counts(wanted->all[i].size_bytes);
		sum = counts < UINT64_MAX - sum ? sum + counts : UINT64_MAX;
	}
	return sum;
}

static size_t quota_first_of_size(const struct quota_wanted *wanted, uint64_t size_bytes)
{
	size_t from = 0, to = wanted->n;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (wanted->all[middle].size_bytes < size_bytes)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* Handles a file of the repository. A file to upload of the same size may equal it, so it does not count as new. */
static void quota_take_size(void *ctx, uint64_t size_bytes)
{
	struct quota_wanted *wanted = ctx;
	size_t first = quota_first_of_size(wanted, size_bytes), behind = first;
	while (behind < wanted->n && wanted->all[behind].size_bytes == size_bytes)
		behind++;
	memmove(wanted->all + first, wanted->all + behind, (wanted->n - behind) * sizeof(*wanted->all));
	wanted->n -= behind - first;
}

enum cairn_status cairn_hub_check_upload(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
					 struct cairn_hub_wanted *wanted, size_t n, struct cairn_diag *diag)
{
	struct quota_wanted left = {.all = wanted};
	struct cairn_diag unsaid = {0};
	if (n > 0)
		qsort(wanted, n, sizeof(*wanted), quota_by_size);
	for (size_t i = 0; i < n; i++)
		if (left.n == 0 || quota_by_size(&left.all[left.n - 1], &wanted[i]) != 0)
			left.all[left.n++] = wanted[i];
	/* read the repository's files only if they decide the answer */
	enum cairn_status status = cairn_hub_check_room(hub, repo, quota_sum(&left), &unsaid);
	if (status != CAIRN_E_DENIED)
		return status;
	status = cairn_index_each_owned_size(hub->index, repo->id, quota_take_size, &left);
	if (status != CAIRN_OK || left.n == 0)
		return status;
	return cairn_hub_check_room(hub, repo, quota_sum(&left), diag);
}

/* An account, one of its repositories, or an owner that is neither. */
struct quota_place {
	int64_t account, repo; /* repo 0: the account; both 0: the owner */
	char owner[CAIRN_CAS_OWNER_TEXT_MAX + 1];
};

static enum cairn_status quota_bad_place(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_USAGE, "quota.place", CAIRN_NO_OFFSET,
			  "a place is an account, or a repository of one: models/account/name, or datasets, spaces, "
			  "kernels or buckets; without a hub there are no accounts");
}

static enum cairn_status quota_no_repo(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_NOT_FOUND, "repo.unknown", CAIRN_NO_OFFSET, "Repository not found");
}

static enum cairn_index_repo_kind quota_kind(const char *name, size_t len)
{
	for (enum cairn_index_repo_kind kind = CAIRN_INDEX_MODEL; kind <= CAIRN_INDEX_KERNEL; kind++) {
		const char *known = cairn_index_kind_name(kind);
		if (strlen(known) == len && strncmp(known, name, len) == 0)
			return kind;
	}
	return 0;
}

static enum cairn_status quota_find_repo(const struct cairn_hub *hub, const char *place, struct quota_place *out,
					 struct cairn_diag *diag)
{
	char account[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1];
	struct cairn_index_repo repo = {0};
	const char *slash = strchr(place, '/'), *name = slash ? strchr(slash + 1, '/') : NULL;
	enum cairn_index_repo_kind kind = name ? quota_kind(place, (size_t)(slash - place)) : 0;
	if (kind == 0 || strchr(name + 1, '/') || name - slash > (ptrdiff_t)sizeof(account))
		return quota_bad_place(diag);
	(void)snprintf(account, sizeof(account), "%.*s", (int)(name - slash - 1), slash + 1);
	enum cairn_status status = cairn_index_repo(hub->index, kind, account, name + 1, &repo);
	*out = (struct quota_place){.account = repo.account, .repo = repo.id};
	if (status != CAIRN_E_NOT_FOUND)
		return status;
	*out = (struct quota_place){0};
	return cairn_cas_owner_name(out->owner, sizeof(out->owner), place) ? CAIRN_OK : quota_no_repo(diag);
}

static enum cairn_status quota_find(const struct cairn_hub *hub, const char *place, struct quota_place *out,
				    struct cairn_diag *diag)
{
	struct cairn_index_account account = {0};
	if (strchr(place, '/'))
		return quota_find_repo(hub, place, out, diag);
	enum cairn_status status = cairn_hub_find_account(hub, place, &account, diag);
	*out = (struct quota_place){.account = account.id};
	return status;
}

enum cairn_status cairn_hub_quota(const struct cairn_hub *hub, const char *place, struct cairn_index_room *out,
				  struct cairn_diag *diag)
{
	struct cairn_index *ix = hub->index;
	struct quota_place at = {0};
	struct cairn_index_quota quota;
	enum cairn_status status = quota_find(hub, place, &at, diag);
	if (status == CAIRN_OK && at.account == 0) {
		status = cairn_index_owner_quota(ix, at.owner, true, out);
		return status == CAIRN_E_NOT_FOUND ? quota_no_repo(diag) : status;
	}
	if (status == CAIRN_OK)
		status = cairn_index_quota(ix, at.account, at.repo, &quota);
	if (status == CAIRN_OK)
		*out = at.repo != 0 ? quota.repo : quota.account;
	return status;
}

enum cairn_status cairn_hub_set_quota(const struct cairn_hub *hub, const char *place, bool has_hub,
				      uint64_t limit_bytes, struct cairn_diag *diag)
{
	struct cairn_index *ix = hub->index;
	struct cairn_index_room known;
	struct quota_place at = {0};
	if (!has_hub && !strchr(place, '/'))
		return quota_bad_place(diag);
	enum cairn_status status = quota_find(hub, place, &at, diag);
	if (status == CAIRN_OK && at.account == 0 && has_hub) {
		status = cairn_index_owner_quota(ix, at.owner, false, &known);
		if (status == CAIRN_E_NOT_FOUND)
			return quota_no_repo(diag);
	}
	if (status != CAIRN_OK)
		return status;
	struct cairn_index_set_quota set = {.account = at.repo != 0 ? 0 : at.account,
					    .repo = at.repo,
					    .owner = at.owner,
					    .limit_bytes = limit_bytes};
	status = cairn_index_set_quota(ix, &set);
	*diag = set.write.diag;
	return status;
}

enum cairn_status cairn_hub_each_quota(const struct cairn_hub *hub, const char *after, uint32_t limit,
				       cairn_index_visit_quota *visit, void *ctx, bool *more)
{
	return cairn_index_each_quota(hub->index, after, limit, visit, ctx, more);
}
