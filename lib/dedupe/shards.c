#include "dedupe/shards.h"

#include "shard/writer.h"
#include "verify/verify.h"

enum { SHARDS_FRAME_BYTES = CAIRN_SHARD_HEADER_BYTES + 2 * CAIRN_SHARD_RECORD_BYTES };

static size_t shards_file_bytes(const struct cairn_placer_file *file)
{
	return (2 + 2 * file->n_terms) * CAIRN_SHARD_RECORD_BYTES;
}

static size_t shards_xorb_bytes(const struct cairn_placer_xorb *xorb)
{
	return xorb->list.n == 0 ? 0 : (1 + (size_t)xorb->list.n) * CAIRN_SHARD_RECORD_BYTES;
}

static void shards_write_file(struct cairn_shard_writer *w, const struct cairn_placer *p,
			      const struct cairn_placer_file *file)
{
	uint32_t flags = CAIRN_SHARD_FILE_WITH_VERIFICATION;
	cairn_shard_write_file(w, &file->hash, file->has_sha256 ? flags | CAIRN_SHARD_FILE_WITH_METADATA : flags);
	for (size_t i = 0; i < file->n_terms; i++) {
		const struct cairn_placer_term *term = &p->terms[file->first_term + i];
		cairn_shard_write_term(w, &(struct cairn_shard_term){.xorb = p->xorbs[term->xorb].hash,
								     .unpacked_bytes = term->bytes,
								     .start = term->start,
								     .end = term->end});
	}
	for (size_t i = 0; i < file->n_terms; i++)
		cairn_shard_write_range_hash(w, &p->terms[file->first_term + i].range);
	if (file->has_sha256)
		cairn_shard_write_sha256(w, file->sha256);
}

static void shards_write_xorb(struct cairn_shard_writer *w, const struct cairn_placer_xorb *xorb, uint32_t every)
{
	cairn_shard_write_xorb(w, &xorb->hash, 0);
	for (uint32_t i = 0; i < xorb->list.n; i++)
		cairn_shard_write_chunk(w, &xorb->list.hashes[i], xorb->list.spans[i].unpacked_bytes,
					every > 0 && i % every == 0 ? CAIRN_SHARD_CHUNK_ELIGIBLE : 0);
}

static uint64_t shards_file_chunks(const struct cairn_placer *p, const struct cairn_placer_file *file)
{
	uint64_t n = 0;
	for (size_t i = 0; i < file->n_terms; i++)
		n += p->terms[file->first_term + i].end - p->terms[file->first_term + i].start;
	return n;
}

/* The files and xorbs of the placer that earlier shards contain. */
struct shards {
	const struct cairn_placer *p;
	size_t bytes_max; /* limit of one shard */
	struct cairn_hash_map files_done;
	size_t file, xorb;
};

static void shards_fini(struct shards *s)
{
	cairn_hash_map_fini(&s->files_done);
}

/* Chooses the xorbs of the next shard; files then fill its rest. @return one past the last xorb */
static size_t shards_choose_xorbs(const struct shards *s, size_t *bytes)
{
	size_t end = s->xorb;
	while (end < s->p->n_xorbs && *bytes + shards_xorb_bytes(&s->p->xorbs[end]) <= s->bytes_max / 4 * 3)
		*bytes += shards_xorb_bytes(&s->p->xorbs[end++]);
	return end;
}

static enum cairn_status shards_write_files(struct shards *s, struct cairn_shard_writer *w, size_t *bytes,
					    struct cairn_diag *diag)
{
	uint64_t term_chunks = 0;
	for (; s->file < s->p->n_files; s->file++) {
		const struct cairn_placer_file *file = &s->p->files[s->file];
		size_t file_bytes = shards_file_bytes(file);
		uint64_t file_chunks = shards_file_chunks(s->p, file);
		if (cairn_hash_map_find(&s->files_done, &file->hash))
			continue;
		if (file_bytes > s->bytes_max - SHARDS_FRAME_BYTES)
			return cairn_fail(diag, CAIRN_E_LIMIT, "push.terms", CAIRN_NO_OFFSET,
					  "a file has %zu terms, more than a shard of 64 MiB holds; split the file",
					  file->n_terms);
		if (*bytes + file_bytes > s->bytes_max)
			return CAIRN_OK;
		/* Use the server's default limit. The server itself refuses a single file over it. */
		if (term_chunks > 0 && term_chunks + file_chunks > CAIRN_VERIFY_TERM_CHUNKS_MAX)
			return CAIRN_OK;
		enum cairn_status status = cairn_hash_map_add(&s->files_done, &file->hash, 0, 0);
		if (status != CAIRN_OK)
			return status;
		shards_write_file(w, s->p, file);
		*bytes += file_bytes;
		term_chunks += file_chunks;
	}
	return CAIRN_OK;
}

static enum cairn_status shards_next(struct shards *s, struct cairn_shard_writer *w, struct cairn_diag *diag)
{
	size_t bytes = SHARDS_FRAME_BYTES;
	size_t xorbs_end = shards_choose_xorbs(s, &bytes), file = s->file;
	enum cairn_status status = shards_write_files(s, w, &bytes, diag);
	if (status != CAIRN_OK)
		return status;
	if (s->xorb == xorbs_end && s->file == file)
		return cairn_fail(diag, CAIRN_E_LIMIT, "push.xorb", CAIRN_NO_OFFSET,
				  "a shard of %zu bytes cannot describe a whole xorb", s->bytes_max);
	for (; s->xorb < xorbs_end; s->xorb++) {
		if (s->p->xorbs[s->xorb].list.n > 0)
			shards_write_xorb(w, &s->p->xorbs[s->xorb], s->p->ops->eligible_every);
	}
	return cairn_shard_writer_end(w);
}

enum cairn_status cairn_shards_write(const struct cairn_placer *p, size_t bytes_max,
				     enum cairn_status (*emit)(void *ctx, const uint8_t *bytes, size_t len,
							       struct cairn_diag *diag),
				     void *ctx, struct cairn_diag *diag)
{
	CLEANUP(shards_fini) struct shards s = {.p = p, .bytes_max = bytes_max};
	enum cairn_status status = CAIRN_OK;
	while (status == CAIRN_OK && (s.file < p->n_files || s.xorb < p->n_xorbs)) {
		CLEANUP(cairn_shard_writer_fini) struct cairn_shard_writer w;
		cairn_shard_writer_init(&w, bytes_max);
		status = shards_next(&s, &w, diag);
		if (status == CAIRN_OK)
			status = emit(ctx, w.buf.bytes, w.buf.len, diag);
	}
	return status;
}
