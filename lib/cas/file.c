#include "cas/file.h"

#include "cas/internal.h"
#include "index/operate.h"

#include <string.h>

_Static_assert((int)CAIRN_FILES_PAGE_MAX == (int)CAIRN_INDEX_PAGE_MAX, "rows of a page");

static void file_fill(struct cairn_cas_file *out, const struct cairn_index_file *row)
{
	*out = (struct cairn_cas_file){.hash = row->hash,
				       .size_bytes = row->size_bytes,
				       .sha256_is_proved = row->belief == CAIRN_INDEX_PROVED};
}

enum cairn_status cairn_cas_file(struct cairn_cas *cas, const struct cairn_cas_who *who, const struct cairn_hash *hash,
				 struct cairn_cas_file *out)
{
	struct cairn_index_file row;
	enum cairn_status status = cairn_index_file(cas->index, hash, who->viewer, false, &row);
	if (status == CAIRN_OK)
		file_fill(out, &row);
	return status;
}

enum cairn_status cairn_cas_file_by_sha256(struct cairn_cas *cas, const struct cairn_cas_who *who,
					   const uint8_t sha256[static CAIRN_SHA256_BYTES], struct cairn_cas_file *out)
{
	struct cairn_index_file row;
	enum cairn_status status = cairn_index_file_by_sha256(cas->index, sha256, who->viewer, &row);
	if (status == CAIRN_OK)
		file_fill(out, &row);
	return status;
}

void cas_visit_owned(void *ctx, const struct cairn_index_owned *row)
{
	const struct cas_owned_walk *walk = ctx;
	struct cairn_cas_owned file = {.hash = row->hash,
				       .size_bytes = row->size_bytes,
				       .at_unix_s = row->at_unix_s,
				       .owner = row->owner,
				       .shown = row->shown ? row->shown : row->owner,
				       .has_sha256 = row->has_sha256,
				       .sha256_is_proved = row->belief == CAIRN_INDEX_PROVED};
	memcpy(file.sha256, row->sha256, sizeof(file.sha256));
	walk->visit(walk->ctx, &file);
}

enum cairn_status cairn_cas_each_file(struct cairn_cas *cas, const char *owner,
				      const struct cairn_cas_files_after *after, uint32_t limit,
				      void (*visit)(void *ctx, const struct cairn_cas_owned *file), void *ctx,
				      bool *more)
{
	struct cas_owned_walk walk = {visit, ctx};
	const struct cairn_index_owned_after behind = {.hash = after->hash, .owner = after->owner};
	return cairn_index_each_owned(cas->index, owner, &behind, limit, cas_visit_owned, &walk, more);
}
