/* A shard upload: spooled, verified into records on a worker, and registered from these in a group commit. */
#include "cas/put/put_shard.h"
#include "base/bytes.h"
#include "base/crash_point.h"
#include "cas/internal.h"
#include "cas/list_cache.h"
#include "cas/object/mend.h"
#include "cas/put/put_work.h"
#include "cas/put/shard_lookup.h"
#include "store/spool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cairn_shard_upload {
	struct cairn_cas *cas;
	char scope[CAIRN_INDEX_SCOPE_TEXT_MAX + 1], owner[CAIRN_INDEX_SCOPE_TEXT_MAX + 1];
	bool footer_may_be_cut, is_daemon, stays_withdrawn;
	struct cairn_spool *spool; /* until the shard is verified */
	struct cairn_use use;
	const uint8_t *bytes; /* bytes of the spool */
	size_t len;
	struct cas_shard_lookup lookup; /* done before verification: is the shard known, and which xorbs exist? */
	struct cairn_verify_summary summary;
	struct cairn_list_cache lists;     /* lists of xorbs that only terms name */
	struct cairn_list_cache described; /* list of the last xorb that the shard describes */
	uint64_t n_list_chunks;            /* chunks in all lists read */
	struct cairn_verified verified;    /* owned; the records to be registered */
	struct cairn_index_put_shard put;
	struct cairn_index_confirm_shard confirm; /* for a shard that is already known */
	void (*done)(void *ctx, enum cairn_status status, bool added, const struct cairn_diag *diag);
	void *done_ctx;
};

/* --- arriving ----------------------------------------------------------------------------------------------------- */

enum cairn_status cairn_shard_upload_begin(struct cairn_cas *cas, const struct cairn_cas_who *who,
					   uint64_t bytes_expected, bool footer_may_be_cut,
					   struct cairn_shard_upload **out, struct cairn_diag *diag)
{
	*out = NULL;
	uint64_t bytes_max = cas->options.shard_bytes_max;
	/* Do not refuse a longer announcement yet: the upload is refused when it exceeds the limit. */
	uint64_t bytes = bytes_expected <= bytes_max ? bytes_expected : UINT64_MAX;
	struct cairn_shard_upload *u = calloc(1, sizeof(*u));
	if (!u)
		return CAIRN_E_NOMEM;
	u->cas = cas;
	u->footer_may_be_cut = footer_may_be_cut;
	u->is_daemon = who->is_daemon;
	u->stays_withdrawn = who->stays_withdrawn;
	u->described.bytes_max = 1; /* only the newest list is kept, and its memory is reused */
	(void)snprintf(u->scope, sizeof(u->scope), "%s", who->scope);
	(void)snprintf(u->owner, sizeof(u->owner), "%s", who->owner);
	enum cairn_status status = who->room ? cairn_use_borrow(&u->use, who->room)
					     : cairn_use_begin(&u->use, cas, &who->sender, bytes, true, diag);
	if (status == CAIRN_OK)
		status = cairn_spool_new(&u->spool, cas->tmp_dir, bytes_max, bytes);
	if (status != CAIRN_OK) {
		cairn_shard_upload_free(u);
		return status;
	}
	*out = u;
	return CAIRN_OK;
}

enum cairn_status cairn_shard_upload_write(struct cairn_shard_upload *u, const uint8_t *bytes, size_t len,
					   struct cairn_diag *diag)
{
	enum cairn_status status = cas_spool_write(u->cas, u->spool, bytes, len);
	if (status == CAIRN_E_LIMIT) {
		(void)cairn_fail(diag, status, "shard.bytes", CAIRN_NO_OFFSET, "the shard is too long; split it");
		cairn_diag_numbers(diag, u->cas->options.shard_bytes_max, cairn_spool_bytes(u->spool) + len);
	}
	return status == CAIRN_OK ? cairn_use_add(&u->use, len, diag) : status;
}

bool cairn_shard_upload_waits(const struct cairn_shard_upload *u)
{
	return cairn_spool_is_file(u->spool) && cairn_slow_disk_is_slow(&u->cas->slow_disk);
}

