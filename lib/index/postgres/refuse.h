/* Functions that this engine lacks: each returns CAIRN_E_USAGE (index.engine). */
#ifndef CAIRN_INDEX_POSTGRES_REFUSE_H
#define CAIRN_INDEX_POSTGRES_REFUSE_H

#include "index/backend.h"

enum cairn_status cairn_pg_mend(struct cairn_index *ix, const struct cairn_index_mender *mender,
				struct cairn_diag *diag);
enum cairn_status cairn_pg_copy(const char *where, const char *path, struct cairn_diag *diag);
enum cairn_status cairn_pg_copy_each(const char *path,
				     enum cairn_status (*visit)(void *ctx, const struct cairn_hash *xorb,
								uint64_t stored_bytes, uint64_t layout),
				     void *ctx, struct cairn_diag *diag);
enum cairn_status cairn_pg_copy_examine(const char *path, cairn_index_visit_fault *visit, void *ctx,
					struct cairn_diag *diag);

#endif
