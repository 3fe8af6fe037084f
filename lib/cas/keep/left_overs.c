#include "cas/keep/left_overs.h"

#include "base/clock.h"
#include "base/crash_point.h"
#include "cas/internal.h"
#include "data_dir/note.h"

#include <stdlib.h>
#include <string.h>

enum {
	LEFT_OVERS_KEEP_MS = 10 * 1000, /* most of a listing that may be repeated */
	LEFT_OVERS_HASH = 4,            /* fields for the hash at which it stopped */
	LEFT_OVERS_FIELDS,
	LEFT_OVERS_FAILED_MAX = 2, /* failures at the same place */
};

/* The place where an unfinished listing resumes. Stored in a note of the data folder or, if daemons share an index, in
 * the note of the job. All zero: at the beginning. */
struct left_overs_place {
	int64_t hash[LEFT_OVERS_HASH];
	int64_t failed;               /* listings in a row that resumed here and got no further */
	bool kept;                    /* the note has a place other than the beginning */
	int64_t keep_ms;              /* when to write the note next */
	struct cairn_index_note note; /* the note last read or written */
};

struct left_overs_walk {
	struct cas_left_overs *l;
	struct left_overs_place place;
	struct cairn_hash last; /* the last object listed */
	struct cairn_hash done; /* all objects up to it are swept */
	bool has_last, has_done;
	int64_t before_unix_ms; /* a newer copy may belong to an upload in progress */
	bool stopped, unswept;
	uint32_t n, n_unnamed;
	struct cairn_index_copy found[CAIRN_INDEX_SWEEP_MAX];
	struct cairn_index_copy unnamed[CAIRN_INDEX_SWEEP_MAX]; /* copies in `found` that no row names */
};

/* --- the place where a listing resumes ---------------------------------------------------------------------------- */

static const char LEFT_OVERS_NOTE[] = "listed";

static void left_overs_fields(struct cairn_note_field out[static LEFT_OVERS_FIELDS], struct left_overs_place *place)
{
	static const char *const NAMES[LEFT_OVERS_HASH] = {"at_a", "at_b", "at_c", "at_d"};
	for (size_t i = 0; i < LEFT_OVERS_HASH; i++)
		out[i] = (struct cairn_note_field){NAMES[i], &place->hash[i]};
	out[LEFT_OVERS_HASH] = (struct cairn_note_field){"failed", &place->failed};
}

/* Finds the place to resume at. @return NULL: the beginning. @param hash  buffer for the place */
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
	if (status != CAIRN_OK) {
		memset(place->hash, 0, sizeof(place->hash));
		place->failed = 0;
	}
	for (size_t i = 0; i < LEFT_OVERS_HASH; i++)
		place->kept = place->kept || place->hash[i] != 0;
	memcpy(hash->b, place->hash, sizeof(hash->b));
	return place->kept ? hash : NULL;
}

/* Writes the note under the lease, so that a suspended daemon cannot overwrite the note of another's listing. A note in
 * a file may be lost; then the listing starts over. */
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
		return CAIRN_OK; /* the note could not be read at first: the next listing resumes from it */
	if (status == CAIRN_OK)
		w->place.note.version = put.note.version + 1;
	else
		l->diag = put.write.diag;
	return status;
}

/* @param at  all objects up to it are swept; NULL: all of the store */
static enum cairn_status left_overs_keep(struct left_overs_walk *w, const struct cairn_hash *at)
{
	struct left_overs_place *place = &w->place;
	if (!at && !place->kept)
		return CAIRN_OK;
	place->keep_ms = cairn_clock_mono_ms() + LEFT_OVERS_KEEP_MS;
	place->kept = at != NULL;
	place->failed = 0;
	memset(place->hash, 0, sizeof(place->hash));
	if (at)
		memcpy(place->hash, at->b, sizeof(at->b));
	return left_overs_write_note(w);
}

/* --- if rows name copies ------------------------------------------------------------------------------------------ */

static void left_overs_note(void *ctx, const struct cairn_hash *hash, const struct cairn_copy_id *copy)
{
	struct left_overs_walk *w = ctx;
	w->unnamed[w->n_unnamed++] = (struct cairn_index_copy){*hash, *copy};
}

/* Writes off unnamed copies. Most copies are named, and testing that only reads, so it delays no transaction. */
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

/* --- if they do not: this process alone writes the store ---------------------------------------------------------- */

/* Is this copy not needed? Under the guard, no upload of this xorb is between its PUT and its row. If there are several
 * copies, the last one counts. */
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
	struct cairn_copy_id name = cairn_store_object_copy(last);
	*unneeded = !cairn_copy_id_equal(&name, &copy->copy);
	return CAIRN_OK;
}

