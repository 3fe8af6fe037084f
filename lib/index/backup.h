/* Copies a whole index, as it was at one moment, to a file for a backup. A daemon may be running meanwhile. */
#ifndef CAIRN_INDEX_BACKUP_H
#define CAIRN_INDEX_BACKUP_H

#include "index/examine.h"

/** Copies an index to a new, self-contained file, which is not fsynced. The daemon goes on writing meanwhile, but its
 * changes take disk space until the copy ends. An engine with backups of its own refuses, with a rule of its own.
 * @param url   of the index (index.h), as in the calls below
 * @param path  replaced when it is there
 * @return CAIRN_OK; CAIRN_E_USAGE no engine has such a URL (index.url), or it makes no copies (index.engine);
 *         CAIRN_E_CONFLICT not an index of Cairn (index.foreign); CAIRN_E_IO, CAIRN_E_FULL with the cause in diag;
 *         CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_index_backup(const char *url, const char *path, struct cairn_diag *diag);

/** Visits all xorbs whose bytes are stored, in the order in which they came, in a backup of an index.
 * @param url           names the engine whose backup it is
 * @param stored_bytes  length of the object
 * @param layout       cairn_spans_layout() of its chunks; 0: the list of them is missing, or damaged
 * @return CAIRN_OK; what visit answered; CAIRN_E_USAGE as above; CAIRN_E_CONFLICT not an index of Cairn, of a newer
 *         version, or it has more than its scripts make (index.foreign, index.newer, index.schema); CAIRN_E_IO,
 *         also of a row that is malformed (index.row); CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_index_backup_each(
	const char *url, const char *path,
	enum cairn_status (*visit)(void *ctx, const struct cairn_hash *xorb, uint64_t stored_bytes, uint64_t layout),
	void *ctx, struct cairn_diag *diag);

/** cairn_index_examine() of a backup that is not in use. With an older schema, only what that schema has is examined.
 *  @return as cairn_index_examine(); CAIRN_E_CONFLICT also "index.schema", as above; CAIRN_E_USAGE as above */
CAIRN_MUST_USE enum cairn_status cairn_index_backup_examine(const char *url, const char *path,
							    cairn_index_visit_fault *visit, void *ctx,
							    struct cairn_diag *diag);

#endif
