#include "archive/fold/reader.h"

#include "archive/fold/mend.h"
#include "archive/zstd.h"
#include "base/cursor.h"
#include "base/fd.h"
#include "hash/crc32c.h"
#include "hash/hash.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct cairn_fold {
	struct cairn_fold_source source;
	struct cairn_fold_index index;
	struct cairn_zstd *zstd;
	struct cairn_parity *parity; /* tables for the last chunk that needed parity */
	unsigned parity_n;
};

/* Reads bytes. The caller ensures that at + len is not past the end. */
static enum cairn_status reader_get(const struct cairn_fold *f, uint64_t at, uint8_t *out, size_t len,
				    struct cairn_diag *diag)
{
	if (f->source.bytes) {
		struct cairn_cur cur = cairn_cur_init(f->source.bytes, f->source.len);
		(void)cairn_cur_take(&cur, at);
		const uint8_t *p = cairn_cur_take(&cur, len);
		if (p && len > 0)
			memcpy(out, p, len);
		return p ? CAIRN_OK : CAIRN_E_IO;
	}
	errno = 0;
	if (cairn_fd_read_at(f->source.fd, at, out, len) == CAIRN_OK)
		return CAIRN_OK;
	return cairn_fail(diag, CAIRN_E_IO, "fold.read", at, "cannot be read here: %s",
			  errno ? strerror(errno) : "it became shorter");
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

static enum cairn_status reader_numbers(struct cairn_diag *diag, enum cairn_status status, const char *rule,
					uint64_t at, const char *what, uint64_t expected, uint64_t actual)
{
	(void)cairn_fail(diag, status, rule, at, "%s", what);
	cairn_diag_numbers(diag, expected, actual);
	return status;
}

static enum cairn_status reader_header(struct cairn_fold *f, uint64_t *index_len, struct cairn_diag *diag)
{
	uint8_t header[CAIRN_FOLD_HEADER_BYTES];
	uint64_t at = 0, len = 0;
	if (f->source.len < sizeof(header))
		return reader_numbers(diag, CAIRN_E_FORMAT, "fold.truncated", f->source.len,
				      "the file ends within its header", sizeof(header), f->source.len);
	enum cairn_status status = reader_get(f, 0, header, sizeof(header), diag);
	if (status != CAIRN_OK)
		return status;
	status = cairn_fold_header_get(header, &at, &len, diag);
	if (status != CAIRN_OK)
		return status;
	if (at > f->source.len || len > f->source.len - at)
		return reader_numbers(diag, CAIRN_E_FORMAT, "fold.truncated", 12, "the file ends before its index does",
				      at > UINT64_MAX - len ? UINT64_MAX : at + len, f->source.len);
	f->index.at = at;
	*index_len = len;
	return CAIRN_OK;
}

static enum cairn_status reader_open(struct cairn_fold *f, struct cairn_diag *diag)
{
	uint64_t len = 0;
	enum cairn_status status = reader_header(f, &len, diag);
	if (status != CAIRN_OK)
		return status;
	f->zstd = cairn_zstd_new();
	f->index.text = cairn_buf_init(CAIRN_FOLD_INDEX_BYTES_MAX);
	uint8_t *text = cairn_buf_extend(&f->index.text, len);
	if (!f->zstd || (!text && len > 0))
		return CAIRN_E_NOMEM;
	status = reader_get(f, f->index.at, text, len, diag);
	return status == CAIRN_OK ? cairn_fold_index_parse(&f->index, diag) : status;
}

enum cairn_status cairn_fold_open(struct cairn_fold **out, const struct cairn_fold_source *source,
				  struct cairn_diag *diag)
{
	*out = NULL;
	CLEANUP(cairn_fold_closep) struct cairn_fold *f = calloc(1, sizeof(*f));
	if (!f)
		return CAIRN_E_NOMEM;
	f->source = *source;
	enum cairn_status status = reader_open(f, diag);
	if (status != CAIRN_OK)
		return status;
	*out = f;
	f = NULL;
	return CAIRN_OK;
}

void cairn_fold_close(struct cairn_fold *f)
{
	if (!f)
		return;
	cairn_fold_index_fini(&f->index);
	cairn_zstd_free(f->zstd);
	cairn_parity_free(f->parity);
	free(f);
}

void cairn_fold_closep(struct cairn_fold **f)
{
	cairn_fold_close(*f);
	*f = NULL;
}

const struct cairn_fold_index *cairn_fold_index_of(const struct cairn_fold *f)
{
	return &f->index;
}

/* --- one chunk ---------------------------------------------------------------------------------------------------- */

void cairn_fold_data_fini(struct cairn_fold_data *data)
{
	if (data->bytes != data->comp)
		free(data->bytes);
	free(data->comp);
	*data = (struct cairn_fold_data){0};
}

/* Compares the chunk's header with its entry in the index. */
static enum cairn_status reader_chunk_header(const struct cairn_fold *f, const struct cairn_fold_chunk *c,
					     struct cairn_diag *diag)
{
	uint8_t bytes[CAIRN_FOLD_CHUNK_HEADER_BYTES];
	struct cairn_fold_chunk h;
	enum cairn_status status = reader_get(f, c->offset, bytes, sizeof(bytes), diag);
	if (status == CAIRN_OK)
		status = cairn_fold_chunk_header_get(&h, bytes, c->offset, diag);
	if (status != CAIRN_OK)
		return status;
	const struct {
		const char *field;
		uint64_t at, entry, header;
	} pairs[] = {
		{"flags", 4, c->flags, h.flags},           {"uncomp_len", 8, c->uncomp_len, h.uncomp_len},
		{"comp_len", 16, c->comp_len, h.comp_len}, {"crc32c", 24, c->crc32c, h.crc32c},
		{"ecc_len", 28, c->ecc_len, h.ecc_len},
	};
	if (memcmp(h.ctype, c->ctype, CAIRN_FOLD_CTYPE_BYTES) != 0) {
		(void)cairn_fail(diag, CAIRN_E_MISMATCH, "fold.chunk_header", c->offset,
				 "chunk \"%.100s\": its header has another ctype than the index", c->name);
		cairn_diag_values(diag, c->ctype, h.ctype);
		return CAIRN_E_MISMATCH;
	}
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if (pairs[i].entry == pairs[i].header)
			continue;
		(void)cairn_fail(diag, CAIRN_E_MISMATCH, "fold.chunk_header", c->offset + pairs[i].at,
				 "chunk \"%.100s\": its header has another %s than the index", c->name, pairs[i].field);
		cairn_diag_numbers(diag, pairs[i].entry, pairs[i].header);
		return CAIRN_E_MISMATCH;
	}
	return CAIRN_OK;
}

