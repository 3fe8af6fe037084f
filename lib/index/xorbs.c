/* Reads xorbs, their chunk lists and the places of chunks; renews a xorb, or marks it as lost. */
#include "index/backend.h"
#include "index/rows.h"

#include "base/bytes.h"
#include "base/sum.h"

/* The tenth column is the copy of the xorb's object, if rows name copies. */
#define LITE_XORB(more) "SELECT " CAIRN_SQLITE_XORB more " FROM xorb x"
#define PG_XORB(more)   "SELECT " CAIRN_POSTGRES_XORB more " FROM xorb x"

CAIRN_SQL_OF(XORB_FIND, LITE_XORB("") " WHERE x.hash = $1", PG_XORB("") " WHERE x.hash = $1");
CAIRN_SQL_OF(XORB_BY_ID, LITE_XORB("") " WHERE x.id = $1", PG_XORB("") " WHERE x.id = $1");
CAIRN_SQL_OF(XORB_EACH, LITE_XORB("") " WHERE x.id > $1 ORDER BY x.id LIMIT $2",
	     PG_XORB("") " WHERE x.id > $1 ORDER BY x.id LIMIT $2");
/* Reads the list with the row if that saves an exchange. */
CAIRN_SQL_OF(XORB_WITH_LIST, LITE_XORB(", NULL, NULL, NULL") " WHERE x.hash = $1",
	     PG_XORB(", l.spans, l.hashes") " LEFT JOIN list l ON l.xorb = x.id WHERE x.hash = $1");
CAIRN_SQL(LIST_FIND, "SELECT l.spans, l.hashes FROM xorb x CROSS JOIN list l WHERE l.xorb = x.id AND x.hash = $1");
CAIRN_SQL(LIST_BY_ID, "SELECT spans, hashes FROM list WHERE xorb = $1");
/* Returns the hash from the list, because other chunks may have the same prefix. */
#define PLACES(scopes)                                                                                                 \
	"SELECT x.hash, d.place, substr(l.spans, d.place * 8 + 1, 4), s.name FROM dedupe d CROSS JOIN xorb x"          \
	" CROSS JOIN list l CROSS JOIN " scopes " WHERE d.prefix = $1 AND x.id = d.xorb AND l.xorb = d.xorb"           \
	" AND substr(l.hashes, d.place * 32 + 1, 32) = $2 AND x.withdrawn IS NULL"
#define PLACES_PAGE " ORDER BY d.xorb, s.name LIMIT $3"
CAIRN_SQL_OF(XORB_PLACES, PLACES("scope s") " AND s.id = d.scope" PLACES_PAGE,
	     PLACES("LATERAL (SELECT name FROM scope WHERE id = d.scope LIMIT 1) s") PLACES_PAGE);
CAIRN_SQL_OF(XORB_STORED, "SELECT id, stored, NULL FROM xorb WHERE hash = $1",
	     "SELECT id, stored, copy FROM xorb WHERE hash = $1");
CAIRN_SQL(XORB_RENEW,
	  "UPDATE xorb SET retired = NULL, withdrawn = " CAIRN_STAYS_WITHDRAWN("$3 <> 0") ", at = $2 WHERE id = $1");
CAIRN_SQL_OF(XORB_LOSE, "UPDATE xorb SET stored = NULL WHERE id = $1",
	     "UPDATE xorb SET stored = NULL, copy = NULL WHERE id = $1");
CAIRN_SQL(XORB_WITHDRAW, "DELETE FROM dedupe WHERE xorb = $1");

static void xorb_copy(struct cairn_db_rows *row, int column, struct cairn_copy_id *out)
{
	*out = (struct cairn_copy_id){0};
	if (!cairn_db_is_null(row, column))
		cairn_db_get_fixed(row, column, out->b, sizeof(out->b));
}

static enum cairn_status xorb_row(const struct cairn_index *ix, struct cairn_db_rows *row, struct cairn_index_xorb *out)
{
	*out = (struct cairn_index_xorb){
		.id = cairn_db_get_int(row, 0),
		.n_chunks = (uint32_t)cairn_db_get_int(row, 2),
		.unpacked_bytes = (uint64_t)cairn_db_get_int(row, 3),
		.stored_bytes = (uint64_t)cairn_db_get_int(row, 4),
		.retired = !cairn_db_is_null(row, 5),
		.at_unix_s = cairn_db_get_int(row, 6),
		.withdrawn_unix_s = cairn_db_get_int(row, 7),
		.referenced = cairn_db_get_int(row, 8) != 0,
	};
	cairn_db_get_fixed(row, 1, out->hash.b, sizeof(out->hash.b));
	if (cairn_index_names_copies(ix))
		xorb_copy(row, 9, &out->copy);
	return cairn_db_whole(row);
}

