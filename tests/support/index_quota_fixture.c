#include "support/index_quota_fixture.h"

#include "index/operate.h"
#include "support/index_fixture.h"

#include <check.h>

uint64_t qx_size_of_file(uint64_t number)
{
	struct cairn_index_file file;
	struct cairn_hash hash = fx_hash("file", number);
	ck_assert_int_eq(cairn_index_file(hx_index, &hash, NULL, false, &file), CAIRN_OK);
	return cairn_index_file_counts(file.size_bytes);
}

void qx_limit(int64_t account, int64_t repo, uint64_t bytes)
{
	struct cairn_index_set_quota set = {.account = account, .repo = repo, .limit_bytes = bytes};
	ck_assert_int_eq(cairn_index_set_quota(hx_index, &set), CAIRN_OK);
}

struct cairn_index_quota qx_quota_of(int64_t account, int64_t repo)
{
	struct cairn_index_quota quota;
	ck_assert_int_eq(cairn_index_quota(hx_index, account, repo, &quota), CAIRN_OK);
	return quota;
}

uint64_t qx_held(int64_t repo)
{
	return qx_quota_of(hx_ann, repo).repo.stored_bytes;
}

void qx_forget(uint64_t number, const char *owner)
{
	struct cairn_index_forget_file request = {.hash = fx_hash("file", number), .owner = owner};
	ck_assert_int_eq(cairn_index_forget_file(hx_index, &request), CAIRN_OK);
	ck_assert(request.forgotten);
}
