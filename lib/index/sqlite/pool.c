#include "index/sqlite/reader.h"

#include <stdlib.h>

#define POOL_XORB_COLUMNS                                                                                              \
	"x.id, x.hash, x.chunks, x.unpacked, x.stored, x.retired, x.at,"                                               \
	" EXISTS(SELECT 1 FROM reference WHERE reference.xorb = x.id)"
#define POOL_KEYS                                                                                                      \
	"SELECT k.id, k.digest, k.name, k.repo, k.scopes, k.created, k.revoked, k.account, a.name"                     \
	" FROM api_key k LEFT JOIN account a ON a.id = k.account"
#define POOL_REPO                                                                                                      \
	"SELECT r.id, r.kind, r.account, a.name, r.name, r.private, r.created, r.updated, r.files, r.bytes"            \
	" FROM repo r CROSS JOIN account a ON a.id = r.account WHERE r.dropped IS NULL"
#define POOL_OBJECT                                                                                                    \
	"SELECT o.path, o.file, f.hash, coalesce(f.size, 0), o.mtime, o.uploaded, o.type FROM object o"                \
	" LEFT JOIN file f ON f.id = o.file WHERE o.repo = ?1"
#define POOL_OWNED_COLUMNS                                                                                             \
	"f.hash, f.size, f.at, (SELECT min(c.sha256) FROM claim c WHERE c.file = f.id AND c.scope = o.scope)"
#define POOL_ACCOUNT_COLUMNS "a.id, a.kind, a.name, a.fullname, a.email, a.created, a.disabled"
/* A file is the viewer's to read (?2; NULL: everything is) when that repository registered it, or the operator did. */
#define POOL_FILE_VISIBLE                                                                                              \
	"(?2 IS NULL OR EXISTS(SELECT 1 FROM file_owner o WHERE o.file = f.id AND o.scope = 0)"                        \
	" OR EXISTS(SELECT 1 FROM file_owner o WHERE o.file = f.id AND o.scope = (SELECT id FROM scope WHERE name = "  \
	"?2)))"

