/* Comparing all rows of two indexes, in the order of their keys, and bringing the second to the first one's. */
#include "cas/move_work.h"

#include "base/crash_point.h"
#include "index/rows.h"

#include <stdlib.h>
#include <string.h>

enum {
	MOVE_PAGE_ROWS = 1024,
	MOVE_FILE_ROWS = 32, /* each with its terms, or its bytes */
	MOVE_XORBS = 64,     /* written together, with their lists; up to 4 GiB of objects */
	MOVE_WRITE_ROWS = 4096,
	MOVE_WRITE_BYTES = 4 << 20,
};

/* --- sets of numbers ---------------------------------------------------------------------------------------------- */

bool move_ids_have(const struct move_ids *set, int64_t id)
{
	size_t low = 0, high = set->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (set->ids[middle] == id)
			return true;
		if (set->ids[middle] < id)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

enum cairn_status move_ids_add(struct move_ids *set, int64_t id)
{
	if (set->n == set->room) {
		size_t room = set->room ? 2 * set->room : 64;
		int64_t *grown = realloc(set->ids, room * sizeof(*grown));
		if (!grown)
			return CAIRN_E_NOMEM;
		set->ids = grown;
		set->room = room;
	}
	set->ids[set->n++] = id;
	return CAIRN_OK;
}

/* --- going through a table ---------------------------------------------------------------------------------------- */

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

/* Have the next row at page.at. @param[out] any  there is one */
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

/* --- what a pass does with a table -------------------------------------------------------------------------------- */

struct move_table {
	struct move *m;
	enum cairn_index_table table;
	struct cairn_index_rows drop, put;           /* owned: on their way */
	struct cairn_index_rows drop_list, put_list; /* likewise, of xorbs */
	struct cairn_index_rows there; /* likewise: rows of the second index that those to be put replace */
	struct cairn_sha256 *digest;   /* owned */
	uint64_t n_rows;
};

static void move_table_fini(struct move_table *w)
{
	cairn_index_rows_fini(&w->drop);
	cairn_index_rows_fini(&w->put);
	cairn_index_rows_fini(&w->drop_list);
	cairn_index_rows_fini(&w->put_list);
	cairn_index_rows_fini(&w->there);
	cairn_sha256_freep(&w->digest);
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

static bool move_goes_on(struct move *m)
{
	return !m->options->progress || m->options->progress(m->options->ctx, m->report);
}

/* Objects of xorbs whose rows are gone, where they are known by their hash alone. */
static enum cairn_status move_drop_objects(struct move_table *w)
{
	struct cairn_hash hash;
	for (uint32_t i = 0; w->table == CAIRN_TABLE_XORB && !w->m->names_target && i < w->drop.n; i++) {
		const struct cairn_value *value = cairn_index_rows_value(&w->drop, i, CAIRN_XORB_HASH);
		bool comes_again = false;
		if (value->len != sizeof(hash.b))
			continue;
		memcpy(hash.b, cairn_index_rows_at(&w->drop, value), sizeof(hash.b));
		for (uint32_t k = 0; k < w->put.n && !comes_again; k++)
			comes_again = memcmp(cairn_index_rows_at(&w->put,
								 cairn_index_rows_value(&w->put, k, CAIRN_XORB_HASH)),
					     hash.b, sizeof(hash.b)) == 0;
		enum cairn_status status = comes_again ? CAIRN_OK : cairn_store_remove(w->m->target, &hash, NULL);
		if (status != CAIRN_OK)
			return cairn_fail(w->m->diag, status, "move.object", CAIRN_NO_OFFSET,
					  "an object that is not needed any more cannot be removed");
	}
	return CAIRN_OK;
}

static enum cairn_status move_write(struct move_table *w)
{
	const struct cairn_index_rows *const drop[] = {&w->drop, &w->drop_list}, *const put[] = {&w->put, &w->put_list};
	uint64_t n = (uint64_t)w->drop.n + w->put.n;
	enum cairn_status status = CAIRN_OK;
	if (n > 0) {
		status = cairn_index_transfer_write(w->m->to, drop, put, 2, w->m->diag);
		cairn_crash_point(CAIRN_CRASH_MOVE_ROWS);
	}
	if (status == CAIRN_OK)
		status = move_drop_objects(w);
	w->m->report->n_dropped += w->drop.n;
	w->m->report->n_put += w->put.n;
	w->m->n_changed += n;
	cairn_index_rows_empty(&w->drop);
	cairn_index_rows_empty(&w->put);
	cairn_index_rows_empty(&w->drop_list);
	cairn_index_rows_empty(&w->put_list);
	cairn_index_rows_empty(&w->there);
	if (status == CAIRN_OK && !move_goes_on(w->m))
		return cairn_fail(w->m->diag, CAIRN_E_BUSY, "move.stopped", CAIRN_NO_OFFSET, "it was stopped");
	return status;
}

/* --- xorbs -------------------------------------------------------------------------------------------------------- */

struct move_xorb {
	struct cairn_index_rows list, there; /* rows of list in both indexes, one each or none; owned */
	struct cairn_chunk_list chunks;      /* owned */
	bool is_there;                       /* the second index has the row, and so the object */
	size_t object;                       /* its place among those that are copied, and one; 0: it is not */
};

struct move_xorbs {
	struct move_xorb xorbs[MOVE_XORBS];
	struct move_object objects[MOVE_XORBS];
	uint32_t n;
	size_t n_objects;
	struct cairn_index_rows rows; /* as they will be; owned */
};

static void move_xorbs_free(struct move_xorbs **x)
{
	for (uint32_t i = 0; *x && i < (*x)->n; i++) {
		cairn_index_rows_fini(&(*x)->xorbs[i].list);
		cairn_index_rows_fini(&(*x)->xorbs[i].there);
		cairn_chunk_list_fini(&(*x)->xorbs[i].chunks);
	}
	if (*x)
		cairn_index_rows_fini(&(*x)->rows);
	free(*x);
	*x = NULL;
}

static int64_t move_number(const struct cairn_index_rows *rows, uint32_t row, unsigned column)
{
	return cairn_index_rows_value(rows, row, column)->number;
}

static bool move_is_null(const struct cairn_index_rows *rows, uint32_t row, unsigned column)
{
	return cairn_index_rows_value(rows, row, column)->kind == CAIRN_VALUE_NULL;
}

/* The row of a table whose key is this number, if it has one. */
static enum cairn_status move_look(struct cairn_index_transfer *index, enum cairn_index_table table, int64_t id,
				   struct cairn_index_rows *out, struct cairn_diag *diag)
{
	CLEANUP(cairn_index_rows_fini) struct cairn_index_rows key;
	cairn_index_rows_init(&key, table);
	(void)cairn_index_rows_add(&key);
	cairn_index_rows_number(&key, 0, id - 1);
	if (key.status != CAIRN_OK)
		return key.status;
	enum cairn_status status = cairn_index_transfer_page(index, table, &key, 0, 1, out, diag);
	if (status == CAIRN_OK && out->n == 1 && move_number(out, 0, 0) != id)
		cairn_index_rows_empty(out);
	return status;
}

static bool move_hash(const struct cairn_index_rows *rows, uint32_t row, struct cairn_hash *out)
{
	const struct cairn_value *value = cairn_index_rows_value(rows, row, CAIRN_XORB_HASH);
	if (value->len != sizeof(out->b))
		return false;
	memcpy(out->b, cairn_index_rows_at(rows, value), sizeof(out->b));
	return true;
}

static struct cairn_copy move_copy(const struct cairn_index_rows *rows, uint32_t row)
{
	struct cairn_copy copy = {0};
	const struct cairn_value *value = cairn_index_rows_value(rows, row, CAIRN_XORB_COPY);
	if (value->kind == CAIRN_VALUE_BYTES && value->len == sizeof(copy.b))
		memcpy(copy.b, cairn_index_rows_at(rows, value), sizeof(copy.b));
	return copy;
}

/* Are two rows that are there, or not, the same? */
static bool move_same(const struct cairn_index_rows *a, const struct cairn_index_rows *b)
{
	return a->n == b->n && (a->n == 0 || cairn_index_rows_equal(a, 0, b, 0));
}

static bool move_parse_list(const struct cairn_index_rows *list, struct cairn_chunk_list *out)
{
	if (list->n == 0)
		return false;
	const struct cairn_value *spans = cairn_index_rows_value(list, 0, CAIRN_LIST_SPANS);
	const struct cairn_value *hashes = cairn_index_rows_value(list, 0, CAIRN_LIST_HASHES);
	return cairn_rows_list(out, cairn_index_rows_at(list, spans), spans->len, cairn_index_rows_at(list, hashes),
			       hashes->len) == CAIRN_OK;
}

/* Is the object of this row in the second store? Its row there was written after it. */
static bool move_has_object(const struct move_table *w, const struct move_xorb *x, const struct cairn_index_rows *row,
			    uint32_t i, const struct cairn_index_rows *there)
{
	return there->n == 1 && !move_is_null(there, 0, CAIRN_XORB_STORED) &&
	       move_number(there, 0, CAIRN_XORB_STORED) == move_number(row, i, CAIRN_XORB_STORED) &&
	       (!w->m->names_target || !move_is_null(there, 0, CAIRN_XORB_COPY)) && move_same(&x->list, &x->there);
}

/* Take a row that differs, and look what it needs. */
static enum cairn_status move_take_xorb(struct move_table *w, struct move_xorbs *all,
					const struct cairn_index_rows *from, uint32_t i)
{
	CLEANUP(cairn_index_rows_fini) struct cairn_index_rows there;
	struct move_xorb *x = &all->xorbs[all->n++];
	int64_t id = move_number(from, i, CAIRN_XORB_ID);
	*x = (struct move_xorb){.object = 0};
	cairn_index_rows_init(&there, CAIRN_TABLE_XORB);
	cairn_index_rows_init(&x->list, CAIRN_TABLE_LIST);
	cairn_index_rows_init(&x->there, CAIRN_TABLE_LIST);
	enum cairn_status status = move_look(w->m->from, CAIRN_TABLE_LIST, id, &x->list, w->m->diag);
	if (status == CAIRN_OK)
		status = move_look(w->m->to, CAIRN_TABLE_LIST, id, &x->there, w->m->diag);
	if (status == CAIRN_OK)
		status = move_look(w->m->to, CAIRN_TABLE_XORB, id, &there, w->m->diag);
	if (status != CAIRN_OK)
		return status;
	cairn_index_rows_copy(&all->rows, from, i);
	uint32_t row = all->rows.n - 1;
	bool stored = !move_is_null(from, i, CAIRN_XORB_STORED), same = false;
	if (stored && there.n == 1)
		same = move_has_object(w, x, from, i, &there);
	if (stored && !same) {
		bool parsed = move_parse_list(&x->list, &x->chunks);
		struct move_object *object = &all->objects[all->n_objects];
		*object = (struct move_object){.bytes = (uint64_t)move_number(from, i, CAIRN_XORB_STORED),
					       .copy = move_copy(from, i),
					       .list = parsed ? &x->chunks : NULL,
					       .status = CAIRN_E_DAMAGED};
		if (move_hash(from, i, &object->hash))
			x->object = ++all->n_objects;
	}
	struct cairn_copy copy = same ? move_copy(&there, 0) : (struct cairn_copy){0};
	all->rows.values[(size_t)row * all->rows.n_columns + CAIRN_XORB_COPY] = (struct cairn_value){0};
	if (cairn_copy_is_named(&copy))
		cairn_index_rows_bytes(&all->rows, CAIRN_XORB_COPY, copy.b, sizeof(copy.b));
	if (there.n == 1)
		cairn_index_rows_copy(&w->there, &there, 0);
	x->is_there = there.n == 1;
	return all->rows.status;
}

/* An object could not be copied. While uploads and collections go on, the row may have changed since it was read.
 * @param[out] gone  it did, and the next pass looks at it again */
static enum cairn_status move_doubt(struct move_table *w, struct move_xorbs *all, uint32_t i, bool *gone)
{
	CLEANUP(cairn_index_rows_fini) struct cairn_index_rows now;
	struct move *m = w->m;
	struct move_object *object = &all->objects[all->xorbs[i].object - 1];
	int64_t id = move_number(&all->rows, i, CAIRN_XORB_ID);
	cairn_index_rows_init(&now, CAIRN_TABLE_XORB);
	enum cairn_status status = CAIRN_OK;
	if (!m->is_frozen)
		status = move_look(m->from, CAIRN_TABLE_XORB, id, &now, m->diag);
	struct cairn_copy copy = now.n == 1 ? move_copy(&now, 0) : (struct cairn_copy){0};
	*gone = !m->is_frozen && (now.n == 0 || !cairn_index_rows_equal(&now, 0, &all->rows, i) ||
				  !cairn_copy_equal(&copy, &object->copy));
	if (status != CAIRN_OK || *gone)
		return status;
	all->rows.values[(size_t)i * all->rows.n_columns + CAIRN_XORB_STORED] = (struct cairn_value){0};
	m->report->n_damaged++;
	m->damaged_bytes += object->bytes;
	if (m->options->damaged && !move_ids_have(&m->known, id))
		m->options->damaged(m->options->ctx, &object->hash,
				    object->status == CAIRN_E_NOT_FOUND ? "it is not there"
				    : object->diag.text[0]              ? object->diag.text
									: "it is damaged");
	return move_ids_add(&m->damaged, id);
}

/* What became of the object of a row. @param[out] gone  as above */
static enum cairn_status move_judge(struct move_table *w, struct move_xorbs *all, uint32_t i, bool *gone)
{
	struct move_xorb *x = &all->xorbs[i];
	struct move_object *object = x->object > 0 ? &all->objects[x->object - 1] : NULL;
	*gone = false;
	if (!object)
		return CAIRN_OK;
	if (object->status == CAIRN_OK) {
		struct cairn_value *value = &all->rows.values[(size_t)i * all->rows.n_columns + CAIRN_XORB_COPY];
		if (!w->m->names_target)
			return CAIRN_OK;
		*value = (struct cairn_value){
			.kind = CAIRN_VALUE_BYTES, .at = all->rows.bytes.len, .len = sizeof(object->moved.b)};
		cairn_buf_add(&all->rows.bytes, object->moved.b, sizeof(object->moved.b));
		return all->rows.bytes.status;
	}
	if (object->status == CAIRN_E_NOT_FOUND || object->status == CAIRN_E_DAMAGED)
		return move_doubt(w, all, i, gone);
	char text[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(text, &object->hash);
	return cairn_fail(w->m->diag, object->status, "move.object", CAIRN_NO_OFFSET,
			  "object %s cannot be moved now (%s)%s%s", text, cairn_status_name(object->status),
			  object->diag.text[0] ? ": " : "", object->diag.text);
}

/* Copy what they need, then write their rows. */
static enum cairn_status move_write_xorbs(struct move_table *w, struct move_xorbs *all)
{
	enum cairn_status status = move_objects(w->m, all->objects, all->n_objects);
	uint32_t there = 0;
	for (uint32_t i = 0; i < all->n && status == CAIRN_OK; i++) {
		struct move_xorb *x = &all->xorbs[i];
		bool gone;
		status = move_judge(w, all, i, &gone);
		bool same = x->is_there && cairn_index_rows_equal(&all->rows, i, &w->there, there) &&
			    move_same(&x->list, &x->there);
		there += x->is_there;
		if (status == CAIRN_OK && !gone && !same) {
			cairn_index_rows_copy(&w->put, &all->rows, i);
			if (x->list.n == 1)
				cairn_index_rows_copy(&w->put_list, &x->list, 0);
		}
		cairn_index_rows_fini(&x->list);
		cairn_index_rows_fini(&x->there);
		cairn_chunk_list_fini(&x->chunks);
	}
	all->n = 0;
	all->n_objects = 0;
	cairn_index_rows_empty(&all->rows);
	return status == CAIRN_OK ? move_write(w) : status;
}

/* --- one table ---------------------------------------------------------------------------------------------------- */

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

/* Chunks of a xorb that counts as lost there are not offered. */
static bool move_is_withheld(const struct move_table *w, const struct cairn_index_rows *rows, uint32_t row)
{
	return w->table == CAIRN_TABLE_DEDUPE &&
	       move_ids_have(&w->m->damaged, move_number(rows, row, CAIRN_DEDUPE_XORB));
}

/* A row of the first index, which the second may have.
 * @param differs  it has none, or another */
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
	enum cairn_status status = move_take_xorb(w, xorbs, rows, row);
	return status == CAIRN_OK && xorbs->n == MOVE_XORBS ? move_write_xorbs(w, xorbs) : status;
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
			status = xorbs && xorbs->n > 0 ? move_write_xorbs(w, xorbs) : move_write(w);
		if (status != CAIRN_OK)
			return status;
	}
}

static enum cairn_status move_one_table(struct move *m, enum cairn_index_table table)
{
	CLEANUP(move_table_fini) struct move_table w = {.m = m, .table = table, .digest = cairn_sha256_new()};
	CLEANUP(move_cursor_fini) struct move_cursor from;
	CLEANUP(move_cursor_fini) struct move_cursor to;
	CLEANUP(move_xorbs_free) struct move_xorbs *xorbs = calloc(1, sizeof(*xorbs));
	move_cursor_init(&from, m->from, table);
	move_cursor_init(&to, m->to, table);
	cairn_index_rows_init(&w.drop, table);
	cairn_index_rows_init(&w.put, table);
	cairn_index_rows_init(&w.drop_list, CAIRN_TABLE_LIST);
	cairn_index_rows_init(&w.put_list, CAIRN_TABLE_LIST);
	cairn_index_rows_init(&w.there, CAIRN_TABLE_XORB);
	if (!w.digest || !xorbs)
		return CAIRN_E_NOMEM;
	cairn_index_rows_init(&xorbs->rows, CAIRN_TABLE_XORB);
	m->report->table = cairn_index_table_name(table);
	enum cairn_status status = move_merge(&w, xorbs, &from, &to);
	if (status == CAIRN_OK)
		status = xorbs->n > 0 ? move_write_xorbs(&w, xorbs) : move_write(&w);
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
