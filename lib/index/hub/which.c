#include "index/hub/which.h"
#include "index/backend.h"
#include "index/hub/entries.h"
#include "index/operate.h"
#include "index/records.h"

#include "base/buf.h"
#include "base/bytes.h"

enum { WHICH_BYTES_MAX = CAIRN_INDEX_PAGE_MAX * 21 + 3 }; /* bytes of the repositories' numbers, as JSON */

/* Looks up each repository by itself, so that rows of others are not read. PostgreSQL might answer EXISTS() by reading
 * all rows, and might join repositories in another order. */
#define LITE_WHICH(has)                                                                                                \
	"SELECT k.key FROM json_each($1) k CROSS JOIN repo r ON r.id = k.value WHERE r.dropped IS NULL AND (SELECT 1 " \
	"FROM " has " LIMIT 1) IS NOT NULL ORDER BY k.key"
#define PG_WHICH(has)                                                                                                  \
	"SELECT k.n - 1 FROM json_array_elements_text(CAST($1 AS json)) WITH ORDINALITY k(id, n) CROSS JOIN LATERAL"   \
	" (SELECT id, scope FROM repo WHERE id = CAST(k.id AS bigint) AND dropped IS NULL LIMIT 1) r WHERE (SELECT 1 " \
	"FROM " has " LIMIT 1) IS NOT NULL ORDER BY k.n"
/* A hash that nothing has is looked up as the number -1, which takes as long. */
#define OF_FILE          "file_owner o WHERE o.scope = r.scope AND o.file = coalesce((SELECT id FROM file WHERE hash = $2), -1)"
#define OF_SHA256(scope) "file_owner o WHERE " scope " = r.scope AND o.sha256 = $2 AND o.proof > 0"
#define OF_XORB(owned, scope)                                                                                          \
	owned " WHERE " scope " = r.scope AND (SELECT 1 FROM reference u WHERE u.file = o.file AND u.xorb ="           \
	      " coalesce((SELECT id FROM xorb WHERE hash = $2), -1) LIMIT 1) IS NOT NULL"
#define OF_CHUNK  "dedupe d WHERE d.prefix = $2 AND d.scope = r.scope"
#define OF_COMMIT "commit_ c WHERE c.repo = r.id AND c.oid BETWEEN $2 AND $3"

CAIRN_SQL_OF(WHICH_FILE, LITE_WHICH(OF_FILE), PG_WHICH(OF_FILE));
CAIRN_SQL_OF(WHICH_SHA256, LITE_WHICH(OF_SHA256("o.scope")), PG_WHICH(OF_SHA256("o.scope + 0")));
CAIRN_SQL_OF(WHICH_XORB, LITE_WHICH(OF_XORB("file_owner o INDEXED BY file_owner_claim", "o.scope")),
	     PG_WHICH(OF_XORB("file_owner o", "o.scope + 0")));
CAIRN_SQL_OF(WHICH_CHUNK, LITE_WHICH(OF_CHUNK), PG_WHICH(OF_CHUNK));
CAIRN_SQL_OF(WHICH_COMMIT, LITE_WHICH(OF_COMMIT), PG_WHICH(OF_COMMIT));

static enum cairn_status which_ask(struct cairn_index *ix, const struct cairn_sql *sql,
				   const struct cairn_db_args *args, uint32_t n, void (*visit)(void *ctx, uint32_t at),
				   void *ctx)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_records_find(ix, &rows, sql, args);
	for (; status == CAIRN_OK; status = cairn_db_next(&rows)) {
		int64_t at = cairn_db_get_int(&rows, 0);
		if (at >= 0 && at < n)
			visit(ctx, (uint32_t)at);
	}
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status cairn_index_which(struct cairn_index *ix, const int64_t *repos, uint32_t n,
				    enum cairn_index_which what, const uint8_t name[static CAIRN_HASH_BYTES],
				    void (*visit)(void *ctx, uint32_t at), void *ctx)
{
	static const struct cairn_sql *const ALL[] = {
		[CAIRN_INDEX_WHICH_FILE] = &WHICH_FILE,
		[CAIRN_INDEX_WHICH_SHA256] = &WHICH_SHA256,
		[CAIRN_INDEX_WHICH_XORB] = &WHICH_XORB,
		[CAIRN_INDEX_WHICH_CHUNK] = &WHICH_CHUNK,
	};
	CLEANUP(cairn_buf_fini) struct cairn_buf list = cairn_buf_init(WHICH_BYTES_MAX);
	const struct cairn_db_arg key = what == CAIRN_INDEX_WHICH_CHUNK ? cairn_db_int((int64_t)cairn_get_u64le(name))
									: cairn_db_bytes(name, CAIRN_HASH_BYTES);
	enum cairn_status status = cairn_records_numbers(&list, repos, n);
	return status == CAIRN_OK ? which_ask(ix, ALL[what], CAIRN_ARGS(cairn_db_text((const char *)list.bytes), key),
					      n, visit, ctx)
				  : status;
}

enum cairn_status cairn_index_which_commit(struct cairn_index *ix, const int64_t *repos, uint32_t n, const char *prefix,
					   void (*visit)(void *ctx, uint32_t at), void *ctx)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf list = cairn_buf_init(WHICH_BYTES_MAX);
	struct cairn_git_oid low, high;
	if (!cairn_entries_oid_range(prefix, &low, &high))
		return CAIRN_OK;
	enum cairn_status status = cairn_records_numbers(&list, repos, n);
	return status == CAIRN_OK ? which_ask(ix, &WHICH_COMMIT,
					      CAIRN_ARGS(cairn_db_text((const char *)list.bytes),
							 cairn_db_bytes(low.b, sizeof(low.b)),
							 cairn_db_bytes(high.b, sizeof(high.b))),
					      n, visit, ctx)
				  : status;
}
