/* Backs up an index in use to a file, as it was at one moment. */
#ifndef CAIRN_INDEX_BACKUP_H
#define CAIRN_INDEX_BACKUP_H

#include "index/examine.h"

/** Backs up an index to a new, self-contained file, without fsync. The daemon continues to write meanwhile, but its
 * changes take disk space until the end. An engine with its own means of backup refuses (index.engine).
 * @param url   URL of the index (index.h), as in the calls below
 * @param path  replaced if it exists
 * @return CAIRN_OK; CAIRN_E_USAGE no engine has such a URL (index.url), or it has its own means of backup
 *         (index.engine); CAIRN_E_CONFLICT not an index of Cairn (index.foreign); CAIRN_E_IO, CAIRN_E_FULL with the
 *         cause in diag; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_index_backup(const char *url, const char *path, struct cairn_diag *diag);

/** Visits all xorbs in a backup of an index whose bytes are stored, in the order in which they came.
 * @param url           names the engine that made the backup
 * @param stored_bytes  length of the xorb's object
 * @param layout        cairn_spans_layout() of its chunks; 0: the chunk list is missing, or damaged
 * @return CAIRN_OK; what visit returned; CAIRN_E_USAGE as above; CAIRN_E_FULL; CAIRN_E_NOMEM;
 * - CAIRN_E_CONFLICT: not an index of Cairn (index.foreign), made by a newer version (index.newer), or it has a table,
 *   view or trigger that no Cairn index has (index.schema);
 * - CAIRN_E_IO: cannot be read, or a row is malformed (index.row) */
CAIRN_MUST_USE enum cairn_status cairn_index_backup_each(
	const char *url, const char *path,
	enum cairn_status (*visit)(void *ctx, const struct cairn_hash *xorb, uint64_t stored_bytes, uint64_t layout),
	void *ctx, struct cairn_diag *diag);

/** Does what cairn_index_examine() does, on a backup that is not in use. Skips tables that an older schema lacks.
 * @return as cairn_index_examine(); CAIRN_E_CONFLICT also "index.schema", and CAIRN_E_USAGE, as
 *         cairn_index_backup_each() */
CAIRN_MUST_USE enum cairn_status cairn_index_backup_examine(const char *url, const char *path,
							    cairn_index_visit_fault *visit, void *ctx,
							    struct cairn_diag *diag);

/** Removes from a backup the files that only mirrored repositories own: their contents become absent, so that a store
 * restored from it fetches them again. A backup with an older schema is not changed.
 * @param[out] n_files  number of files removed  @param[out] bytes  the sum of their lengths
 * @return CAIRN_OK; as cairn_index_backup_each() */
CAIRN_MUST_USE enum cairn_status cairn_index_backup_unmirror(const char *url, const char *path, uint64_t *n_files,
							     uint64_t *bytes, struct cairn_diag *diag);

#endif
