#include "archive/fold/format.h"

#include "archive/fold/json_canonical.h"
#include "base/bytes.h"
#include "base/cursor.h"
#include "hash/blake2b.h"
#include "hash/hash.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const uint8_t CAIRN_FOLD_MAGIC[CAIRN_FOLD_MAGIC_BYTES] = {'F', 'O', 'L', 'D', 'v', '1', 0, 0};

bool cairn_fold_is(const uint8_t *bytes, size_t len)
{
	return len >= CAIRN_FOLD_MAGIC_BYTES && memcmp(bytes, CAIRN_FOLD_MAGIC, CAIRN_FOLD_MAGIC_BYTES) == 0;
}

static enum cairn_status format_numbers(struct cairn_diag *diag, enum cairn_status status, const char *rule,
					uint64_t at, const char *what, uint64_t expected, uint64_t actual)
{
	(void)cairn_fail(diag, status, rule, at, "%s", what);
	cairn_diag_numbers(diag, expected, actual);
	return status;
}

enum cairn_status cairn_fold_header_get(const uint8_t bytes[static CAIRN_FOLD_HEADER_BYTES], uint64_t *index_at,
					uint64_t *index_len, struct cairn_diag *diag)
{
	if (!cairn_fold_is(bytes, CAIRN_FOLD_HEADER_BYTES))
		return cairn_fail(diag, CAIRN_E_FORMAT, "fold.magic", 0, "the file does not begin with \"FOLDv1\"");
	struct cairn_cur cur = cairn_cur_init(bytes, CAIRN_FOLD_HEADER_BYTES);
	(void)cairn_cur_take(&cur, CAIRN_FOLD_MAGIC_BYTES);
	uint32_t header_len = cairn_cur_u32be(&cur);
	*index_at = cairn_cur_u64be(&cur);
	*index_len = cairn_cur_u64be(&cur);
	if (header_len != CAIRN_FOLD_HEADER_BYTES)
		return format_numbers(diag, CAIRN_E_FORMAT, "fold.header", 8, "header_len is not 28",
				      CAIRN_FOLD_HEADER_BYTES, header_len);
	if (*index_at == 0)
		return cairn_fail(diag, CAIRN_E_FORMAT, "fold.unfinished", 12,
				  "the file has no index: whoever wrote it did not finish");
	if (*index_at < CAIRN_FOLD_HEADER_BYTES)
		return format_numbers(diag, CAIRN_E_FORMAT, "fold.header", 12, "index_off lies within the header",
				      CAIRN_FOLD_HEADER_BYTES, *index_at);
	if (*index_len > CAIRN_FOLD_INDEX_BYTES_MAX)
		return format_numbers(diag, CAIRN_E_LIMIT, "fold.index_bytes", 20, "the index is over 100 MiB",
				      CAIRN_FOLD_INDEX_BYTES_MAX, *index_len);
	return CAIRN_OK;
}

void cairn_fold_chunk_header_put(uint8_t out[static CAIRN_FOLD_CHUNK_HEADER_BYTES], const struct cairn_fold_chunk *c)
{
	memcpy(out, c->ctype, CAIRN_FOLD_CTYPE_BYTES);
	cairn_put_u32be(out + 4, c->flags);
	cairn_put_u64be(out + 8, c->uncomp_len);
	cairn_put_u64be(out + 16, c->comp_len);
	cairn_put_u32be(out + 24, c->crc32c);
	cairn_put_u32be(out + 28, (uint32_t)c->ecc_len);
}

static enum cairn_status format_limit(uint64_t len, uint64_t at, const char *field, struct cairn_diag *diag)
{
	if (len <= CAIRN_FOLD_CHUNK_BYTES_MAX)
		return CAIRN_OK;
	(void)cairn_fail(diag, CAIRN_E_LIMIT, "fold.chunk_bytes", at, "the chunk's %s is over 2 GiB", field);
	cairn_diag_numbers(diag, CAIRN_FOLD_CHUNK_BYTES_MAX, len);
	return CAIRN_E_LIMIT;
}

