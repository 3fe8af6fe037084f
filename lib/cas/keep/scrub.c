#include "cas/keep/scrub.h"

#include "cas/internal.h"
#include "cas/object/mend.h"
#include "cas/object/stored.h"
#include "cas/object/verify_read.h"
#include "index/operate.h"

#include <stdlib.h>

struct scrub {
	struct cairn_cas *cas;
	struct cas_pace pace;
	struct cairn_scrub_result *out;
	struct cairn_index_xorb row;
	bool found;                   /* the row was found */
	struct cairn_chunk_list list; /* owned; empty if it cannot be read or is wrong */
	uint8_t *block;               /* owned, CAS_BLOCK_BYTES */
	uint32_t n_copies;            /* copies that were opened, or exist but cannot be opened */
	bool described;               /* the row describes a sound copy */
};

static void scrub_fini(struct scrub *s)
{
	cairn_chunk_list_fini(&s->list);
	free(s->block);
}

static void scrub_note_row(void *ctx, const struct cairn_index_xorb *row)
{
	struct scrub *s = ctx;
	s->row = *row;
	s->found = true;
}

static enum cairn_status scrub_read_list(struct scrub *s)
{
	struct cairn_hash root;
	enum cairn_status status = cairn_index_chunk_list_by_id(s->cas->index, s->row.id, &s->list);
	if (status == CAIRN_E_NOMEM)
		return status;
	/* An unreadable list may be good, so it must not be rebuilt. */
	s->out->unread = status == CAIRN_E_IO;
	if (status != CAIRN_OK)
		return CAIRN_OK;
	cairn_chunk_list_root(&s->list, &root);
	if (!cairn_hash_equal(&root, &s->row.hash) || s->list.n != s->row.n_chunks ||
	    cairn_chunk_list_bytes(&s->list, 0, s->list.n) != s->row.unpacked_bytes)
		cairn_chunk_list_fini(&s->list);
	return CAIRN_OK;
}

static bool scrub_is_described(const struct scrub *s, const struct cairn_chunk_list *seen, uint64_t bytes)
{
	if (s->row.stored_bytes != bytes || s->list.n != seen->n)
		return false;
	for (uint32_t i = 0; i < seen->n; i++)
		if (s->list.spans[i].end != seen->spans[i].end ||
		    s->list.spans[i].unpacked_bytes != seen->spans[i].unpacked_bytes)
			return false;
	return true;
}

/* Reads a copy. @return CAIRN_OK, also if it is damaged or unreadable; CAIRN_E_NOT_FOUND: it was removed or changed
 * since it was opened; CAIRN_E_BUSY; CAIRN_E_NOMEM */
static enum cairn_status scrub_read_copy(struct scrub *s, struct cairn_store_object *copy)
{
	CLEANUP(cairn_xorb_verifier_freep)
	struct cairn_xorb_verifier *v = cairn_xorb_verifier_new(&CAIRN_XORB_UPLOAD_OPTIONS);
	struct cairn_xorb_summary summary = {0};
	struct cairn_diag why = {0};
	enum cairn_status status = CAIRN_E_NOMEM;
	if (v)
		status = cas_read_xorb(copy, &s->row.hash, &s->pace, v, s->block, &summary, &why);
	if (status == CAIRN_E_NOMEM || status == CAIRN_E_NOT_FOUND || (status == CAIRN_E_BUSY && !why.rule))
		return status;
	s->out->bytes += cairn_store_object_bytes(copy);
	if (status != CAIRN_OK && !cas_is_damage(status)) {
		s->out->unread = true;
	} else if (status != CAIRN_OK) {
		s->out->n_damaged++;
		if (cas_mark_damaged(s->cas, &s->row.hash, copy))
			cas_notify(s->cas, CAIRN_CAS_OBJECT_DAMAGED, &s->row.hash, &why);
	} else {
		cas_mark_verified(s->cas, &s->row.hash, copy);
		s->described =
			s->described || scrub_is_described(s, cairn_xorb_verifier_list(v), summary.chunk_data_bytes);
	}
	return CAIRN_OK;
}

/* Opens the current copy and reads all of it. @param[out] opened  the status is that of the reading
 * @return as cas_open_copy(), then as scrub_read_copy() */
static enum cairn_status scrub_open_and_read(struct scrub *s, bool *opened)
{
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *copy = NULL;
	enum cairn_status status = cas_open_copy(s->cas, &s->row, s->n_copies, &copy);
	*opened = status == CAIRN_OK;
	return *opened ? scrub_read_copy(s, copy) : status;
}

static enum cairn_status scrub_copies(struct scrub *s)
{
	for (; s->n_copies < CAS_COPIES_MAX; s->n_copies++) {
		bool opened;
		enum cairn_status status = scrub_open_and_read(s, &opened);
		if (status == CAIRN_E_NOT_FOUND && opened) /* the object was replaced: read the new one */
			status = scrub_open_and_read(s, &opened);
		if (status == CAIRN_E_NOT_FOUND)
			break;
		if (!opened && (status == CAIRN_E_IO || status == CAIRN_E_BUSY))
			s->out->unread = true;
		if (!opened && status == CAIRN_E_IO)
			continue;
		if (!opened && status == CAIRN_E_BUSY)
			break; /* the store does not answer, so no copy can be read */
		if (status != CAIRN_OK)
			return status;
	}
	return CAIRN_OK;
}

