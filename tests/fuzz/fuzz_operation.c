/* Lines of JSON that change a bucket, and lines that are committed to a repository. Accepted values are within their
 * limits, and no path leads out. */
#include "fuzz/fuzz.h"
#include "hub/commit.h"
#include "hub/operation.h"
#include "hub/path.h"

#include <string.h>

static void operation_change(const struct cairn_hub_operation *o)
{
	const struct cairn_index_change *change = &o->change;
	fuzz_must(change->path && change->path[0] && strlen(change->path) <= CAIRN_INDEX_PATH_MAX);
	if (o->fault)
		return;
	fuzz_must(!cairn_hub_path_fault(change->path));
	fuzz_must(change->kind == CAIRN_INDEX_OBJECT_DROP || !cairn_hub_new_path_fault(change->path));
	fuzz_must(change->kind == CAIRN_INDEX_OBJECT_DROP || strlen(change->type) <= CAIRN_INDEX_TYPE_MAX);
	fuzz_must(change->kind != CAIRN_INDEX_OBJECT_COPY || (o->source_id && o->source_kind != 0));
}

static void operation_batch(const char *text, size_t len)
{
	CLEANUP(cairn_hub_operations_fini) struct cairn_hub_operations all = {0};
	struct cairn_diag diag = {0};
	enum cairn_status status = cairn_hub_operations_read(&all, text, len, &diag);
	fuzz_must(status == CAIRN_OK ? all.n <= CAIRN_HUB_OPERATIONS_MAX : diag.rule && all.n == 0);
	for (uint32_t i = 0; i < all.n; i++)
		operation_change(&all.all[i]);
}

static void operation_put(const struct cairn_index_operation *o)
{
	struct cairn_git_oid oid;
	fuzz_must(o->path[0] && strlen(o->path) <= CAIRN_INDEX_PATH_MAX && o->path[strlen(o->path) - 1] != '/');
	if (o->kind == CAIRN_INDEX_PUT_INLINE || o->kind == CAIRN_INDEX_PUT_FILE)
		fuzz_must(!cairn_hub_file_fault(o->path));
	if (o->kind != CAIRN_INDEX_PUT_INLINE)
		return;
	fuzz_must(o->len <= CAIRN_INDEX_INLINE_MAX);
	fuzz_must(cairn_git_blob(&oid, o->bytes, o->len) == CAIRN_OK && cairn_git_oid_equal(&oid, &o->oid));
}

static void operation_commit(const char *text, size_t len)
{
	CLEANUP(cairn_hub_commit_fini) struct cairn_hub_commit commit = {0};
	struct cairn_diag diag = {0};
	enum cairn_status status = cairn_hub_commit_read(&commit, text, len, &diag);
	fuzz_must(status == CAIRN_OK || (diag.rule && commit.n == 0));
	if (status != CAIRN_OK)
		return;
	fuzz_must(commit.title && commit.message && commit.n <= CAIRN_INDEX_OPERATIONS_MAX);
	for (uint32_t i = 0; i < commit.n; i++)
		operation_put(&commit.operations[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	operation_batch((const char *)bytes, len);
	operation_commit((const char *)bytes, len);
	return 0;
}
