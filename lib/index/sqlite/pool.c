#include "index/sqlite/reader.h"

#include "index/records.h"
#include "index/sqlite/chain.h"

#include <stdlib.h>

#define POOL_XORB_COLUMNS                                                                                              \
	"x.id, x.hash, x.chunks, x.unpacked, x.stored, x.retired, x.at,"                                               \
	" EXISTS(SELECT 1 FROM reference WHERE reference.xorb = x.id)"
#define POOL_ENTRY ", c.size, c.sha256, f.hash, coalesce(w.proof, 2)"
#define POOL_ENTRY_JOINS                                                                                               \
	" LEFT JOIN content c ON c.id = e.content LEFT JOIN file_owner w ON w.file = c.file AND w.sha256 = c.sha256"   \
	" AND w.scope = (SELECT scope FROM repo WHERE id = c.repo)"                                                    \
	" LEFT JOIN file f ON f.id = c.file AND coalesce(w.proof, 2) > 0"
#define POOL_SCAN(i) [CAIRN_READ_SCAN + (i)] = CAIRN_CHAIN_SCAN(POOL_ENTRY, POOL_ENTRY_JOINS)
/* Viewer ?2 may read a file if that repository or the operator registered it. NULL may read all files. */
#define POOL_FILE_VISIBLE                                                                                              \
	"(?2 IS NULL OR EXISTS(SELECT 1 FROM file_owner o WHERE o.file = f.id AND o.scope = 0)"                        \
	" OR EXISTS(SELECT 1 FROM file_owner o WHERE o.file = f.id AND o.scope = (SELECT id FROM scope WHERE name = "  \
	"?2)))"

#define POOL_SCOPE_ID "(SELECT id FROM scope WHERE name = ?1)"
/* The name of scope s for operators, if it is a repository of the hub. */
#define POOL_SHOWN                                                                                                     \
	"(SELECT " CAIRN_REPO_SHOWN " FROM repo r CROSS JOIN account a ON a.id ="                                      \
	" r.account WHERE s.name GLOB 'hub/*' AND r.id = CAST(substr(s.name, 5) AS INTEGER))"
/* The best claim of an owner, unless it is false. */
#define POOL_WORD "iif(o.proof > 0, o.sha256, x'')"
#define POOL_BEST                                                                                                      \
	" NOT EXISTS(SELECT 1 FROM file_owner c WHERE c.file = o.file AND c.scope = o.scope"                           \
	" AND (c.proof > o.proof OR (c.proof = o.proof AND c.sha256 < o.sha256)))"
#define POOL_OWNED_BY_ALL                                                                                              \
	"SELECT f.hash, f.size, f.at, " POOL_WORD ", s.name, o.proof, " POOL_SHOWN                                     \
	" FROM file f CROSS JOIN file_owner o ON o.file = f.id"                                                        \
	" CROSS JOIN scope s ON s.id = o.scope WHERE" POOL_BEST
/* The files of owner ?1, each once. Its claims are read afterwards. */
#define POOL_OWNED                                                                                                     \
	"SELECT f.hash, f.size, f.at, " POOL_WORD ", ?1, o.proof FROM (SELECT DISTINCT file, scope FROM file_owner"    \
	" INDEXED BY file_owner_claim WHERE scope = " POOL_SCOPE_ID ") u CROSS JOIN file f ON f.id = u.file"           \
	" CROSS JOIN file_owner o ON o.file = u.file AND o.scope = u.scope WHERE" POOL_BEST

