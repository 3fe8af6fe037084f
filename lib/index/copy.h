/* A copy of a whole index as it was at one moment, in a file, made beside a daemon that may be running: for backups. */
#ifndef CAIRN_INDEX_COPY_H
#define CAIRN_INDEX_COPY_H

#include "index/examine.h"

/**
 * Copy an index to a new file, which is whole and by itself, not fsynced. While it is copied the daemon goes on
 * writing, but what it changes takes room. An engine that has backups of its own declines, with a rule of its own.
 * @param url   of the index (index.h), as in the calls below
 * @param path  replaced when it is there
 * @return CAIRN_OK; CAIRN_E_USAGE no engine has such a URL (index.url), or it makes no copies (index.engine);
 *         CAIRN_E_CONFLICT not an index of Cairn (index.foreign); CAIRN_E_IO, CAIRN_E_FULL with the cause in diag;
 *         CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_index_copy(const char *url, const char *path, struct cairn_diag *diag);

/**
 * Visit all xorbs whose bytes are stored, in the order in which they came, in a copy.
 * @param url           names the engine whose copy it is
 * @param stored_bytes  length of the object
 * @param layout       cairn_spans_layout() of its chunks; 0: the list of them is missing, or damaged
 * @return CAIRN_OK; what visit answered; CAIRN_E_USAGE as above; CAIRN_E_CONFLICT not an index of Cairn, of a newer
 *         version, or it has more than its scripts make (index.foreign, index.newer, index.schema); CAIRN_E_IO,
 *         also of a row that is malformed (index.row); CAIRN_E_FULL; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_index_copy_each(
	const char *url, const char *path,
	enum cairn_status (*visit)(void *ctx, const struct cairn_hash *xorb, uint64_t stored_bytes, uint64_t layout),
	void *ctx, struct cairn_diag *diag);

/** cairn_index_examine() of a copy that is not in use; of an older schema what it has.
 *  @return as cairn_index_examine(); CAIRN_E_CONFLICT also "index.schema", as above; CAIRN_E_USAGE as above */
CAIRN_MUST_USE enum cairn_status cairn_index_copy_examine(const char *url, const char *path,
							  cairn_index_visit_fault *visit, void *ctx,
							  struct cairn_diag *diag);

#endif
