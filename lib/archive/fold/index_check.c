#include "archive/fold/index_check.h"

#include "archive/fold/json_canonical.h"
#include "archive/fold/parity.h"
#include "hash/hash.h"

#include <stdlib.h>
#include <string.h>

static const char CHECK_HASHES[] = "chunk_hashes", CHECK_MANIFEST[] = "manifest_hash";

static int check_compare_names(const void *a, const void *b, void *ctx)
{
	const struct cairn_fold_chunk *chunks = ctx;
	return strcmp(chunks[*(const uint32_t *)a].name, chunks[*(const uint32_t *)b].name);
}

static int check_compare_offsets(const void *a, const void *b, void *ctx)
{
	const struct cairn_fold_chunk *chunks = ctx;
	uint64_t x = chunks[*(const uint32_t *)a].offset, y = chunks[*(const uint32_t *)b].offset;
	return (x > y) - (x < y);
}

const struct cairn_fold_chunk *cairn_fold_index_find(const struct cairn_fold_index *ix, const char *name)
{
	size_t low = 0, high = ix->n_chunks;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct cairn_fold_chunk *c = &ix->chunks[ix->by_name[middle]];
		int order = strcmp(name, c->name);
		if (order == 0)
			return c;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static enum cairn_status check_lengths(const struct cairn_fold_index *ix, const struct cairn_fold_chunk *c,
				       struct cairn_diag *diag)
{
	uint64_t longest = c->comp_len > c->uncomp_len ? c->comp_len : c->uncomp_len;
	if (longest > CAIRN_FOLD_CHUNK_BYTES_MAX || c->ecc_len > CAIRN_FOLD_CHUNK_BYTES_MAX) {
		(void)cairn_fail(diag, CAIRN_E_LIMIT, "fold.chunk_bytes", ix->at, "chunk \"%.100s\" is over 2 GiB",
				 c->name);
		cairn_diag_numbers(diag, CAIRN_FOLD_CHUNK_BYTES_MAX, longest > c->ecc_len ? longest : c->ecc_len);
		return CAIRN_E_LIMIT;
	}
	uint64_t ecc_len = c->parity ? cairn_parity_bytes(c->parity, c->comp_len) : 0;
	if (c->ecc_len == ecc_len)
		return CAIRN_OK;
	(void)cairn_fail(diag, CAIRN_E_FORMAT, "fold.ecc_len", ix->at,
			 "the parity of chunk \"%.100s\" has another length than its kind gives", c->name);
	cairn_diag_numbers(diag, ecc_len, c->ecc_len);
	return CAIRN_E_FORMAT;
}

static enum cairn_status check_extents(const struct cairn_fold_index *ix, uint32_t *order, struct cairn_diag *diag)
{
	uint64_t end = CAIRN_FOLD_HEADER_BYTES;
	const char *before = NULL;
	for (size_t i = 0; i < ix->n_chunks; i++)
		order[i] = (uint32_t)i;
	if (ix->n_chunks > 1)
		qsort_r(order, ix->n_chunks, sizeof(*order), check_compare_offsets, ix->chunks);
	for (size_t i = 0; i < ix->n_chunks; i++) {
		const struct cairn_fold_chunk *c = &ix->chunks[order[i]];
		enum cairn_status status = check_lengths(ix, c, diag);
		if (status != CAIRN_OK)
			return status;
		if (c->offset < end) {
			(void)cairn_fail(diag, CAIRN_E_FORMAT, "fold.extent", c->offset,
					 before ? "chunk \"%.100s\" begins within chunk \"%.100s\""
						: "chunk \"%.100s\" begins within the file's header%s",
					 c->name, before ? before : "");
			cairn_diag_numbers(diag, end, c->offset);
			return CAIRN_E_FORMAT;
		}
		end = c->offset + cairn_fold_chunk_bytes(c);
		before = c->name;
		if (end <= ix->at)
			continue;
		(void)cairn_fail(diag, CAIRN_E_FORMAT, "fold.extent", c->offset,
				 "chunk \"%.100s\" ends after the beginning of the index", c->name);
		cairn_diag_numbers(diag, ix->at, end);
		return CAIRN_E_FORMAT;
	}
	return CAIRN_OK;
}

static enum cairn_status check_names(struct cairn_fold_index *ix, struct cairn_diag *diag)
{
	for (size_t i = 0; i < ix->n_chunks; i++)
		ix->by_name[i] = (uint32_t)i;
	if (ix->n_chunks > 1)
		qsort_r(ix->by_name, ix->n_chunks, sizeof(*ix->by_name), check_compare_names, ix->chunks);
	for (size_t i = 1; i < ix->n_chunks; i++) {
		const struct cairn_fold_chunk *a = &ix->chunks[ix->by_name[i - 1]], *b = &ix->chunks[ix->by_name[i]];
		if (strcmp(a->name, b->name) == 0)
			return cairn_fail(diag, CAIRN_E_FORMAT, "fold.name", b->offset,
					  "two chunks have the name \"%.100s\"", b->name);
	}
	return CAIRN_OK;
}

enum cairn_status cairn_fold_manifest_hash(uint8_t out[static CAIRN_SHA256_BYTES], const void *metadata, size_t len)
{
	/* Escapes turn one byte into six. */
	CLEANUP(cairn_buf_fini) struct cairn_buf text = cairn_buf_init(6 * len + 64);
	CLEANUP(cairn_sha256_freep) struct cairn_sha256 *digest = cairn_sha256_new();
	struct cairn_json_pull p = cairn_json_pull_init(metadata, len);
	if (!digest)
		return CAIRN_E_NOMEM;
	enum cairn_status status = cairn_json_canonical(&text, &p, CHECK_MANIFEST);
	if (status != CAIRN_OK)
		return status;
	cairn_sha256_add(digest, text.bytes, text.len);
	cairn_sha256_end(digest, out);
	return CAIRN_OK;
}

static enum cairn_status check_bad_metadata(const struct cairn_fold_index *ix, const struct cairn_json_pull *p,
					    struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_FORMAT, "fold.metadata", ix->at + ix->metadata.at + p->at,
			  "the metadata cannot be understood: %s", p->bad ? p->bad : "its names repeat");
}

