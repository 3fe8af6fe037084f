#include "archive/fold/index.h"

#include "archive/fold/index_check.h"
#include "archive/fold/json_pull.h"
#include "archive/fold/parity.h"
#include "hash/hash.h"

#include <stdlib.h>
#include <string.h>

struct index_parse {
	struct cairn_fold_index *ix;
	struct cairn_json_pull p;
	struct cairn_buf chunks; /* array of struct cairn_fold_chunk, whose names are offsets until the end */
	struct cairn_buf word;   /* scratch: a name or short string */
	enum cairn_status status;
	struct cairn_diag *diag;
};

/* The fields of an entry, all of them required. */
enum index_field {
	INDEX_NAME,
	INDEX_CTYPE,
	INDEX_FLAGS,
	INDEX_OFFSET,
	INDEX_HEADER_LEN,
	INDEX_COMP_LEN,
	INDEX_UNCOMP_LEN,
	INDEX_CRC32C,
	INDEX_SHA256,
	INDEX_ECC_ALGO,
	INDEX_ECC_LEN,
	INDEX_FIELDS,
};

static const char *const INDEX_FIELD_NAMES[INDEX_FIELDS] = {
	"name",       "ctype",  "flags",  "offset",   "header_len", "comp_len",
	"uncomp_len", "crc32c", "sha256", "ecc_algo", "ecc_len",
};

void cairn_fold_index_fini(struct cairn_fold_index *ix)
{
	cairn_buf_fini(&ix->text);
	cairn_buf_fini(&ix->names);
	free(ix->chunks);
	free(ix->by_name);
	*ix = (struct cairn_fold_index){0};
}

static bool index_refuse(struct index_parse *x, enum cairn_status status, const char *rule, const char *what)
{
	if (x->status == CAIRN_OK)
		x->status = cairn_fail(x->diag, status, rule, x->ix->at + x->p.at, "%s", what);
	return false;
}

static bool index_word_is(const struct index_parse *x, const char *text)
{
	return x->word.len == strlen(text) && memcmp(x->word.bytes, text, x->word.len) == 0;
}

/* Reads a string into x->word, with a zero after its end. */
static bool index_word(struct index_parse *x)
{
	x->word.len = 0;
	if (!cairn_json_pull_string(&x->p, &x->word))
		return false;
	cairn_buf_add(&x->word, "", 1);
	if (x->word.status != CAIRN_OK)
		return index_refuse(x, x->word.status, "fold.index", "a string in the index is too long");
	x->word.len--;
	return true;
}

/* --- one entry ---------------------------------------------------------------------------------------------------- */

static bool index_name(struct index_parse *x, struct cairn_fold_chunk *c)
{
	if (!index_word(x))
		return false;
	if (x->word.len > CAIRN_FOLD_NAME_BYTES_MAX || memchr(x->word.bytes, 0, x->word.len))
		return index_refuse(x, CAIRN_E_FORMAT, "fold.name",
				    "a chunk's name has a zero byte, or more than 4096 bytes");
	c->name = (const char *)(uintptr_t)x->ix->names.len; /* an offset for now; names may move */
	cairn_buf_add(&x->ix->names, x->word.bytes, x->word.len + 1);
	return true;
}

static bool index_ctype(struct index_parse *x, struct cairn_fold_chunk *c)
{
	if (!index_word(x))
		return false;
	if (x->word.len != CAIRN_FOLD_CTYPE_BYTES)
		return index_refuse(x, CAIRN_E_FORMAT, "fold.ctype",
				    "the chunk's type is not four printable characters");
	memcpy(c->ctype, x->word.bytes, CAIRN_FOLD_CTYPE_BYTES);
	return true;
}

