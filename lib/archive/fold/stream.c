#include "archive/fold/stream.h"

#include "archive/fold/parity.h"
#include "base/fd.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_PIECE_BYTES = 4 << 20 /* memory grows by this as bytes arrive; a header alone allocates none */ };

struct cairn_fold_stream {
	int fd;
	uint64_t at, index_at, index_len;
	struct cairn_buf area;   /* the last chunk, in memory as an unfinished file of its own */
	struct cairn_buf chunks; /* array of struct cairn_fold_chunk without names: the chunks received */
	struct cairn_fold_index index;
	bool ended;
};

static enum cairn_status stream_cut(struct cairn_fold_stream *s, struct cairn_diag *diag)
{
	(void)cairn_fail(diag, CAIRN_E_FORMAT, "fold.truncated", s->at, "the data from the pipe end too early");
	cairn_diag_numbers(diag, s->index_at + s->index_len, s->at);
	return CAIRN_E_FORMAT;
}

/* Reads exactly n bytes from the pipe and appends them. */
static enum cairn_status stream_take(struct cairn_fold_stream *s, struct cairn_buf *to, uint64_t len,
				     struct cairn_diag *diag)
{
	while (len > 0) {
		size_t piece = len < STREAM_PIECE_BYTES ? (size_t)len : STREAM_PIECE_BYTES, n = 0;
		uint8_t *out = cairn_buf_extend(to, piece);
		if (!out)
			return to->status;
		if (cairn_fd_read_upto(s->fd, out, piece, &n) != CAIRN_OK)
			return cairn_fail(diag, CAIRN_E_IO, "fold.read", s->at, "cannot be read here: %s",
					  strerror(errno));
		s->at += n;
		len -= n;
		if (n < piece)
			return stream_cut(s, diag);
	}
	return CAIRN_OK;
}

enum cairn_status cairn_fold_stream_open(struct cairn_fold_stream **out, int fd, struct cairn_diag *diag)
{
	*out = NULL;
	CLEANUP(cairn_fold_stream_closep) struct cairn_fold_stream *s = calloc(1, sizeof(*s));
	if (!s)
		return CAIRN_E_NOMEM;
	s->fd = fd;
	s->area = cairn_buf_init(CAIRN_FOLD_HEADER_BYTES + CAIRN_FOLD_CHUNK_HEADER_BYTES +
				 2 * CAIRN_FOLD_CHUNK_BYTES_MAX);
	/* an element is smaller than the chunk's entry in the index */
	s->chunks = cairn_buf_init(CAIRN_FOLD_INDEX_BYTES_MAX);
	s->index.text = cairn_buf_init(CAIRN_FOLD_INDEX_BYTES_MAX);
	enum cairn_status status = stream_take(s, &s->area, CAIRN_FOLD_HEADER_BYTES, diag);
	if (status == CAIRN_OK)
		status = cairn_fold_header_get(s->area.bytes, &s->index_at, &s->index_len, diag);
	if (status != CAIRN_OK)
		return status;
	*out = s;
	s = NULL;
	return CAIRN_OK;
}

void cairn_fold_stream_closep(struct cairn_fold_stream **s)
{
	if (!*s)
		return;
	cairn_fold_index_fini(&(*s)->index);
	cairn_buf_fini(&(*s)->area);
	cairn_buf_fini(&(*s)->chunks);
	free(*s);
	*s = NULL;
}

uint64_t cairn_fold_stream_at(const struct cairn_fold_stream *s)
{
	return s->at;
}

uint64_t cairn_fold_stream_total(const struct cairn_fold_stream *s)
{
	return s->index_at;
}

const struct cairn_fold_index *cairn_fold_stream_index(const struct cairn_fold_stream *s)
{
	return &s->index;
}

/* Finds N. The header has the length of the parity, but not N; at most one N gives this length. */
static enum cairn_status stream_parity(struct cairn_fold_chunk *c, struct cairn_diag *diag)
{
	c->parity = 0;
	while (c->ecc_len > 0 && ++c->parity <= CAIRN_PARITY_MAX)
		if (cairn_parity_bytes(c->parity, c->comp_len) == c->ecc_len)
			return CAIRN_OK;
	return c->ecc_len == 0 ? CAIRN_OK
			       : cairn_fail(diag, CAIRN_E_FORMAT, "fold.stream", c->offset + 28,
					    "no parity of the chunk's bytes is as long as its header says");
}

static enum cairn_status stream_layout(const struct cairn_fold_stream *s, struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_FORMAT, "fold.stream", s->at,
			  "the chunks do not end where the index begins: this file cannot be read from a pipe");
}

