/* A shard upload: spooled, verified on a worker, registered in a group commit straight from the spool. */
#include "base/bytes.h"
#include "base/crash_point.h"
#include "cas/internal.h"
#include "cas/list_cache.h"
#include "shard/reader.h"
#include "store/spool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the index's writer reads from. All of the shard has been verified, so failures here are of memory only. */
struct shard_source {
	struct cairn_shard_reader reader;
	struct cairn_shard_file file;          /* handed out last */
	uint32_t n_first_chunks;               /* of the files handed out */
	struct cairn_index_eligible *eligible; /* of the xorb handed out last; owned */
	uint32_t n_eligible, eligible_cap;
	struct cairn_chunk_list list; /* likewise, when xorbs are kept elsewhere */
};

struct cairn_shard_upload {
	struct cairn_cas *cas;
	char scope[CAIRN_INDEX_SCOPE_TEXT_MAX + 1], owner[CAIRN_INDEX_SCOPE_TEXT_MAX + 1];
	bool footer_may_be_cut;
	struct cairn_spool *spool;
	uint64_t bytes_reserved;
	const uint8_t *bytes; /* of the spool, mapped */
	size_t len;
	struct cairn_hash body;
	bool known; /* this very body was accepted before */
	struct cairn_verify_summary summary;
	struct cairn_list_cache lists; /* of xorbs that terms ran over */
	uint64_t *first_chunks;        /* of the files with terms: first 8 bytes of the hash; owned */
	uint32_t n_first_chunks, first_chunks_cap;
	struct shard_source source;
	struct cairn_index_write write;
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
	uint64_t bytes = bytes_expected < bytes_max ? bytes_expected : bytes_max;
	struct cairn_shard_upload *u = calloc(1, sizeof(*u));
	if (!u)
		return CAIRN_E_NOMEM;
	u->cas = cas;
	u->footer_may_be_cut = footer_may_be_cut;
	(void)snprintf(u->scope, sizeof(u->scope), "%s", who->scope);
	(void)snprintf(u->owner, sizeof(u->owner), "%s", who->owner);
	enum cairn_status status = cas_reserve_bytes(cas, bytes, diag);
	if (status == CAIRN_OK) {
		u->bytes_reserved = bytes;
		status = cairn_spool_new(&u->spool, cas->tmp_dir, bytes_max, bytes);
	}
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
	enum cairn_status status = cairn_spool_write(u->spool, bytes, len);
	if (status == CAIRN_E_LIMIT) {
		(void)cairn_fail(diag, status, "shard.bytes", CAIRN_NO_OFFSET, "the shard is too long; split it");
		cairn_diag_numbers(diag, u->cas->options.shard_bytes_max, cairn_spool_bytes(u->spool) + len);
	}
	return status;
}

void cairn_shard_upload_free(struct cairn_shard_upload *u)
{
	if (!u)
		return;
	cairn_spool_free(u->spool);
	cairn_list_cache_fini(&u->lists);
	cairn_chunk_list_fini(&u->source.list);
	free(u->source.eligible);
	free(u->first_chunks);
	cas_release_bytes(u->cas, u->bytes_reserved);
	free(u);
}

/* --- verifying ---------------------------------------------------------------------------------------------------- */

/* The chunks of a xorb whose bytes are here, or of one that is known where bytes are kept elsewhere. */
static enum cairn_status shard_upload_read_list(struct cairn_shard_upload *u, const struct cairn_hash *xorb,
						struct cairn_chunk_list *list)
{
	struct cairn_index_xorb row;
	bool stored;
	if (u->cas->options.xorbs_external)
		return cairn_index_chunk_list(u->cas->index, xorb, list);
	enum cairn_status status = cas_xorb_look(u->cas, xorb, &row, &stored);
	if (status == CAIRN_OK && !stored)
		status = CAIRN_E_NOT_FOUND;
	return status == CAIRN_OK ? cairn_index_chunk_list_by_id(u->cas->index, row.id, list) : status;
}

/* The verifier's resolver. */
static enum cairn_status shard_upload_chunk_list(void *ctx, const struct cairn_hash *xorb,
						 const struct cairn_chunk_list **list)
{
	struct cairn_shard_upload *u = ctx;
	*list = cairn_list_cache_find(&u->lists, xorb);
	if (*list)
		return CAIRN_OK;
	CLEANUP(cairn_chunk_list_fini) struct cairn_chunk_list read = {0};
	enum cairn_status status = shard_upload_read_list(u, xorb, &read);
	return status == CAIRN_OK ? cairn_list_cache_put(&u->lists, xorb, &read, list) : status;
}

