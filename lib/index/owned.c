/* Lists files as their owners have them, and these owners. */
#include "index/operate.h"
#include "index/records.h"
#include "index/refer.h"

#include <string.h>

/* Columns of a file: hash, size, at, the owner's best claim unless it is false, owner, belief; in lists of all owners
 * also the shown name. */
#define LITE_CLAIM "iif(o.proof > 0, o.sha256, x'')"
#define PG_CLAIM   "CASE WHEN o.proof > 0 THEN o.sha256 ELSE '' END"
#define OWNED_ID   "(SELECT id FROM scope WHERE name = $1)"
/* Is row o the owner's best claim on the file? */
#define LITE_BEST                                                                                                      \
	" NOT EXISTS(SELECT 1 FROM file_owner c WHERE c.file = o.file AND c.scope = o.scope"                           \
	" AND (c.proof > o.proof OR (c.proof = o.proof AND c.sha256 < o.sha256)))"
#define PG_BEST                                                                                                        \
	"(SELECT true FROM file_owner c WHERE c.file = o.file AND c.scope = o.scope AND (c.proof > o.proof"            \
	" OR (c.proof = o.proof AND c.sha256 < o.sha256)) LIMIT 1) IS NULL"
/* Selects the files of all owners. */
#define LITE_ALL                                                                                                       \
	"SELECT f.hash, f.size, f.at, " LITE_CLAIM ", s.name, o.proof, " CAIRN_SQLITE_SHOWN                            \
	" FROM file f CROSS JOIN file_owner o ON o.file = f.id"                                                        \
	" CROSS JOIN scope s ON s.id = o.scope WHERE" LITE_BEST
/* Looks owners up after the file, whatever the planner estimates. */
#define PG_ALL(files)                                                                                                  \
	"SELECT f.hash, f.size, f.at, " PG_CLAIM ", s.name, o.proof, " CAIRN_POSTGRES_SHOWN " FROM " files             \
	" CROSS JOIN LATERAL (SELECT * FROM file_owner o WHERE o.file = f.id AND " PG_BEST " OFFSET 0) o"              \
	" CROSS JOIN LATERAL (SELECT id, name FROM scope WHERE id = o.scope LIMIT 1) s"
/* Selects the files of owner $1, each once. The claims are read afterwards. */
#define LITE_ONE                                                                                                       \
	"SELECT f.hash, f.size, f.at, " LITE_CLAIM ", $1, o.proof FROM (SELECT DISTINCT file, scope"                   \
	" FROM file_owner INDEXED BY file_owner_claim WHERE scope = " OWNED_ID ") u CROSS JOIN file f"                 \
	" ON f.id = u.file CROSS JOIN file_owner o ON o.file = u.file AND o.scope = u.scope WHERE" LITE_BEST
#define PG_ONE "SELECT f.hash, f.size, f.at, " PG_CLAIM ", $1::text, o.proof FROM "
/* Looks files up one by one, after the rows that name them: a join might read all files to get their order. */
#define PG_FILES(column) " CROSS JOIN LATERAL (SELECT * FROM file WHERE id = " column " LIMIT 1) f"

CAIRN_SQL_OF(OWNED_EACH, LITE_ONE " AND f.hash > $2 ORDER BY f.hash LIMIT $3",
	     PG_ONE "(SELECT DISTINCT ON (file) file, sha256,"
		    " proof FROM file_owner WHERE scope + 0 = " OWNED_ID
		    " ORDER BY file, proof DESC, sha256) o JOIN file f ON f.id = o.file WHERE f.hash > $2"
		    " ORDER BY f.hash LIMIT $3");
/* Selects files in the order of their numbers, which is that of the table. */
CAIRN_SQL_OF(OWNED_EACH_ALL,
	     LITE_ALL " AND f.hash >= $2 AND (f.hash > $2 OR s.name > $1) ORDER BY f.hash, s.name LIMIT $3",
	     PG_ALL("file f") " WHERE f.hash >= $2 AND (f.hash > $2 OR s.name > $1::text)"
			      " ORDER BY f.hash, s.name LIMIT $3");

/* Finds the files that a hash names. Texts about all owners have $1 only because each argument needs a place. */
CAIRN_SQL_OF(OWNED_FILE,
	     "SELECT f.hash, f.size, f.at, " LITE_CLAIM ", $1, o.proof FROM file f CROSS JOIN file_owner o"
	     " ON o.file = f.id WHERE f.hash = $2 AND o.scope = " OWNED_ID " AND" LITE_BEST " LIMIT $3",
	     PG_ONE "file f JOIN file_owner o ON o.file = f.id WHERE o.scope = " OWNED_ID
		    " AND f.hash = $2 ORDER BY o.proof DESC, o.sha256 LIMIT least($3, 1)");