void cairn_shard_upload_free(struct cairn_shard_upload *u)
{
	if (!u)
		return;
	cairn_spool_free(u->spool);
	cairn_list_cache_fini(&u->lists);
	cairn_list_cache_fini(&u->described);
	cas_shard_lookup_fini(&u->lookup);
	cairn_verified_fini(&u->verified);
	cairn_use_end(&u->use);
	free(u);
}

/* --- verifying ---------------------------------------------------------------------------------------------------- */

/* Finds the row of a xorb whose bytes are stored here. With external xorbs, any known xorb counts.
 * @param list  as for cairn_index_xorb_and_list() */
static enum cairn_status shard_upload_find_xorb(struct cairn_shard_upload *u, const struct cairn_hash *xorb,
						struct cairn_index_xorb *row, struct cairn_chunk_list *list)
{
	bool stored;
	if (u->cas->options.xorbs_external)
		return cairn_index_xorb_and_list(u->cas->index, xorb, row, list);
	enum cairn_status status = cas_look_up_xorb(u->cas, xorb, row, list, &stored, NULL);
	if (status == CAIRN_OK && !stored && row->id != 0) {
		cairn_chunk_list_fini(list); /* it may come back in another layout */
		status = cairn_cas_mend(u->cas, xorb, NULL);
		stored = status == CAIRN_OK;
	}
	return (status == CAIRN_OK && !stored) || status == CAIRN_E_DAMAGED ? CAIRN_E_NOT_FOUND : status;
}

/* Returns the places of a xorb's chunks. The early lookup is enough for a xorb that the shard describes, because the
 * shard has its hashes. The row of another xorb must be the one that the lookup found; otherwise the lookup is
 * stale. */
static const struct cairn_chunk_list *shard_upload_places(struct cairn_shard_upload *u, const struct cairn_hash *xorb,
							  bool described, int64_t *id)
{
	const struct cairn_index_seen_xorb *found = described ? cas_shard_lookup_find(&u->lookup, xorb) : NULL;
	if (!found)
		return NULL;
	u->n_list_chunks += found->places.n;
	*id = found->id;
	return &found->places;
}

static void shard_upload_compare(struct cairn_shard_upload *u, const struct cairn_hash *xorb, int64_t id)
{
	const struct cairn_index_seen_xorb *found = cas_shard_lookup_find(&u->lookup, xorb);
	if (!found || found->id != id)
		u->lookup.asked.seen.plain = false;
}

/* The verifier's resolver: returns the chunk list of a xorb. */
static enum cairn_status shard_upload_chunk_list(void *ctx, const struct cairn_hash *xorb, bool described,
						 const struct cairn_chunk_list **list, int64_t *id)
{
	struct cairn_shard_upload *u = ctx;
	struct cairn_list_cache *cache = described ? &u->described : &u->lists;
	*list = cairn_list_cache_find(cache, xorb, id);
	if (*list)
		return CAIRN_OK;
	/* Check before this list is counted: the limit must not tell the sender the length of an unknown list. */
	if (u->n_list_chunks >= u->cas->options.list_chunks_max)
		return CAIRN_E_LIMIT;
	*list = shard_upload_places(u, xorb, described, id);
	if (*list)
		return CAIRN_OK;
	CLEANUP(cairn_chunk_list_fini) struct cairn_chunk_list read = {0};
	struct cairn_index_xorb row;
	enum cairn_status status = shard_upload_find_xorb(u, xorb, &row, &read);
	if (status == CAIRN_OK && read.n == 0)
		status = cairn_index_chunk_list_by_id(u->cas->index, row.id, &read);
	if (status != CAIRN_OK)
		return status;
	u->n_list_chunks += read.n;
	*id = row.id;
	shard_upload_compare(u, xorb, row.id);
	return cairn_list_cache_put(cache, xorb, row.id, &read, list);
}

/* Drops the body. The records replace it, also in the sender's share. */
static enum cairn_status shard_upload_drop_body(struct cairn_shard_upload *u, struct cairn_diag *diag)
{
	cairn_spool_free(u->spool);
	u->spool = NULL;
	u->bytes = NULL;
	return u->verified.bytes > u->len ? cairn_use_add(&u->use, u->verified.bytes - u->len, diag) : CAIRN_OK;
}