static const char *const pool_sql[CAIRN_READ_STMTS] = {
	[CAIRN_READ_XORB] = "SELECT " POOL_XORB_COLUMNS " FROM xorb x WHERE x.hash = ?1",
	[CAIRN_READ_XORB_BY_ID] = "SELECT " POOL_XORB_COLUMNS " FROM xorb x WHERE x.id = ?1",
	[CAIRN_READ_LIST] = "SELECT l.spans, l.hashes FROM xorb x CROSS JOIN list l ON l.xorb = x.id WHERE x.hash = ?1",
	[CAIRN_READ_LIST_BY_ID] = "SELECT spans, hashes FROM list WHERE xorb = ?1",
	[CAIRN_READ_LAYOUT] = "SELECT hash, stored, chunks, repacked FROM xorb WHERE id = ?1",
	[CAIRN_READ_SPANS] = "SELECT spans FROM list WHERE xorb = ?1",
	[CAIRN_READ_STATE] = "SELECT collection FROM state",
	[CAIRN_READ_PREFIX] = "SELECT xorb, place, shard FROM dedupe WHERE prefix = ?1 AND scope = 0 ORDER BY xorb",
	[CAIRN_READ_PREFIX_SCOPE] =
		"SELECT xorb, place, shard FROM dedupe WHERE prefix = ?1 AND scope = ?2 ORDER BY xorb",
	[CAIRN_READ_ELIGIBLE] = "SELECT scope, place FROM dedupe WHERE xorb = ?1",
	[CAIRN_READ_NEIGHBOURS] = "SELECT " POOL_XORB_COLUMNS ", l.spans, l.hashes FROM member m"
				  " CROSS JOIN xorb x ON x.id = m.xorb CROSS JOIN list l ON l.xorb = m.xorb"
				  " WHERE m.shard = ?1 AND m.xorb <> ?2 AND x.retired IS NULL ORDER BY m.xorb",
	[CAIRN_READ_SCOPE] = "SELECT id FROM scope WHERE name = ?1",
	/* Longer terms are not read. */
	[CAIRN_READ_FILE] = "SELECT f.hash, f.size, CASE WHEN length(f.terms) <= ?3 THEN f.terms END, length(f.terms)"
			    " FROM file f WHERE f.hash = ?1 AND " POOL_FILE_VISIBLE,
	[CAIRN_READ_FILE_BY_SHA256] = "SELECT f.hash, f.size, w.proof FROM (SELECT file, proof, 0 AS far FROM (" CAIRN_CLAIM_LAST(
		"(SELECT id FROM scope WHERE name = ?2)") ") UNION ALL SELECT file, proof, 1 FROM (" CAIRN_CLAIM_LAST("0") ")"
															   " WHERE coalesce(?2, '') NOT GLOB 'hub/*') w CROSS JOIN file f ON f.id = w.file WHERE w.proof > 0"
															   " ORDER BY w.far, w.proof DESC, w.file DESC LIMIT 1",
	[CAIRN_READ_SHARD] = "SELECT 1 FROM shard WHERE hash = ?1 AND scope = (SELECT id FROM scope WHERE name = ?2)"
			     " AND owner = (SELECT id FROM scope WHERE name = ?3)"
			     " AND collection = (SELECT collection FROM state)"
			     " AND (at > unixepoch() - 3600 OR ?3 NOT GLOB 'hub/*')",
	[CAIRN_READ_EACH_XORB] = "SELECT " POOL_XORB_COLUMNS " FROM xorb x WHERE x.id > ?1 ORDER BY x.id LIMIT ?2",
	[CAIRN_READ_EACH_FILE] = "SELECT hash, size, terms, id FROM file WHERE id > ?1 ORDER BY id LIMIT ?2",
	/* Files in the order of their numbers, which is that of the table. */
	[CAIRN_READ_OWNED] = POOL_OWNED " AND f.hash > ?2 ORDER BY f.hash LIMIT ?3",
	[CAIRN_READ_OWNED_BY_ALL] = POOL_OWNED_BY_ALL " AND f.hash >= ?2 AND (f.hash > ?2 OR s.name > ?1)"
						      " ORDER BY f.hash, s.name LIMIT ?3",
	[CAIRN_READ_MATCH + CAIRN_INDEX_MATCH_FILE] =
		"SELECT f.hash, f.size, f.at, " POOL_WORD ", ?1, o.proof FROM file f CROSS JOIN file_owner o"
		" ON o.file = f.id WHERE f.hash = ?2 AND o.scope = " POOL_SCOPE_ID " AND" POOL_BEST " LIMIT ?3",
	[CAIRN_READ_MATCH + CAIRN_INDEX_MATCH_SHA256] =
		"SELECT f.hash, f.size, f.at, o.sha256, ?1, o.proof FROM file_owner o CROSS JOIN file f ON f.id = o.file"
		" WHERE o.scope = " POOL_SCOPE_ID " AND o.sha256 = ?2 AND o.proof > 0 ORDER BY f.hash LIMIT ?3",
	/* Looks up each of the owner's files under the xorb's number, even if there is none (-1): time must not
	 * tell. */
	[CAIRN_READ_MATCH + CAIRN_INDEX_MATCH_XORB] = POOL_OWNED
	" AND EXISTS(SELECT 1 FROM reference r WHERE r.file = u.file"
	" AND r.xorb = coalesce((SELECT id FROM xorb WHERE hash = ?2), -1)) ORDER BY f.hash LIMIT ?3",
	[CAIRN_READ_MATCH_OF_ALL + CAIRN_INDEX_MATCH_FILE] =
		POOL_OWNED_BY_ALL " AND f.hash = ?2 ORDER BY s.name LIMIT ?3",
	[CAIRN_READ_MATCH_OF_ALL + CAIRN_INDEX_MATCH_SHA256] =
		"SELECT f.hash, f.size, f.at, o.sha256, s.name, o.proof, " POOL_SHOWN " FROM scope s"
		" CROSS JOIN file_owner o INDEXED BY file_owner_claim ON o.scope = s.id CROSS JOIN file f"
		" ON f.id = o.file WHERE o.sha256 = ?2 AND o.proof > 0 ORDER BY f.hash, s.name LIMIT ?3",
	[CAIRN_READ_MATCH_OF_ALL + CAIRN_INDEX_MATCH_XORB] =
		POOL_OWNED_BY_ALL " AND f.id IN (SELECT r.file FROM reference r"
				  " WHERE r.xorb = (SELECT id FROM xorb WHERE hash = ?2))"
				  " ORDER BY f.hash, s.name LIMIT ?3",
	[CAIRN_READ_EACH_DUE] =
		"SELECT w.file, w.scope, w.sha256, f.hash, f.size, s.name, p.sha256 FROM file_owner w"
		" INDEXED BY file_owner_due CROSS JOIN file f ON f.id = w.file CROSS JOIN scope s ON s.id = w.scope"
		" LEFT JOIN proof p ON p.file = w.file WHERE w.due IS NOT NULL AND w.sha256 > x'' AND w.due NOT BETWEEN ?2 AND ?4"
		" AND w.scope = (SELECT scope FROM file_owner INDEXED BY file_owner_due WHERE due IS NOT NULL"
		" AND sha256 > x'' AND due NOT BETWEEN ?2 AND ?4 AND scope > ?1 ORDER BY scope LIMIT 1) ORDER BY w.file LIMIT ?3",
	[CAIRN_READ_EACH_LIE] =
		"SELECT f.hash, w.sha256, p.sha256, s.name, " POOL_SHOWN
		", w.file FROM file_owner w INDEXED BY file_owner_false CROSS JOIN file f ON f.id = w.file"
		" CROSS JOIN proof p ON p.file = w.file CROSS JOIN scope s ON s.id = w.scope"
		" WHERE w.proof = 0 AND w.file <= ?2 AND (w.file < ?2 OR (s.name, w.sha256) > (?3, ?4))"
		" ORDER BY w.file DESC, s.name, w.sha256 LIMIT ?1",
	[CAIRN_READ_CLAIMS] =
		"SELECT count(*), coalesce(sum(f.size), 0), (SELECT count(*) FROM file_owner WHERE proof = 0)"
		" FROM file_owner w INDEXED BY file_owner_due CROSS JOIN file f ON f.id = w.file"
		" WHERE w.due IS NOT NULL AND w.sha256 > x''",
	[CAIRN_READ_PLACES] = "SELECT d.xorb, d.place, x.hash, s.name FROM dedupe d CROSS JOIN xorb x ON x.id = d.xorb"
			      " CROSS JOIN scope s ON s.id = d.scope WHERE d.prefix = ?1 ORDER BY d.xorb, s.name",
	[CAIRN_READ_RETIRED] = "SELECT count(*), coalesce(sum(stored), 0) FROM xorb WHERE retired IS NOT NULL",
	[CAIRN_READ_UNREFERENCED] = "SELECT count(*), coalesce(sum(stored), 0) FROM xorb x"
				    " WHERE NOT EXISTS(SELECT 1 FROM reference r WHERE r.xorb = x.id)",
	[CAIRN_READ_FILE_BYTES] = "SELECT count(*), coalesce(sum(size), 0) FROM file",
	[CAIRN_READ_OWNERS] = "SELECT DISTINCT scope FROM file_owner WHERE file = ?1 ORDER BY scope",
	[CAIRN_READ_LINE] = CAIRN_CHAIN_LINE,
	[CAIRN_READ_ENTRY] = CAIRN_CHAIN_FIND(POOL_ENTRY, POOL_ENTRY_JOINS),
	POOL_SCAN(0),
	POOL_SCAN(1),
	POOL_SCAN(2),
	POOL_SCAN(3),
	POOL_SCAN(4),
	POOL_SCAN(5),
	POOL_SCAN(6),
	POOL_SCAN(7),
};

