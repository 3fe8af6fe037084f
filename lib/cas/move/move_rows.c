/* Compares all rows of two indexes in the order of their keys, and makes the second equal to the first. */
#include "cas/move/move_table.h"

enum {
	MOVE_PAGE_ROWS = 1024,
	MOVE_FILE_ROWS = 32, /* rows, each with its terms or bytes */
	MOVE_WRITE_ROWS = 4096,
	MOVE_WRITE_BYTES = 4 << 20,
};

struct move_cursor {
	struct cairn_index_transfer *index;
	struct cairn_index_rows page, before; /* owned */
	uint32_t at, limit;
	bool begun, ended;
};

static void move_cursor_fini(struct move_cursor *c)
{
	cairn_index_rows_fini(&c->page);
	cairn_index_rows_fini(&c->before);
}

static void move_cursor_init(struct move_cursor *c, struct cairn_index_transfer *index, enum cairn_index_table table)
{
	bool long_rows = table == CAIRN_TABLE_FILE || table == CAIRN_TABLE_CONTENT;
	*c = (struct move_cursor){.index = index, .limit = long_rows ? MOVE_FILE_ROWS : MOVE_PAGE_ROWS};
	cairn_index_rows_init(&c->page, table);
	cairn_index_rows_init(&c->before, table);
}

/* Makes the next row available at page.at. @param[out] any  there is one */
static enum cairn_status move_cursor_fill(struct move_cursor *c, bool *any, struct cairn_diag *diag)
{
	enum cairn_status status = CAIRN_OK;
	if (c->at == c->page.n && !c->ended) {
		struct cairn_index_rows page = c->before;
		c->before = c->page;
		c->page = page;
		status = cairn_index_transfer_page(c->index, c->before.table, c->begun ? &c->before : NULL,
						   c->begun ? c->before.n - 1 : 0, c->limit, &c->page, diag);
		c->at = 0;
		c->begun = true;
		c->ended = c->page.n < c->limit;
	}
	*any = status == CAIRN_OK && c->at < c->page.n;
	return status;
}

static void move_digest(struct move_table *w, const struct cairn_index_rows *rows, uint32_t row)
{
	for (unsigned c = 0; c < rows->n_columns; c++) {
		const struct cairn_value *value = cairn_index_rows_value(rows, row, c);
		if (w->table == CAIRN_TABLE_XORB && c == CAIRN_XORB_COPY)
			continue;
		uint8_t head[9] = {(uint8_t)value->kind};
		uint64_t number = value->kind == CAIRN_VALUE_NUMBER ? (uint64_t)value->number : value->len;
		for (unsigned i = 0; i < 8; i++)
			head[1 + i] = (uint8_t)(number >> (8 * i));
		cairn_sha256_add(w->digest, head, sizeof(head));
		if (value->kind == CAIRN_VALUE_BYTES)
			cairn_sha256_add(w->digest, cairn_index_rows_at(rows, value), value->len);
	}
}

static void move_drop(struct move_table *w, const struct cairn_index_rows *rows, uint32_t row)
{
	cairn_index_rows_copy(&w->drop, rows, row);
	if (w->table != CAIRN_TABLE_XORB)
		return;
	(void)cairn_index_rows_add(&w->drop_list);
	cairn_index_rows_number(&w->drop_list, 0, move_number(rows, row, CAIRN_XORB_ID));
}

static bool move_is_full(const struct move_table *w)
{
	return w->drop.n + w->put.n >= MOVE_WRITE_ROWS || w->put.bytes.len >= MOVE_WRITE_BYTES ||
	       (w->table == CAIRN_TABLE_XORB && w->drop.n >= MOVE_XORBS);
}

/* Is a row a dedupe row of a xorb that is lost at the target? It is left out, so that its chunks are not offered. */
static bool move_is_withheld(const struct move_table *w, const struct cairn_index_rows *rows, uint32_t row)
{
	return w->table == CAIRN_TABLE_DEDUPE &&
	       move_ids_have(&w->m->damaged, move_number(rows, row, CAIRN_DEDUPE_XORB));
}