enum cairn_status cairn_fold_chunk_header_get(struct cairn_fold_chunk *out,
					      const uint8_t bytes[static CAIRN_FOLD_CHUNK_HEADER_BYTES], uint64_t at,
					      struct cairn_diag *diag)
{
	struct cairn_cur cur = cairn_cur_init(bytes, CAIRN_FOLD_CHUNK_HEADER_BYTES);
	*out = (struct cairn_fold_chunk){.offset = at};
	memcpy(out->ctype, cairn_cur_take(&cur, CAIRN_FOLD_CTYPE_BYTES), CAIRN_FOLD_CTYPE_BYTES);
	out->flags = cairn_cur_u32be(&cur);
	out->uncomp_len = cairn_cur_u64be(&cur);
	out->comp_len = cairn_cur_u64be(&cur);
	out->crc32c = cairn_cur_u32be(&cur);
	out->ecc_len = cairn_cur_u32be(&cur);
	for (int i = 0; i < CAIRN_FOLD_CTYPE_BYTES; i++)
		if (out->ctype[i] < 0x20 || out->ctype[i] > 0x7e)
			return cairn_fail(diag, CAIRN_E_FORMAT, "fold.ctype", at + (unsigned)i,
					  "the chunk's type is not four printable characters");
	if (out->flags != CAIRN_FOLD_STORED && out->flags != CAIRN_FOLD_ZSTD) {
		(void)cairn_fail(diag, CAIRN_E_FORMAT, "fold.flags", at + 4,
				 "the chunk's flags are neither 0 (stored) nor 1 (zstd)");
		cairn_diag_numbers(diag, CAIRN_FOLD_ZSTD, out->flags);
		return CAIRN_E_FORMAT;
	}
	enum cairn_status status = format_limit(out->uncomp_len, at + 8, "uncomp_len", diag);
	if (status == CAIRN_OK)
		status = format_limit(out->comp_len, at + 16, "comp_len", diag);
	return status == CAIRN_OK ? format_limit(out->ecc_len, at + 28, "ecc_len", diag) : status;
}

uint64_t cairn_fold_chunk_bytes(const struct cairn_fold_chunk *c)
{
	return CAIRN_FOLD_CHUNK_HEADER_BYTES + c->comp_len + c->ecc_len;
}

/* Hashes an entry's leaf: 'L', then canonical JSON (sorted names, unescaped UTF-8) of name, offset and SHA-256. */
static enum cairn_status format_leaf(struct cairn_buf *text, uint8_t *out, const struct cairn_fold_chunk *c,
				     const char *prefix)
{
	char sha256[CAIRN_HASH_TEXT_BYTES];
	cairn_hex_text(sha256, c->sha256, CAIRN_SHA256_BYTES);
	text->len = 0;
	cairn_buf_printf(text, "L{\"name\":");
	cairn_json_canonical_string(text, c->name, strlen(c->name), false);
	cairn_buf_printf(text, ",\"offset\":%" PRIu64 ",\"sha256\":\"%s%s\"}", c->offset, prefix, sha256);
	if (text->status == CAIRN_OK)
		cairn_blake2b(out, text->bytes, text->len);
	return text->status;
}

enum cairn_status cairn_fold_merkle_root(uint8_t out[static CAIRN_SHA256_BYTES], const struct cairn_fold_chunk *chunks,
					 size_t n, const char *prefix)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf nodes = cairn_buf_init(SIZE_MAX);
	CLEANUP(cairn_buf_fini) struct cairn_buf text = cairn_buf_init(SIZE_MAX);
	uint8_t *level = cairn_buf_extend(&nodes, n * CAIRN_BLAKE2B_BYTES);
	if (!level)
		return CAIRN_E_NOMEM;
	for (size_t i = 0; i < n; i++)
		if (format_leaf(&text, level + i * CAIRN_BLAKE2B_BYTES, &chunks[i], prefix) != CAIRN_OK)
			return CAIRN_E_NOMEM;
	for (; n > 1; n = (n + 1) / 2) {
		for (size_t i = 0; i < n; i += 2) {
			uint8_t pair[1 + 2 * CAIRN_BLAKE2B_BYTES] = {'N'};
			size_t right = i + 1 < n ? i + 1 : i; /* a node without a partner is paired with itself */
			memcpy(pair + 1, level + i * CAIRN_BLAKE2B_BYTES, CAIRN_BLAKE2B_BYTES);
			memcpy(pair + 1 + CAIRN_BLAKE2B_BYTES, level + right * CAIRN_BLAKE2B_BYTES,
			       CAIRN_BLAKE2B_BYTES);
			cairn_blake2b(level + i / 2 * CAIRN_BLAKE2B_BYTES, pair, sizeof(pair));
		}
	}
	memcpy(out, level, CAIRN_BLAKE2B_BYTES);
	return CAIRN_OK;
}
