#include "cas/object/sound_copy.h"

#include "cas/internal.h"
#include "cas/object/mend.h"
#include "cas/object/verify_read.h"

struct sound {
	struct cairn_cas *cas;
	const struct cairn_hash *xorb;
	const struct cas_judge *judge;
	struct cairn_index_xorb row;
	struct cairn_chunk_list list; /* owned */
	bool damaged;                 /* a copy is damaged in any place */
};

static void sound_fini(struct sound *f)
{
	cairn_chunk_list_fini(&f->list);
}

static enum cairn_status sound_read_row(struct sound *f)
{
	cairn_chunk_list_fini(&f->list);
	enum cairn_status status = cairn_index_xorb(f->cas->index, f->xorb, &f->row);
	if (status == CAIRN_OK)
		status = cairn_index_chunk_list_by_id(f->cas->index, f->row.id, &f->list);
	return cas_index_status(status);
}

enum cairn_status cas_object_bytes(struct cairn_cas *cas, const struct cairn_hash *xorb, uint64_t *bytes)
{
	CLEANUP(sound_fini) struct sound f = {.cas = cas, .xorb = xorb};
	enum cairn_status status = sound_read_row(&f);
	*bytes = status == CAIRN_OK && f.list.n > 0 ? f.list.spans[f.list.n - 1].end : 0;
	return status;
}

/* Tries one copy. @return CAIRN_OK; CAIRN_E_NOT_FOUND: no more copies; otherwise the judge's status */
static enum cairn_status sound_try(struct sound *f, unsigned n, struct cairn_store_object **out,
				   struct cairn_diag *diag)
{
	bool damaged = false;
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *copy = NULL;
	enum cairn_status status = cas_open_copy(f->cas, &f->row, n, &copy);
	if (status == CAIRN_E_BUSY)
		return cas_store_is_silent(diag);
	if (status != CAIRN_OK)
		return status;
	status = f->judge->judge(f->judge->ctx, copy, &f->list, &damaged, diag);
	f->damaged = f->damaged || damaged || status == CAIRN_E_DAMAGED;
	if (status == CAIRN_E_BUSY)
		return cas_store_is_silent(diag);
	if (status != CAIRN_OK)
		return status;
	*out = copy;
	copy = NULL;
	return CAIRN_OK;
}

/* Tries all copies. A disk that fails may report each as unreadable, even copies that do not exist.
 * @return as sound_try(); of several failures, one that may be temporary, so that callers retry */
static enum cairn_status sound_any(struct sound *f, struct cairn_store_object **out, struct cairn_diag *diag)
{
	enum cairn_status failed = CAIRN_E_NOT_FOUND;
	for (unsigned n = 0; n < CAS_COPIES_MAX; n++) {
		struct cairn_diag why = {0};
		enum cairn_status status = sound_try(f, n, out, &why);
		if (status == CAIRN_E_NOT_FOUND)
			return failed;
		if (status != CAIRN_E_DAMAGED && status != CAIRN_E_IO) {
			*diag = why;
			return status;
		}
		if (failed != CAIRN_E_IO) {
			failed = status;
			*diag = why;
		}
	}
	return failed;
}

/* Finds a copy whose needed bytes are sound. Handles damaged and missing copies found on the way. */
static enum cairn_status sound_find(struct sound *f, struct cairn_store_object **out, struct cairn_diag *diag)
{
	enum cairn_status status = sound_any(f, out, diag);
	bool gone = status == CAIRN_E_NOT_FOUND;
	if (status != CAIRN_OK && status != CAIRN_E_DAMAGED && !gone)
		return status;
	if (!f->damaged && !gone && f->row.stored_bytes > 0)
		return status;
	struct cairn_diag why = {0};
	enum cairn_status mended = cairn_cas_mend(f->cas, f->xorb, &why);
	if (status == CAIRN_OK)
		return CAIRN_OK;
	if (mended == CAIRN_OK)
		mended = sound_read_row(f); /* the row may describe another layout now */
	*diag = why;
	if (mended != CAIRN_OK)
		return mended;
	status = sound_any(f, out, diag);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_E_BUSY : status;
}

enum cairn_status cas_judged_copy(struct cairn_cas *cas, const struct cairn_hash *xorb, const struct cas_judge *judge,
				  struct cairn_store_object **out, struct cairn_chunk_list *list,
				  struct cairn_diag *diag)
{
	CLEANUP(sound_fini) struct sound f = {.cas = cas, .xorb = xorb, .judge = judge};
	struct cairn_diag why = {0};
	*out = NULL;
	*list = (struct cairn_chunk_list){0};
	enum cairn_status status = sound_read_row(&f);
	if (status == CAIRN_OK)
		status = sound_find(&f, out, &why);
	if (status == CAIRN_OK) {
		*list = f.list;
		f.list = (struct cairn_chunk_list){0};
	} else if (diag) {
		*diag = why;
	}
	return status;
}

struct sound_ranges {
	struct cairn_cas *cas;
	const struct cairn_hash *xorb;
	const struct cairn_fetch_range *ranges;
	size_t n;
	bool (*stop)(void *ctx);
	void *stop_ctx;
};

static enum cairn_status sound_verify(void *ctx, struct cairn_store_object *copy, const struct cairn_chunk_list *list,
				      bool *damaged, struct cairn_diag *diag)
{
	const struct sound_ranges *r = ctx;
	return cairn_cas_verify_read(r->cas, r->xorb, copy, list, r->ranges, r->n, r->stop, r->stop_ctx, damaged, diag);
}

enum cairn_status cas_sound_copy(struct cairn_cas *cas, const struct cairn_hash *xorb,
				 const struct cairn_fetch_range *ranges, size_t n, bool (*stop)(void *ctx),
				 void *stop_ctx, struct cairn_store_object **out, struct cairn_diag *diag)
{
	CLEANUP(cairn_chunk_list_fini) struct cairn_chunk_list list = {0};
	struct sound_ranges r = {cas, xorb, ranges, n, stop, stop_ctx};
	const struct cas_judge judge = {.ctx = &r, .judge = sound_verify};
	return cas_judged_copy(cas, xorb, &judge, out, &list, diag);
}
