#include "cas/left_overs.h"

#include "base/clock.h"
#include "base/crash_point.h"
#include "cas/internal.h"
#include "data_dir/note.h"

#include <stdlib.h>
#include <string.h>

enum {
	LEFT_OVERS_KEEP_MS = 10 * 1000, /* so much of a list is read again */
	LEFT_OVERS_FIELDS = 4,
};

/* Where a list goes on that came to no end: a note of the data folder or, where several daemons share an index, of the
 * job there. All zero: at the beginning. */
struct left_overs_place {
	int64_t hash[LEFT_OVERS_FIELDS];
	bool kept;                    /* another than the beginning is */
	int64_t keep_ms;              /* when it is to be kept next */
	struct cairn_index_note note; /* that was read or written last */
};

struct left_overs_walk {
	struct cas_left_overs *l;
	struct left_overs_place place;
	struct cairn_hash last; /* of those that were shown */
	int64_t before_unix_ms; /* what was made later may be of an upload that goes on */
	bool stopped;
	uint32_t n, n_unnamed;
	struct cairn_index_copy found[CAIRN_INDEX_SWEEP_MAX];
	struct cairn_index_copy unnamed[CAIRN_INDEX_SWEEP_MAX]; /* of those found */
};

/* --- how far it is ------------------------------------------------------------------------------------------------ */

static const char LEFT_OVERS_NOTE[] = "listed";

static void left_overs_fields(struct cairn_note_field out[static LEFT_OVERS_FIELDS], struct left_overs_place *place)
{
	static const char *const NAMES[LEFT_OVERS_FIELDS] = {"at_a", "at_b", "at_c", "at_d"};
	for (size_t i = 0; i < LEFT_OVERS_FIELDS; i++)
		out[i] = (struct cairn_note_field){NAMES[i], &place->hash[i]};
}

/* @return NULL: from the beginning, also where nobody knows. @param hash  where there is room for another */
static const struct cairn_hash *left_overs_find(struct left_overs_walk *w, struct cairn_hash *hash)
{
	struct cairn_cas *cas = w->l->cas;
	struct left_overs_place *place = &w->place;
	struct cairn_note_field fields[LEFT_OVERS_FIELDS];
	left_overs_fields(fields, place);
	bool shared = cairn_index_is_shared(cas->index);
	enum cairn_status status = shared ? cairn_index_note(cas->index, CAIRN_INDEX_COLLECT, &place->note)
					  : cairn_note_read(cas->data_dir, LEFT_OVERS_NOTE, fields, LEFT_OVERS_FIELDS);
	if (shared && status == CAIRN_OK)
		status = cairn_note_parse(place->note.text, fields, LEFT_OVERS_FIELDS);
	if (status != CAIRN_OK)
		memset(place->hash, 0, sizeof(place->hash));
	for (size_t i = 0; i < LEFT_OVERS_FIELDS; i++)
		place->kept = place->kept || place->hash[i] != 0;
	memcpy(hash->b, place->hash, sizeof(hash->b));
	return place->kept ? hash : NULL;
}

/* Under the lease, so that nobody who was paused says something of another's list. In a file it is lost at worst. */
static enum cairn_status left_overs_write_note(struct left_overs_walk *w)
{
	struct cas_left_overs *l = w->l;
	struct cairn_note_field fields[LEFT_OVERS_FIELDS];
	left_overs_fields(fields, &w->place);
	if (!cairn_index_is_shared(l->cas->index)) {
		(void)!cairn_note_write(l->cas->data_dir, LEFT_OVERS_NOTE, fields, LEFT_OVERS_FIELDS);
		return CAIRN_OK;
	}
	CLEANUP(cairn_buf_fini) struct cairn_buf text = cairn_buf_init(CAIRN_INDEX_NOTE_BYTES);
	struct cairn_index_put_note put = {
		.write.lease = l->lease, .job = CAIRN_INDEX_COLLECT, .note.version = w->place.note.version};
	cairn_note_text(&text, fields, LEFT_OVERS_FIELDS);
	cairn_buf_add(&text, "", 1);
	if (text.status != CAIRN_OK)
		return text.status;
	memcpy(put.note.text, text.bytes, text.len);
	enum cairn_status status = cairn_index_put_note(l->cas->index, &put);
	if (status == CAIRN_E_CONFLICT)
		return CAIRN_OK; /* it could not be read at the beginning: the next list begins where that was to */
	if (status == CAIRN_OK)
		w->place.note.version = put.note.version + 1;
	else
		l->diag = put.write.diag;
	return status;
}

/* @param at  all before it is settled; NULL: so is everything */
static enum cairn_status left_overs_keep(struct left_overs_walk *w, const struct cairn_hash *at)
{
	struct left_overs_place *place = &w->place;
	if (!at && !place->kept)
		return CAIRN_OK;
	place->keep_ms = cairn_clock_mono_ms() + LEFT_OVERS_KEEP_MS;
	place->kept = at != NULL;
	memset(place->hash, 0, sizeof(place->hash));
	if (at)
		memcpy(place->hash, at->b, sizeof(at->b));
	return left_overs_write_note(w);
}

/* --- where rows name copies --------------------------------------------------------------------------------------- */

static void left_overs_note(void *ctx, const struct cairn_hash *hash, const struct cairn_copy *copy)
{
	struct left_overs_walk *w = ctx;
	w->unnamed[w->n_unnamed++] = (struct cairn_index_copy){*hash, *copy};
}

