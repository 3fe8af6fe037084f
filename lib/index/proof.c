#include "index/proof.h"

#include "index/backend.h"

enum cairn_status cairn_index_each_due(struct cairn_index *ix, int64_t after_owner, int64_t now_unix_s, uint32_t limit,
				       void (*visit)(void *ctx, const struct cairn_index_due *due), void *ctx)
{
	return ix->backend->each_due(ix, after_owner, now_unix_s, limit, visit, ctx);
}

enum cairn_status cairn_index_each_lie(struct cairn_index *ix, const struct cairn_index_lie *after, uint32_t limit,
				       cairn_index_visit_lie *visit, void *ctx, bool *more)
{
	/* All file numbers are below INT64_MAX. */
	static const struct cairn_index_lie FIRST = {.file_id = INT64_MAX, .owner = ""};
	return ix->backend->each_lie(ix, after ? after : &FIRST, limit, visit, ctx, more);
}

enum cairn_status cairn_index_claims(struct cairn_index *ix, struct cairn_index_claims *out)
{
	return ix->backend->claims(ix, out);
}
