#include "archive/fold/writer.h"

#include "archive/fold/index.h"
#include "archive/fold/json_canonical.h"
#include "archive/fold/parity.h"
#include "archive/zstd.h"
#include "base/bytes.h"
#include "base/fd.h"
#include "base/sys.h"
#include "hash/crc32c.h"
#include "hash/hash.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	WRITER_PIECE_BYTES = 128 * 1024, /* maximum of one write */
	WRITER_PIECE_WORDS = 512,        /* code words woven at a time: they stay in the cache */
	WRITER_SAMPLE_BYTES = 128 * 1024,
	WRITER_SAMPLES = 3,
	WRITER_SAMPLED_BYTES = WRITER_SAMPLES * WRITER_SAMPLE_BYTES,
	WRITER_WOVEN_BYTES = WRITER_PIECE_WORDS * CAIRN_PARITY_WORD_BYTES,
	WRITER_PAYS_PART = 32,        /* compress if that saves one part in this many */
	WRITER_ENTRY_BYTES = 400,     /* a chunk's entry and line in chunk_hashes, without names */
	WRITER_INDEX_RESERVE = 65536, /* room for the rest of the index */
};

struct cairn_fold_writer {
	int fd;
	uint64_t at;
	struct cairn_fold_writer_options options;
	struct cairn_fold_extent extent; /* copied from the caller, if given */
	struct cairn_zstd *zstd;
	struct cairn_parity *parity; /* NULL: none */
	struct cairn_sha256 *digest;
	struct cairn_buf packed; /* scratch */
	struct cairn_buf woven;  /* scratch */
	struct cairn_buf chunks; /* array of struct cairn_fold_chunk, with names owned */
	uint64_t index_bytes;    /* maximum length of the index so far */
};

static size_t writer_count(const struct cairn_fold_writer *w)
{
	return w->chunks.len / sizeof(struct cairn_fold_chunk);
}

static struct cairn_fold_chunk *writer_chunk(const struct cairn_fold_writer *w, size_t i)
{
	return (struct cairn_fold_chunk *)(void *)w->chunks.bytes + i;
}

/* Writes in pieces: in a write of many megabytes, each byte costs up to three times as much. */
static enum cairn_status writer_write(struct cairn_fold_writer *w, const uint8_t *bytes, size_t len)
{
	for (size_t at = 0; at < len; at += WRITER_PIECE_BYTES) {
		size_t n = len - at < WRITER_PIECE_BYTES ? len - at : WRITER_PIECE_BYTES;
		enum cairn_status status = cairn_fd_write_all(w->fd, bytes + at, n);
		if (status != CAIRN_OK)
			return status;
		w->at += n;
	}
	return CAIRN_OK;
}

/* Returns the most bytes of an index entry. The index has each name twice, with up to six bytes for each byte. */
static uint64_t writer_entry_bytes(const char *name)
{
	return WRITER_ENTRY_BYTES + 12 * (uint64_t)strlen(name);
}

void cairn_fold_extent_add(struct cairn_fold_extent *extent, const char *name, uint64_t len, unsigned parity)
{
	extent->bytes += CAIRN_FOLD_CHUNK_HEADER_BYTES + len + (parity ? cairn_parity_bytes(parity, len) : 0);
	extent->index_bytes += writer_entry_bytes(name) + (extent->index_bytes == 0 ? WRITER_INDEX_RESERVE : 0);
}

static enum cairn_status writer_put_file_header(struct cairn_fold_writer *w, uint64_t index_at, uint64_t index_bytes)
{
	uint8_t header[CAIRN_FOLD_HEADER_BYTES];
	memcpy(header, CAIRN_FOLD_MAGIC, CAIRN_FOLD_MAGIC_BYTES);
	cairn_put_u32be(header + 8, CAIRN_FOLD_HEADER_BYTES);
	cairn_put_u64be(header + 12, index_at);
	cairn_put_u64be(header + 20, index_bytes);
	return cairn_fd_write_all(w->fd, header, sizeof(header));
}