/* Checks CRC-32C first, because it is many times faster. @param diag  NULL: only test */
static enum cairn_status reader_check(const struct cairn_fold_chunk *c, const uint8_t *comp, struct cairn_diag *diag)
{
	uint64_t at = c->offset + CAIRN_FOLD_CHUNK_HEADER_BYTES;
	uint32_t crc = cairn_crc32c(0, comp, c->comp_len);
	if (crc != c->crc32c) {
		(void)cairn_fail(diag, CAIRN_E_MISMATCH, "fold.crc32c", at,
				 "chunk \"%.100s\" is damaged: its bytes do not give its CRC-32C", c->name);
		cairn_diag_numbers(diag, c->crc32c, crc);
		return CAIRN_E_MISMATCH;
	}
	CLEANUP(cairn_sha256_freep) struct cairn_sha256 *digest = cairn_sha256_new();
	uint8_t sha256[CAIRN_SHA256_BYTES];
	if (!digest)
		return CAIRN_E_NOMEM;
	cairn_sha256_add(digest, comp, c->comp_len);
	cairn_sha256_end(digest, sha256);
	if (memcmp(sha256, c->sha256, sizeof(sha256)) == 0)
		return CAIRN_OK;
	char expected[CAIRN_HASH_TEXT_BYTES], actual[CAIRN_HASH_TEXT_BYTES];
	cairn_hex_text(expected, c->sha256, sizeof(sha256));
	cairn_hex_text(actual, sha256, sizeof(sha256));
	(void)cairn_fail(diag, CAIRN_E_MISMATCH, "fold.sha256", at,
			 "chunk \"%.100s\" is damaged, or its entry is: its bytes do not give its SHA-256", c->name);
	cairn_diag_values(diag, expected, actual);
	return CAIRN_E_MISMATCH;
}