static enum cairn_status scrub_xorb(struct scrub *s)
{
	s->out->id = s->row.id;
	s->out->xorb = s->row.hash;
	enum cairn_status status = scrub_read_list(s);
	if (status == CAIRN_OK)
		status = scrub_copies(s);
	if (status != CAIRN_OK)
		return status;
	s->out->lost = s->row.stored_bytes == 0 && s->n_copies == 0 && !s->out->unread;
	s->out->suspect = s->out->n_damaged > 0 || (!s->described && !s->out->lost && !s->out->unread);
	return CAIRN_OK;
}

enum cairn_status cairn_cas_scrub_next(struct cairn_cas *cas, int64_t after_id, const struct cairn_scrub_pace *pace,
				       struct cairn_scrub_result *out)
{
	int64_t next_id;
	*out = (struct cairn_scrub_result){0};
	CLEANUP(scrub_fini) struct scrub s = {.cas = cas, .pace = {pace->go_on, pace->ctx}, .out = out};
	s.block = malloc(CAS_BLOCK_BYTES);
	if (!s.block)
		return CAIRN_E_NOMEM;
	enum cairn_status status = cairn_index_each_xorb(cas->index, after_id, 1, scrub_note_row, &s, &next_id);
	if (status != CAIRN_OK)
		return status;
	return s.found ? scrub_xorb(&s) : CAIRN_E_NOT_FOUND;
}

static bool scrub_is_sound(struct cairn_cas *cas, const struct cairn_hash *xorb, const struct cairn_store_object *copy)
{
	uint64_t bytes = cairn_store_object_bytes(copy);
	const struct cairn_fetch_range all = {0, bytes - 1};
	return bytes > 0 && cairn_cas_is_verified(cas, xorb, copy, &all, 1);
}

/* Is the first copy known as damaged, and a later one as sound? @param[out] sound  the later one */
static bool scrub_has_damaged_first(struct cairn_cas *cas, const struct cairn_hash *xorb, unsigned *sound)
{
	bool in_the_way = false;
	for (unsigned n = 0; n < CAS_COPIES_MAX; n++) {
		CLEANUP(cairn_store_object_freep) struct cairn_store_object *copy = NULL;
		enum cairn_status status = cairn_store_get_copy(cas->store, xorb, n, &copy);
		if (status == CAIRN_E_NOT_FOUND || status == CAIRN_E_BUSY)
			break;
		if (n == 0)
			in_the_way = status == CAIRN_OK && cas_is_marked_damaged(cas, xorb, copy);
		if (!in_the_way)
			break;
		*sound = n;
		if (status == CAIRN_OK && scrub_is_sound(cas, xorb, copy))
			return true;
	}
	return false;
}

/* Sets damaged first copies aside. Under the guard no object is stored, removed or packed under this hash. */
static void scrub_set_damaged_aside(struct cairn_cas *cas, const struct cairn_hash *xorb)
{
	unsigned sound;
	struct cairn_guard guard;
	cairn_guard_take(&cas->guards, &guard, xorb);
	while (scrub_has_damaged_first(cas, xorb, &sound) && cairn_store_confirm(cas->store, xorb, sound) == CAIRN_OK &&
	       cairn_store_set_aside(cas->store, xorb) == CAIRN_OK)
		continue;
	cairn_guard_release(&cas->guards, &guard);
}

enum cairn_status cairn_cas_scrub_mend(struct cairn_cas *cas, const struct cairn_hash *xorb, enum cairn_scrub_end *end)
{
	enum cairn_status status = cairn_cas_mend(cas, xorb, NULL);
	if (status == CAIRN_E_NOMEM)
		return status;
	if (status == CAIRN_OK && !cas_names_copies(cas))
		scrub_set_damaged_aside(cas, xorb);
	*end = status == CAIRN_OK || status == CAIRN_E_NOT_FOUND ? CAIRN_SCRUB_SOUND
	       : status == CAIRN_E_DAMAGED                       ? CAIRN_SCRUB_LOST
								 : CAIRN_SCRUB_UNREAD;
	return CAIRN_OK;
}

/* Other daemons ask often: a state read within the last second saves a request to the server. */
enum cairn_status cairn_cas_take_scrub(struct cairn_cas *cas, struct cairn_index_lease *lease)
{
	struct cairn_diag unsaid = {0};
	struct cairn_index_job_state state;
	cairn_index_job_state(cas->index, CAIRN_INDEX_SCRUB, &state);
	return state.taken ? CAIRN_E_CONFLICT : cairn_index_take_lease(cas->index, CAIRN_INDEX_SCRUB, lease, &unsaid);
}

void cairn_cas_give_scrub(struct cairn_cas *cas, const struct cairn_index_lease *lease)
{
	(void)!cairn_index_give_lease(cas->index, lease, 0, 0);
}

enum cairn_status cairn_cas_scrub_note(struct cairn_cas *cas, struct cairn_index_note *out)
{
	return cairn_index_note(cas->index, CAIRN_INDEX_SCRUB, out);
}

enum cairn_status cairn_cas_keep_scrub_note(struct cairn_cas *cas, const struct cairn_index_lease *lease,
					    struct cairn_index_note *note, struct cairn_diag *diag)
{
	struct cairn_index_put_note put = {.write.lease = lease, .job = CAIRN_INDEX_SCRUB, .note = *note};
	enum cairn_status status = cairn_index_put_note(cas->index, &put);
	*diag = put.write.diag;
	if (status == CAIRN_OK)
		note->version++;
	return status;
}
