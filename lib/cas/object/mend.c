#include "cas/object/mend.h"

#include "cas/internal.h"
#include "cas/object/stored.h"
#include "cas/object/verify_read.h"

#include <stdlib.h>

struct mend {
	struct cairn_cas *cas;
	const struct cairn_hash *xorb;
	struct cairn_index_xorb row;
	struct cairn_xorb_verifier *verifier; /* owned; verifier of the sound copy, if found */
	uint64_t stored_bytes;                /* size of the sound copy */
	unsigned copy;                        /* number of the sound copy */
	struct cairn_copy_id name;
	bool unreadable, damaged; /* whether any copy read so far was unreadable, damaged */
	struct cairn_diag *diag;
};

static void mend_fini(struct mend *m)
{
	cairn_xorb_verifier_free(m->verifier);
}

enum cairn_status cas_lose(struct cairn_cas *cas, const struct cairn_hash *xorb, const struct cairn_copy_id *copy)
{
	struct cairn_index_lose_xorb lose = {.hash = *xorb, .copy = *copy};
	enum cairn_status status = cairn_index_lose_xorb(cas->index, &lose);
	if (status != CAIRN_OK)
		return status;
	cairn_answer_cache_clear(cas->cache);
	cas_notify(cas, CAIRN_CAS_XORB_LOST, xorb, NULL);
	return CAIRN_OK;
}

enum cairn_status cas_open_copy(struct cairn_cas *cas, const struct cairn_index_xorb *row, unsigned n,
				struct cairn_store_object **out)
{
	if (!cairn_copy_id_is_set(&row->copy))
		return cairn_store_get_copy(cas->store, &row->hash, n, out);
	*out = NULL;
	return n == 0 ? cairn_store_get_named(cas->store, &row->hash, &row->copy, out) : CAIRN_E_NOT_FOUND;
}

enum cairn_status cas_must_be_there(struct cairn_cas *cas, const struct cairn_hash *xorb,
				    const struct cairn_copy_id *copy)
{
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *object = NULL;
	uint8_t byte; /* read a byte: the cached state of a name may be older than the object's removal */
	enum cairn_status status = cairn_store_get_named(cas->store, xorb, copy, &object);
	if (status == CAIRN_OK)
		status = cairn_store_object_read(object, 0, &byte, 1);
	if (status != CAIRN_E_NOT_FOUND)
		return status;
	status = cas_lose(cas, xorb, copy);
	return status == CAIRN_OK ? CAIRN_E_DAMAGED : status;
}

enum cairn_status cas_object_there(struct cairn_cas *cas, const struct cairn_hash *hash, uint64_t bytes, bool *there)
{
	uint64_t first_bytes;
	enum cairn_status status = cairn_store_stat(cas->store, hash, &first_bytes);
	*there = status == CAIRN_OK && first_bytes == bytes;
	if (status == CAIRN_E_NOT_FOUND || status == CAIRN_E_BUSY)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	for (unsigned n = 1; !*there && n < CAS_COPIES_MAX; n++) {
		CLEANUP(cairn_store_object_freep) struct cairn_store_object *copy = NULL;
		enum cairn_status opened = cairn_store_get_copy(cas->store, hash, n, &copy);
		if (opened == CAIRN_E_NOT_FOUND)
			return status;
		*there = opened == CAIRN_OK && cairn_store_object_bytes(copy) == bytes;
	}
	return CAIRN_OK;
}

/* Unpacks and hashes a whole copy. @return CAIRN_OK; CAIRN_E_DAMAGED; otherwise as cas_read_xorb() */
static enum cairn_status mend_try(struct mend *m, struct cairn_store_object *copy)
{
	struct cairn_diag why = {0};
	struct cairn_xorb_summary summary = {0};
	if (cas_is_marked_damaged(m->cas, m->xorb, copy))
		return CAIRN_E_DAMAGED;
	cairn_xorb_verifier_free(m->verifier);
	m->verifier = cairn_xorb_verifier_new(&CAIRN_XORB_UPLOAD_OPTIONS);
	uint8_t *block = malloc(CAS_BLOCK_BYTES);
	enum cairn_status status = CAIRN_E_NOMEM;
	if (m->verifier && block)
		status = cas_read_xorb(copy, m->xorb, NULL, m->verifier, block, &summary, &why);
	free(block);
	m->stored_bytes = summary.chunk_data_bytes;
	if (status == CAIRN_OK)
		cas_mark_verified(m->cas, m->xorb, copy);
	if (!cas_is_damage(status))
		return status;
	if (cas_mark_damaged(m->cas, m->xorb, copy))
		cas_notify(m->cas, CAIRN_CAS_OBJECT_DAMAGED, m->xorb, &why);
	return CAIRN_E_DAMAGED;
}

/* Finds a sound copy. @return CAIRN_OK; CAIRN_E_DAMAGED: none is sound; CAIRN_E_IO: none is, but one could not be read;
 * CAIRN_E_NOMEM; CAIRN_E_BUSY: undecided for now */
