/* Lookups of one row or a few. */
#include "index/postgres/engine.h"
#include "index/rows.h"

#include <stdlib.h>

#define READ_FILE_VISIBLE                                                                                              \
	"($2::text IS NULL OR (SELECT true FROM file_owner o WHERE o.file = f.id AND (o.scope = 0"                     \
	" OR o.scope = (SELECT id FROM scope WHERE name = $2)) LIMIT 1) IS NOT NULL"                                   \
	" OR (SELECT true FROM proposed p WHERE p.file = f.id"                                                         \
	" AND p.scope = (SELECT id FROM scope WHERE name = $2) LIMIT 1) IS NOT NULL)"

/* Reads the spans of two xorbs, and of each xorb whose terms lack byte ranges. A statement sees a single snapshot. */
static const char READ_SPANS[] =
	"SELECT x.hash, x.stored, x.chunks, CASE WHEN k.n IN ($2, $3) OR x.repacked OR x.stored IS NULL"
	" THEN (SELECT l.spans FROM list l WHERE l.xorb = x.id) END, x.copy"
	" FROM unnest($1::bigint[]) WITH ORDINALITY k(id, n) LEFT JOIN xorb x ON x.id = k.id ORDER BY k.n";
static const char READ_FILE[] = "SELECT f.hash, f.size, f.terms FROM file f WHERE f.hash = $1 AND " READ_FILE_VISIBLE;
static const char READ_FILE_SIZE[] =
	"SELECT f.hash, f.size, octet_length(f.terms) FROM file f WHERE f.hash = $1 AND " READ_FILE_VISIBLE;

enum cairn_status cairn_pg_read(struct cairn_index *ix, struct cairn_pg_reader **reader, const char *sql,
				const struct cairn_db_args *args, const PGresult **r)
{
	enum cairn_status status = cairn_pg_take(&cairn_postgres(ix)->pool, reader);
	return status == CAIRN_OK ? cairn_pg_ask(&(*reader)->pg, sql, args, r) : status;
}

bool cairn_pg_xorb_row(const PGresult *r, int row, struct cairn_index_xorb *out)
{
	out->id = cairn_pg_get_int8(r, row, 0);
	out->n_chunks = (uint32_t)cairn_pg_get_int8(r, row, 2);
	out->unpacked_bytes = (uint64_t)cairn_pg_get_int8(r, row, 3);
	out->stored_bytes = (uint64_t)cairn_pg_get_int8(r, row, 4);
	out->retired = !PQgetisnull(r, row, 5);
	out->at_unix_s = cairn_pg_get_int8(r, row, 6);
	out->withdrawn_unix_s = cairn_pg_get_int8(r, row, 7);
	out->referenced = cairn_pg_get_int8(r, row, 8) != 0;
	return cairn_pg_get_hash(r, row, 1, &out->hash) && cairn_pg_get_copy(r, row, 9, &out->copy);
}

enum cairn_status cairn_pg_list_row(const PGresult *r, int row, int column, struct cairn_chunk_list *list)
{
	size_t spans_len, hashes_len;
	const uint8_t *spans = cairn_pg_get_bytes(r, row, column, &spans_len);
	const uint8_t *hashes = cairn_pg_get_bytes(r, row, column + 1, &hashes_len);
	return cairn_rows_list(list, spans, spans_len, hashes, hashes_len);
}

/* --- plans -------------------------------------------------------------------------------------------------------- */

/* @param spans  room for CAIRN_XORB_CHUNKS_MAX */
static enum cairn_status read_places(const PGresult *r, int row, struct cairn_span *spans,
				     struct cairn_index_spans *out)
{
	if (PQgetisnull(r, row, 0))
		return CAIRN_E_NOT_FOUND;
	int64_t n_chunks = cairn_pg_get_int8(r, row, 2);
	*out = (struct cairn_index_spans){.stored_bytes = (uint64_t)cairn_pg_get_int8(r, row, 1)};
	if (!cairn_pg_get_hash(r, row, 0, &out->xorb) || !cairn_pg_get_copy(r, row, 4, &out->copy) || n_chunks < 1 ||
	    n_chunks > CAIRN_XORB_CHUNKS_MAX)
		return CAIRN_E_DAMAGED;
	out->n_chunks = (uint32_t)n_chunks;
	if (PQgetisnull(r, row, 3))
		return CAIRN_OK;
	size_t len;
	const uint8_t *bytes = cairn_pg_get_bytes(r, row, 3, &len);
	out->spans = spans;
	return cairn_rows_spans(spans, out->n_chunks, bytes, len);
}

static void read_free(struct cairn_span **spans)
{
	free(*spans);
}

enum cairn_status cairn_postgres_spans(struct cairn_index *ix, const int64_t *xorb_ids, uint32_t n,
				       const uint32_t with_spans[static 2],
				       enum cairn_status (*visit)(void *ctx, const struct cairn_index_spans *places),
				       void *ctx)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array ids = {0};
	CLEANUP(read_free) struct cairn_span *spans = malloc(CAIRN_XORB_CHUNKS_MAX * sizeof(*spans));
	if (!spans)
		return CAIRN_E_NOMEM;
	for (uint32_t i = 0; i < n; i++)
		cairn_pg_add_int8(&ids, xorb_ids[i]);
	PG_READ(ix, reader, r, READ_SPANS,
		CAIRN_ARGS(cairn_pg_int8s(&ids), cairn_db_int((int64_t)with_spans[0] + 1),
			   cairn_db_int((int64_t)with_spans[1] + 1)));
	enum cairn_status status = CAIRN_OK;
	for (int i = 0; status == CAIRN_OK && i < PQntuples(r); i++) {
		struct cairn_index_spans places;
		status = read_places(r, i, spans, &places);
		if (status == CAIRN_OK)
			status = visit(ctx, &places);
	}
	return status;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

enum cairn_status cairn_pg_file_row(const PGresult *r, int row, bool with_terms, struct cairn_index_file *out)
{
	if (!cairn_pg_get_hash(r, row, 0, &out->hash))
		return CAIRN_E_DAMAGED;
	size_t len;
	const uint8_t *terms = cairn_pg_get_bytes(r, row, 2, &len);
	out->size_bytes = (uint64_t)cairn_pg_get_int8(r, row, 1);
	out->n_terms = (uint32_t)(len / CAIRN_ROWS_TERM_BYTES);
	return with_terms ? cairn_rows_terms(&out->terms, &out->n_terms, terms, len, CAIRN_ROWS_TERM_BYTES) : CAIRN_OK;
}

enum cairn_status cairn_postgres_file(struct cairn_index *ix, const struct cairn_hash *hash, const char *viewer,
				      bool with_terms, struct cairn_index_file *out)
{
	*out = (struct cairn_index_file){0};
	PG_READ(ix, reader, r, with_terms ? READ_FILE : READ_FILE_SIZE,
		CAIRN_ARGS(cairn_db_hash(hash), cairn_db_text(viewer)));
	if (PQntuples(r) == 0)
		return CAIRN_E_NOT_FOUND;
	enum cairn_status status = cairn_pg_file_row(r, 0, with_terms, out);
	if (status == CAIRN_OK && !with_terms)
		out->n_terms = (uint32_t)(cairn_pg_get_int8(r, 0, 2) / CAIRN_ROWS_TERM_BYTES);
	return status;
}