/* Reads a SHA-256 in hexadecimal, with or without the later dialect's prefix. */
static bool index_hash(struct index_parse *x, uint8_t out[static CAIRN_SHA256_BYTES], bool *has_prefix)
{
	static const char PREFIX[] = "sha256:", KEYED[] = "hmac-sha256:";
	if (!index_word(x))
		return false;
	size_t n = strlen(PREFIX);
	*has_prefix = x->word.len > n && memcmp(x->word.bytes, PREFIX, n) == 0;
	if (x->word.len > strlen(KEYED) && memcmp(x->word.bytes, KEYED, strlen(KEYED)) == 0)
		return index_refuse(x, CAIRN_E_FORMAT, "fold.keyed",
				    "the hashes were made with a secret key, so they cannot be checked");
	size_t at = *has_prefix ? n : 0;
	if (cairn_hex_parse(out, CAIRN_SHA256_BYTES, (const char *)x->word.bytes + at, x->word.len - at) != CAIRN_OK)
		return index_refuse(x, CAIRN_E_FORMAT, "fold.entry", "this is not a hash of 64 hexadecimal digits");
	return true;
}

static bool index_sha256(struct index_parse *x, struct cairn_fold_chunk *c)
{
	bool has_prefix = false;
	if (!index_hash(x, c->sha256, &has_prefix))
		return false;
	if (x->chunks.len > 0 && has_prefix != x->ix->has_prefix)
		return index_refuse(x, CAIRN_E_FORMAT, "fold.entry",
				    "some hashes of the index have a prefix, and others do not");
	x->ix->has_prefix = has_prefix;
	return true;
}

/* Reads "none" or "rs(N)". */
static bool index_ecc_algo(struct index_parse *x, struct cairn_fold_chunk *c)
{
	if (!index_word(x))
		return false;
	c->parity = 0;
	if (index_word_is(x, "none"))
		return true;
	const char *text = (const char *)x->word.bytes;
	unsigned n = 0;
	size_t at = 3;
	if (x->word.len >= 5 && x->word.len <= 7 && memcmp(text, "rs(", 3) == 0)
		for (; text[at] >= '0' && text[at] <= '9'; at++)
			n = n * 10 + (unsigned)(text[at] - '0');
	if (n < CAIRN_PARITY_MIN || n > CAIRN_PARITY_MAX || text[3] == '0' || strcmp(text + at, ")") != 0)
		return index_refuse(x, CAIRN_E_FORMAT, "fold.ecc_algo",
				    "the parity is neither \"none\" nor \"rs(N)\" with N from 1 to 254");
	c->parity = n;
	return true;
}

static bool index_number(struct index_parse *x, uint64_t max, uint64_t *out)
{
	return cairn_json_pull_u64(&x->p, max, out);
}

static bool index_number32(struct index_parse *x, uint32_t *out)
{
	uint64_t n;
	if (!cairn_json_pull_u64(&x->p, UINT32_MAX, &n))
		return false;
	*out = (uint32_t)n;
	return true;
}

static bool index_header_len(struct index_parse *x)
{
	uint64_t n;
	return index_number(x, UINT32_MAX, &n) &&
	       (n == CAIRN_FOLD_CHUNK_HEADER_BYTES ||
		index_refuse(x, CAIRN_E_FORMAT, "fold.entry", "header_len of the entry is not 32"));
}

static bool index_field_value(struct index_parse *x, enum index_field field, struct cairn_fold_chunk *c)
{
	switch (field) {
	case INDEX_NAME:
		return index_name(x, c);
	case INDEX_CTYPE:
		return index_ctype(x, c);
	case INDEX_FLAGS:
		return index_number32(x, &c->flags);
	case INDEX_OFFSET:
		return index_number(x, INT64_MAX, &c->offset);
	case INDEX_HEADER_LEN:
		return index_header_len(x);
	case INDEX_COMP_LEN:
		return index_number(x, INT64_MAX, &c->comp_len);
	case INDEX_UNCOMP_LEN:
		return index_number(x, INT64_MAX, &c->uncomp_len);
	case INDEX_CRC32C:
		return index_number32(x, &c->crc32c);
	case INDEX_SHA256:
		return index_sha256(x, c);
	case INDEX_ECC_ALGO:
		return index_ecc_algo(x, c);
	case INDEX_ECC_LEN:
		return index_number(x, INT64_MAX, &c->ecc_len);
	case INDEX_FIELDS:
		break;
	}
	return false;
}