static enum cairn_status xorb_list(struct cairn_db_rows *row, int column, struct cairn_chunk_list *list)
{
	size_t spans_len, hashes_len;
	const uint8_t *spans = cairn_db_get_bytes(row, column, &spans_len);
	const uint8_t *hashes = cairn_db_get_bytes(row, column + 1, &hashes_len);
	return cairn_rows_list(list, spans, spans_len, hashes, hashes_len);
}

static struct cairn_db_arg xorb_hash(const struct cairn_hash *hash)
{
	return cairn_db_bytes(hash->b, sizeof(hash->b));
}

enum cairn_status cairn_index_xorb(struct cairn_index *ix, const struct cairn_hash *hash, struct cairn_index_xorb *out)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_records_find(ix, &rows, &XORB_FIND, CAIRN_ARGS(xorb_hash(hash)));
	return status == CAIRN_OK ? xorb_row(ix, &rows, out) : status;
}

enum cairn_status cairn_index_xorb_by_id(struct cairn_index *ix, int64_t id, struct cairn_index_xorb *out)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_records_find(ix, &rows, &XORB_BY_ID, CAIRN_ARGS(cairn_db_int(id)));
	return status == CAIRN_OK ? xorb_row(ix, &rows, out) : status;
}

enum cairn_status cairn_index_xorb_and_list(struct cairn_index *ix, const struct cairn_hash *hash,
					    struct cairn_index_xorb *out, struct cairn_chunk_list *list)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_records_find(ix, &rows, &XORB_WITH_LIST, CAIRN_ARGS(xorb_hash(hash)));
	if (status == CAIRN_OK)
		status = xorb_row(ix, &rows, out);
	if (status == CAIRN_OK && xorb_list(&rows, 10, list) != CAIRN_OK)
		cairn_chunk_list_fini(list);
	return status;
}

enum cairn_status cairn_index_chunk_list(struct cairn_index *ix, const struct cairn_hash *xorb,
					 struct cairn_chunk_list *list)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	*list = (struct cairn_chunk_list){0};
	enum cairn_status status = cairn_records_find(ix, &rows, &LIST_FIND, CAIRN_ARGS(xorb_hash(xorb)));
	return status == CAIRN_OK ? xorb_list(&rows, 0, list) : status;
}

enum cairn_status cairn_index_chunk_list_by_id(struct cairn_index *ix, int64_t id, struct cairn_chunk_list *list)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	*list = (struct cairn_chunk_list){0};
	enum cairn_status status = cairn_records_find(ix, &rows, &LIST_BY_ID, CAIRN_ARGS(cairn_db_int(id)));
	return status == CAIRN_OK ? xorb_list(&rows, 0, list) : status;
}

enum cairn_status cairn_index_each_xorb(struct cairn_index *ix, int64_t from_id, uint32_t limit,
					void (*visit)(void *ctx, const struct cairn_index_xorb *xorb), void *ctx,
					int64_t *next_id)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	struct cairn_index_xorb xorb = {.id = 0};
	uint32_t page = cairn_records_page(limit), n = 0;
	*next_id = 0;
	enum cairn_status status =
		cairn_records_find(ix, &rows, &XORB_EACH, CAIRN_ARGS(cairn_db_int(from_id), cairn_db_int(page)));
	for (; status == CAIRN_OK; status = cairn_db_next(&rows), n++) {
		status = xorb_row(ix, &rows, &xorb);
		if (status != CAIRN_OK)
			return status;
		visit(ctx, &xorb);
	}
	return cairn_records_paged(status, n, page, xorb.id, next_id);
}

