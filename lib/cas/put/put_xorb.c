/* A xorb upload. The body is verified and written while it streams in, then made durable, then registered. */
#include "base/clock.h"
#include "base/crash_point.h"
#include "cas/internal.h"
#include "cas/object/mend.h"
#include "cas/put/put_work.h"
#include "xorb/footer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bytes verified and written together. On file systems with large folios, this costs half as much as 64 KiB. */
enum { XORB_WINDOW_BYTES = 512 * 1024 };

struct cairn_xorb_upload {
	struct cairn_cas *cas;
	struct cairn_hash hash;
	struct cairn_buf window; /* bytes received but not yet verified */
	struct cairn_xorb_verifier *verifier;
	struct cairn_store_put *put; /* NULL: the xorb is stored already, and this body is only verified */
	struct cairn_guard guard;    /* held from storing until after registering */
	struct cairn_use use;        /* for a xorb that is not stored yet */
	bool known;                  /* stored already */
	const char *owner;           /* borrowed; NULL: no owner */
	bool stays_withdrawn;
	struct cairn_xorb_summary summary;
	const struct cairn_chunk_list *list; /* borrowed, of a xorb made here; NULL: the verifier has the list */
	struct cairn_index_put_xorb put_row;
	void (*done)(void *ctx, enum cairn_status status, bool was_inserted, const struct cairn_diag *diag);
	void *done_ctx;
};

enum cairn_status cas_look_up_xorb(struct cairn_cas *cas, const struct cairn_hash *hash, struct cairn_index_xorb *row,
				   struct cairn_chunk_list *list, bool *stored, struct cairn_diag *diag)
{
	*row = (struct cairn_index_xorb){0};
	*stored = false;
	enum cairn_status status =
		list ? cairn_index_xorb_and_list(cas->index, hash, row, list) : cairn_index_xorb(cas->index, hash, row);
	if (status == CAIRN_E_BUSY)
		return cas_index_is_silent(diag);
	if (status != CAIRN_OK || row->stored_bytes == 0)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	*stored = cairn_copy_id_is_set(&row->copy);
	return *stored ? CAIRN_OK : cas_object_there(cas, hash, row->stored_bytes, stored);
}

enum cairn_status cairn_cas_xorb(struct cairn_cas *cas, const struct cairn_hash *hash, uint64_t *stored_bytes)
{
	struct cairn_index_xorb row;
	bool stored;
	enum cairn_status status = cas_look_up_xorb(cas, hash, &row, NULL, &stored, NULL);
	*stored_bytes = row.stored_bytes;
	if (status != CAIRN_OK)
		return status;
	return stored && !row.retired && row.withdrawn_unix_s == 0 ? CAIRN_OK : CAIRN_E_NOT_FOUND;
}

uint64_t cairn_cas_xorb_body_max(const struct cairn_cas *cas)
{
	return cas->options.xorb_bytes_max + cairn_xorb_footer_bytes(CAIRN_XORB_CHUNKS_MAX);
}

static enum cairn_status xorb_upload_prepare(struct cairn_xorb_upload *u, const struct cairn_hash *sender,
					     uint64_t bytes_expected, struct cairn_diag *diag)
{
	const struct cairn_cas_options *o = &u->cas->options;
	uint64_t known_bytes;
	/* A remote index or store is asked only after the whole body has arrived. */
	enum cairn_status status =
		cairn_cas_is_remote(u->cas) ? CAIRN_E_NOT_FOUND : cairn_cas_xorb(u->cas, &u->hash, &known_bytes);
	if (status != CAIRN_OK && status != CAIRN_E_NOT_FOUND)
		return status;
	u->known = status == CAIRN_OK;
	u->verifier = cairn_xorb_verifier_new(&(struct cairn_xorb_verifier_options){
		.bytes_max = o->xorb_bytes_max,
		.chunks_max = o->xorb_chunks_max,
		.chunk_bytes_max = CAIRN_CHUNK_BYTES_MAX,
	});
	if (!u->verifier)
		return CAIRN_E_NOMEM;
	if (u->known)
		return CAIRN_OK;
	/* A longer announcement may include a footer. The upload is refused when it exceeds the limit. */
	uint64_t bytes = bytes_expected <= o->xorb_bytes_max ? bytes_expected : UINT64_MAX;
	status = cairn_use_begin(&u->use, u->cas, sender, bytes, true, diag);
	return status == CAIRN_OK ? cairn_store_put_begin(u->cas->store, &u->put) : status;
}