static void pool_close(struct cairn_reader *r)
{
	cairn_sqlite_db_fini(&r->records);
	cairn_sql_finalize(r->stmt, CAIRN_READ_STMTS);
	cairn_sql_closep(&r->db);
	free(r);
}

static void pool_give(struct cairn_sqlite_db *records)
{
	struct cairn_reader *r = (struct cairn_reader *)records;
	cairn_pool_givep(&r);
}

static enum cairn_status pool_open(struct cairn_pool *pool, struct cairn_reader **out)
{
	struct cairn_reader *r = calloc(1, sizeof(*r));
	if (!r)
		return CAIRN_E_NOMEM;
	r->pool = pool;
	enum cairn_status status = cairn_sql_open(&r->db, pool->path, pool->open_flags, NULL, NULL);
	if (status == CAIRN_OK)
		status = cairn_sql_exec(r->db, "PRAGMA query_only = ON");
	if (status == CAIRN_OK)
		status = cairn_sql_prepare(r->db, pool_sql, r->stmt, CAIRN_READ_STMTS);
	if (status != CAIRN_OK) {
		pool_close(r);
		return status;
	}
	cairn_sqlite_db_init(&r->records, r->db, pool_give);
	*out = r;
	return CAIRN_OK;
}

void cairn_pool_init(struct cairn_pool *pool, const char *path)
{
	*pool = (struct cairn_pool){.path = path, .open_flags = SQLITE_OPEN_READONLY};
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->back, NULL);
}