enum cairn_status cairn_index_each_place(struct cairn_index *ix, const struct cairn_hash *chunk, uint32_t limit,
					 void (*visit)(void *ctx, const struct cairn_index_place *place), void *ctx,
					 bool *more)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	char scope[CAIRN_INDEX_SCOPE_TEXT_MAX + 1];
	uint8_t unpacked[4];
	uint32_t page = cairn_records_page(limit), n = 0;
	*more = false;
	enum cairn_status status = cairn_records_find(ix, &rows, &XORB_PLACES,
						      CAIRN_ARGS(cairn_db_int((int64_t)cairn_get_u64le(chunk->b)),
								 xorb_hash(chunk), cairn_db_int((int64_t)page + 1)));
	for (; status == CAIRN_OK; status = cairn_db_next(&rows)) {
		*more = n++ == page;
		if (*more)
			return CAIRN_OK;
		struct cairn_index_place place = {.at = (uint32_t)cairn_db_get_int(&rows, 1), .scope = scope};
		cairn_db_get_fixed(&rows, 0, place.xorb.b, sizeof(place.xorb.b));
		cairn_db_get_fixed(&rows, 2, unpacked, sizeof(unpacked));
		cairn_db_get_text(&rows, 3, scope, sizeof(scope));
		status = cairn_db_whole(&rows);
		if (status != CAIRN_OK)
			return status;
		place.unpacked_bytes = cairn_get_u32le(unpacked);
		visit(ctx, &place);
	}
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

struct xorb_known {
	int64_t id, stored_bytes;
	bool stored; /* false: its bytes are stored elsewhere, or lost */
	struct cairn_copy_id copy;
};

static enum cairn_status xorb_find(struct cairn_index_tx *tx, const struct cairn_hash *hash,
				   struct cairn_index_write *write, struct xorb_known *out)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_db_find(tx->db, &rows, &XORB_STORED, CAIRN_ARGS(xorb_hash(hash)));
	if (status == CAIRN_E_NOT_FOUND)
		return cairn_fail(&write->diag, status, "xorb.unknown", CAIRN_NO_OFFSET,
				  "there is no such xorb, or it was removed meanwhile");
	if (status != CAIRN_OK)
		return status;
	out->id = cairn_db_get_int(&rows, 0);
	out->stored = !cairn_db_is_null(&rows, 1);
	out->stored_bytes = cairn_db_get_int(&rows, 1);
	xorb_copy(&rows, 2, &out->copy);
	return cairn_db_whole(&rows);
}

enum cairn_status cairn_records_renew_xorb(struct cairn_index_tx *tx, struct cairn_index_renew_xorb *renew)
{
	struct xorb_known known = {0};
	enum cairn_status status = xorb_find(tx, &renew->hash, &renew->write, &known);
	if (status != CAIRN_OK)
		return status;
	/* Another daemon has marked it as lost since, so an upload must store its bytes again. */
	if (!known.stored && cairn_index_names_copies(tx->ix))
		return cairn_fail(&renew->write.diag, CAIRN_E_NOT_FOUND, "xorb.unknown", CAIRN_NO_OFFSET,
				  "its object was lost meanwhile");
	return cairn_db_run(tx->db, &XORB_RENEW,
			    CAIRN_ARGS(cairn_db_int(known.id), cairn_db_int(renew->now_unix_s),
				       cairn_db_int(renew->stays_withdrawn)),
			    NULL);
}

enum cairn_status cairn_records_lose_xorb(struct cairn_index_tx *tx, struct cairn_index_lose_xorb *lose)
{
	struct xorb_known known = {0};
	int64_t n;
	enum cairn_status status = xorb_find(tx, &lose->hash, &lose->write, &known);
	if (status != CAIRN_OK)
		return status;
	if (cairn_index_names_copies(tx->ix) && !cairn_copy_id_equal(&known.copy, &lose->copy))
		return cairn_fail(&lose->write.diag, CAIRN_E_BUSY, "xorb.replaced", CAIRN_NO_OFFSET,
				  "the xorb was stored anew since its object was looked at");
	tx->counts->stored_bytes = cairn_difference(tx->counts->stored_bytes, known.stored_bytes);
	cairn_advance(&tx->counts->collection);
	cairn_add(&tx->counts->withdrawn, 1);
	cairn_db_queue(tx->db, NULL, &XORB_LOSE, CAIRN_ARGS(cairn_db_int(known.id)));
	status = cairn_db_run(tx->db, &XORB_WITHDRAW, CAIRN_ARGS(cairn_db_int(known.id)), &n);
	cairn_add(&tx->counts->eligible, -n);
	return status;
}