static enum cairn_status stream_chunk(struct cairn_fold_stream *s, struct cairn_fold_chunk *chunk,
				      struct cairn_fold_data *out, struct cairn_diag *diag)
{
	uint64_t at = s->at;
	s->area.len = 0;
	cairn_buf_add(&s->area, CAIRN_FOLD_MAGIC, CAIRN_FOLD_MAGIC_BYTES);
	cairn_buf_add(&s->area, (const uint8_t[]){0, 0, 0, CAIRN_FOLD_HEADER_BYTES}, 4);
	cairn_buf_fill(&s->area, 0, 16);
	if (s->index_at - at < CAIRN_FOLD_CHUNK_HEADER_BYTES)
		return stream_layout(s, diag);
	enum cairn_status status = stream_take(s, &s->area, CAIRN_FOLD_CHUNK_HEADER_BYTES, diag);
	if (status == CAIRN_OK)
		status = cairn_fold_chunk_header_get(chunk, s->area.bytes + CAIRN_FOLD_HEADER_BYTES, at, diag);
	if (status == CAIRN_OK)
		status = stream_parity(chunk, diag);
	if (status != CAIRN_OK)
		return status;
	if (chunk->comp_len + chunk->ecc_len > s->index_at - s->at)
		return stream_layout(s, diag);
	status = stream_take(s, &s->area, chunk->comp_len + chunk->ecc_len, diag);
	const struct cairn_fold_source source = {.fd = -1, .bytes = s->area.bytes, .len = s->area.len};
	CLEANUP(cairn_fold_closep) struct cairn_fold *f = NULL;
	if (status == CAIRN_OK)
		status = cairn_fold_open_unfinished(&f, &source, diag);
	if (status == CAIRN_OK)
		status = cairn_fold_scan(f, CAIRN_FOLD_HEADER_BYTES, chunk->parity, chunk, out);
	chunk->offset = at;
	if (status != CAIRN_E_NOT_FOUND)
		return status;
	return cairn_fail(diag, CAIRN_E_MISMATCH, "fold.crc32c", at,
			  "the chunk is damaged, and from a pipe nothing is repaired: write it to a file first%s",
			  chunk->parity ? ", which its parity may put right" : "");
}

/* Compares the index with the chunks received. */
static bool stream_agrees(const struct cairn_fold_chunk *came, const struct cairn_fold_chunk *listed)
{
	return came->offset == listed->offset && memcmp(came->ctype, listed->ctype, CAIRN_FOLD_CTYPE_BYTES) == 0 &&
	       came->flags == listed->flags && came->uncomp_len == listed->uncomp_len &&
	       came->comp_len == listed->comp_len && came->ecc_len == listed->ecc_len &&
	       came->crc32c == listed->crc32c && memcmp(came->sha256, listed->sha256, sizeof(came->sha256)) == 0;
}

static enum cairn_status stream_end(struct cairn_fold_stream *s, struct cairn_diag *diag)
{
	const struct cairn_fold_chunk *came = (const struct cairn_fold_chunk *)(const void *)s->chunks.bytes;
	size_t n = s->chunks.len / sizeof(*came);
	s->index.at = s->at;
	enum cairn_status status = stream_take(s, &s->index.text, s->index_len, diag);
	if (status == CAIRN_OK)
		status = cairn_fold_index_parse(&s->index, diag);
	if (status != CAIRN_OK)
		return status;
	for (size_t i = 0; i < n || i < s->index.n_chunks; i++) {
		if (i < n && i < s->index.n_chunks && stream_agrees(&came[i], &s->index.chunks[i]))
			continue;
		return cairn_fail(diag, CAIRN_E_MISMATCH, "fold.sha256", i < n ? came[i].offset : s->index_at,
				  "a chunk from the pipe differs from its entry in the index, or comes out of order");
	}
	s->ended = true;
	return CAIRN_E_NOT_FOUND;
}

enum cairn_status cairn_fold_stream_next(struct cairn_fold_stream *s, struct cairn_fold_chunk *chunk,
					 struct cairn_fold_data *out, struct cairn_diag *diag)
{
	*out = (struct cairn_fold_data){0};
	if (s->ended)
		return CAIRN_E_NOT_FOUND;
	if (s->at == s->index_at)
		return stream_end(s, diag);
	enum cairn_status status = stream_chunk(s, chunk, out, diag);
	if (status == CAIRN_OK)
		cairn_buf_add(&s->chunks, chunk, sizeof(*chunk));
	if (status == CAIRN_OK && s->chunks.status != CAIRN_OK) {
		cairn_fold_data_fini(out);
		return s->chunks.status;
	}
	return status;
}