static const char *const pool_sql[CAIRN_READ_STMTS] = {
	[CAIRN_READ_XORB] = "SELECT " POOL_XORB_COLUMNS " FROM xorb x WHERE x.hash = ?1",
	[CAIRN_READ_XORB_BY_ID] = "SELECT " POOL_XORB_COLUMNS " FROM xorb x WHERE x.id = ?1",
	[CAIRN_READ_LIST] = "SELECT l.spans, l.hashes FROM xorb x CROSS JOIN list l ON l.xorb = x.id WHERE x.hash = ?1",
	[CAIRN_READ_LIST_BY_ID] = "SELECT spans, hashes FROM list WHERE xorb = ?1",
	[CAIRN_READ_PACKING] = "SELECT hash, stored, chunks, repacked FROM xorb WHERE id = ?1",
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
	[CAIRN_READ_FILE] = "SELECT f.hash, f.size, f.terms FROM file f WHERE f.hash = ?1 AND " POOL_FILE_VISIBLE,
	[CAIRN_READ_FILE_BY_SHA256] =
		"SELECT hash, size FROM file WHERE id = coalesce("
		"(SELECT max(file) FROM claim WHERE scope = (SELECT id FROM scope WHERE name = ?2) AND sha256 = ?1),"
		" (SELECT max(file) FROM claim WHERE scope = 0 AND sha256 = ?1))",
	[CAIRN_READ_SHARD] = "SELECT 1 FROM shard WHERE hash = ?1 AND scope = (SELECT id FROM scope WHERE name = ?2)"
			     " AND owner = (SELECT id FROM scope WHERE name = ?3)"
			     " AND collection = (SELECT collection FROM state)",
	[CAIRN_READ_EACH_XORB] = "SELECT " POOL_XORB_COLUMNS " FROM xorb x WHERE x.id > ?1 ORDER BY x.id LIMIT ?2",
	[CAIRN_READ_EACH_FILE] = "SELECT hash, size, terms, id FROM file WHERE id > ?1 ORDER BY id LIMIT ?2",
	[CAIRN_READ_OWNED] = "SELECT " POOL_OWNED_COLUMNS
			     ", ?1 FROM file_owner o INDEXED BY file_owner_scope CROSS JOIN file f ON f.id = o.file"
			     " WHERE o.scope = (SELECT id FROM scope WHERE name = ?1) AND f.hash > ?2"
			     " ORDER BY f.hash LIMIT ?3",
	[CAIRN_READ_OWNED_BY_ALL] =
		"SELECT " POOL_OWNED_COLUMNS ", s.name FROM file f CROSS JOIN file_owner o ON o.file = f.id"
		" CROSS JOIN scope s ON s.id = o.scope"
		" WHERE f.hash >= ?2 AND (f.hash > ?2 OR s.name > ?1)"
		" ORDER BY f.hash, s.name LIMIT ?3",
	[CAIRN_READ_RETIRED] = "SELECT count(*), coalesce(sum(stored), 0) FROM xorb WHERE retired IS NOT NULL",
	[CAIRN_READ_UNREFERENCED] = "SELECT count(*), coalesce(sum(stored), 0) FROM xorb x"
				    " WHERE NOT EXISTS(SELECT 1 FROM reference r WHERE r.xorb = x.id)",
	[CAIRN_READ_FILE_BYTES] = "SELECT count(*), coalesce(sum(size), 0) FROM file",
	[CAIRN_READ_KEY] = POOL_KEYS " WHERE k.digest = ?1",
	[CAIRN_READ_KEY_IS_GOOD] = "SELECT 1 FROM api_key k LEFT JOIN account a ON a.id = k.account"
				   " WHERE k.id = ?1 AND k.revoked IS NULL AND a.disabled IS NULL",
	[CAIRN_READ_EACH_KEY] = POOL_KEYS " WHERE k.id > ?1 ORDER BY k.id LIMIT ?2",
	[CAIRN_READ_ACCOUNT] = "SELECT " POOL_ACCOUNT_COLUMNS " FROM account a WHERE a.name = ?1",
	[CAIRN_READ_ACCOUNT_BY_ID] = "SELECT " POOL_ACCOUNT_COLUMNS " FROM account a WHERE a.id = ?1",
	[CAIRN_READ_EACH_ACCOUNT] =
		"SELECT " POOL_ACCOUNT_COLUMNS " FROM account a WHERE a.id > ?1 ORDER BY a.id LIMIT ?2",
	[CAIRN_READ_ROLE] = "SELECT role FROM membership WHERE organisation = ?1 AND user = ?2",
	[CAIRN_READ_EACH_MEMBER] = "SELECT " POOL_ACCOUNT_COLUMNS ", m.role FROM membership m"
				   " CROSS JOIN account a ON a.id = m.user"
				   " WHERE m.organisation = ?3 AND m.user > ?1 ORDER BY m.user LIMIT ?2",
	[CAIRN_READ_EACH_ORGANISATION] = "SELECT " POOL_ACCOUNT_COLUMNS ", m.role FROM membership m"
					 " CROSS JOIN account a ON a.id = m.organisation"
					 " WHERE m.user = ?3 AND m.organisation > ?1 ORDER BY m.organisation LIMIT ?2",
	[CAIRN_READ_REPO] = POOL_REPO " AND r.kind = ?1 AND r.account = (SELECT id FROM account WHERE name = ?2)"
				      " AND r.name = ?3",
	[CAIRN_READ_EACH_REPO] = POOL_REPO " AND r.account = ?3 AND r.kind = ?4 AND r.id > ?1 ORDER BY r.id LIMIT ?2",
	[CAIRN_READ_OBJECT] = POOL_OBJECT " AND o.path = ?2",
	[CAIRN_READ_EACH_OBJECT] = POOL_OBJECT " AND o.path >= ?2 ORDER BY o.path",
	[CAIRN_READ_TELEMETRY] = "SELECT id, at, sender, body FROM telemetry WHERE id < ?1 ORDER BY id DESC LIMIT ?2",
};

static void pool_close(struct cairn_reader *r)
{
	cairn_sql_finalize(r->stmt, CAIRN_READ_STMTS);
	cairn_sql_closep(&r->db);
	free(r);
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