static bool index_member(struct index_parse *x, struct cairn_fold_chunk *c, unsigned *have)
{
	for (unsigned f = 0; f < INDEX_FIELDS; f++) {
		if (!index_word_is(x, INDEX_FIELD_NAMES[f]))
			continue;
		if (*have & 1U << f)
			return index_refuse(x, CAIRN_E_FORMAT, "fold.entry", "a field of this entry repeats");
		*have |= 1U << f;
		return index_field_value(x, (enum index_field)f, c);
	}
	if (index_word_is(x, "encrypted"))
		c->is_encrypted = cairn_json_pull_peek(&x->p) != 'f';
	return cairn_json_pull_skip(&x->p, NULL);
}

static bool index_entry(struct index_parse *x)
{
	struct cairn_fold_chunk c = {0};
	unsigned have = 0;
	bool first = true;
	size_t at = x->p.at;
	if (!cairn_json_pull_open(&x->p, '{'))
		return false;
	while (cairn_json_pull_member(&x->p, &first, &x->word))
		if (!index_member(x, &c, &have))
			return false;
	if (x->p.bad)
		return false;
	for (unsigned f = 0; f < INDEX_FIELDS; f++) {
		if (have & 1U << f)
			continue;
		x->status = cairn_fail(x->diag, CAIRN_E_FORMAT, "fold.entry", x->ix->at + at,
				       "the entry of a chunk has no %s", INDEX_FIELD_NAMES[f]);
		return false;
	}
	cairn_buf_add(&x->chunks, &c, sizeof(c));
	return true;
}

/* --- the whole index ---------------------------------------------------------------------------------------------- */

static bool index_chunks(struct index_parse *x)
{
	bool first = true;
	if (!cairn_json_pull_open(&x->p, '['))
		return false;
	while (cairn_json_pull_element(&x->p, &first))
		if (!index_entry(x))
			return false;
	return !x->p.bad;
}

static bool index_version(struct index_parse *x)
{
	if (!index_word(x))
		return false;
	if (!index_word_is(x, "1.0.0") && !index_word_is(x, "1.1.0") && !index_word_is(x, "1.2.0"))
		return index_refuse(x, CAIRN_E_FORMAT, "fold.version",
				    "the version is not 1.0.0, 1.1.0 or 1.2.0, the supported ones");
	memcpy(x->ix->version, x->word.bytes, x->word.len + 1);
	return true;
}

static bool index_span(struct index_parse *x, struct cairn_fold_span *span, bool *has)
{
	if (!cairn_json_pull_skip(&x->p, &span->at))
		return false;
	span->len = x->p.at - span->at;
	*has = true;
	return true;
}

enum {
	INDEX_TOP_FORMAT = 1,
	INDEX_TOP_VERSION = 2,
	INDEX_TOP_CREATED = 4,
	INDEX_TOP_METADATA = 8,
	INDEX_TOP_CHUNKS = 16,
	INDEX_TOP_MERKLE = 32
};

