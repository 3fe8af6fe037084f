/* Writes the rows of xorbs to a second index, each after its object. */
#include "cas/move/move_table.h"

#include <stdlib.h>
#include <string.h>

struct move_xorb {
	struct cairn_index_rows list, there; /* owned; the xorb's row of list in each index, if any */
	struct cairn_chunk_list chunks;      /* owned */
	bool is_there;                       /* the second index has the row, and so has the second store the object */
	size_t object;                       /* its index in the objects to copy, plus 1; 0: not copied */
};

struct move_xorbs {
	struct move_xorb xorbs[MOVE_XORBS];
	struct move_object objects[MOVE_XORBS];
	uint32_t n;
	size_t n_objects;
	struct cairn_index_rows rows; /* owned; the rows to be written */
};

struct move_xorbs *move_xorbs_new(void)
{
	struct move_xorbs *x = calloc(1, sizeof(*x));
	if (x)
		cairn_index_rows_init(&x->rows, CAIRN_TABLE_XORB);
	return x;
}

void move_xorbs_free(struct move_xorbs **x)
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

static bool move_is_null(const struct cairn_index_rows *rows, uint32_t row, unsigned column)
{
	return cairn_index_rows_value(rows, row, column)->kind == CAIRN_VALUE_NULL;
}

/* Reads the row of a table that has this number as its key, if any. */
static enum cairn_status move_read_row(struct cairn_index_transfer *index, enum cairn_index_table table, int64_t id,
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

static struct cairn_copy_id move_copy(const struct cairn_index_rows *rows, uint32_t row)
{
	struct cairn_copy_id copy = {0};
	const struct cairn_value *value = cairn_index_rows_value(rows, row, CAIRN_XORB_COPY);
	if (value->kind == CAIRN_VALUE_BYTES && value->len == sizeof(copy.b))
		memcpy(copy.b, cairn_index_rows_at(rows, value), sizeof(copy.b));
	return copy;
}

/* Are the two rows equal, or both absent? */
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

/* Does the second store have the object of this row? If the second index has the row, the object was written before
 * it. */
static bool move_has_object(const struct move_table *w, const struct move_xorb *x, const struct cairn_index_rows *row,
			    uint32_t i, const struct cairn_index_rows *there)
{
	return there->n == 1 && !move_is_null(there, 0, CAIRN_XORB_STORED) &&
	       move_number(there, 0, CAIRN_XORB_STORED) == move_number(row, i, CAIRN_XORB_STORED) &&
	       (!w->m->names_target || !move_is_null(there, 0, CAIRN_XORB_COPY)) && move_same(&x->list, &x->there);
}

/* Adds a row that differs, and finds out which objects must be copied for it. */
static enum cairn_status move_add_xorb(struct move_table *w, struct move_xorbs *all,
				       const struct cairn_index_rows *from, uint32_t i)
{
	CLEANUP(cairn_index_rows_fini) struct cairn_index_rows there;
	struct move_xorb *x = &all->xorbs[all->n++];
	int64_t id = move_number(from, i, CAIRN_XORB_ID);
	*x = (struct move_xorb){.object = 0};
	cairn_index_rows_init(&there, CAIRN_TABLE_XORB);
	cairn_index_rows_init(&x->list, CAIRN_TABLE_LIST);
	cairn_index_rows_init(&x->there, CAIRN_TABLE_LIST);
	enum cairn_status status = move_read_row(w->m->from, CAIRN_TABLE_LIST, id, &x->list, w->m->diag);
	if (status == CAIRN_OK)
		status = move_read_row(w->m->to, CAIRN_TABLE_LIST, id, &x->there, w->m->diag);
	if (status == CAIRN_OK)
		status = move_read_row(w->m->to, CAIRN_TABLE_XORB, id, &there, w->m->diag);
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
	struct cairn_copy_id copy = same ? move_copy(&there, 0) : (struct cairn_copy_id){0};
	all->rows.values[(size_t)row * all->rows.n_columns + CAIRN_XORB_COPY] = (struct cairn_value){0};
	if (cairn_copy_id_is_set(&copy))
		cairn_index_rows_bytes(&all->rows, CAIRN_XORB_COPY, copy.b, sizeof(copy.b));
	if (there.n == 1)
		cairn_index_rows_copy(&w->there, &there, 0);
	x->is_there = there.n == 1;
	return all->rows.status;
}

/* Handles an object that could not be copied. Its row may have changed since it was read, during uploads and
 * collections. @param[out] gone  the row changed, and the next pass handles it */
static enum cairn_status move_doubt(struct move_table *w, struct move_xorbs *all, uint32_t i, bool *gone)
{
	CLEANUP(cairn_index_rows_fini) struct cairn_index_rows now;
	struct move *m = w->m;
	struct move_object *object = &all->objects[all->xorbs[i].object - 1];
	int64_t id = move_number(&all->rows, i, CAIRN_XORB_ID);
	cairn_index_rows_init(&now, CAIRN_TABLE_XORB);
	enum cairn_status status = CAIRN_OK;
	if (!m->is_frozen)
		status = move_read_row(m->from, CAIRN_TABLE_XORB, id, &now, m->diag);
	struct cairn_copy_id copy = now.n == 1 ? move_copy(&now, 0) : (struct cairn_copy_id){0};
	*gone = !m->is_frozen && (now.n == 0 || !cairn_index_rows_equal(&now, 0, &all->rows, i) ||
				  !cairn_copy_id_equal(&copy, &object->copy));
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

/* Evaluates the result of copying a row's object. @param[out] gone  as in move_doubt() */
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

enum cairn_status move_write_xorbs(struct move_table *w, struct move_xorbs *all)
{
	if (all->n == 0)
		return move_write(w);
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

enum cairn_status move_take_xorb(struct move_table *w, struct move_xorbs *all, const struct cairn_index_rows *from,
				 uint32_t i)
{
	enum cairn_status status = move_add_xorb(w, all, from, i);
	return status == CAIRN_OK && all->n == MOVE_XORBS ? move_write_xorbs(w, all) : status;
}