static enum cairn_status reader_tables(struct cairn_fold *f, unsigned n)
{
	if (f->parity && f->parity_n == n)
		return CAIRN_OK;
	cairn_parity_free(f->parity);
	f->parity = cairn_parity_new(n);
	f->parity_n = n;
	return f->parity ? CAIRN_OK : CAIRN_E_NOMEM;
}

/* A chunk while it is read. */
struct reader_run {
	struct cairn_fold *f;
	const struct cairn_fold_chunk *c;
	uint8_t *area; /* comp_len + ecc_len bytes from the file */
	uint8_t *comp; /* comp_len */
	bool is_long;  /* more than one code word, so the layout matters */
	struct cairn_fold_data *out;
};

static enum cairn_status reader_beyond(const struct reader_run *r, const struct cairn_fold_mended *m,
				       struct cairn_diag *diag)
{
	const struct cairn_fold_chunk *c = r->c;
	if (m->n_lost == 0)
		return reader_check(c, r->comp, diag);
	return cairn_fail(diag, CAIRN_E_MISMATCH, "fold.parity",
			  c->offset + CAIRN_FOLD_CHUNK_HEADER_BYTES + m->first_lost,
			  "chunk \"%.100s\" is damaged beyond its parity: %" PRIu64
			  " code words have more than %u wrong bytes; the first of them is here",
			  c->name, m->n_lost, c->parity / 2);
}

/* Repairs a chunk whose bytes do not match their hashes. */
static enum cairn_status reader_mend(struct reader_run *r, struct cairn_diag *diag)
{
	const struct cairn_fold_chunk *c = r->c;
	struct cairn_fold_mended m = cairn_fold_mend_woven(r->f->parity, r->area, c->comp_len + c->ecc_len);
	cairn_fold_unweave(c, r->area, r->comp);
	r->out->layout = r->is_long ? CAIRN_FOLD_WOVEN : CAIRN_FOLD_PLAIN;
	r->out->n_wrong = m.n_wrong;
	enum cairn_status status = reader_check(c, r->comp, NULL);
	if (status != CAIRN_E_MISMATCH || !r->is_long)
		return status == CAIRN_E_MISMATCH ? reader_beyond(r, &m, diag) : status;
	status = reader_get(r->f, c->offset + CAIRN_FOLD_CHUNK_HEADER_BYTES, r->area, c->comp_len + c->ecc_len, diag);
	if (status != CAIRN_OK)
		return status;
	struct cairn_fold_mended apart = cairn_fold_mend_apart(r->f->parity, c, r->area);
	if (apart.n_lost < m.n_lost)
		m = apart;
	memcpy(r->comp, r->area, c->comp_len);
	r->out->layout = CAIRN_FOLD_APART;
	r->out->n_wrong = apart.n_wrong;
	status = reader_check(c, r->comp, NULL);
	return status == CAIRN_E_MISMATCH ? reader_beyond(r, &m, diag) : status;
}

