#include "index/sqlite/write.h"

#include "index/rows.h"
#include "index/sqlite/chain.h"
#include "index/sqlite/log.h"
#include "index/sqlite/migrate.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TX_FILTER_ROWS = 8192,   /* rows of one piece: about a millisecond */
	TX_CACHE_COMMITS = 1024, /* commits after which the cache is resized */
	TX_CACHE_SHARE = 64,     /* share of the file: the trees with random inserts, and some more */
	TX_CACHE_MIN_KIB = 8 * 1024,
	TX_CACHE_MAX_KIB = 128 * 1024,
	TX_CACHE_LOCK_KIB = 1024 * 1024, /* the place of SQLite's locks in the file */
	TX_SPILL_KIB = 64 * 1024,        /* changed pages beyond it are written before the transaction ends */
};

/* A page of line ?1 after folder ?2 and name ?3, of each path the newest first. */
#define ENTRY_PAGE                                                                                                     \
	" FROM entry WHERE line = ?1 AND (folder, name) > (?2, ?3) ORDER BY folder, name, since DESC LIMIT ?4"
/* Has owner ?2 room for another claim on file ?1? */
#define TX_HAS_ROOM                                                                                                    \
	"(SELECT count(*) FROM file_owner WHERE file = ?1 AND scope = ?2 AND sha256 > x'' AND proof > 0) < ?4"         \
	" AND (SELECT count(*) FROM file_owner WHERE file = ?1 AND scope = ?2 AND proof = 0) < ?5"
#define TX_SCAN(i) [CAIRN_TX_SCAN + (i)] = CAIRN_CHAIN_SCAN("", "")
_Static_assert(CAIRN_INDEX_LINE_DEPTH_MAX == 8, "as many scans as lines");

