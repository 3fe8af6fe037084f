/* What this engine cannot do yet: each answers CAIRN_E_USAGE (index.engine). */
#ifndef CAIRN_INDEX_POSTGRES_REFUSE_H
#define CAIRN_INDEX_POSTGRES_REFUSE_H

#include "index/backend.h"

enum cairn_status cairn_pg_ref(struct cairn_index *ix, int64_t repo, enum cairn_index_ref_kind kind, const char *name,
			       struct cairn_index_commit *out);
enum cairn_status cairn_pg_each_ref(struct cairn_index *ix, int64_t repo,
				    bool (*visit)(void *ctx, const struct cairn_index_ref_row *ref), void *ctx);
enum cairn_status cairn_pg_find_commit(struct cairn_index *ix, int64_t repo, const char *prefix,
				       struct cairn_index_commit *out);
enum cairn_status cairn_pg_commit_by_id(struct cairn_index *ix, int64_t id, struct cairn_index_commit *out);
enum cairn_status cairn_pg_each_commit(struct cairn_index *ix, const struct cairn_index_commit *from, uint64_t skip,
				       bool (*visit)(void *ctx, const struct cairn_index_commit *commit,
						     const char *message),
				       void *ctx);
enum cairn_status cairn_pg_entry(struct cairn_index *ix, const struct cairn_index_commit *commit, const char *path,
				 struct cairn_index_entry *out);
enum cairn_status cairn_pg_each_entry(struct cairn_index *ix, const struct cairn_index_commit *commit,
				      const struct cairn_index_listing *listing,
				      bool (*visit)(void *ctx, const struct cairn_index_entry *entry), void *ctx);
enum cairn_status cairn_pg_inline_bytes(struct cairn_index *ix, int64_t content, uint8_t *out, size_t *len);
enum cairn_status cairn_pg_add_commit(struct cairn_index *ix, struct cairn_index_add_commit *request);
enum cairn_status cairn_pg_squash(struct cairn_index *ix, struct cairn_index_squash *request);
enum cairn_status cairn_pg_add_ref(struct cairn_index *ix, struct cairn_index_add_ref *request);
enum cairn_status cairn_pg_drop_ref(struct cairn_index *ix, struct cairn_index_drop_ref *request);
enum cairn_status cairn_pg_mend(struct cairn_index *ix, const struct cairn_index_mender *mender,
				struct cairn_diag *diag);
enum cairn_status cairn_pg_copy(const char *where, const char *path, struct cairn_diag *diag);
enum cairn_status cairn_pg_copy_each(const char *path,
				     enum cairn_status (*visit)(void *ctx, const struct cairn_hash *xorb,
								uint64_t stored_bytes, uint64_t packing),
				     void *ctx, struct cairn_diag *diag);
enum cairn_status cairn_pg_copy_examine(const char *path, cairn_index_visit_fault *visit, void *ctx,
					struct cairn_diag *diag);

#endif