static enum cairn_status mend_find(struct mend *m)
{
	for (unsigned n = 0; n < CAS_COPIES_MAX; n++) {
		CLEANUP(cairn_store_object_freep) struct cairn_store_object *copy = NULL;
		enum cairn_status status = cas_open_copy(m->cas, &m->row, n, &copy);
		if (status == CAIRN_E_NOT_FOUND)
			break;
		if (status == CAIRN_OK)
			status = mend_try(m, copy);
		m->copy = n;
		m->name = copy ? cairn_store_object_copy(copy) : (struct cairn_copy_id){0};
		if (status == CAIRN_OK || status == CAIRN_E_NOMEM || status == CAIRN_E_BUSY)
			return status;
		m->damaged = m->damaged || status == CAIRN_E_DAMAGED;
		m->unreadable = m->unreadable || status != CAIRN_E_DAMAGED;
	}
	return m->unreadable ? CAIRN_E_IO : CAIRN_E_DAMAGED;
}

static enum cairn_status mend_say(const struct mend *m, enum cairn_status status)
{
	if (status == CAIRN_E_IO)
		return cairn_fail(m->diag, status, "object.unreadable", CAIRN_NO_OFFSET,
				  "the disk cannot read what is stored; try again later");
	if (m->damaged)
		return cairn_fail(m->diag, status, "object.damaged", CAIRN_NO_OFFSET,
				  "the stored bytes are not what was uploaded; upload the file again");
	return cairn_fail(m->diag, status, "object.missing", CAIRN_NO_OFFSET,
			  "the stored bytes are gone; upload the file again");
}

static bool mend_row_describes(const struct mend *m)
{
	CLEANUP(cairn_chunk_list_fini) struct cairn_chunk_list list = {0};
	const struct cairn_chunk_list *seen = cairn_xorb_verifier_list(m->verifier);
	if (m->row.stored_bytes != m->stored_bytes || m->row.n_chunks != seen->n ||
	    cairn_index_chunk_list_by_id(m->cas->index, m->row.id, &list) != CAIRN_OK || list.n != seen->n)
		return false;
	for (uint32_t i = 0; i < list.n; i++)
		if (!cairn_hash_equal(&list.hashes[i], &seen->hashes[i]) || list.spans[i].end != seen->spans[i].end ||
		    list.spans[i].unpacked_bytes != seen->spans[i].unpacked_bytes)
			return false;
	return true;
}

/* Makes the row describe the sound copy. */
static enum cairn_status mend_adopt(struct mend *m)
{
	struct cairn_index_put_xorb put = {
		.hash = *m->xorb,
		.list = cairn_xorb_verifier_list(m->verifier),
		.stored_bytes = m->stored_bytes,
	};
	put.found = cas_names_copies(m->cas); /* a copy read by its name has that name */
	enum cairn_status status = put.found ? CAIRN_OK : cairn_store_confirm(m->cas->store, m->xorb, m->copy);
	if (put.found)
		put.copy = m->name;
	if (status == CAIRN_OK && m->row.stored_bytes > 0)
		status = cas_lose(m->cas, m->xorb, &m->row.copy);
	if (status == CAIRN_OK)
		status = cairn_index_put_xorb(m->cas->index, &put);
	if (status == CAIRN_OK && put.found)
		status = cas_must_be_there(m->cas, m->xorb, &put.copy);
	if (status == CAIRN_OK)
		cas_notify(m->cas, CAIRN_CAS_XORB_FOUND, m->xorb, NULL);
	return status;
}

/* Called under the guard. */
static enum cairn_status mend_guarded(struct mend *m)
{
	enum cairn_status status = cairn_index_xorb(m->cas->index, m->xorb, &m->row);
	if (status != CAIRN_OK)
		return cas_index_status(status);
	status = mend_find(m);
	if (status == CAIRN_OK)
		return mend_row_describes(m) ? CAIRN_OK : mend_adopt(m);
	if (status == CAIRN_E_NOMEM || status == CAIRN_E_BUSY)
		return status;
	if (status == CAIRN_E_DAMAGED && m->row.stored_bytes > 0) {
		enum cairn_status lost = cas_lose(m->cas, m->xorb, &m->row.copy);
		if (lost != CAIRN_OK)
			return lost;
	}
	return mend_say(m, status);
}

enum cairn_status cairn_cas_mend(struct cairn_cas *cas, const struct cairn_hash *xorb, struct cairn_diag *diag)
{
	struct cairn_guard guard;
	CLEANUP(mend_fini) struct mend m = {.cas = cas, .xorb = xorb, .diag = diag};
	cairn_guard_take(&cas->guards, &guard, xorb);
	enum cairn_status status = mend_guarded(&m);
	cairn_guard_release(&cas->guards, &guard);
	return status;
}