static const char *const tx_sql[CAIRN_TX_STMTS] = {
	[CAIRN_TX_BEGIN] = "BEGIN IMMEDIATE",
	[CAIRN_TX_COMMIT] = "COMMIT",
	[CAIRN_TX_ROLLBACK] = "ROLLBACK",
	[CAIRN_TX_SAVE] = "SAVEPOINT one",
	[CAIRN_TX_RELEASE] = "RELEASE one",
	[CAIRN_TX_UNDO] = "ROLLBACK TO one",
	[CAIRN_TX_STATE] = "SELECT collection, files, xorbs, shards, eligible, stored_bytes, frozen FROM state",
	[CAIRN_TX_SET_STATE] = "UPDATE state SET collection = ?1, files = ?2, xorbs = ?3, shards = ?4, eligible = ?5,"
			       " stored_bytes = ?6",
	[CAIRN_TX_PROBE] = "UPDATE state SET probes = probes + 1",
	[CAIRN_TX_FIND_SHARD] = "SELECT id, collection, at > unixepoch() - 3600 FROM shard"
				" WHERE hash = ?1 AND scope = ?2 AND owner = ?3",
	[CAIRN_TX_ADD_SHARD] = "INSERT INTO shard(hash, scope, owner, collection, at) VALUES(?1, ?2, ?3, ?4, ?5)",
	[CAIRN_TX_RENEW_SHARD] = "UPDATE shard SET collection = ?2, at = ?3 WHERE id = ?1",
	[CAIRN_TX_ADD_MEMBER] = "INSERT OR IGNORE INTO member(shard, xorb) VALUES(?1, ?2)",
	[CAIRN_TX_FIND_XORB] = "SELECT id, chunks, stored, retired FROM xorb WHERE hash = ?1",
	[CAIRN_TX_FIND_XORB_BY_ID] = "SELECT id, chunks, stored, retired FROM xorb WHERE id = ?1",
	[CAIRN_TX_ADD_XORB] = "INSERT INTO xorb(hash, chunks, unpacked, stored, at) VALUES(?1, ?2, ?3, ?4, ?5)",
	[CAIRN_TX_RENEW_XORB] = "UPDATE xorb SET retired = NULL, at = ?2 WHERE id = ?1",
	[CAIRN_TX_STORE_XORB] = "UPDATE xorb SET retired = NULL, at = ?2, stored = ?3, chunks = ?4, unpacked = ?5,"
				" repacked = repacked OR ?6 WHERE id = ?1",
	[CAIRN_TX_SET_REPACKED] = "UPDATE xorb SET repacked = 1 WHERE id = ?1",
	[CAIRN_TX_ADD_LIST] = "INSERT INTO list(xorb, spans, hashes) VALUES(?1, ?2, ?3)",
	[CAIRN_TX_EACH_PREFIX] =
		"SELECT prefix, scope, CASE scope WHEN 0 THEN '' ELSE (SELECT name FROM scope WHERE id = d.scope) END"
		" FROM dedupe d WHERE (prefix, scope) > (?1, ?2) ORDER BY prefix, scope LIMIT ?3",
	[CAIRN_TX_GET_LIST] = "SELECT spans, hashes FROM list WHERE xorb = ?1",
	[CAIRN_TX_SET_LIST] = "INSERT OR REPLACE INTO list(xorb, spans, hashes) VALUES(?1, ?2, ?3)",
	[CAIRN_TX_ADD_DEDUPE] = "INSERT OR IGNORE INTO dedupe(prefix, scope, xorb, place, shard)"
				" VALUES(?1, ?5, ?2, ?3, ?6)",
	[CAIRN_TX_ADD_DEDUPES] = "INSERT OR IGNORE INTO dedupe(prefix, scope, xorb, place, shard)"
				 " SELECT a, ?5, b, c, ?6 FROM new_row",
	[CAIRN_TX_FIND_FILE] = "SELECT id FROM file WHERE hash = ?1",
	[CAIRN_TX_LAST_FILE] = "SELECT seq FROM sqlite_sequence WHERE name = 'file'",
	[CAIRN_TX_ADD_FILE] =
		"INSERT INTO file(hash, size, terms, at) VALUES(?1, ?2, ?3, ?4) ON CONFLICT(hash) DO NOTHING",
	/* OR FAIL: a failure undoes the whole write anyway, so SQLite need not copy pages to undo the statement. */
	[CAIRN_TX_ADD_FILES] = "INSERT OR FAIL INTO file(id, hash, size, terms, at)"
			       " SELECT a, bytes, b, more, ?5 FROM new_row WHERE true ON CONFLICT(hash) DO NOTHING",
	[CAIRN_TX_ADD_FIRST_OWNER] = "INSERT INTO file_owner(file, scope, sha256, at) VALUES(?1, ?5, ?4, unixepoch())",
	[CAIRN_TX_ADD_FIRST_OWNERS] = "INSERT INTO file_owner(file, scope, sha256, at)"
				      " SELECT a, ?5, bytes, unixepoch() FROM new_row",
	[CAIRN_TX_ADD_OWNER] = "INSERT INTO file_owner(file, scope, sha256, at) SELECT ?1, ?2, x'', unixepoch()"
			       " WHERE NOT EXISTS(SELECT 1 FROM file_owner WHERE file = ?1 AND scope = ?2)",
	[CAIRN_TX_ADD_CLAIM] = "INSERT OR IGNORE INTO file_owner(file, scope, sha256, at)"
			       " SELECT ?1, ?2, ?3, unixepoch() WHERE " TX_HAS_ROOM,
	[CAIRN_TX_DROP_NO_CLAIM] = "DELETE FROM file_owner WHERE file = ?1 AND scope = ?2 AND sha256 = x''",
	[CAIRN_TX_FIND_OWNED] = "SELECT w.file, w.scope FROM file f CROSS JOIN file_owner w ON w.file = f.id"
				" AND w.scope = (SELECT id FROM scope WHERE name = ?2) WHERE f.hash = ?1 LIMIT 1",
	[CAIRN_TX_ADD_PROOF] = "INSERT OR IGNORE INTO proof(file, sha256) SELECT id, ?2 FROM file"
			       " WHERE id = ?1 AND hash = ?3",
	[CAIRN_TX_SETTLE_CLAIM] =
		"UPDATE file_owner SET proof = ?4, due = NULL WHERE file = (SELECT id FROM file WHERE id = ?1 AND hash = ?5)"
		" AND scope = ?2 AND sha256 = ?3",
	[CAIRN_TX_PUT_OFF_CLAIM] =
		"UPDATE file_owner SET due = ?4 WHERE file = (SELECT id FROM file WHERE id = ?1 AND hash = ?5)"
		" AND scope = ?2 AND sha256 = ?3",
	[CAIRN_TX_ADD_PROVED] =
		"INSERT INTO file_owner(file, scope, sha256, at, proof, due)"
		" VALUES(?1, ?2, ?3, unixepoch(), 3, NULL) ON CONFLICT DO UPDATE SET proof = 3, due = NULL",
	/* An entry keeps the size in its pointer. */
	[CAIRN_TX_FOLLOW_PROOF] =
		"UPDATE content SET file = ?3 WHERE sha256 = ?1 AND repo IN (SELECT id FROM repo WHERE scope = ?2)"
		" AND size = (SELECT size FROM file WHERE id = ?3)"
		" AND file IN (SELECT w.file FROM (" CAIRN_CLAIM_LAST(
			"?2") ") w WHERE w.proof < 3)"
			      " AND EXISTS(SELECT 1 FROM file_owner w WHERE w.file = ?3 AND w.scope = ?2 AND w.sha256 = ?1"
			      " AND w.proof = 3)",
	[CAIRN_TX_ADD_COPIED] = "INSERT INTO file_owner(file, scope, sha256, at, proof, due)"
				" SELECT ?1, ?2, ?3, unixepoch(), iif(?6 = 3, 3, 1), iif(?6 = 3, NULL, 0)"
				" WHERE ?6 = 3 OR (" TX_HAS_ROOM ") ON CONFLICT DO UPDATE SET proof = 3, due = NULL"
				" WHERE excluded.proof = 3",
	[CAIRN_TX_RENEW_FILE_OWNER] = "UPDATE file_owner SET at = unixepoch() WHERE file = ?1 AND scope = ?2",
	[CAIRN_TX_ADD_REFERENCE] = "INSERT OR IGNORE INTO reference(xorb, file) VALUES(?1, ?2)",
	[CAIRN_TX_ADD_REFERENCES] = "INSERT OR IGNORE INTO reference(xorb, file) SELECT a, b FROM new_row",
	[CAIRN_TX_SET_TERMS] = "UPDATE file SET terms = ?2 WHERE id = ?1",
	[CAIRN_TX_IS_STORED] = "SELECT stored IS NOT NULL FROM xorb WHERE id = ?1",
	[CAIRN_TX_GET_TERMS] = "SELECT terms FROM file WHERE id = ?1",
	[CAIRN_TX_DROP_FILE_OWNER] =
		"DELETE FROM file_owner WHERE file = ?1 AND scope = (SELECT id FROM scope WHERE name = ?2)",
	[CAIRN_TX_DROP_FILE_OWNERS] = "DELETE FROM file_owner WHERE file = ?1",
	[CAIRN_TX_HAS_FILE_OWNER] = "SELECT 1 FROM file_owner WHERE file = ?1 LIMIT 1",
	[CAIRN_TX_DROP_REFERENCE] = "DELETE FROM reference WHERE xorb = ?1 AND file = ?2",
	[CAIRN_TX_DROP_REFERENCES] = "DELETE FROM reference WHERE file = ?1",
	[CAIRN_TX_DROP_FILE] = "DELETE FROM file WHERE id = ?1",
	[CAIRN_TX_LOSE_XORB] = "UPDATE xorb SET stored = NULL WHERE id = ?1",
	[CAIRN_TX_MARK_PAGE] =
		"SELECT id, retired IS NULL AND at <= ?2 AND NOT EXISTS(SELECT 1 FROM reference r WHERE r.xorb = x.id)"
		" FROM xorb x WHERE id > ?1 ORDER BY id LIMIT ?3",
	[CAIRN_TX_RETIRE_XORB] = "UPDATE xorb SET retired = ?2 WHERE id = ?1",
	/* Checks the row, too: the tree xorb_retired alone is no evidence. */
	[CAIRN_TX_SWEEP_PAGE] = "SELECT x.id, x.hash, x.stored FROM xorb y CROSS JOIN xorb x ON x.id = y.id"
				" WHERE y.retired <= ?1 AND x.retired <= ?1 ORDER BY y.retired LIMIT ?2",
	[CAIRN_TX_HAS_REFERENCE] = "SELECT 1 FROM reference WHERE xorb = ?1 LIMIT 1",
	[CAIRN_TX_DROP_DEDUPE] = "DELETE FROM dedupe WHERE xorb = ?1",
	[CAIRN_TX_FIND_MEMBER] = "SELECT shard FROM member WHERE xorb = ?1 LIMIT 1",
	[CAIRN_TX_DROP_MEMBER] = "DELETE FROM member WHERE shard = ?1 AND xorb = ?2",
	[CAIRN_TX_DROP_SHARD] = "DELETE FROM shard WHERE id = ?1 AND NOT EXISTS(SELECT 1 FROM member WHERE shard = ?1)",
	[CAIRN_TX_DROP_LIST] = "DELETE FROM list WHERE xorb = ?1",
	[CAIRN_TX_DROP_XORB] = "DELETE FROM xorb WHERE id = ?1",
	[CAIRN_TX_COUNT_STORED] = "UPDATE repo SET stored = stored + ?2 WHERE scope = ?1",
	[CAIRN_TX_COUNT_OWNED] = "UPDATE scope SET stored = stored + ?2 WHERE id = ?1 AND quota IS NOT NULL",
	[CAIRN_TX_FILE_SIZE] = "SELECT size FROM file WHERE id = ?1",
	[CAIRN_TX_COUNT_REPO] = "UPDATE repo SET files = files + ?2, bytes = bytes + ?3, updated = ?4 WHERE id = ?1",
	[CAIRN_TX_FIND_DROPPED_REPO] = "SELECT id, scope FROM repo WHERE dropped IS NOT NULL ORDER BY dropped LIMIT 1",
	[CAIRN_TX_FORGET_REPO] = "DELETE FROM repo WHERE id = ?1",
	[CAIRN_TX_FIND_OBJECT] = "SELECT o.file, coalesce(f.size, 0) FROM object o LEFT JOIN file f ON f.id = o.file"
				 " WHERE o.repo = ?1 AND o.path = ?2",
	[CAIRN_TX_SET_OBJECT] =
		"INSERT INTO object(repo, path, file, mtime, uploaded, type) VALUES(?1, ?2, ?3, ?4, ?5, ?6)"
		" ON CONFLICT DO UPDATE SET file = ?3, mtime = ?4, uploaded = ?5, type = ?6",
	[CAIRN_TX_DROP_OBJECT] = "DELETE FROM object WHERE repo = ?1 AND path = ?2",
	[CAIRN_TX_OBJECT_PAGE] = "SELECT path, file FROM object WHERE repo = ?1 ORDER BY path LIMIT ?2",
	[CAIRN_TX_HAS_OBJECT] = "SELECT 1 FROM object WHERE file = ?1 AND repo = ?2 LIMIT 1",
	[CAIRN_TX_HAS_EMPTY] = "SELECT 1 FROM object WHERE file IS NULL AND repo = ?1 LIMIT 1",
	[CAIRN_TX_FIND_OWN] = "SELECT f.id, f.size FROM file f WHERE f.hash = ?1"
			      " AND EXISTS(SELECT 1 FROM file_owner o WHERE o.file = f.id AND o.scope IN (0, ?2))",
	[CAIRN_TX_FIND_COPIED] =
		"SELECT f.id, f.size FROM file f WHERE f.hash = ?1"
		" AND (EXISTS(SELECT 1 FROM object o WHERE o.file = f.id AND o.repo = ?2) OR EXISTS(SELECT 1 FROM repo p"
		" JOIN file_owner w ON w.file = f.id AND w.scope = p.scope WHERE p.id = ?2 AND p.kind <> 4"
		" AND p.dropped IS NULL))",
	[CAIRN_TX_DISOWN] = "DELETE FROM file_owner WHERE file = ?1 AND scope = ?2",
	[CAIRN_TX_OWNED_PAGE] = "SELECT file FROM file_owner WHERE scope = ?1 ORDER BY sha256, file LIMIT ?2",
	[CAIRN_TX_UNCOUNT_FILE] =
		"UPDATE repo SET files = files - (SELECT count(*) FROM object o WHERE o.file = ?1 AND o.repo = "
		"repo.id),"
		" bytes = bytes - (SELECT count(*) FROM object o WHERE o.file = ?1 AND o.repo = repo.id)"
		" * (SELECT size FROM file WHERE id = ?1) WHERE id IN (SELECT repo FROM object WHERE file = ?1)"
		" AND (?2 IS NULL OR scope = (SELECT id FROM scope WHERE name = ?2))",
	[CAIRN_TX_UNCOUNT_STORED] =
		"UPDATE repo SET stored = stored - (SELECT size FROM file WHERE id = ?1) WHERE scope IN"
		" (SELECT scope FROM file_owner WHERE file = ?1 AND (?2 IS NULL OR scope = (SELECT id FROM scope"
		" WHERE name = ?2)))",
	[CAIRN_TX_UNCOUNT_OWNED] =
		"UPDATE scope SET stored = stored - (SELECT size FROM file WHERE id = ?1) WHERE quota IS NOT NULL AND id"
		" IN (SELECT scope FROM file_owner WHERE file = ?1) AND (?2 IS NULL OR name = ?2)",
	[CAIRN_TX_DROP_OBJECTS] =
		"DELETE FROM object WHERE file = ?1 AND (?2 IS NULL OR repo IN (SELECT id FROM repo WHERE scope ="
		" (SELECT id FROM scope WHERE name = ?2)))",
	[CAIRN_TX_DROP_BYTES] =
		"UPDATE content SET file = NULL WHERE file = ?1 AND (?2 IS NULL OR repo IN (SELECT id FROM repo WHERE"
		" scope = (SELECT id FROM scope WHERE name = ?2)))",
	[CAIRN_TX_FIND_LINE] = CAIRN_CHAIN_LINE,
	[CAIRN_TX_FIND_ENTRY] = CAIRN_CHAIN_FIND(", c.size", " LEFT JOIN content c ON c.id = e.content"),
	TX_SCAN(0),
	TX_SCAN(1),
	TX_SCAN(2),
	TX_SCAN(3),
	TX_SCAN(4),
	TX_SCAN(5),
	TX_SCAN(6),
	TX_SCAN(7),
	[CAIRN_TX_SET_ENTRY] = "INSERT OR REPLACE INTO entry(line, folder, name, since, oid, content)"
			       " VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
	[CAIRN_TX_FIND_INLINE] = "SELECT id FROM content WHERE repo = ?1 AND key = ?2 AND body = ?3",
	[CAIRN_TX_FIND_STORED] = "SELECT id FROM content WHERE file = ?2 AND repo = ?1 AND sha256 = ?3",
	[CAIRN_TX_FIND_CLAIMED] = "SELECT f.id, f.size, w.proof FROM (" CAIRN_CLAIM_LAST(
		"?2") ") w"
		      " CROSS JOIN file f ON f.id = w.file WHERE w.proof > 0"
		      " ORDER BY w.proof DESC, w.file DESC LIMIT 1",
	[CAIRN_TX_FIND_CLAIM] = "SELECT f.id, w.proof FROM file f JOIN file_owner w ON w.file = f.id AND w.scope = ?2"
				" AND w.sha256 = ?3 WHERE f.hash = ?1 AND w.proof > 0",
	[CAIRN_TX_ADD_CONTENT] = "INSERT INTO content(repo, uses, size, key, body, sha256, file)"
				 " VALUES(?1, 0, ?2, ?3, ?4, ?5, ?6)",
	[CAIRN_TX_USE_CONTENT] = "UPDATE content SET uses = uses + ?2 WHERE id = ?1",
	[CAIRN_TX_DROP_CONTENT] = "DELETE FROM content WHERE id = ?1 AND uses = 0 RETURNING"
				  " (SELECT scope FROM repo WHERE id = content.repo), iif(key IS NULL, 0, size)",
	[CAIRN_TX_REVIVE_CONTENT] =
		"UPDATE content SET file = iif(key IS NULL, (SELECT file FROM content WHERE id = ?2), NULL),"
		" body = iif(key IS NULL, NULL, (SELECT body FROM content WHERE id = ?2))"
		" WHERE id = ?1 AND (key = (SELECT key FROM content WHERE id = ?2) OR"
		" sha256 IS NOT NULL AND (file IS NULL OR EXISTS(SELECT 1"
		" FROM file_owner w WHERE w.file = content.file AND w.sha256 = content.sha256"
		" AND w.scope = (SELECT scope FROM repo WHERE id = content.repo) AND w.proof < 3)))",
	[CAIRN_TX_SAVE_COMMIT] = "SAVEPOINT commit_",
	[CAIRN_TX_RELEASE_COMMIT] = "RELEASE commit_",
	[CAIRN_TX_UNDO_COMMIT] = "ROLLBACK TO commit_",
	[CAIRN_TX_FIND_REF] = "SELECT r.line, l.head, r.commit_ FROM ref r CROSS JOIN line l ON l.id = r.line"
			      " WHERE r.repo = ?1 AND r.kind = ?2 AND r.name = ?3",
	[CAIRN_TX_FIND_COMMIT] =
		"SELECT id, parent, line, number, files, bytes, oid, root, repo FROM commit_ WHERE id = ?1",
	[CAIRN_TX_LAST_COMMIT] = "SELECT seq FROM sqlite_sequence WHERE name = 'commit_'",
	[CAIRN_TX_HAS_COMMIT] = "SELECT 1 FROM commit_ WHERE repo = ?1 AND oid = ?2",
	[CAIRN_TX_ADD_COMMIT] =
		"INSERT INTO commit_(id, repo, line, number, parent, oid, root, at, files, bytes, author,"
		" title, message) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
	[CAIRN_TX_ADD_LINE] = "INSERT INTO line(repo, parent, fork, depth, head) VALUES(?1, ?2, ?3, ?4, ?3)",
	[CAIRN_TX_SET_LINE_HEAD] = "UPDATE line SET head = ?2 WHERE id = ?1",
	[CAIRN_TX_COUNT_LINE] = "SELECT count(*) FROM (SELECT 1 FROM entry WHERE line = ?1 AND since <= ?2 LIMIT ?3)",
	[CAIRN_TX_COPY_LINE] =
		"INSERT OR IGNORE INTO entry(line, folder, name, since, oid, content)"
		" SELECT ?1, folder, name, since, oid, content FROM entry e WHERE line = ?2 AND since <= ?3"
		" AND since = (SELECT max(since) FROM entry n WHERE n.line = e.line AND n.folder = e.folder"
		" AND n.name = e.name AND n.since <= ?3)",
	[CAIRN_TX_COPY_NEWEST] =
		"INSERT OR IGNORE INTO entry(line, folder, name, since, oid, content)"
		" SELECT ?1, folder, name, ?4, oid, content FROM entry e WHERE line = ?2 AND since <= ?3"
		" AND since = (SELECT max(since) FROM entry n WHERE n.line = e.line AND n.folder = e.folder"
		" AND n.name = e.name AND n.since <= ?3)",
	[CAIRN_TX_DROP_DELETIONS] = "DELETE FROM entry WHERE line = ?1 AND oid IS NULL",
	[CAIRN_TX_USE_COPIED] =
		"UPDATE content SET uses = uses + n.n FROM (SELECT content, count(*) AS n FROM entry"
		" WHERE line = ?1 AND content IS NOT NULL GROUP BY content) n WHERE content.id = n.content",
	[CAIRN_TX_COUNT_MAIN] = "UPDATE repo SET updated = ?2, (files, bytes) = (SELECT c.files, c.bytes FROM ref r"
				" CROSS JOIN line l ON l.id = r.line CROSS JOIN commit_ c ON c.id = l.head"
				" WHERE r.repo = ?1 AND r.kind = 1 AND r.name = 'main') WHERE id = ?1",
	[CAIRN_TX_NESTED_REF] = "SELECT name FROM ref WHERE repo = ?1 AND kind IN (1, 2)"
				" AND (substr(name, 1, length(?2) + 1) = ?2 || '/'"
				" OR substr(?2, 1, length(name) + 1) = name || '/') LIMIT 1",
	[CAIRN_TX_ADD_REF] = "INSERT OR IGNORE INTO ref(repo, kind, name, line, commit_) VALUES(?1, ?2, ?3, ?4, ?5)",
	[CAIRN_TX_SET_REF] = "UPDATE ref SET line = ?4, commit_ = ?5 WHERE repo = ?1 AND kind = ?2 AND name = ?3",
	[CAIRN_TX_END_PULL] = "UPDATE ref SET commit_ = (SELECT head FROM line WHERE id = ref.line)"
			      " WHERE repo = ?1 AND kind = 3 AND name = ?2",
	[CAIRN_TX_DROP_REF] = "DELETE FROM ref WHERE repo = ?1 AND kind = ?2 AND name = ?3",
	[CAIRN_TX_LAST_PULL] = "SELECT coalesce(max(CAST(name AS INTEGER)), 0) FROM ref WHERE repo = ?1 AND kind = 3",
	[CAIRN_TX_SWEEP_LINE] =
		"SELECT l.id, l.head, CASE WHEN EXISTS(SELECT 1 FROM ref r WHERE r.line = l.id AND r.commit_ = 0)"
		" THEN l.head ELSE max(coalesce((SELECT max(r.commit_) FROM ref r WHERE r.line = l.id), 0),"
		" coalesce((SELECT max(c.fork) FROM line c WHERE c.parent = l.id), 0)) END"
		" FROM line l WHERE l.id < ?1 ORDER BY l.id DESC LIMIT 1",
	[CAIRN_TX_REPO_LINE] = "SELECT id FROM line WHERE repo = ?1 ORDER BY id DESC LIMIT 1",
	[CAIRN_TX_DROP_REFS] = "DELETE FROM ref WHERE repo = ?1",
	[CAIRN_TX_DROP_COMMITS] = "DELETE FROM commit_ WHERE id IN"
				  " (SELECT id FROM commit_ WHERE line = ?1 ORDER BY number DESC LIMIT ?2)",
	[CAIRN_TX_DROP_ENTRIES] = "DELETE FROM entry WHERE line = ?1 AND (folder, name, since) IN"
				  " (SELECT folder, name, since FROM entry WHERE line = ?1 LIMIT ?2) RETURNING content",
	[CAIRN_TX_DROP_NEWER_COMMITS] =
		"DELETE FROM commit_ WHERE id IN"
		" (SELECT id FROM commit_ WHERE line = ?1 AND number > (SELECT number FROM commit_ WHERE id = ?3)"
		" ORDER BY number DESC LIMIT ?2)",
	[CAIRN_TX_ENTRY_PAGE] = "SELECT folder, name, since" ENTRY_PAGE,
	[CAIRN_TX_DROP_NEWER_ENTRIES] =
		"DELETE FROM entry WHERE line = ?1 AND (folder, name, since) IN (SELECT folder, name, since FROM"
		" (SELECT folder, name, since" ENTRY_PAGE ") WHERE since > ?5) RETURNING content",
	[CAIRN_TX_DROP_LINE] = "DELETE FROM line WHERE id = ?1",
	[CAIRN_TX_NEXT_REPO] =
		"SELECT id, scope FROM repo WHERE id > ?1 AND kind = 4 AND dropped IS NULL ORDER BY id LIMIT 1",
	[CAIRN_TX_UNNAMED_PAGE] =
		"SELECT w.file, w.sha256, NOT EXISTS(SELECT 1 FROM file_owner y WHERE y.file = w.file AND y.scope = ?1"
		" AND y.at > ?5) AND NOT EXISTS(SELECT 1 FROM content c WHERE c.file = w.file AND c.repo = ?6)"
		" AND NOT EXISTS(SELECT 1 FROM object o WHERE o.file = w.file AND o.repo = ?6)"
		" FROM file_owner w INDEXED BY file_owner_claim WHERE w.scope = ?1 AND (w.sha256, w.file) > (?2, ?3)"
		" ORDER BY w.sha256, w.file LIMIT ?4",
};