enum cairn_status cairn_shard_upload_verify(struct cairn_shard_upload *u,
					    bool (*progress)(void *ctx, uint64_t verified, uint64_t total),
					    void *progress_ctx, struct cairn_diag *diag)
{
	const struct cairn_cas_options *o = &u->cas->options;
	enum cairn_status status = cairn_spool_read(u->spool, &u->bytes, &u->len);
	if (status != CAIRN_OK)
		return status;
	cairn_crash_point(CAIRN_CRASH_SHARD_SPOOLED);
	cairn_hash_body(&u->lookup.asked.body, u->bytes, u->len);
	u->lookup.asked.scope = u->scope;
	u->lookup.asked.owner = u->owner;
	bool names = cairn_index_is_remote(u->cas->index) && !o->xorbs_external;
	status = cas_look_up_shard(u->cas->index, &u->lookup, names, u->bytes, u->len);
	if (status != CAIRN_OK || u->lookup.asked.known)
		return status;

	struct cairn_verify_options options = {
		.strict = o->strict && !u->is_daemon,
		.xorbs_external = o->xorbs_external,
		.footer_may_be_cut = u->footer_may_be_cut,
		.files_max = o->files_max,
		.terms_max = o->terms_max,
		.xorbs_max = o->xorbs_max,
		.term_chunks_max = o->term_chunks_max,
		.records = &u->verified,
		.progress = progress,
		.progress_ctx = progress_ctx,
	};
	struct cairn_verify_resolver resolver = {.ctx = u, .chunk_list = shard_upload_chunk_list};
	status = cairn_verify_shard(u->bytes, u->len, &options, &resolver, &u->summary, diag);
	if (status == CAIRN_OK)
		atomic_fetch_add(&u->cas->chunks_verified, u->summary.n_chunks);
	cairn_list_cache_fini(&u->lists);
	cairn_list_cache_fini(&u->described);
	cas_shard_lookup_fini(&u->lookup);
	if (status == CAIRN_OK)
		status = shard_upload_drop_body(u, diag);
	cairn_crash_point(CAIRN_CRASH_SHARD_VERIFIED);
	return status;
}

const struct cairn_verify_summary *cairn_shard_upload_summary(const struct cairn_shard_upload *u)
{
	return &u->summary;
}

/* --- registering -------------------------------------------------------------------------------------------------- */

static void shard_upload_written(struct cairn_index_write *write)
{
	struct cairn_shard_upload *u =
		(struct cairn_shard_upload *)(void *)((char *)write - offsetof(struct cairn_shard_upload, put));
	u->done(u->done_ctx, write->status, write->status == CAIRN_OK && u->put.added, &write->diag);
}

static void shard_upload_confirmed(struct cairn_index_write *write)
{
	struct cairn_shard_upload *u =
		(struct cairn_shard_upload *)(void *)((char *)write - offsetof(struct cairn_shard_upload, confirm));
	u->done(u->done_ctx, write->status, false, &write->diag);
}

enum cairn_status cairn_shard_upload_commit(struct cairn_shard_upload *u,
					    void (*done)(void *ctx, enum cairn_status status, bool added,
							 const struct cairn_diag *diag),
					    void *ctx)
{
	u->done = done;
	u->done_ctx = ctx;
	if (u->lookup.asked.known) {
		u->confirm = (struct cairn_index_confirm_shard){
			.write.done = done ? shard_upload_confirmed : NULL,
			.body = u->lookup.asked.body,
			.scope = u->scope,
			.owner = u->owner,
			.registered = u->lookup.asked.registered,
		};
		return cairn_index_confirm_shard(u->cas->index, &u->confirm);
	}
	u->put = (struct cairn_index_put_shard){
		.write.done = done ? shard_upload_written : NULL,
		.body = u->lookup.asked.body,
		.records_bytes = u->verified.bytes,
		.seen = u->lookup.asked.seen,
		.scope = u->scope,
		.owner = u->owner,
		.shard = &u->verified.shard,
		.stays_withdrawn = u->stays_withdrawn,
	};
	return cairn_index_put_shard(u->cas->index, &u->put);
}

const struct cairn_diag *cairn_shard_upload_diag(const struct cairn_shard_upload *u)
{
	return u->lookup.asked.known ? &u->confirm.write.diag : &u->put.write.diag;
}
