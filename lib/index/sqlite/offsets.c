#include "index/sqlite/offsets.h"

#include "index/rows.h"

#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

enum { OFFSETS_XORBS = 256 }; /* xorbs whose chunk ends are cached: 8 MiB at most */

struct offsets_slot {
	int64_t xorb; /* 0: free */
	bool repacked;
	uint32_t n;     /* 0: the xorb's list cannot be read */
	uint32_t *ends; /* owned */
};

/* Caches the chunk ends of xorbs that terms named lately. */
struct offsets_ends {
	sqlite3_stmt *stmt;
	struct offsets_slot slots[OFFSETS_XORBS];
};

static enum cairn_status offsets_open(struct offsets_ends *o, sqlite3 *db)
{
	static const char *const SQL =
		"SELECT l.spans, x.repacked FROM main.xorb x CROSS JOIN main.list l ON l.xorb = x.id"
		" WHERE x.id = ?1";
	return cairn_sql_prepare(db, &SQL, &o->stmt, 1);
}

static void offsets_close(struct offsets_ends *o)
{
	for (unsigned i = 0; i < OFFSETS_XORBS; i++) {
		free(o->slots[i].ends);
		o->slots[i] = (struct offsets_slot){0};
	}
	cairn_sql_finalize(&o->stmt, 1);
}

static enum cairn_status offsets_read(struct offsets_slot *slot, const uint8_t *spans, size_t len)
{
	size_t n = len / CAIRN_ROWS_SPAN_BYTES;
	if (len % CAIRN_ROWS_SPAN_BYTES != 0 || n > CAIRN_XORB_CHUNKS_MAX)
		return CAIRN_OK;
	uint32_t *ends = realloc(slot->ends, (n + 1) * sizeof(*ends));
	if (!ends)
		return CAIRN_E_NOMEM;
	slot->ends = ends;
	for (size_t i = 0; i < n; i++)
		ends[i] = cairn_get_u32le(spans + i * CAIRN_ROWS_SPAN_BYTES + 4);
	slot->n = (uint32_t)n;
	return CAIRN_OK;
}

static enum cairn_status offsets_find(struct offsets_ends *o, int64_t xorb, const struct offsets_slot **out)
{
	struct offsets_slot *slot = &o->slots[(uint64_t)xorb % OFFSETS_XORBS];
	bool row = false;
	*out = slot;
	if (slot->xorb == xorb)
		return CAIRN_OK;
	slot->xorb = 0;
	slot->n = 0;
	slot->repacked = false;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = o->stmt;
	sqlite3_bind_int64(stmt, 1, xorb);
	enum cairn_status status = cairn_sql_step(stmt, &row);
	if (status == CAIRN_OK && row) {
		size_t len;
		const uint8_t *spans = cairn_sql_blob(stmt, 0, &len);
		slot->repacked = sqlite3_column_int64(stmt, 1) != 0;
		status = offsets_read(slot, spans, len);
	}
	if (status == CAIRN_OK)
		slot->xorb = xorb;
	return status;
}

/* Sets first_byte and end_byte of a term from its xorb's list. @param[out] repacked  the xorb was repacked: the ranges
 * of its other terms do not count @return CAIRN_OK; CAIRN_E_DAMAGED the list is missing or lacks these chunks, and both
 * are 0; CAIRN_E_NOMEM; as cairn_sql_status() */
static enum cairn_status offsets_place(struct offsets_ends *o, struct cairn_index_term *term, bool *repacked)
{
	const struct offsets_slot *slot;
	enum cairn_status status = offsets_find(o, term->xorb_id, &slot);
	term->first_byte = term->end_byte = 0;
	*repacked = false;
	if (status != CAIRN_OK)
		return status;
	if (term->start >= term->end || term->end > slot->n)
		return CAIRN_E_DAMAGED;
	term->first_byte = term->start > 0 ? slot->ends[term->start - 1] : 0;
	term->end_byte = slot->ends[term->end - 1];
	*repacked = slot->repacked;
	return CAIRN_OK;
}

enum offsets_stmt { OFFSETS_NEXT, OFFSETS_SET, OFFSETS_STMTS };

static const char *const offsets_sql[OFFSETS_STMTS] = {
	[OFFSETS_NEXT] = "SELECT id, terms FROM main.file WHERE id > ?1 ORDER BY id LIMIT 1",
	[OFFSETS_SET] = "UPDATE main.file SET terms = ?2 WHERE id = ?1",
};

struct offsets_walk {
	struct offsets_ends ends;
	sqlite3_stmt *stmt[OFFSETS_STMTS];
	size_t term_bytes; /* size of a stored term */
	bool mends;
	void (*wrong)(void *ctx, int64_t file);
	void *ctx;

	/* The current file. */
	int64_t file;
	struct cairn_index_term *terms; /* owned */
	uint32_t n_terms;
	uint8_t *rows; /* owned: its new terms */
	size_t rows_len;
};

static void offsets_walk_fini(struct offsets_walk *w)
{
	offsets_close(&w->ends);
	cairn_sql_finalize(w->stmt, OFFSETS_STMTS);
	free(w->terms);
	free(w->rows);
}