static enum cairn_status writer_begin(struct cairn_fold_writer *w)
{
	const struct cairn_fold_extent *e = w->options.extent;
	w->at = CAIRN_FOLD_HEADER_BYTES;
	if (!e)
		return lseek(w->fd, 0, SEEK_SET) < 0 ? CAIRN_E_IO : writer_put_file_header(w, 0, 0);
	w->extent = *e;
	w->options.extent = &w->extent;
	if (e->index_bytes > CAIRN_FOLD_INDEX_BYTES_MAX)
		return CAIRN_E_LIMIT;
	return writer_put_file_header(w, CAIRN_FOLD_HEADER_BYTES + e->bytes, e->index_bytes);
}

enum cairn_status cairn_fold_writer_new(struct cairn_fold_writer **out, int fd,
					const struct cairn_fold_writer_options *options)
{
	*out = NULL;
	CLEANUP(cairn_fold_writer_freep) struct cairn_fold_writer *w = calloc(1, sizeof(*w));
	if (!w)
		return CAIRN_E_NOMEM;
	w->fd = fd;
	w->options = *options;
	w->packed = cairn_buf_init(cairn_zstd_bound(CAIRN_FOLD_CHUNK_BYTES_MAX));
	w->woven = cairn_buf_init(WRITER_WOVEN_BYTES);
	w->chunks = cairn_buf_init(SIZE_MAX); /* bounded by the limit of the index */
	w->zstd = cairn_zstd_new();
	w->digest = cairn_sha256_new();
	if (options->parity > 0)
		w->parity = cairn_parity_new(options->parity);
	if (!w->zstd || !w->digest || (options->parity > 0 && !w->parity))
		return CAIRN_E_NOMEM;
	enum cairn_status status = writer_begin(w);
	if (status != CAIRN_OK)
		return status;
	*out = w;
	w = NULL;
	return CAIRN_OK;
}

void cairn_fold_writer_free(struct cairn_fold_writer *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < writer_count(w); i++)
		free((void *)(uintptr_t)writer_chunk(w, i)->name);
	cairn_buf_fini(&w->chunks);
	cairn_buf_fini(&w->packed);
	cairn_buf_fini(&w->woven);
	cairn_sha256_free(w->digest);
	cairn_parity_free(w->parity);
	cairn_zstd_free(w->zstd);
	free(w);
}

void cairn_fold_writer_freep(struct cairn_fold_writer **w)
{
	cairn_fold_writer_free(*w);
	*w = NULL;
}

uint64_t cairn_fold_writer_bytes(const struct cairn_fold_writer *w)
{
	return w->at;
}

/* --- chunks ------------------------------------------------------------------------------------------------------- */

static enum cairn_status writer_note(struct cairn_fold_writer *w, const struct cairn_fold_chunk *chunk)
{
	struct cairn_fold_chunk c = *chunk;
	uint64_t bytes = writer_entry_bytes(c.name);
	if (w->index_bytes + bytes > CAIRN_FOLD_INDEX_BYTES_MAX - WRITER_INDEX_RESERVE)
		return CAIRN_E_LIMIT;
	c.name = strdup(c.name);
	if (!c.name)
		return CAIRN_E_NOMEM;
	cairn_buf_add(&w->chunks, &c, sizeof(c));
	w->index_bytes += bytes;
	return w->chunks.status;
}

enum cairn_status cairn_fold_writer_adopt(struct cairn_fold_writer *w, const struct cairn_fold_chunk *chunk)
{
	uint64_t end = chunk->offset + cairn_fold_chunk_bytes(chunk);
	if (lseek(w->fd, (off_t)end, SEEK_SET) < 0)
		return CAIRN_E_IO;
	w->at = end;
	return writer_note(w, chunk);
}

static enum cairn_status writer_weave(struct cairn_fold_writer *w, const uint8_t *comp, size_t len)
{
	w->woven.len = 0;
	uint8_t *woven = cairn_buf_extend(&w->woven, WRITER_WOVEN_BYTES);
	if (!woven)
		return CAIRN_E_NOMEM;
	return writer_write(w, woven, cairn_parity_weave(w->parity, woven, comp, len));
}