int64_t cairn_tx_cache_kib(int64_t file_kib)
{
	int64_t kib = file_kib / TX_CACHE_SHARE;
	if (file_kib <= TX_CACHE_LOCK_KIB || kib < TX_CACHE_MIN_KIB)
		return TX_CACHE_MIN_KIB;
	return kib < TX_CACHE_MAX_KIB ? kib : TX_CACHE_MAX_KIB;
}

/* A batch may change more pages than the cache should keep. Pages that SQLite wrote early to make room would be read
 * and written again for the next row. Changed pages leave the cache when the transaction ends, so commits scan no
 * more. */
static enum cairn_status tx_size_cache(sqlite3 *db)
{
	int64_t pages = 0;
	enum cairn_status status = cairn_sql_ask(db, "PRAGMA page_count", &pages);
	if (status != CAIRN_OK)
		return status;
	char sql[96];
	(void)snprintf(sql, sizeof(sql), "PRAGMA cache_size = -%" PRId64 "; PRAGMA cache_spill = -%d",
		       cairn_tx_cache_kib(pages * (CAIRN_MIGRATE_PAGE_BYTES / 1024)), TX_SPILL_KIB);
	return cairn_sql_exec(db, sql);
}

/* Sets the pragmas of the connection, at each opening, and reads back the important ones. */
static enum cairn_status tx_set_up(sqlite3 *db, struct cairn_diag *diag)
{
	int64_t synchronous = 0, foreign_keys = 0;
	enum cairn_status status = cairn_sql_exec(db, "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
						      "PRAGMA secure_delete = OFF; PRAGMA temp_store = MEMORY");
	if (status == CAIRN_OK)
		status = tx_size_cache(db);
	if (status == CAIRN_OK)
		status = cairn_sql_ask(db, "PRAGMA synchronous", &synchronous);
	if (status == CAIRN_OK)
		status = cairn_sql_ask(db, "PRAGMA foreign_keys", &foreign_keys);
	if (status != CAIRN_OK)
		return cairn_sql_fail(db, diag, "cannot set up the index");
	if (synchronous == 2 && foreign_keys == 1)
		return CAIRN_OK;
	return cairn_fail(
		diag, CAIRN_E_IO, "index.pragma", CAIRN_NO_OFFSET,
		"this SQLite does not take synchronous=FULL and foreign_keys=ON; build Cairn with another one");
}