/* Kept until the index wants it, which would have to read the xorb's list for it. As many as files_max. */
static enum cairn_status shard_upload_first_chunk(void *ctx, const struct cairn_hash *chunk)
{
	struct cairn_shard_upload *u = ctx;
	if (u->n_first_chunks == u->first_chunks_cap) {
		uint32_t cap = u->first_chunks_cap ? u->first_chunks_cap * 2 : 16;
		uint64_t *grown = realloc(u->first_chunks, cap * sizeof(*grown));
		if (!grown)
			return CAIRN_E_NOMEM;
		u->first_chunks = grown;
		u->first_chunks_cap = cap;
	}
	u->first_chunks[u->n_first_chunks++] = cairn_get_u64le(chunk->b);
	return CAIRN_OK;
}

enum cairn_status cairn_shard_upload_verify(struct cairn_shard_upload *u,
					    bool (*progress)(void *ctx, uint64_t verified, uint64_t total),
					    void *progress_ctx, struct cairn_diag *diag)
{
	const struct cairn_cas_options *o = &u->cas->options;
	enum cairn_status status = cairn_spool_map(u->spool, &u->bytes, &u->len);
	if (status != CAIRN_OK)
		return status;
	cairn_crash_point(CAIRN_CRASH_SHARD_SPOOLED);
	cairn_hash_body(&u->body, u->bytes, u->len);
	status = cairn_index_shard_known(u->cas->index, &u->body, u->scope, u->owner, &u->known);
	if (status != CAIRN_OK || u->known)
		return status;

	struct cairn_verify_options options = {
		.strict = o->strict,
		.xorbs_external = o->xorbs_external,
		.footer_may_be_cut = u->footer_may_be_cut,
		.files_max = o->files_max,
		.terms_max = o->terms_max,
		.xorbs_max = o->xorbs_max,
		.term_chunks_max = o->term_chunks_max,
		.first_chunk = shard_upload_first_chunk,
		.first_chunk_ctx = u,
		.progress = progress,
		.progress_ctx = progress_ctx,
	};
	struct cairn_verify_resolver resolver = {.ctx = u, .chunk_list = shard_upload_chunk_list};
	status = cairn_verify_shard(u->bytes, u->len, &options, &resolver, &u->summary, diag);
	if (status == CAIRN_OK)
		atomic_fetch_add(&u->cas->chunks_verified, u->summary.n_chunks);
	cairn_list_cache_fini(&u->lists);
	cairn_crash_point(CAIRN_CRASH_SHARD_VERIFIED);
	return status;
}

const struct cairn_verify_summary *cairn_shard_upload_summary(const struct cairn_shard_upload *u)
{
	return &u->summary;
}

/* --- registering: the index's writer reads the spool ---------------------------------------------------------------
 */

static enum cairn_status source_rewind(void *ctx)
{
	struct cairn_shard_upload *u = ctx;
	u->source.n_first_chunks = 0;
	return cairn_shard_reader_init(&u->source.reader, u->bytes, u->len, NULL);
}

static enum cairn_status source_add_eligible(struct shard_source *s, const struct cairn_hash *chunk, uint32_t place)
{
	if (s->n_eligible == s->eligible_cap) {
		uint32_t cap = s->eligible_cap ? s->eligible_cap * 2 : 16;
		struct cairn_index_eligible *grown = realloc(s->eligible, cap * sizeof(*grown));
		if (!grown)
			return CAIRN_E_NOMEM;
		s->eligible = grown;
		s->eligible_cap = cap;
	}
	s->eligible[s->n_eligible++] = (struct cairn_index_eligible){.chunk = *chunk, .place = place};
	return CAIRN_OK;
}