enum cairn_status cairn_xorb_upload_begin(struct cairn_cas *cas, const struct cairn_cas_who *who,
					  const struct cairn_hash *hash, uint64_t bytes_expected,
					  struct cairn_xorb_upload **out, struct cairn_diag *diag)
{
	*out = NULL;
	struct cairn_xorb_upload *u = calloc(1, sizeof(*u));
	if (!u)
		return CAIRN_E_NOMEM;
	u->cas = cas;
	u->hash = *hash;
	u->owner = who->owner;
	u->stays_withdrawn = who->stays_withdrawn;
	u->window = cairn_buf_init(XORB_WINDOW_BYTES);
	enum cairn_status status = xorb_upload_prepare(u, &who->sender, bytes_expected, diag);
	if (status != CAIRN_OK) {
		cairn_xorb_upload_free(u);
		return status;
	}
	*out = u;
	return CAIRN_OK;
}

struct cairn_xorb_upload *cas_xorb_upload_of_made(struct cairn_cas *cas, const struct cairn_cas_who *who,
						  const struct cairn_hash *hash, const struct cairn_chunk_list *list,
						  uint64_t bytes, struct cairn_store_put *put)
{
	struct cairn_xorb_upload *u = calloc(1, sizeof(*u));
	if (!u) {
		cairn_store_put_abort(put);
		return NULL;
	}
	u->cas = cas;
	u->hash = *hash;
	u->owner = who->owner;
	u->stays_withdrawn = who->stays_withdrawn;
	u->list = list;
	u->put = put;
	u->summary.chunk_data_bytes = bytes;
	return u;
}

enum cairn_status cas_put_write(struct cairn_cas *cas, struct cairn_store_put *put, const uint8_t *bytes, size_t len)
{
	struct cairn_slow_write write = cairn_slow_disk_begin(&cas->slow_disk);
	enum cairn_status status = cairn_store_put_write(put, bytes, len);
	cairn_slow_disk_end(&cas->slow_disk, write);
	return status;
}

/* Verifies and writes the bytes in the window. */
static enum cairn_status xorb_upload_flush(struct cairn_xorb_upload *u, struct cairn_diag *diag)
{
	size_t n_data = 0;
	enum cairn_status status = cairn_xorb_verifier_feed(u->verifier, u->window.bytes, u->window.len, &n_data, diag);
	if (status == CAIRN_OK && u->put && n_data > 0)
		status = cas_put_write(u->cas, u->put, u->window.bytes, n_data);
	u->window.len = 0;
	return status;
}

/* Counts bytes. Bytes past xorb_bytes_max are a footer, which is not stored. */
static enum cairn_status xorb_upload_count(struct cairn_xorb_upload *u, size_t len, struct cairn_diag *diag)
{
	uint64_t left = u->cas->options.xorb_bytes_max - u->use.bytes;
	return u->known ? CAIRN_OK : cairn_use_add(&u->use, len < left ? len : left, diag);
}

enum cairn_status cairn_xorb_upload_write(struct cairn_xorb_upload *u, const uint8_t *bytes, size_t len,
					  struct cairn_diag *diag)
{
	enum cairn_status counted = xorb_upload_count(u, len, diag);
	if (counted != CAIRN_OK)
		return counted;
	while (len > 0) {
		size_t room = XORB_WINDOW_BYTES - u->window.len, n = len < room ? len : room;
		cairn_buf_add(&u->window, bytes, n);
		enum cairn_status status = u->window.status;
		if (status == CAIRN_OK && u->window.len == XORB_WINDOW_BYTES)
			status = xorb_upload_flush(u, diag);
		if (status != CAIRN_OK)
			return status;
		bytes += n;
		len -= n;
	}
	return CAIRN_OK;
}

bool cairn_xorb_upload_waits(const struct cairn_xorb_upload *u, size_t len)
{
	return u->put && len >= XORB_WINDOW_BYTES - u->window.len && cairn_slow_disk_is_slow(&u->cas->slow_disk);
}

/* Marks the xorb as lost: its row says that it is stored, but the object is missing or differs. The row must not vouch
 * for the new bytes. */
