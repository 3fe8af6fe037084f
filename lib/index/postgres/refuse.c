/* What this engine cannot do yet: accounts, repositories and their commits, copies of a whole
 * index, mending one. A daemon that wants any of it is refused when it is started; whoever asks all the same is told
 * so. */
#include "index/postgres/refuse.h"

#include "index/postgres/hub.h"

/* Nothing is looked at. */
/* NOLINTBEGIN(misc-unused-parameters) */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static enum cairn_status refuse(struct cairn_diag *diag, const char *what)
{
	return cairn_fail(diag, CAIRN_E_USAGE, "index.engine", CAIRN_NO_OFFSET,
			  "an index in PostgreSQL cannot %s yet; use sqlite:DIR for that", what);
}

/* A look-up says no more than that it cannot be answered. */
#define REFUSE_READ(name, ...)                                                                                         \
	enum cairn_status cairn_pg_##name(struct cairn_index *ix, __VA_ARGS__)                                         \
	{                                                                                                              \
		return CAIRN_E_USAGE;                                                                                  \
	}
#define REFUSE_WRITE(name)                                                                                             \
	enum cairn_status cairn_pg_##name(struct cairn_index *ix, struct cairn_index_##name *request)                  \
	{                                                                                                              \
		return refuse(&request->write.diag, "keep accounts and repositories");                                 \
	}

REFUSE_READ(ref, int64_t repo, enum cairn_index_ref_kind kind, const char *name, struct cairn_index_commit *out)
REFUSE_READ(each_ref, int64_t repo, bool (*visit)(void *ctx, const struct cairn_index_ref_row *ref), void *ctx)
REFUSE_READ(find_commit, int64_t repo, const char *prefix, struct cairn_index_commit *out)
REFUSE_READ(commit_by_id, int64_t id, struct cairn_index_commit *out)
REFUSE_READ(each_commit, const struct cairn_index_commit *from, uint64_t skip,
	    bool (*visit)(void *ctx, const struct cairn_index_commit *commit, const char *message), void *ctx)
REFUSE_READ(entry, const struct cairn_index_commit *commit, const char *path, struct cairn_index_entry *out)
REFUSE_READ(each_entry, const struct cairn_index_commit *commit, const struct cairn_index_listing *listing,
	    bool (*visit)(void *ctx, const struct cairn_index_entry *entry), void *ctx)
REFUSE_READ(inline_bytes, int64_t content, uint8_t *out, size_t *len)

REFUSE_WRITE(add_commit)
REFUSE_WRITE(squash)
REFUSE_WRITE(add_ref)
REFUSE_WRITE(drop_ref)

enum cairn_status cairn_pg_begin_repo(struct cairn_pg_tx *tx, struct cairn_index_add_repo *add, int64_t scope)
{
	return refuse(&add->write.diag, "keep commits");
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
								uint64_t stored_bytes, uint64_t packing),
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