/* Counts a row of the first index and queues it for the second. @param differs  the second has none, or another */
static enum cairn_status move_row(struct move_table *w, struct move_xorbs *xorbs, const struct cairn_index_rows *rows,
				  uint32_t row, bool differs)
{
	move_digest(w, rows, row);
	w->n_rows++;
	if (w->table == CAIRN_TABLE_XORB)
		w->m->report->done_bytes += (uint64_t)move_number(rows, row, CAIRN_XORB_STORED);
	if (!differs)
		return CAIRN_OK;
	if (w->table != CAIRN_TABLE_XORB) {
		cairn_index_rows_copy(&w->put, rows, row);
		return CAIRN_OK;
	}
	return move_take_xorb(w, xorbs, rows, row);
}

static enum cairn_status move_merge(struct move_table *w, struct move_xorbs *xorbs, struct move_cursor *from,
				    struct move_cursor *to)
{
	for (;;) {
		bool any_from, any_to = false;
		enum cairn_status status = move_cursor_fill(from, &any_from, w->m->diag);
		if (status == CAIRN_OK)
			status = move_cursor_fill(to, &any_to, w->m->diag);
		if (status != CAIRN_OK || (!any_from && !any_to))
			return status;
		if (any_from && move_is_withheld(w, &from->page, from->at)) {
			w->m->n_withdrawn++;
			from->at++;
			continue;
		}
		int order = !any_from ? 1
			    : !any_to ? -1
				      : cairn_index_rows_compare(&from->page, from->at, &to->page, to->at);
		bool differs =
			order < 0 || (order == 0 && !cairn_index_rows_equal(&from->page, from->at, &to->page, to->at));
		if (order > 0)
			move_drop(w, &to->page, to->at);
		else
			status = move_row(w, xorbs, &from->page, from->at, differs);
		from->at += order <= 0;
		to->at += order >= 0;
		if (status == CAIRN_OK && move_is_full(w))
			status = move_write_xorbs(w, xorbs);
		if (status != CAIRN_OK)
			return status;
	}
}

static enum cairn_status move_one_table(struct move *m, enum cairn_index_table table)
{
	CLEANUP(move_table_fini) struct move_table w = {.m = m, .table = table, .digest = cairn_sha256_new()};
	CLEANUP(move_cursor_fini) struct move_cursor from;
	CLEANUP(move_cursor_fini) struct move_cursor to;
	CLEANUP(move_xorbs_free) struct move_xorbs *xorbs = move_xorbs_new();
	move_cursor_init(&from, m->from, table);
	move_cursor_init(&to, m->to, table);
	cairn_index_rows_init(&w.drop, table);
	cairn_index_rows_init(&w.put, table);
	cairn_index_rows_init(&w.drop_list, CAIRN_TABLE_LIST);
	cairn_index_rows_init(&w.put_list, CAIRN_TABLE_LIST);
	cairn_index_rows_init(&w.there, CAIRN_TABLE_XORB);
	if (!w.digest || !xorbs)
		return CAIRN_E_NOMEM;
	m->report->table = cairn_index_table_name(table);
	enum cairn_status status = move_merge(&w, xorbs, &from, &to);
	if (status == CAIRN_OK)
		status = move_write_xorbs(&w, xorbs);
	m->report->n_rows[table] = w.n_rows;
	cairn_sha256_end(w.digest, m->report->digests[table]);
	return status;
}

enum cairn_status move_pass(struct move *m)
{
	struct move_ids known = m->known;
	m->known = m->damaged;
	m->damaged = known;
	m->damaged.n = 0;
	m->damaged_bytes = m->n_withdrawn = m->n_changed = 0;
	m->report->done_bytes = m->report->n_damaged = 0;
	m->report->n_passes++;
	enum cairn_status status = CAIRN_OK;
	for (int table = 0; table < CAIRN_TABLES && status == CAIRN_OK; table++)
		if (table != CAIRN_TABLE_LIST)
			status = move_one_table(m, table);
	return status;
}