static enum cairn_status left_overs_remove(struct cas_left_overs *l, const struct cairn_index_copy *copy)
{
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *object = NULL;
	struct cairn_diag diag = {0};
	bool unneeded;
	enum cairn_status status = left_overs_judge(l->cas, copy, &unneeded);
	if (status != CAIRN_OK || !unneeded)
		return status;
	status = cairn_store_get_named(l->cas->store, &copy->hash, &copy->copy, &object);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	status = cairn_store_remove_copy(l->cas->store, &copy->hash, &copy->copy, &diag);
	l->n += status == CAIRN_OK;
	return cas_removal_note(l->removal, &copy->hash, &copy->copy, cairn_store_object_bytes(object), status, &diag);
}

static void left_overs_note_done(struct left_overs_walk *w, const struct cairn_hash *hash)
{
	w->done = *hash;
	w->has_done = true;
}

/* If the store refuses all removals, the next listing resumes after the last object tried. */
static enum cairn_status left_overs_remove_all(struct left_overs_walk *w)
{
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; i < w->n && status == CAIRN_OK; i++) {
		struct cairn_guard guard;
		cairn_guard_take(&w->l->cas->guards, &guard, &w->found[i].hash);
		status = left_overs_remove(w->l, &w->found[i]);
		cairn_guard_release(&w->l->cas->guards, &guard);
		if (status == CAIRN_E_IO && w->l->removal->ended == CAIRN_E_IO)
			left_overs_note_done(w, &w->found[i].hash);
	}
	return status;
}

/* --- the listing -------------------------------------------------------------------------------------------------- */

/* Records where the listing broke off, for the next one to resume. After repeated failures at one place the next
 * listing starts over, so that the objects before that place are swept, too. */
static void left_overs_break_off(struct left_overs_walk *w, const struct cairn_hash *from)
{
	struct cairn_diag diag = w->l->diag;
	if (w->has_done && !(from && cairn_hash_equal(from, &w->done))) {
		(void)!left_overs_keep(w, &w->done);
	} else if (from && ++w->place.failed < LEFT_OVERS_FAILED_MAX) {
		(void)!left_overs_write_note(w);
	} else if (from) {
		(void)!left_overs_keep(w, NULL);
	}
	w->l->diag = diag;
}

/* Sweeps the page. After a write, records the place at once; while the listing only reads, now and then. */
static enum cairn_status left_overs_sweep_page(struct left_overs_walk *w, bool ended)
{
	uint64_t before = w->l->n;
	enum cairn_status status = cas_names_copies(w->l->cas) ? left_overs_write_off(w) : left_overs_remove_all(w);
	w->n = 0;
	w->unswept = status != CAIRN_OK;
	if (w->unswept)
		return status;
	if (w->has_last)
		left_overs_note_done(w, &w->last);
	if (ended)
		return left_overs_keep(w, NULL);
	return w->l->n > before || cairn_clock_mono_ms() >= w->place.keep_ms ? left_overs_keep(w, &w->last) : CAIRN_OK;
}

static enum cairn_status left_overs_visit(void *ctx, const struct cairn_hash *hash, const struct cairn_copy_id *copy)
{
	struct left_overs_walk *w = ctx;
	w->stopped = w->l->stop && w->l->stop(w->l->stop_ctx);
	if (w->stopped)
		return CAIRN_E_BUSY;
	w->last = *hash;
	w->has_last = true;
	if (cairn_copy_id_unix_ms(copy) >= w->before_unix_ms)
		return CAIRN_OK;
	w->found[w->n++] = (struct cairn_index_copy){*hash, *copy};
	return w->n == CAIRN_INDEX_SWEEP_MAX ? left_overs_sweep_page(w, false) : CAIRN_OK;
}

static enum cairn_status left_overs_list(struct left_overs_walk *w)
{
	struct cairn_hash hash;
	struct cas_left_overs *l = w->l;
	const struct cairn_hash *from = left_overs_find(w, &hash);
	w->place.keep_ms = cairn_clock_mono_ms() + LEFT_OVERS_KEEP_MS;
	enum cairn_status status = cairn_store_each_copy(l->cas->store, from, left_overs_visit, w);
	if (w->stopped)
		return CAIRN_OK;
	if (status == CAIRN_OK)
		status = left_overs_sweep_page(w, true);
	else if (!w->unswept)
		(void)!left_overs_sweep_page(w, false); /* sweep the objects listed before the failure */
	if (status == CAIRN_E_BUSY)
		status = cas_store_is_silent(&l->diag);
	if (status != CAIRN_OK)
		left_overs_break_off(w, from);
	return status;
}

enum cairn_status cas_sweep_left_overs(struct cas_left_overs *l)
{
	struct cairn_cas *cas = l->cas;
	int64_t age_s = cas->options.gc_grace_s;
	l->n = 0;
	if (!cairn_store_names_copies(cas->store) || cas->options.xorbs_external)
		return CAIRN_OK;
	if (age_s < CAIRN_INDEX_COPY_LIFE_S)
		age_s = CAIRN_INDEX_COPY_LIFE_S;
	struct left_overs_walk *w = calloc(1, sizeof(*w));
	if (!w)
		return CAIRN_E_NOMEM;
	w->l = l;
	w->before_unix_ms = (cairn_clock_unix_s() - age_s) * 1000;
	enum cairn_status status = left_overs_list(w);
	free(w);
	return status;
}