/* Writes a chunk. A first pass computes the CRC-32C for the header, because a pipe cannot go back. The rest is done
 * piece by piece, so that each piece is in the cache. */
static enum cairn_status writer_put_comp(struct cairn_fold_writer *w, struct cairn_fold_chunk *c, const uint8_t *comp)
{
	size_t piece = w->parity ? WRITER_PIECE_WORDS * cairn_parity_data_bytes(w->parity) : WRITER_PIECE_BYTES;
	cairn_sha256_free(w->digest);
	w->digest = cairn_sha256_new();
	if (!w->digest)
		return CAIRN_E_NOMEM;
	uint8_t header[CAIRN_FOLD_CHUNK_HEADER_BYTES];
	c->crc32c = cairn_crc32c(0, comp, c->comp_len);
	cairn_fold_chunk_header_put(header, c);
	enum cairn_status status = writer_write(w, header, sizeof(header));
	for (uint64_t at = 0; at < c->comp_len && status == CAIRN_OK; at += piece) {
		size_t n = c->comp_len - at < piece ? (size_t)(c->comp_len - at) : piece;
		cairn_sha256_add(w->digest, comp + at, n);
		status = w->parity ? writer_weave(w, comp + at, n) : writer_write(w, comp + at, n);
	}
	cairn_sha256_end(w->digest, c->sha256);
	return status;
}

enum cairn_status cairn_fold_writer_add_packed(struct cairn_fold_writer *w, const struct cairn_fold_chunk *chunk,
					       const uint8_t *comp)
{
	struct cairn_fold_chunk c = *chunk;
	c.offset = w->at;
	c.parity = w->options.parity;
	c.ecc_len = c.parity ? cairn_parity_bytes(c.parity, c.comp_len) : 0;
	if (c.comp_len > CAIRN_FOLD_CHUNK_BYTES_MAX || c.ecc_len > CAIRN_FOLD_CHUNK_BYTES_MAX)
		return CAIRN_E_LIMIT;
	enum cairn_status status = writer_put_comp(w, &c, comp);
	return status == CAIRN_OK ? writer_note(w, &c) : status;
}

/* Estimates from a few samples whether compression saves enough. */
static bool writer_pays(struct cairn_fold_writer *w, const uint8_t *bytes, size_t len)
{
	if (w->options.zstd_level == 0)
		return false;
	if (len <= WRITER_SAMPLED_BYTES)
		return true;
	size_t bound = cairn_zstd_bound(WRITER_SAMPLE_BYTES), packed = 0;
	w->packed.len = 0;
	uint8_t *out = cairn_buf_extend(&w->packed, bound);
	for (size_t i = 0; out && i < WRITER_SAMPLES; i++) {
		size_t at = (len - WRITER_SAMPLE_BYTES) / (WRITER_SAMPLES - 1) * i, n = 0;
		if (cairn_zstd_compress(w->zstd, out, bound, &n, bytes + at, WRITER_SAMPLE_BYTES,
					w->options.zstd_level) != CAIRN_OK)
			return true;
		packed += n;
	}
	return packed < WRITER_SAMPLED_BYTES - WRITER_SAMPLED_BYTES / WRITER_PAYS_PART;
}