static enum cairn_status source_read_chunks(struct cairn_shard_upload *u, const struct cairn_shard_xorb *xorb)
{
	struct shard_source *s = &u->source;
	s->n_eligible = 0;
	s->list.n = 0;
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; i < xorb->n_chunks && status == CAIRN_OK; i++) {
		struct cairn_shard_chunk chunk = cairn_shard_xorb_chunk(xorb, i);
		if ((chunk.flags & CAIRN_SHARD_CHUNK_ELIGIBLE) || cairn_hash_is_eligible(&chunk.hash))
			status = source_add_eligible(s, &chunk.hash, i);
		if (status == CAIRN_OK && u->cas->options.xorbs_external)
			status = cairn_chunk_list_add(&s->list, &chunk.hash,
						      (struct cairn_span){.unpacked_bytes = chunk.unpacked_bytes});
	}
	return status;
}

/* The reader hands out files first, the index wants xorbs first: step over the files, and come back for them. */
static enum cairn_status source_next_xorb(void *ctx, struct cairn_index_described *out, bool *more)
{
	struct cairn_shard_upload *u = ctx;
	struct cairn_shard_file file;
	struct cairn_shard_xorb xorb;
	bool more_files = u->source.reader.at == CAIRN_SHARD_IN_FILES;
	while (more_files) {
		enum cairn_status status = cairn_shard_next_file(&u->source.reader, &file, &more_files, NULL);
		if (status != CAIRN_OK)
			return status;
	}
	enum cairn_status status = cairn_shard_next_xorb(&u->source.reader, &xorb, more, NULL);
	if (status == CAIRN_OK && !*more)
		return source_rewind(u);
	if (status == CAIRN_OK)
		status = source_read_chunks(u, &xorb);
	if (status != CAIRN_OK)
		return status;
	*out = (struct cairn_index_described){
		.hash = xorb.hash,
		.eligible = u->source.eligible,
		.n_eligible = u->source.n_eligible,
		.list = u->cas->options.xorbs_external ? &u->source.list : NULL,
	};
	return status;
}

static enum cairn_status source_next_file(void *ctx, struct cairn_index_new_file *out, bool *more)
{
	struct cairn_shard_upload *u = ctx;
	struct cairn_shard_file *file = &u->source.file;
	enum cairn_status status = cairn_shard_next_file(&u->source.reader, file, more, NULL);
	if (status != CAIRN_OK || !*more)
		return status;
	*out = (struct cairn_index_new_file){.hash = file->hash, .n_terms = file->n_terms};
	if (file->n_terms > 0)
		out->first_chunk = u->first_chunks[u->source.n_first_chunks++];
	/* The reference client writes zeros when it has not computed the digest. */
	static const uint8_t none[sizeof(out->sha256)];
	out->has_sha256 = cairn_shard_file_sha256(file, out->sha256) && memcmp(out->sha256, none, sizeof(none)) != 0;
	for (uint32_t i = 0; i < file->n_terms; i++)
		out->size_bytes += cairn_shard_file_term(file, i).unpacked_bytes;
	return CAIRN_OK;
}

static void source_term(void *ctx, uint32_t i, struct cairn_index_new_term *out)
{
	struct cairn_shard_upload *u = ctx;
	struct cairn_shard_term term = cairn_shard_file_term(&u->source.file, i);
	*out = (struct cairn_index_new_term){
		.xorb = term.xorb,
		.start = term.start,
		.end = term.end,
		.unpacked_bytes = term.unpacked_bytes,
	};
}

static void shard_upload_written(struct cairn_index_write *write)
{
	struct cairn_shard_upload *u =
		(struct cairn_shard_upload *)(void *)((char *)write - offsetof(struct cairn_shard_upload, write));
	u->done(u->done_ctx, write->status, write->added, &write->diag);
}

enum cairn_status cairn_shard_upload_commit(struct cairn_shard_upload *u,
					    void (*done)(void *ctx, enum cairn_status status, bool added,
							 const struct cairn_diag *diag),
					    void *ctx)
{
	if (u->known) {
		done(ctx, CAIRN_OK, false, NULL);
		return CAIRN_OK;
	}
	u->done = done;
	u->done_ctx = ctx;
	u->write = (struct cairn_index_write){
		.kind = CAIRN_INDEX_PUT_SHARD,
		.shard = {.body = u->body,
			  .body_bytes = u->len,
			  .scope = u->scope,
			  .owner = u->owner,
			  .source = {.ctx = u,
				     .rewind = source_rewind,
				     .next_xorb = source_next_xorb,
				     .next_file = source_next_file,
				     .term = source_term}},
		.done = shard_upload_written,
	};
	return cairn_index_submit(u->cas->index, &u->write);
}
