/* Fixtures for tests of quotas, in indexes of history_fixture.h. */
#ifndef CAIRN_TESTS_SUPPORT_INDEX_QUOTA_FIXTURE_H
#define CAIRN_TESTS_SUPPORT_INDEX_QUOTA_FIXTURE_H

#include "index/quota.h"
#include "support/history_fixture.h"

/* Bytes for a quota: a repository, a former name, any other row, an entry, a commit with HX_MESSAGE, a new model. */
enum {
	QX_REPO = CAIRN_INDEX_REPO_BYTES,
	QX_FORMER = CAIRN_INDEX_FORMER_BYTES,
	QX_ROW = CAIRN_INDEX_ROW_BYTES,
	QX_ENTRY = QX_ROW + 1, /* an entry whose path has one letter */
	QX_COMMIT = QX_ROW + 3 + 8,
	QX_FIRST_BYTES = QX_REPO + 17 + QX_COMMIT + QX_ROW + 14 + QX_ROW + 4, /* .gitattributes and main */
};

/** Returns how many bytes a file counts. */
uint64_t qx_size_of_file(uint64_t number);
/** Sets the quota of an account, or of a repository. @param account, repo  one of them; the other is 0 */
void qx_limit(int64_t account, int64_t repo, uint64_t bytes);
struct cairn_index_quota qx_quota_of(int64_t account, int64_t repo);
/** Returns how many bytes a repository of Ann's has. */
uint64_t qx_held(int64_t repo);
/** Forgets file `number` of an owner. @param owner  NULL: of all owners */
void qx_forget(uint64_t number, const char *owner);

#endif
