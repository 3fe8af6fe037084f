/* Refuses what this engine cannot do: copying a whole index, and repairing one. */
#include "index/postgres/refuse.h"

/* Nothing is looked at. */
/* NOLINTBEGIN(misc-unused-parameters) */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static enum cairn_status refuse(struct cairn_diag *diag, const char *what)
{
	return cairn_fail(diag, CAIRN_E_USAGE, "index.engine", CAIRN_NO_OFFSET,
			  "an index in PostgreSQL cannot %s yet; use sqlite:DIR for that", what);
}

enum cairn_status cairn_pg_mend(struct cairn_index *ix, const struct cairn_index_mender *mender,
				struct cairn_diag *diag)
{
	return refuse(diag, "put itself right");
}

enum cairn_status cairn_pg_copy(const char *where, const char *path, struct cairn_diag *diag)
{
	return refuse(diag, "be copied to a file (back it up as PostgreSQL does it)");
}

enum cairn_status cairn_pg_copy_each(const char *path,
				     enum cairn_status (*visit)(void *ctx, const struct cairn_hash *xorb,
								uint64_t stored_bytes, uint64_t layout),
				     void *ctx, struct cairn_diag *diag)
{
	return refuse(diag, "be read from a file");
}

enum cairn_status cairn_pg_copy_examine(const char *path, cairn_index_visit_fault *visit, void *ctx,
					struct cairn_diag *diag)
{
	return refuse(diag, "be read from a file");
}
/* NOLINTEND(misc-unused-parameters) */