/* Finds the layout in which the bytes match their hashes. If there is none, repairs the bytes. */
static enum cairn_status reader_check_or_mend(struct reader_run *r, bool check_parity, struct cairn_diag *diag)
{
	const struct cairn_fold_chunk *c = r->c;
	memcpy(r->comp, r->area, c->comp_len);
	enum cairn_status status = reader_check(c, r->comp, c->parity ? NULL : diag);
	if (c->parity == 0 || (status != CAIRN_OK && status != CAIRN_E_MISMATCH))
		return status;
	if (status == CAIRN_OK && (r->is_long || !check_parity))
		return CAIRN_OK;
	if (status == CAIRN_E_MISMATCH && r->is_long) {
		cairn_fold_unweave(c, r->area, r->comp);
		r->out->layout = CAIRN_FOLD_WOVEN;
		status = reader_check(c, r->comp, NULL);
	}
	if (status == CAIRN_OK && !check_parity)
		return CAIRN_OK;
	enum cairn_status tables = reader_tables(r->f, c->parity);
	if (tables != CAIRN_OK || status == CAIRN_E_MISMATCH)
		return tables == CAIRN_OK ? reader_mend(r, diag) : tables;
	/* The data match, so only parity can be wrong. All parity of a word beyond repair counts as wrong. */
	struct cairn_fold_mended m = cairn_fold_mend_woven(r->f->parity, r->area, c->comp_len + c->ecc_len);
	r->out->n_wrong = m.n_wrong + m.n_lost * c->parity;
	return status;
}

static enum cairn_status reader_content(struct reader_run *r, bool keep_comp, struct cairn_diag *diag)
{
	const struct cairn_fold_chunk *c = r->c;
	struct cairn_fold_data *out = r->out;
	out->len = c->uncomp_len;
	if (c->flags == CAIRN_FOLD_STORED && c->comp_len != c->uncomp_len)
		return reader_numbers(diag, CAIRN_E_FORMAT, "fold.length", c->offset + 8,
				      "the chunk is stored, but comp_len is not uncomp_len", c->uncomp_len,
				      c->comp_len);
	if (c->flags == CAIRN_FOLD_STORED) {
		out->bytes = out->comp;
		return CAIRN_OK;
	}
	/* Refuse a frame that states another content length, before memory is allocated for it. */
	out->bytes = malloc(c->uncomp_len + 1);
	if (!out->bytes)
		return CAIRN_E_NOMEM;
	struct cairn_diag why = {0};
	enum cairn_status status =
		cairn_zstd_decompress(r->f->zstd, out->bytes, c->uncomp_len, out->comp, c->comp_len, &why);
	if (status == CAIRN_E_FORMAT) {
		(void)cairn_fail(diag, status, why.rule, c->offset + CAIRN_FOLD_CHUNK_HEADER_BYTES,
				 "chunk \"%.100s\": %.140s", c->name, why.text);
		cairn_diag_values(diag, why.expected, why.actual);
	}
	if (status == CAIRN_OK && !keep_comp) {
		free(out->comp);
		out->comp = NULL;
	}
	return status;
}

static void reader_allocate(struct reader_run *r)
{
	const struct cairn_fold_chunk *c = r->c;
	r->is_long = c->parity > 0 && c->comp_len > CAIRN_PARITY_WORD_BYTES - (uint64_t)c->parity;
	r->area = malloc(c->comp_len + c->ecc_len + 1);
	r->comp = r->out->comp = malloc(c->comp_len + 1);
}

enum cairn_status cairn_fold_read(struct cairn_fold *f, const struct cairn_fold_chunk *chunk,
				  const struct cairn_fold_read_options *options, struct cairn_fold_data *out,
				  struct cairn_diag *diag)
{
	static const struct cairn_fold_read_options NONE = {0};
	const struct cairn_fold_read_options *o = options ? options : &NONE;
	*out = (struct cairn_fold_data){0};
	if (chunk->is_encrypted)
		return cairn_fail(diag, CAIRN_E_FORMAT, "fold.encrypted", chunk->offset,
				  "chunk \"%.100s\" is encrypted, which is not supported", chunk->name);
	enum cairn_status status = reader_chunk_header(f, chunk, diag);
	if (status != CAIRN_OK)
		return status;
	uint64_t area_len = chunk->comp_len + chunk->ecc_len;
	struct reader_run r = {.f = f, .c = chunk, .out = out};
	reader_allocate(&r);
	status = r.area && r.comp ? CAIRN_OK : CAIRN_E_NOMEM;
	if (status == CAIRN_OK)
		status = reader_get(f, chunk->offset + CAIRN_FOLD_CHUNK_HEADER_BYTES, r.area, area_len, diag);
	if (status == CAIRN_OK)
		status = reader_check_or_mend(&r, o->check_parity, diag);
	free(r.area);
	if (status == CAIRN_OK)
		status = reader_content(&r, o->keep_comp, diag);
	if (status != CAIRN_OK)
		cairn_fold_data_fini(out);
	return status;
}