static enum cairn_status tx_read_state(struct cairn_tx *tx)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = tx->stmt[CAIRN_TX_STATE];
	bool row;
	enum cairn_status status = cairn_sql_step(stmt, &row);
	if (status != CAIRN_OK || !row)
		return status == CAIRN_OK ? CAIRN_E_DAMAGED : status;
	tx->counts = (struct cairn_tx_counts){
		.collection = sqlite3_column_int64(stmt, 0),
		.files = sqlite3_column_int64(stmt, 1),
		.xorbs = sqlite3_column_int64(stmt, 2),
		.shards = sqlite3_column_int64(stmt, 3),
		.eligible = sqlite3_column_int64(stmt, 4),
		.stored_bytes = sqlite3_column_int64(stmt, 5),
	};
	tx->committed = tx->counts;
	tx->frozen = (enum cairn_index_frozen)sqlite3_column_int(stmt, 6);
	return CAIRN_OK;
}

/* If the database or its log cannot be opened for writing, SQLite opens it for reading. Each write would then fail for
 * as long as the process lives, so it must not start. */
static enum cairn_status tx_try_to_write(struct cairn_tx *tx)
{
	enum cairn_status status = cairn_sql_run(tx->stmt[CAIRN_TX_BEGIN]);
	if (status == CAIRN_OK)
		status = cairn_tx_probe(tx);
	return status == CAIRN_OK ? cairn_sql_run(tx->stmt[CAIRN_TX_COMMIT]) : status;
}