CAIRN_SQL_OF(OWNED_SHA256,
	     "SELECT f.hash, f.size, f.at, o.sha256, $1, o.proof FROM file_owner o CROSS JOIN file f"
	     " ON f.id = o.file WHERE o.scope = " OWNED_ID
	     " AND o.sha256 = $2 AND o.proof > 0 ORDER BY f.hash LIMIT $3",
	     PG_ONE "file_owner o" PG_FILES("o.file") " WHERE o.scope + 0 = " OWNED_ID
						      " AND o.sha256 = $2 AND o.proof > 0 ORDER BY f.hash LIMIT $3");
/* Looks up each file of the owner under the xorb's number, even that of no xorb (-1), so the time reveals nothing. */
CAIRN_SQL_OF(OWNED_XORB,
	     LITE_ONE " AND EXISTS(SELECT 1 FROM reference r WHERE r.file = u.file"
		      " AND r.xorb = coalesce((SELECT id FROM xorb WHERE hash = $2), -1)) ORDER BY f.hash LIMIT $3",
	     PG_ONE "(SELECT * FROM file_owner o WHERE o.scope + 0 = " OWNED_ID " AND " PG_BEST
		    " AND (SELECT true FROM reference r WHERE r.file = o.file AND r.xorb ="
		    " coalesce((SELECT id FROM xorb WHERE hash = $2), -1) LIMIT 1) IS NOT NULL OFFSET 0) o" PG_FILES(
			    "o.file") " ORDER BY f.hash LIMIT $3");
CAIRN_SQL_OF(OWNED_ALL_FILE, LITE_ALL " AND $1 IS NULL AND f.hash = $2 ORDER BY s.name LIMIT $3",
	     PG_ALL("file f") " WHERE $1::text IS NULL AND f.hash = $2 ORDER BY s.name LIMIT $3");
CAIRN_SQL_OF(OWNED_ALL_SHA256,
	     "SELECT f.hash, f.size, f.at, o.sha256, s.name, o.proof, " CAIRN_SQLITE_SHOWN " FROM scope s"
	     " CROSS JOIN file_owner o INDEXED BY file_owner_claim ON o.scope = s.id CROSS JOIN file f"
	     " ON f.id = o.file WHERE $1 IS NULL AND o.sha256 = $2 AND o.proof > 0 ORDER BY f.hash, s.name LIMIT $3",
	     "SELECT f.hash, f.size, f.at, o.sha256, s.name, o.proof, " CAIRN_POSTGRES_SHOWN
	     " FROM file_owner o" PG_FILES(
		     "o.file") " CROSS JOIN LATERAL (SELECT * FROM scope WHERE id = o.scope LIMIT 1) s"
			       " WHERE $1::text IS NULL AND o.sha256 = $2 AND o.sha256 > '' AND o.proof > 0"
			       " ORDER BY f.hash, s.name LIMIT $3");
CAIRN_SQL_OF(OWNED_ALL_XORB,
	     LITE_ALL " AND $1 IS NULL AND f.id IN (SELECT r.file FROM reference r"
		      " WHERE r.xorb = (SELECT id FROM xorb WHERE hash = $2)) ORDER BY f.hash, s.name LIMIT $3",
	     PG_ALL("reference r" PG_FILES(
		     "r.file")) " WHERE $1::text IS NULL"
				" AND r.xorb = (SELECT id FROM xorb WHERE hash = $2) ORDER BY f.hash, s.name LIMIT $3");

/* Each text leads its engine's planner to the database index of claims. */
CAIRN_SQL_OF(OWNED_OWNERS,
	     "SELECT s.id, s.name FROM scope s WHERE EXISTS(SELECT 1 FROM file_owner o INDEXED BY file_owner_claim"
	     " WHERE o.scope = s.id) ORDER BY s.id",
	     "SELECT s.id, s.name FROM scope s WHERE (SELECT true FROM file_owner o WHERE o.scope + 0 = s.id LIMIT 1)"
	     " IS NOT NULL ORDER BY s.id");