/* Most are named, which is only read: the transactions of others do not wait for it. */
static enum cairn_status left_overs_write_off(struct left_overs_walk *w)
{
	struct cas_left_overs *l = w->l;
	w->n_unnamed = 0;
	enum cairn_status status = cairn_index_each_unnamed(l->cas->index, w->found, w->n, left_overs_note, w);
	if (status == CAIRN_E_BUSY)
		return cas_index_is_silent(&l->diag);
	if (status != CAIRN_OK || w->n_unnamed == 0)
		return status;
	cairn_crash_point(CAIRN_CRASH_GC_LISTED);
	struct cairn_index_write_off off = {.write.lease = l->lease, .copies = w->unnamed, .n = w->n_unnamed};
	status = cairn_index_write_off(l->cas->index, &off);
	if (status != CAIRN_OK)
		l->diag = off.write.diag;
	else
		l->n += off.n_dead;
	return status;
}

/* --- where they do not: this process alone writes the store ------------------------------------------------------- */

/* Under the guard no upload of this xorb is between its PUT and its row, and of several copies the last one counts. */
static enum cairn_status left_overs_judge(struct cairn_cas *cas, const struct cairn_index_copy *copy, bool *unneeded)
{
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *last = NULL;
	struct cairn_index_xorb row;
	*unneeded = false;
	enum cairn_status status = cairn_index_xorb(cas->index, &copy->hash, &row);
	if (status == CAIRN_E_NOT_FOUND) {
		*unneeded = true;
		return CAIRN_OK;
	}
	if (status != CAIRN_OK || row.stored_bytes == 0)
		return status;
	status = cairn_store_get(cas->store, &copy->hash, &last);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	struct cairn_copy name = cairn_store_object_copy(last);
	*unneeded = !cairn_copy_equal(&name, &copy->copy);
	return CAIRN_OK;
}

static enum cairn_status left_overs_remove(struct cas_left_overs *l, const struct cairn_index_copy *copy)
{
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *object = NULL;
	bool unneeded;
	enum cairn_status status = left_overs_judge(l->cas, copy, &unneeded);
	if (status != CAIRN_OK || !unneeded)
		return status;
	status = cairn_store_get_named(l->cas->store, &copy->hash, &copy->copy, &object);
	if (status == CAIRN_OK)
		status = cairn_store_remove_copy(l->cas->store, &copy->hash, &copy->copy);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	l->n++;
	l->bytes += cairn_store_object_bytes(object);
	return CAIRN_OK;
}

static enum cairn_status left_overs_remove_all(struct left_overs_walk *w)
{
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; i < w->n && status == CAIRN_OK; i++) {
		struct cairn_guard guard;
		cairn_guard_take(&w->l->cas->guards, &guard, &w->found[i].hash);
		status = left_overs_remove(w->l, &w->found[i]);
		cairn_guard_release(&w->l->cas->guards, &guard);
	}
	return status;
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

/* What was written for is not looked for again; a list that only reads says now and then how far it is. */
static enum cairn_status left_overs_settle(struct left_overs_walk *w, bool ended)
{
	uint64_t before = w->l->n;
	enum cairn_status status = cas_names_copies(w->l->cas) ? left_overs_write_off(w) : left_overs_remove_all(w);
	w->n = 0;
	if (status != CAIRN_OK)
		return status;
	if (ended)
		return left_overs_keep(w, NULL);
	return w->l->n > before || cairn_clock_mono_ms() >= w->place.keep_ms ? left_overs_keep(w, &w->last) : CAIRN_OK;
}

static enum cairn_status left_overs_visit(void *ctx, const struct cairn_hash *hash, const struct cairn_copy *copy)
{
	struct left_overs_walk *w = ctx;
	w->stopped = w->l->stop && w->l->stop(w->l->stop_ctx);
	if (w->stopped)
		return CAIRN_E_BUSY;
	w->last = *hash;
	if (cairn_copy_unix_ms(copy) >= w->before_unix_ms)
		return CAIRN_OK;
	w->found[w->n++] = (struct cairn_index_copy){*hash, *copy};
	return w->n == CAIRN_INDEX_SWEEP_MAX ? left_overs_settle(w, false) : CAIRN_OK;
}

enum cairn_status cas_settle_left_overs(struct cas_left_overs *l)
{
	struct cairn_cas *cas = l->cas;
	int64_t age_s = cas->options.gc_grace_s;
	l->n = l->bytes = 0;
	if (!cairn_store_names_copies(cas->store) || cas->options.xorbs_external)
		return CAIRN_OK;
	if (age_s < CAIRN_INDEX_COPY_LIFE_S)
		age_s = CAIRN_INDEX_COPY_LIFE_S;
	struct left_overs_walk *w = calloc(1, sizeof(*w));
	if (!w)
		return CAIRN_E_NOMEM;
	w->l = l;
	w->before_unix_ms = (cairn_clock_unix_s() - age_s) * 1000;
	struct cairn_hash from;
	w->place.keep_ms = cairn_clock_mono_ms() + LEFT_OVERS_KEEP_MS;
	enum cairn_status status = cairn_store_each_copy(cas->store, left_overs_find(w, &from), left_overs_visit, w);
	if (status == CAIRN_OK)
		status = left_overs_settle(w, true);
	if (status == CAIRN_E_BUSY && !w->stopped)
		status = cas_store_is_silent(&l->diag);
	if (w->stopped)
		status = CAIRN_OK;
	free(w);
	return status;
}