enum cairn_status cairn_fold_writer_add(struct cairn_fold_writer *w, const char *name, const char *ctype,
					const uint8_t *bytes, size_t len)
{
	struct cairn_fold_chunk c = {.name = name, .uncomp_len = len, .comp_len = len};
	memcpy(c.ctype, ctype, CAIRN_FOLD_CTYPE_BYTES);
	if (len > CAIRN_FOLD_CHUNK_BYTES_MAX)
		return CAIRN_E_LIMIT;
	if (!writer_pays(w, bytes, len))
		return cairn_fold_writer_add_packed(w, &c, bytes);
	size_t n = 0;
	w->packed.len = 0;
	uint8_t *out = cairn_buf_extend(&w->packed, cairn_zstd_bound(len));
	if (!out)
		return CAIRN_E_NOMEM;
	enum cairn_status status =
		cairn_zstd_compress(w->zstd, out, cairn_zstd_bound(len), &n, bytes, len, w->options.zstd_level);
	if (status != CAIRN_OK)
		return status;
	if (n >= len)
		return cairn_fold_writer_add_packed(w, &c, bytes);
	c.flags = CAIRN_FOLD_ZSTD;
	c.comp_len = n;
	return cairn_fold_writer_add_packed(w, &c, out);
}

/* --- the index ---------------------------------------------------------------------------------------------------- */

static void writer_string(struct cairn_buf *out, const char *text)
{
	cairn_json_canonical_string(out, text, strlen(text), false);
}

/* Writes the caller's members, then chunk_hashes, without the closing brace. */
static enum cairn_status writer_metadata(const struct cairn_fold_writer *w, struct cairn_buf *out, const char *metadata)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf name = cairn_buf_init(SIZE_MAX);
	struct cairn_json_pull p = cairn_json_pull_init(metadata, strlen(metadata));
	bool first = true;
	size_t from;
	cairn_buf_add(out, "{", 1);
	if (!cairn_json_pull_open(&p, '{'))
		return CAIRN_E_FORMAT;
	while (cairn_json_pull_member(&p, &first, &name)) {
		cairn_buf_add(&name, "", 1);
		if (!cairn_json_pull_skip(&p, &from))
			return CAIRN_E_FORMAT;
		if (name.status != CAIRN_OK)
			return CAIRN_E_NOMEM;
		if (strcmp((const char *)name.bytes, "chunk_hashes") == 0 ||
		    strcmp((const char *)name.bytes, "manifest_hash") == 0)
			continue;
		cairn_json_canonical_string(out, name.bytes, name.len - 1, false);
		cairn_buf_add(out, ":", 1);
		cairn_buf_add(out, p.text + from, p.at - from);
		cairn_buf_add(out, ",", 1);
	}
	if (!cairn_json_pull_end(&p))
		return CAIRN_E_FORMAT;
	cairn_buf_printf(out, "\"chunk_hashes\":{");
	for (size_t i = 0; i < writer_count(w); i++) {
		char sha256[CAIRN_HASH_TEXT_BYTES];
		cairn_hex_text(sha256, writer_chunk(w, i)->sha256, CAIRN_SHA256_BYTES);
		cairn_buf_printf(out, i > 0 ? "," : "");
		writer_string(out, writer_chunk(w, i)->name);
		cairn_buf_printf(out, ":\"%s\"", sha256);
	}
	cairn_buf_add(out, "}", 1);
	return out->status;
}

/* Ends the metadata with manifest_hash, which covers everything before it. */
static enum cairn_status writer_manifest(struct cairn_buf *out, size_t metadata_at)
{
	uint8_t sha256[CAIRN_SHA256_BYTES];
	char text[CAIRN_HASH_TEXT_BYTES];
	cairn_buf_add(out, "}", 1);
	if (out->status != CAIRN_OK)
		return out->status;
	enum cairn_status status = cairn_fold_manifest_hash(sha256, out->bytes + metadata_at, out->len - metadata_at);
	if (status != CAIRN_OK)
		return status;
	cairn_hex_text(text, sha256, sizeof(sha256));
	out->len--;
	cairn_buf_printf(out, ",\"manifest_hash\":\"%s\"}", text);
	return out->status;
}