/* Reads a hash from a member of the metadata, with the dialect's prefix. @return false: not a hash */
static bool check_hash(struct cairn_json_pull *p, struct cairn_buf *word, bool has_prefix,
		       uint8_t out[static CAIRN_SHA256_BYTES])
{
	static const char PREFIX[] = "sha256:";
	size_t n = has_prefix ? sizeof(PREFIX) - 1 : 0;
	word->len = 0;
	return cairn_json_pull_string(p, word) && word->len > n && memcmp(word->bytes, PREFIX, n) == 0 &&
	       cairn_hex_parse(out, CAIRN_SHA256_BYTES, (const char *)word->bytes + n, word->len - n) == CAIRN_OK;
}

static enum cairn_status check_chunk_hashes(const struct cairn_fold_index *ix, struct cairn_json_pull *p,
					    struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf name = cairn_buf_init(ix->text.len + 1);
	CLEANUP(cairn_buf_fini) struct cairn_buf word = cairn_buf_init(ix->text.len);
	bool first = true;
	size_t n = 0;
	if (!cairn_json_pull_open(p, '{'))
		return check_bad_metadata(ix, p, diag);
	for (; cairn_json_pull_member(p, &first, &name); n++) {
		uint8_t sha256[CAIRN_SHA256_BYTES];
		uint64_t at = ix->at + ix->metadata.at + p->at;
		cairn_buf_add(&name, "", 1);
		if (name.status != CAIRN_OK)
			return CAIRN_E_NOMEM;
		bool is_name = strlen((const char *)name.bytes) + 1 == name.len;
		const struct cairn_fold_chunk *c = is_name ? cairn_fold_index_find(ix, (const char *)name.bytes) : NULL;
		if (!c)
			return cairn_fail(diag, CAIRN_E_MISMATCH, "fold.chunk_hashes", at,
					  "chunk_hashes names a chunk that is not in the file: \"%.100s\"",
					  (const char *)name.bytes);
		if (!check_hash(p, &word, ix->has_prefix, sha256) || memcmp(sha256, c->sha256, sizeof(sha256)) != 0)
			return cairn_fail(diag, CAIRN_E_MISMATCH, "fold.chunk_hashes", at,
					  "chunk_hashes has another hash for chunk \"%.100s\" than its entry", c->name);
	}
	if (p->bad)
		return check_bad_metadata(ix, p, diag);
	if (n == ix->n_chunks) /* names are unique, or the canonical form would have been refused */
		return CAIRN_OK;
	(void)cairn_fail(diag, CAIRN_E_MISMATCH, "fold.chunk_hashes", ix->at + ix->metadata.at,
			 "chunk_hashes does not name every chunk");
	cairn_diag_numbers(diag, ix->n_chunks, n);
	return CAIRN_E_MISMATCH;
}