static enum cairn_status offsets_make_room(struct offsets_walk *w, size_t len)
{
	free(w->rows);
	w->rows = calloc(1, len + 1);
	w->rows_len = len;
	return w->rows ? CAIRN_OK : CAIRN_E_NOMEM;
}

/* Keeps terms whose total length is wrong as they are, so that the migrated terms do not seem sound. */
static enum cairn_status offsets_keep_damaged(struct offsets_walk *w, const uint8_t *bytes, size_t len)
{
	size_t past = len % CAIRN_ROWS_TERM_BYTES, pad = past == 0 ? 1 : 0;
	enum cairn_status status = offsets_make_room(w, len + pad);
	if (status == CAIRN_OK)
		memcpy(w->rows, bytes, len);
	return status;
}

/* Reads the next file. @param[out] more  false: there is none */
static enum cairn_status offsets_next(struct offsets_walk *w, bool *more, bool *damaged)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = w->stmt[OFFSETS_NEXT];
	sqlite3_bind_int64(stmt, 1, w->file);
	enum cairn_status status = cairn_sql_step(stmt, more);
	if (status != CAIRN_OK || !*more)
		return status;
	size_t len;
	const uint8_t *bytes = cairn_sql_blob(stmt, 1, &len);
	w->file = sqlite3_column_int64(stmt, 0);
	free(w->terms);
	status = cairn_rows_terms(&w->terms, &w->n_terms, bytes, len, w->term_bytes);
	*damaged = status == CAIRN_E_DAMAGED;
	return *damaged ? offsets_keep_damaged(w, bytes, len) : status;
}

/* Writes the file's new terms to rows. @param[out] differ  they differ from the stored ones */
static enum cairn_status offsets_place_terms(struct offsets_walk *w, bool *differ)
{
	*differ = false;
	enum cairn_status status = offsets_make_room(w, (size_t)w->n_terms * CAIRN_ROWS_TERM_BYTES);
	for (uint32_t i = 0; status == CAIRN_OK && i < w->n_terms; i++) {
		struct cairn_index_term term = w->terms[i];
		bool repacked, kept = w->term_bytes == CAIRN_ROWS_TERM_BYTES;
		status = offsets_place(&w->ends, &term, &repacked);
		if (kept && (status == CAIRN_E_DAMAGED || repacked))
			term = w->terms[i];
		if (status == CAIRN_E_DAMAGED)
			status = CAIRN_OK;
		*differ = *differ || term.first_byte != w->terms[i].first_byte || term.end_byte != w->terms[i].end_byte;
		cairn_rows_put_term(w->rows + (size_t)i * CAIRN_ROWS_TERM_BYTES, &term);
	}
	return status;
}

static enum cairn_status offsets_file(struct offsets_walk *w, bool damaged)
{
	bool differ = false, migrates = w->term_bytes != CAIRN_ROWS_TERM_BYTES;
	enum cairn_status status = damaged ? CAIRN_OK : offsets_place_terms(w, &differ);
	if (status != CAIRN_OK)
		return status;
	if (differ && w->wrong)
		w->wrong(w->ctx, w->file);
	if (!migrates && !(differ && w->mends))
		return CAIRN_OK;
	sqlite3_bind_int64(w->stmt[OFFSETS_SET], 1, w->file);
	cairn_sql_bind_blob(w->stmt[OFFSETS_SET], 2, w->rows, w->rows_len);
	return cairn_sql_run(w->stmt[OFFSETS_SET]);
}

static enum cairn_status offsets_walk(struct offsets_walk *w, sqlite3 *db)
{
	w->file = INT64_MIN;
	enum cairn_status status = cairn_sql_prepare(db, offsets_sql, w->stmt, OFFSETS_STMTS);
	if (status == CAIRN_OK)
		status = offsets_open(&w->ends, db);
	for (bool more = true, damaged = false; status == CAIRN_OK;) {
		status = offsets_next(w, &more, &damaged);
		if (status != CAIRN_OK || !more)
			break;
		status = offsets_file(w, damaged);
	}
	return status;
}

enum cairn_status cairn_offsets_migrate(sqlite3 *db)
{
	CLEANUP(offsets_walk_fini) struct offsets_walk w = {.term_bytes = CAIRN_ROWS_TERM_BYTES_BEFORE_5};
	return offsets_walk(&w, db);
}

enum cairn_status cairn_offsets_examine(sqlite3 *db, void (*wrong)(void *ctx, int64_t file), void *ctx)
{
	CLEANUP(offsets_walk_fini)
	struct offsets_walk w = {.term_bytes = CAIRN_ROWS_TERM_BYTES, .wrong = wrong, .ctx = ctx};
	return offsets_walk(&w, db);
}

enum cairn_status cairn_offsets_mend(sqlite3 *db)
{
	CLEANUP(offsets_walk_fini) struct offsets_walk w = {.term_bytes = CAIRN_ROWS_TERM_BYTES, .mends = true};
	return offsets_walk(&w, db);
}