enum cairn_status cairn_tx_open(struct cairn_tx *tx, const char *path, struct cairn_diag *diag)
{
	enum cairn_status status = cairn_sql_open(&tx->db, path, SQLITE_OPEN_READWRITE, CAIRN_SQL_LOG_VFS, diag);
	if (status != CAIRN_OK)
		return status;
	/* A refused database stays unchanged: closing must not make a checkpoint. */
	(void)sqlite3_db_config(tx->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	status = cairn_migrate_must_be_latest(tx->db, path, diag);
	if (status != CAIRN_OK)
		return status;
	(void)sqlite3_db_config(tx->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
	status = tx_set_up(tx->db, diag);
	if (status != CAIRN_OK)
		return status;
	cairn_sqlite_db_init(&tx->records_db, tx->db, NULL);
	tx->records.db = &tx->records_db.db;
	status = cairn_new_rows_register(tx->db, &tx->new_rows);
	if (status == CAIRN_OK)
		status = cairn_sql_prepare(tx->db, tx_sql, tx->stmt, CAIRN_TX_STMTS);
	if (status == CAIRN_OK)
		status = tx_read_state(tx);
	if (status != CAIRN_OK)
		return cairn_sql_fail(tx->db, diag, "cannot read the index");
	status = tx_try_to_write(tx);
	if (status != CAIRN_OK)
		return cairn_sql_fail(tx->db, diag, "cannot write the index");
	tx->filter_prefix = INT64_MIN;
	tx->filter_scope = -1;
	cairn_filter_init(&tx->filter, (uint64_t)tx->counts.eligible / 4 * 5);
	return CAIRN_OK;
}

/* Starts where the last piece ended: a statement left open would keep the log from being restarted. Rows added after
 * that place between two pieces are added to the filter when written. */
bool cairn_tx_fill_filter(struct cairn_tx *tx)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = tx->stmt[CAIRN_TX_EACH_PREFIX];
	sqlite3_bind_int64(stmt, 1, tx->filter_prefix);
	sqlite3_bind_int64(stmt, 2, tx->filter_scope);
	sqlite3_bind_int64(stmt, 3, TX_FILTER_ROWS);
	unsigned n = 0;
	for (bool row = true;; n++) {
		if (cairn_sql_step(stmt, &row) != CAIRN_OK)
			return false;
		if (!row)
			break;
		tx->filter_prefix = sqlite3_column_int64(stmt, 0);
		tx->filter_scope = sqlite3_column_int64(stmt, 1);
		const char *scope = (const char *)sqlite3_column_text(stmt, 2);
		cairn_filter_add(&tx->filter, cairn_filter_key((uint64_t)tx->filter_prefix, scope ? scope : ""));
	}
	if (n == TX_FILTER_ROWS)
		return true;
	cairn_filter_complete(&tx->filter);
	return false;
}

void cairn_tx_close(struct cairn_tx *tx)
{
	cairn_filter_fini(&tx->filter);
	cairn_sqlite_db_fini(&tx->records_db);
	cairn_sql_finalize(tx->stmt, CAIRN_TX_STMTS);
	cairn_sql_closep(&tx->db);
}

enum cairn_status cairn_tx_begin(struct cairn_tx *tx)
{
	enum cairn_status status = cairn_sql_run(tx->stmt[CAIRN_TX_BEGIN]);
	return status == CAIRN_OK ? tx_read_state(tx) : status;
}

static enum cairn_status tx_write_state(struct cairn_tx *tx)
{
	if (memcmp(&tx->counts, &tx->committed, sizeof(tx->counts)) == 0)
		return CAIRN_OK;
	sqlite3_stmt *stmt = tx->stmt[CAIRN_TX_SET_STATE];
	sqlite3_bind_int64(stmt, 1, tx->counts.collection);
	sqlite3_bind_int64(stmt, 2, tx->counts.files);
	sqlite3_bind_int64(stmt, 3, tx->counts.xorbs);
	sqlite3_bind_int64(stmt, 4, tx->counts.shards);
	sqlite3_bind_int64(stmt, 5, tx->counts.eligible);
	sqlite3_bind_int64(stmt, 6, tx->counts.stored_bytes);
	return cairn_sql_run(stmt);
}

enum cairn_status cairn_tx_commit(struct cairn_tx *tx)
{
	enum cairn_status status = tx_write_state(tx);
	if (status == CAIRN_OK)
		status = cairn_sql_run(tx->stmt[CAIRN_TX_COMMIT]);
	if (status != CAIRN_OK)
		return status;
	tx->committed = tx->counts;
	/* If this fails, the commit is still durable, and the cache stays as it is. */
	if (++tx->n_commits % TX_CACHE_COMMITS == 0)
		(void)!tx_size_cache(tx->db);
	return CAIRN_OK;
}

bool cairn_tx_is_open(const struct cairn_tx *tx)
{
	return !sqlite3_get_autocommit(tx->db);
}

void cairn_tx_rollback(struct cairn_tx *tx)
{
	if (cairn_tx_is_open(tx))
		(void)!cairn_sql_run(tx->stmt[CAIRN_TX_ROLLBACK]);
	tx->counts = tx->committed;
}

enum cairn_status cairn_tx_probe(struct cairn_tx *tx)
{
	return cairn_sql_run(tx->stmt[CAIRN_TX_PROBE]);
}

enum cairn_status cairn_tx_save(struct cairn_tx *tx)
{
	tx->saved = tx->counts;
	return cairn_sql_run(tx->stmt[CAIRN_TX_SAVE]);
}

enum cairn_status cairn_tx_undo(struct cairn_tx *tx)
{
	tx->counts = tx->saved;
	return cairn_sql_run(tx->stmt[CAIRN_TX_UNDO]);
}

enum cairn_status cairn_tx_release(struct cairn_tx *tx)
{
	return cairn_sql_run(tx->stmt[CAIRN_TX_RELEASE]);
}
