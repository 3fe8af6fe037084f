/* Looks up paths at a commit: in the commit's line, then in the line from which that one was forked, and so on. Readers
 * and the writer use it. */
#ifndef CAIRN_INDEX_POSTGRES_CHAIN_H
#define CAIRN_INDEX_POSTGRES_CHAIN_H

#include "index/hub/history.h"

#include <libpq-fe.h>

/** The start of a statement. Its rows are the lines to look up, nearest first, each with its last commit that counts
 * for line $1 and commit $2. */
#define CAIRN_PG_CHAIN                                                                                                 \
	"WITH RECURSIVE chain(n, line, upto, parent, fork, depth) AS (SELECT 1, id, $2::bigint, parent, fork, depth"   \
	" FROM line WHERE id = $1 UNION ALL SELECT c.n + 1, l.id, c.fork, l.parent, l.fork, l.depth FROM chain c"      \
	" JOIN line l ON l.id = c.parent WHERE c.depth > 1 AND c.n < 8) "

/** The row e of folder k.folder and name k.name at the commit. */
#define CAIRN_PG_CHAIN_ENTRY                                                                                           \
	" CROSS JOIN LATERAL (SELECT x.* FROM chain h CROSS JOIN LATERAL (SELECT r.since, r.oid, r.content"            \
	" FROM entry r WHERE r.line = h.line AND r.folder = k.folder AND r.name = k.name AND r.since <= h.upto"        \
	" ORDER BY r.since DESC LIMIT 1) x ORDER BY h.n LIMIT 1) e"

/** The first $6 paths after folder $3 and name $4, up to the end of folder $5: e.folder, e.name, e.since, e.oid,
 * e.content. Deleted paths are included, without an oid. */
#define CAIRN_PG_CHAIN_PAGE                                                                                            \
	"(SELECT DISTINCT ON (x.folder, x.name) x.* FROM chain h CROSS JOIN LATERAL"                                   \
	" (SELECT DISTINCT ON (r.folder, r.name) r.folder, r.name, r.since, r.oid, r.content FROM entry r"             \
	" WHERE r.line = h.line AND r.since <= h.upto AND (r.folder, r.name) > ($3, $4) AND r.folder <= $5"            \
	" ORDER BY r.folder, r.name, r.since DESC LIMIT $6) x ORDER BY x.folder, x.name, h.n LIMIT $6) e"

/** Reads a column of 20 bytes. @return false: it has another length */
bool cairn_pg_get_oid(const PGresult *r, int row, int column, struct cairn_git_oid *out);

#endif