static enum cairn_status check_manifest(struct cairn_fold_index *ix, struct cairn_json_pull *p, struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf word = cairn_buf_init(ix->text.len);
	uint8_t stated[CAIRN_SHA256_BYTES];
	uint64_t at = ix->at + ix->metadata.at + p->at;
	if (check_hash(p, &word, ix->has_prefix, stated) && memcmp(stated, ix->manifest_hash, sizeof(stated)) == 0) {
		ix->has_manifest = true;
		return CAIRN_OK;
	}
	char expected[CAIRN_HASH_TEXT_BYTES];
	cairn_hex_text(expected, ix->manifest_hash, CAIRN_SHA256_BYTES);
	cairn_buf_add(&word, "", 1);
	(void)cairn_fail(diag, CAIRN_E_MISMATCH, "fold.manifest", at,
			 "the metadata does not give the manifest_hash that is written in it");
	cairn_diag_values(diag, expected, word.status == CAIRN_OK ? (const char *)word.bytes : "");
	return CAIRN_E_MISMATCH;
}

static enum cairn_status check_metadata(struct cairn_fold_index *ix, struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf name = cairn_buf_init(ix->text.len);
	if (!ix->has_metadata)
		return CAIRN_OK;
	struct cairn_json_pull p = cairn_json_pull_init(ix->text.bytes + ix->metadata.at, ix->metadata.len);
	struct cairn_json_pull whole = p;
	if (cairn_json_pull_peek(&p) != '{')
		return cairn_fail(diag, CAIRN_E_FORMAT, "fold.metadata", ix->at + ix->metadata.at,
				  "the metadata is not an object");
	enum cairn_status status = cairn_fold_manifest_hash(ix->manifest_hash, p.text, p.len);
	if (status == CAIRN_E_FORMAT)
		return check_bad_metadata(ix, &whole, diag);
	bool first = true;
	(void)cairn_json_pull_open(&p, '{');
	while (status == CAIRN_OK && cairn_json_pull_member(&p, &first, &name)) {
		bool is_hashes = name.len == strlen(CHECK_HASHES) && memcmp(name.bytes, CHECK_HASHES, name.len) == 0;
		bool is_manifest =
			name.len == strlen(CHECK_MANIFEST) && memcmp(name.bytes, CHECK_MANIFEST, name.len) == 0;
		(void)cairn_json_pull_peek(&p);
		if (is_hashes)
			status = check_chunk_hashes(ix, &p, diag);
		else if (is_manifest)
			status = check_manifest(ix, &p, diag);
		else
			(void)cairn_json_pull_skip(&p, NULL);
	}
	return status;
}

static enum cairn_status check_merkle(const struct cairn_fold_index *ix, struct cairn_diag *diag)
{
	uint8_t root[CAIRN_SHA256_BYTES];
	char expected[CAIRN_HASH_TEXT_BYTES], actual[sizeof(expected)];
	if (!ix->has_merkle || ix->n_chunks == 0)
		return CAIRN_OK;
	enum cairn_status status =
		cairn_fold_merkle_root(root, ix->chunks, ix->n_chunks, ix->has_prefix ? "sha256:" : "");
	if (status != CAIRN_OK || memcmp(root, ix->merkle_root, sizeof(root)) == 0)
		return status;
	(void)cairn_fail(diag, CAIRN_E_MISMATCH, "fold.merkle", ix->at,
			 "names, offsets and hashes of the chunks do not give the merkle_root of the index");
	cairn_hex_text(expected, root, sizeof(root));
	cairn_hex_text(actual, ix->merkle_root, sizeof(root));
	cairn_diag_values(diag, expected, actual);
	return CAIRN_E_MISMATCH;
}

enum cairn_status cairn_fold_index_check(struct cairn_fold_index *ix, struct cairn_diag *diag)
{
	ix->by_name = calloc(ix->n_chunks + 1, sizeof(*ix->by_name));
	if (!ix->by_name)
		return CAIRN_E_NOMEM;
	/* by_name first holds the order by offset. */
	enum cairn_status status = check_extents(ix, ix->by_name, diag);
	if (status == CAIRN_OK)
		status = check_names(ix, diag);
	if (status == CAIRN_OK)
		status = check_metadata(ix, diag);
	return status == CAIRN_OK ? check_merkle(ix, diag) : status;
}