static void writer_entry(struct cairn_buf *out, const struct cairn_fold_chunk *c)
{
	char sha256[CAIRN_HASH_TEXT_BYTES];
	cairn_hex_text(sha256, c->sha256, CAIRN_SHA256_BYTES);
	cairn_buf_printf(out, "{\"name\":");
	writer_string(out, c->name);
	cairn_buf_printf(out, ",\"ctype\":");
	writer_string(out, c->ctype);
	cairn_buf_printf(out,
			 ",\"flags\":%" PRIu32 ",\"offset\":%" PRIu64 ",\"header_len\":%d,\"comp_len\":%" PRIu64
			 ",\"uncomp_len\":%" PRIu64 ",\"crc32c\":%" PRIu32 ",\"sha256\":\"%s\"",
			 c->flags, c->offset, CAIRN_FOLD_CHUNK_HEADER_BYTES, c->comp_len, c->uncomp_len, c->crc32c,
			 sha256);
	if (c->parity)
		cairn_buf_printf(out, ",\"ecc_algo\":\"rs(%u)\"", c->parity);
	else
		cairn_buf_printf(out, ",\"ecc_algo\":\"none\"");
	cairn_buf_printf(out, ",\"ecc_len\":%" PRIu64 "}", c->ecc_len);
}

static enum cairn_status writer_index(const struct cairn_fold_writer *w, struct cairn_buf *out, const char *metadata,
				      const char *created)
{
	cairn_buf_printf(out,
			 "{\"format\":\"fold\",\"version\":\"1.2.0\",\"created_at_unix\":%s,\"metadata\":", created);
	size_t metadata_at = out->len;
	enum cairn_status status = writer_metadata(w, out, metadata ? metadata : "{}");
	if (status == CAIRN_OK)
		status = writer_manifest(out, metadata_at);
	if (status != CAIRN_OK)
		return status;
	cairn_buf_printf(out, ",\"chunks\":[");
	for (size_t i = 0; i < writer_count(w); i++) {
		cairn_buf_printf(out, i > 0 ? "," : "");
		writer_entry(out, writer_chunk(w, i));
	}
	cairn_buf_add(out, "]", 1);
	if (writer_count(w) > 0) {
		uint8_t root[CAIRN_SHA256_BYTES];
		char text[CAIRN_HASH_TEXT_BYTES];
		status = cairn_fold_merkle_root(root, writer_chunk(w, 0), writer_count(w), "");
		if (status != CAIRN_OK)
			return status;
		cairn_hex_text(text, root, sizeof(root));
		cairn_buf_printf(out, ",\"merkle_root\":\"%s\"", text);
	}
	cairn_buf_add(out, "}", 1);
	return out->status;
}

/* Ends a pipe. The header was sent already, so its numbers must be right. */
static enum cairn_status writer_finish_pipe(struct cairn_fold_writer *w, struct cairn_buf *index)
{
	if (w->at != CAIRN_FOLD_HEADER_BYTES + w->extent.bytes)
		return CAIRN_E_MISMATCH;
	if (index->len > w->extent.index_bytes)
		return CAIRN_E_LIMIT;
	cairn_buf_fill(index, ' ', w->extent.index_bytes - index->len);
	return index->status == CAIRN_OK ? writer_write(w, index->bytes, index->len) : index->status;
}

enum cairn_status cairn_fold_writer_finish(struct cairn_fold_writer *w, const char *metadata, const char *created)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf index = cairn_buf_init(CAIRN_FOLD_INDEX_BYTES_MAX);
	enum cairn_status status = writer_index(w, &index, metadata, created);
	uint64_t index_at = w->at;
	if (status == CAIRN_OK && w->options.extent)
		return writer_finish_pipe(w, &index);
	if (status == CAIRN_OK)
		status = writer_write(w, index.bytes, index.len);
	/* Cut the file, because an interrupted write may have left more bytes. */
	if (status == CAIRN_OK && cairn_sys_ftruncate(w->fd, (off_t)w->at) < 0)
		status = cairn_fd_status(errno);
	if (status == CAIRN_OK && lseek(w->fd, 0, SEEK_SET) < 0)
		status = CAIRN_E_IO;
	if (status == CAIRN_OK)
		status = writer_put_file_header(w, index_at, index.len);
	if (status == CAIRN_OK && cairn_sys_fsync(w->fd) < 0)
		status = cairn_fd_status(errno);
	return status;
}