static unsigned index_top_bit(const struct index_parse *x)
{
	static const char *const NAMES[] = {"format",   "version", "created_at_unix",
					    "metadata", "chunks",  "merkle_root"};
	for (unsigned i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
		if (index_word_is(x, NAMES[i]))
			return 1U << i;
	return 0;
}

static bool index_top_member(struct index_parse *x, unsigned bit)
{
	bool has_prefix = false;
	switch (bit) {
	case INDEX_TOP_FORMAT:
		return index_word(x) &&
		       (index_word_is(x, "fold") || index_refuse(x, CAIRN_E_FORMAT, "fold.format",
								 "the format named in the index is not \"fold\""));
	case INDEX_TOP_VERSION:
		return index_version(x);
	case INDEX_TOP_CREATED:
		return index_span(x, &x->ix->created, &x->ix->has_created);
	case INDEX_TOP_METADATA:
		return index_span(x, &x->ix->metadata, &x->ix->has_metadata);
	case INDEX_TOP_CHUNKS:
		return index_chunks(x);
	case INDEX_TOP_MERKLE:
		x->ix->has_merkle = true;
		return index_hash(x, x->ix->merkle_root, &has_prefix);
	default:
		return cairn_json_pull_skip(&x->p, NULL);
	}
}

static bool index_top(struct index_parse *x)
{
	unsigned have = 0;
	bool first = true;
	memcpy(x->ix->version, "1.0.0", sizeof("1.0.0")); /* the version of files without that member */
	if (!cairn_json_pull_open(&x->p, '{'))
		return false;
	while (cairn_json_pull_member(&x->p, &first, &x->word)) {
		unsigned bit = index_top_bit(x);
		if (have & bit)
			return index_refuse(x, CAIRN_E_FORMAT, "fold.index", "a member of the index repeats");
		have |= bit;
		if (!index_top_member(x, bit))
			return false;
	}
	if (!cairn_json_pull_end(&x->p))
		return false;
	if (!(have & INDEX_TOP_FORMAT) || !(have & INDEX_TOP_CHUNKS))
		return index_refuse(x, CAIRN_E_FORMAT, "fold.format", "the index lacks \"format\" or \"chunks\"");
	return true;
}

static enum cairn_status index_parse_text(struct index_parse *x)
{
	struct cairn_fold_index *ix = x->ix;
	if (!index_top(x))
		(void)index_refuse(x, CAIRN_E_FORMAT, "fold.index",
				   x->p.bad ? x->p.bad : "the index cannot be understood");
	if (x->chunks.status == CAIRN_E_NOMEM || ix->names.status == CAIRN_E_NOMEM || x->word.status == CAIRN_E_NOMEM)
		return CAIRN_E_NOMEM;
	if (x->status != CAIRN_OK)
		return x->status;
	/* Both buffers are complete and move no more, so turn offsets into pointers. */
	ix->n_chunks = x->chunks.len / sizeof(*ix->chunks);
	ix->chunks = (struct cairn_fold_chunk *)(void *)x->chunks.bytes;
	x->chunks.bytes = NULL;
	for (size_t i = 0; i < ix->n_chunks; i++)
		ix->chunks[i].name = (const char *)ix->names.bytes + (uintptr_t)ix->chunks[i].name;
	return CAIRN_OK;
}

enum cairn_status cairn_fold_index_parse(struct cairn_fold_index *ix, struct cairn_diag *diag)
{
	ix->names = cairn_buf_init(SIZE_MAX); /* bounded by the text, like the chunks */
	struct index_parse x = {
		.ix = ix,
		.p = cairn_json_pull_init(ix->text.bytes, ix->text.len),
		.chunks = cairn_buf_init(SIZE_MAX),
		.word = cairn_buf_init(ix->text.len + 1),
		.diag = diag,
	};
	enum cairn_status status = index_parse_text(&x);
	cairn_buf_fini(&x.chunks);
	cairn_buf_fini(&x.word);
	return status == CAIRN_OK ? cairn_fold_index_check(ix, diag) : status;
}

enum cairn_status cairn_fold_index_text(const struct cairn_fold_index *ix, const char *name, char **text)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf word = cairn_buf_init(ix->text.len + 1);
	bool first = true;
	*text = NULL;
	if (!ix->has_metadata)
		return CAIRN_OK;
	struct cairn_json_pull p = cairn_json_pull_init(ix->text.bytes + ix->metadata.at, ix->metadata.len);
	(void)cairn_json_pull_open(&p, '{');
	while (cairn_json_pull_member(&p, &first, &word)) {
		bool is_it = word.len == strlen(name) && memcmp(word.bytes, name, word.len) == 0;
		word.len = 0;
		if (!is_it || cairn_json_pull_peek(&p) != '"') {
			(void)cairn_json_pull_skip(&p, NULL);
			continue;
		}
		(void)cairn_json_pull_string(&p, &word);
		*text = strndup((const char *)word.bytes, word.len);
		return *text ? CAIRN_OK : CAIRN_E_NOMEM;
	}
	return word.status;
}