/* --- unfinished files --------------------------------------------------------------------------------------------- */

enum cairn_status cairn_fold_open_unfinished(struct cairn_fold **out, const struct cairn_fold_source *source,
					     struct cairn_diag *diag)
{
	struct cairn_diag why = {0};
	uint64_t index_len = 0;
	*out = NULL;
	CLEANUP(cairn_fold_closep) struct cairn_fold *f = calloc(1, sizeof(*f));
	if (!f)
		return CAIRN_E_NOMEM;
	f->source = *source;
	f->zstd = cairn_zstd_new();
	if (!f->zstd)
		return CAIRN_E_NOMEM;
	enum cairn_status status = reader_header(f, &index_len, &why);
	if (status == CAIRN_E_IO)
		return status;
	if (!cairn_diag_has(&why, "fold.unfinished"))
		return cairn_fail(diag, CAIRN_E_FORMAT, why.rule ? why.rule : "fold.finished", 0,
				  "this is not an unfinished FOLD file: %.150s",
				  why.rule ? why.text : "it has an index");
	*out = f;
	f = NULL;
	return CAIRN_OK;
}

static enum cairn_status reader_scan_area(struct reader_run *r, struct cairn_fold_chunk *c)
{
	enum cairn_status status =
		reader_get(r->f, c->offset + CAIRN_FOLD_CHUNK_HEADER_BYTES, r->area, c->comp_len + c->ecc_len, NULL);
	if (status != CAIRN_OK)
		return status;
	if (r->is_long)
		cairn_fold_unweave(c, r->area, r->comp);
	else
		memcpy(r->comp, r->area, c->comp_len);
	if (cairn_crc32c(0, r->comp, c->comp_len) != c->crc32c)
		return CAIRN_E_NOT_FOUND;
	CLEANUP(cairn_sha256_freep) struct cairn_sha256 *digest = cairn_sha256_new();
	if (!digest)
		return CAIRN_E_NOMEM;
	cairn_sha256_add(digest, r->comp, c->comp_len);
	cairn_sha256_end(digest, c->sha256);
	status = reader_content(r, false, NULL);
	return status == CAIRN_E_FORMAT ? CAIRN_E_NOT_FOUND : status;
}

enum cairn_status cairn_fold_scan(struct cairn_fold *f, uint64_t at, unsigned parity, struct cairn_fold_chunk *chunk,
				  struct cairn_fold_data *out)
{
	uint8_t header[CAIRN_FOLD_CHUNK_HEADER_BYTES];
	*out = (struct cairn_fold_data){0};
	if (at > f->source.len || f->source.len - at < sizeof(header))
		return CAIRN_E_NOT_FOUND;
	enum cairn_status status = reader_get(f, at, header, sizeof(header), NULL);
	if (status != CAIRN_OK)
		return status;
	if (cairn_fold_chunk_header_get(chunk, header, at, NULL) != CAIRN_OK)
		return CAIRN_E_NOT_FOUND;
	chunk->parity = parity;
	if (chunk->ecc_len != (parity ? cairn_parity_bytes(parity, chunk->comp_len) : 0) ||
	    cairn_fold_chunk_bytes(chunk) > f->source.len - at)
		return CAIRN_E_NOT_FOUND;
	struct reader_run r = {.f = f, .c = chunk, .out = out};
	reader_allocate(&r);
	status = r.area && r.comp ? reader_scan_area(&r, chunk) : CAIRN_E_NOMEM;
	free(r.area);
	if (status != CAIRN_OK)
		cairn_fold_data_fini(out);
	return status;
}