static enum cairn_status xorb_upload_disown(struct cairn_xorb_upload *u, const struct cairn_index_xorb *row)
{
	enum cairn_status status = cas_lose(u->cas, &u->hash, &row->copy);
	cairn_crash_point(CAIRN_CRASH_XORB_DISOWNED);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

/* Renews the xorb, which is stored already. If a collection swept the row first, the object is removed as soon as the
 * guard is released: then this body takes its place. */
static enum cairn_status xorb_upload_renew(struct cairn_xorb_upload *u, struct cairn_index_xorb *row,
					   struct cairn_diag *diag)
{
	struct cairn_index_renew_xorb renew = {
		.hash = u->hash, .now_unix_s = cairn_clock_unix_s(), .stays_withdrawn = u->stays_withdrawn};
	enum cairn_status status = cairn_index_renew_xorb(u->cas->index, &renew);
	if (status != CAIRN_E_NOT_FOUND)
		return status == CAIRN_E_BUSY ? cas_index_is_silent(diag) : status;
	u->known = false;
	*row = (struct cairn_index_xorb){0};
	return CAIRN_OK;
}

/* Waits until earlier commits are decided. A commit with an unknown outcome may still add a row for the bytes stored
 * now. Before these are replaced, a write must succeed, which proves that all earlier commits are decided. */
static enum cairn_status xorb_upload_await_rows(struct cairn_xorb_upload *u, struct cairn_diag *diag)
{
	struct cairn_index_confirm confirm = {.write.done = NULL};
	if (cairn_index_health(u->cas->index, NULL) == CAIRN_OK)
		return CAIRN_OK;
	enum cairn_status status = cairn_index_confirm(u->cas->index, &confirm);
	return status == CAIRN_E_BUSY ? cas_index_is_silent(diag) : status;
}

/* Stores the body, unless the xorb was stored while the body was arriving. Called under the guard. */
static enum cairn_status xorb_upload_store(struct cairn_xorb_upload *u, struct cairn_diag *diag)
{
	struct cairn_index_xorb row;
	enum cairn_status status = xorb_upload_await_rows(u, diag);
	if (status == CAIRN_OK)
		status = cas_look_up_xorb(u->cas, &u->hash, &row, NULL, &u->known, diag);
	/* If somebody changed the object in its bucket, these bytes can replace it. */
	if (status == CAIRN_OK && u->known)
		status = cairn_store_unchanged(u->cas->store, &u->hash, &row.copy, row.stored_bytes, &u->known);
	if (status == CAIRN_OK && u->known)
		status = xorb_upload_renew(u, &row, diag);
	if (status != CAIRN_OK || u->known)
		return status;
	if (!u->put)
		return cairn_fail(diag, CAIRN_E_BUSY, "xorb.lost", CAIRN_NO_OFFSET,
				  "this xorb was stored when its upload began, but is no longer stored; send it again");
	if (row.stored_bytes > 0)
		status = xorb_upload_disown(u, &row);
	bool existed = false, named = cas_names_copies(u->cas);
	/* An object without a row was left by a crash, perhaps with another layout, so remove it. If rows name copies,
	 * keep it: another daemon may be about to write its row. */
	if (status == CAIRN_OK && !named)
		status = cairn_store_remove(u->cas->store, &u->hash, NULL);
	cairn_crash_point(CAIRN_CRASH_XORB_CLEARED);
	if (status != CAIRN_OK)
		return status;
	struct cairn_store_put *put = u->put;
	u->put = NULL;
	status = named ? cairn_store_put_copy(put, &u->hash, &u->put_row.copy)
		       : cairn_store_put_commit(put, &u->hash, &existed);
	if (status == CAIRN_E_IO)
		return cairn_fail(diag, status, "store.write", CAIRN_NO_OFFSET, "the xorb cannot be stored: %s",
				  strerror(errno));
	if (status != CAIRN_OK)
		return status;
	if (existed)
		return CAIRN_E_CONFLICT;
	cairn_crash_point(CAIRN_CRASH_XORB_STORED);
	atomic_fetch_add(&u->cas->xorbs_stored, 1);
	atomic_fetch_add(&u->cas->xorb_bytes_stored, u->summary.chunk_data_bytes);
	return CAIRN_OK;
}

/* Releases the guard: a finished upload must not block other uploads of the xorb, while its client reads the answer. */
static void xorb_upload_let_go(struct cairn_xorb_upload *u)
{
	cairn_guard_release(&u->cas->guards, &u->guard);
}

enum cairn_status cairn_xorb_upload_verify(struct cairn_xorb_upload *u, uint64_t *bytes, struct cairn_diag *diag)
{
	enum cairn_status status = xorb_upload_flush(u, diag);
	cairn_buf_fini(&u->window);
	if (status == CAIRN_OK)
		status = cairn_xorb_verifier_end(u->verifier, &u->hash, &u->summary, diag);
	if (status != CAIRN_OK)
		return status;
	atomic_fetch_add(&u->cas->chunks_verified, cairn_xorb_verifier_list(u->verifier)->n);
	*bytes = u->known ? 0 : u->summary.chunk_data_bytes;
	return CAIRN_OK;
}

enum cairn_status cairn_xorb_upload_store(struct cairn_xorb_upload *u, struct cairn_diag *diag)
{
	cairn_guard_take(&u->cas->guards, &u->guard, &u->hash);
	cairn_crash_point(CAIRN_CRASH_XORB_VERIFIED);
	enum cairn_status status = xorb_upload_store(u, diag);
	if (status != CAIRN_OK)
		xorb_upload_let_go(u);
	return status == CAIRN_E_BUSY ? cas_store_is_silent(diag) : status;
}

bool cairn_xorb_upload_is_left(const struct cairn_xorb_upload *u)
{
	const struct cairn_index_write *write = &u->put_row.write;
	bool frozen = write->status == CAIRN_E_BUSY && cairn_diag_has(&write->diag, "index.frozen");
	return frozen || write->status == CAIRN_E_DENIED;
}

void cairn_xorb_upload_take_back(struct cairn_xorb_upload *u)
{
	const struct cairn_copy_id *copy = &u->put_row.copy;
	if (cairn_copy_id_is_set(copy))
		(void)!cairn_store_remove_copy(u->cas->store, &u->hash, copy, NULL);
	else
		(void)!cairn_store_remove(u->cas->store, &u->hash, NULL);
	xorb_upload_let_go(u);
}

/* Called on the index's writer, which must not wait for the store. So an object that is left stays for now, guarded. */
static void xorb_upload_written(struct cairn_index_write *write)
{
	struct cairn_xorb_upload *u =
		(struct cairn_xorb_upload *)(void *)((char *)write - offsetof(struct cairn_xorb_upload, put_row));
	if (!cairn_xorb_upload_is_left(u))
		xorb_upload_let_go(u);
	u->done(u->done_ctx, write->status, write->status == CAIRN_OK && u->put_row.added, &write->diag);
}

enum cairn_status cairn_xorb_upload_commit(struct cairn_xorb_upload *u,
					   void (*done)(void *ctx, enum cairn_status status, bool was_inserted,
							const struct cairn_diag *diag),
					   void *ctx)
{
	if (u->known) {
		xorb_upload_let_go(u);
		if (done)
			done(ctx, CAIRN_OK, false, NULL);
		return CAIRN_OK;
	}
	u->done = done;
	u->done_ctx = ctx;
	u->put_row = (struct cairn_index_put_xorb){
		.write.done = done ? xorb_upload_written : NULL,
		.hash = u->hash,
		.list = u->list ? u->list : cairn_xorb_verifier_list(u->verifier),
		.stored_bytes = u->summary.chunk_data_bytes,
		.copy = u->put_row.copy,
		.owner = u->owner,
		.unregistered_max = u->cas->options.unregistered_bytes_max,
		.stays_withdrawn = u->stays_withdrawn,
	};
	enum cairn_status status = cairn_index_put_xorb(u->cas->index, &u->put_row);
	if (!done && cairn_xorb_upload_is_left(u))
		cairn_xorb_upload_take_back(u);
	if (status != CAIRN_OK || !done)
		xorb_upload_let_go(u);
	return status;
}

enum cairn_status cas_xorb_upload_register(struct cairn_xorb_upload *u, struct cairn_diag *diag)
{
	enum cairn_status status = cairn_xorb_upload_commit(u, NULL, NULL);
	if (status != CAIRN_OK && diag)
		*diag = u->put_row.write.diag;
	return status;
}

void cairn_xorb_upload_free(struct cairn_xorb_upload *u)
{
	if (!u)
		return;
	xorb_upload_let_go(u);
	cairn_buf_fini(&u->window);
	cairn_store_put_abort(u->put);
	cairn_xorb_verifier_free(u->verifier);
	cairn_use_end(&u->use);
	free(u);
}