/* @param of_all  the rows have a shown name @param owner  buffer for a name */
static enum cairn_status owned_row(struct cairn_db_rows *row, bool of_all,
				   char owner[static CAIRN_INDEX_SCOPE_TEXT_MAX + 1], struct cairn_index_owned *out)
{
	size_t len;
	(void)cairn_db_get_bytes(row, 3, &len);
	*out = (struct cairn_index_owned){
		.size_bytes = (uint64_t)cairn_db_get_int(row, 1),
		.at_unix_s = cairn_db_get_int(row, 2),
		.has_sha256 = len > 0,
		.owner = owner,
		.belief = (enum cairn_index_belief)cairn_db_get_int(row, 5),
		.shown = of_all && !cairn_db_is_null(row, 6) ? cairn_db_borrow_text(row, 6) : NULL,
	};
	cairn_db_get_fixed(row, 0, out->hash.b, sizeof(out->hash.b));
	if (out->has_sha256)
		cairn_db_get_fixed(row, 3, out->sha256, sizeof(out->sha256));
	cairn_db_get_text(row, 4, owner, CAIRN_INDEX_SCOPE_TEXT_MAX + 1);
	return cairn_db_whole(row);
}

/* @param name  $1, a text @param key  $2, bytes */
static enum cairn_status owned_page(struct cairn_index *ix, const struct cairn_sql *sql, bool of_all,
				    struct cairn_db_arg name, struct cairn_db_arg key, uint32_t limit,
				    void (*visit)(void *ctx, const struct cairn_index_owned *file), void *ctx,
				    bool *more)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	char owner[CAIRN_INDEX_SCOPE_TEXT_MAX + 1];
	uint32_t page = cairn_records_page(limit), n = 0;
	*more = false;
	enum cairn_status status =
		cairn_records_find(ix, &rows, sql, CAIRN_ARGS(name, key, cairn_db_int((int64_t)page + 1)));
	for (; status == CAIRN_OK; status = cairn_db_next(&rows)) {
		struct cairn_index_owned file;
		*more = n++ == page;
		if (*more)
			return CAIRN_OK;
		status = owned_row(&rows, of_all, owner, &file);
		if (status != CAIRN_OK)
			return status;
		visit(ctx, &file);
	}
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status cairn_index_each_owned(struct cairn_index *ix, const char *owner,
					 const struct cairn_index_owned_after *after, uint32_t limit,
					 void (*visit)(void *ctx, const struct cairn_index_owned *file), void *ctx,
					 bool *more)
{
	/* NULL: no name is greater. An empty value sorts before all hashes. */
	struct cairn_db_arg name = cairn_db_text(owner ? owner : after->owner);
	struct cairn_db_arg hash =
		after->hash ? cairn_db_bytes(after->hash->b, sizeof(after->hash->b)) : cairn_db_bytes("", 0);
	return owned_page(ix, owner ? &OWNED_EACH : &OWNED_EACH_ALL, !owner, name, hash, limit, visit, ctx, more);
}

enum cairn_status cairn_index_each_match(struct cairn_index *ix, const char *owner, enum cairn_index_match match,
					 const uint8_t name[static CAIRN_HASH_BYTES], uint32_t limit,
					 void (*visit)(void *ctx, const struct cairn_index_owned *file), void *ctx,
					 bool *more)
{
	static const struct cairn_sql *const OF_OWNER[CAIRN_INDEX_MATCHES] = {
		[CAIRN_INDEX_MATCH_FILE] = &OWNED_FILE,
		[CAIRN_INDEX_MATCH_SHA256] = &OWNED_SHA256,
		[CAIRN_INDEX_MATCH_XORB] = &OWNED_XORB,
	};
	static const struct cairn_sql *const OF_ALL[CAIRN_INDEX_MATCHES] = {
		[CAIRN_INDEX_MATCH_FILE] = &OWNED_ALL_FILE,
		[CAIRN_INDEX_MATCH_SHA256] = &OWNED_ALL_SHA256,
		[CAIRN_INDEX_MATCH_XORB] = &OWNED_ALL_XORB,
	};
	return owned_page(ix, owner ? OF_OWNER[match] : OF_ALL[match], !owner, cairn_db_text(owner),
			  cairn_db_bytes(name, CAIRN_HASH_BYTES), limit, visit, ctx, more);
}

enum cairn_status cairn_index_each_owner(struct cairn_index *ix,
					 void (*visit)(void *ctx, int64_t owner, const char *name), void *ctx)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	char name[CAIRN_INDEX_SCOPE_TEXT_MAX + 1];
	enum cairn_status status = cairn_records_find(ix, &rows, &OWNED_OWNERS, NULL);
	for (; status == CAIRN_OK; status = cairn_db_next(&rows)) {
		cairn_db_get_text(&rows, 1, name, sizeof(name));
		if (cairn_db_whole(&rows) == CAIRN_OK)
			visit(ctx, cairn_db_get_int(&rows, 0), name);
	}
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}