void cairn_pool_fini(struct cairn_pool *pool)
{
	for (struct cairn_reader *r = pool->idle, *next; r; r = next) {
		next = r->next;
		pool_close(r);
	}
	pool->idle = NULL;
	pthread_cond_destroy(&pool->back);
	pthread_mutex_destroy(&pool->lock);
}

enum cairn_status cairn_pool_take(struct cairn_pool *pool, struct cairn_reader **out)
{
	*out = NULL;
	pthread_mutex_lock(&pool->lock);
	while (!pool->idle && pool->n_open == CAIRN_POOL_CONNECTIONS_MAX)
		pthread_cond_wait(&pool->back, &pool->lock);
	struct cairn_reader *r = pool->idle;
	if (r)
		pool->idle = r->next;
	else
		pool->n_open++;
	pthread_mutex_unlock(&pool->lock);
	if (r) {
		*out = r;
		return CAIRN_OK;
	}
	enum cairn_status status = pool_open(pool, out);
	if (status != CAIRN_OK) {
		pthread_mutex_lock(&pool->lock);
		pool->n_open--;
		pthread_cond_signal(&pool->back);
		pthread_mutex_unlock(&pool->lock);
	}
	return status;
}

void cairn_pool_givep(struct cairn_reader **reader)
{
	struct cairn_reader *r = *reader;
	if (!r)
		return;
	struct cairn_pool *pool = r->pool;
	pthread_mutex_lock(&pool->lock);
	r->next = pool->idle;
	pool->idle = r;
	pthread_cond_signal(&pool->back);
	pthread_mutex_unlock(&pool->lock);
	*reader = NULL;
}
