#include "cas/keep/removal.h"

#include "base/crash_point.h"
#include "base/workers.h"
#include "cas/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The number of threads that remove objects. Some file systems take milliseconds to free the blocks of one file, but
 * handle several files at once. */
enum { REMOVAL_LANES = 8 };

void cas_removal_init(struct cas_removal *r, struct cairn_cas *cas)
{
	memset(r, 0, sizeof(*r));
	r->cas = cas;
	pthread_mutex_init(&r->lock, NULL);
}

void cas_removal_fini(struct cas_removal *r)
{
	pthread_mutex_destroy(&r->lock);
}

/* Does the failure concern this object only? The silence of a store proves nothing about any object. */
static bool removal_is_refused(enum cairn_status status, const struct cairn_diag *diag)
{
	if (status == CAIRN_E_BUSY)
		return diag->rule && !cairn_diag_has(diag, "store.silent");
	return status != CAIRN_E_NOMEM;
}

/* Called with the lock. */
static void removal_keep(struct cas_removal *r, const struct cairn_hash *hash, const struct cairn_copy_id *copy,
			 const struct cairn_diag *diag)
{
	if (r->n_kept++ == 0) {
		r->first = *hash;
		r->copy = *copy;
		memcpy(r->why, diag->text, sizeof(r->why));
	}
	r->refused = r->refused > 0 && strcmp(r->last.text, diag->text) == 0 ? r->refused + 1 : 1;
	r->last = *diag;
	if (r->n_gone == 0 && r->refused >= CAS_REMOVAL_REFUSED_MAX)
		r->ended = CAIRN_E_IO;
}

enum cairn_status cas_removal_note(struct cas_removal *r, const struct cairn_hash *hash,
				   const struct cairn_copy_id *copy, uint64_t bytes, enum cairn_status status,
				   const struct cairn_diag *diag)
{
	pthread_mutex_lock(&r->lock);
	if (status == CAIRN_OK) {
		r->n_gone++;
		r->bytes_freed += bytes;
		r->refused = 0;
	} else if (removal_is_refused(status, diag)) {
		removal_keep(r, hash, copy, diag);
	} else if (r->ended == CAIRN_OK) {
		r->ended = status;
	}
	enum cairn_status ended = r->ended;
	pthread_mutex_unlock(&r->lock);
	return ended;
}

struct removal_lane {
	struct cairn_work work;
	struct cas_removal *r;
	const struct cairn_hash *hashes;
	const struct cairn_copy_id *copies; /* NULL: rows name no copies */
	bool *gone;
	uint32_t n, first;
	enum cairn_status status; /* error of the index */
};

/* Removes an object whose row is durably gone. Under the guard, no upload of this xorb is between its object and its
 * row. So an object without a row is garbage, and an object whose row has come back is not. */
static enum cairn_status removal_of_object(struct removal_lane *lane, uint32_t i)
{
	struct cairn_cas *cas = lane->r->cas;
	const struct cairn_hash *hash = &lane->hashes[i];
	struct cairn_guard guard;
	struct cairn_index_xorb row;
	struct cairn_diag diag = {0};
	uint64_t bytes = 0;
	cairn_guard_take(&cas->guards, &guard, hash);
	enum cairn_status status = cairn_index_xorb(cas->index, hash, &row);
	bool unneeded = status == CAIRN_E_NOT_FOUND;
	if (unneeded) {
		bool is_there = cairn_store_stat(cas->store, hash, &bytes) != CAIRN_E_NOT_FOUND;
		status = is_there ? cairn_store_remove(cas->store, hash, &diag) : CAIRN_OK;
		cairn_crash_point(CAIRN_CRASH_GC_REMOVED);
	}
	cairn_guard_release(&cas->guards, &guard);
	if (!unneeded)
		return status;
	lane->gone[i] = status == CAIRN_OK;
	return cas_removal_note(lane->r, hash, &(struct cairn_copy_id){0}, bytes, status, &diag);
}

/* Removes a copy that no row names or will name. */
static enum cairn_status removal_of_copy(struct removal_lane *lane, uint32_t i)
{
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *object = NULL;
	const struct cairn_hash *hash = &lane->hashes[i];
	const struct cairn_copy_id *copy = &lane->copies[i];
	struct cairn_diag diag = {0};
	struct cairn_store *store = lane->r->cas->store;
	uint64_t bytes = 0;
	if (cairn_store_get_named(store, hash, copy, &object) == CAIRN_OK)
		bytes = cairn_store_object_bytes(object);
	enum cairn_status status = cairn_store_remove_copy(store, hash, copy, &diag);
	cairn_crash_point(CAIRN_CRASH_GC_REMOVED);
	lane->gone[i] = status == CAIRN_OK;
	return cas_removal_note(lane->r, hash, copy, bytes, status, &diag);
}

static bool removal_has_ended(struct cas_removal *r)
{
	pthread_mutex_lock(&r->lock);
	bool ended = r->ended != CAIRN_OK;
	pthread_mutex_unlock(&r->lock);
	return ended;
}

static void removal_run_lane(struct cairn_work *work)
{
	struct removal_lane *lane = (struct removal_lane *)work;
	for (uint32_t i = lane->first; i < lane->n && lane->status == CAIRN_OK; i += REMOVAL_LANES) {
		if (removal_has_ended(lane->r))
			return;
		lane->status = lane->copies ? removal_of_copy(lane, i) : removal_of_object(lane, i);
	}
}

enum cairn_status cas_removal_run(struct cas_removal *r, const struct cairn_hash *hashes,
				  const struct cairn_copy_id *copies, uint32_t n, bool *gone)
{
	struct removal_lane lanes[REMOVAL_LANES];
	struct cairn_workers *workers;
	enum cairn_status status = cairn_workers_new(&workers, "sweep", REMOVAL_LANES, 0, (size_t)REMOVAL_LANES * 2);
	if (status != CAIRN_OK)
		return status;
	for (uint32_t i = 0; i < REMOVAL_LANES; i++) {
		lanes[i] = (struct removal_lane){
			.work.run = removal_run_lane,
			.r = r,
			.hashes = hashes,
			.copies = copies,
			.gone = gone,
			.n = n,
			.first = i,
		};
		if (cairn_workers_submit(workers, &lanes[i].work) != CAIRN_OK)
			removal_run_lane(&lanes[i].work);
	}
	cairn_workers_free(workers); /* waits for all lanes */
	for (uint32_t i = 0; i < REMOVAL_LANES && r->ended == CAIRN_OK; i++)
		if (lanes[i].status != CAIRN_OK)
			status = lanes[i].status;
	return r->ended == CAIRN_OK ? status : r->ended;
}

enum cairn_status cas_removal_result(const struct cas_removal *r, uint64_t n_left, struct cairn_diag *diag)
{
	char hash[CAIRN_HASH_TEXT_BYTES], copy[2 * CAIRN_COPY_ID_BYTES + 2] = "";
	if (r->n_kept == 0)
		return CAIRN_OK;
	cairn_hash_text(hash, &r->first);
	if (cairn_copy_id_is_set(&r->copy)) {
		copy[0] = '.';
		cairn_hex_text(copy + 1, r->copy.b, sizeof(r->copy.b));
	}
	return cairn_fail(diag, CAIRN_E_IO, "gc.unremoved", CAIRN_NO_OFFSET,
			  "%" PRIu64
			  " objects that nobody needs are still there, because the store does not remove %s; "
			  "the first is %s%s%s%.60s",
			  n_left > r->n_kept ? n_left : r->n_kept, r->ended == CAIRN_OK ? "them" : "any", hash, copy,
			  r->why[0] ? ": " : "", r->why);
}
