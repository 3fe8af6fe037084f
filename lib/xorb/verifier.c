#include "xorb/verifier.h"

#include "xorb/codec.h"
#include "xorb/footer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct cairn_xorb_verifier_options CAIRN_XORB_UPLOAD_OPTIONS = {
	.bytes_max = CAIRN_XORB_SERIALIZED_BYTES_MAX,
	.chunks_max = CAIRN_XORB_CHUNKS_MAX,
	.chunk_bytes_max = CAIRN_CHUNK_BYTES_MAX,
};

struct cairn_xorb_verifier {
	struct cairn_xorb_verifier_options options;
	struct cairn_codec *codec;
	struct cairn_buf partial; /* header and data of a chunk that arrives in pieces */
	struct cairn_buf footer;
	bool in_footer;
	struct cairn_xorb_chunk_header header; /* header of the chunk in partial, once complete */
	uint64_t data_end;                     /* serialized bytes of the chunks that are complete */
	uint64_t unpacked_bytes;
	uint32_t chunks_of_scheme[3];
	struct cairn_chunk_list list;
	enum cairn_status status; /* sticky */
	struct cairn_diag why;    /* diagnosis of the sticky status */
};

struct cairn_xorb_verifier *cairn_xorb_verifier_new(const struct cairn_xorb_verifier_options *options)
{
	CLEANUP(cairn_xorb_verifier_freep) struct cairn_xorb_verifier *v = calloc(1, sizeof(*v));
	if (!v)
		return NULL;
	v->options = *options;
	if (v->options.chunks_max > CAIRN_XORB_CHUNKS_MAX)
		v->options.chunks_max = CAIRN_XORB_CHUNKS_MAX;
	if (v->options.bytes_max > UINT32_MAX) /* offsets of chunks are u32 */
		v->options.bytes_max = UINT32_MAX;
	v->partial = cairn_buf_init(CAIRN_XORB_CHUNK_HEADER_BYTES + (size_t)CAIRN_CHUNK_READ_BYTES_MAX);
	v->footer = cairn_buf_init(cairn_xorb_footer_bytes(CAIRN_XORB_CHUNKS_MAX));
	v->codec = cairn_codec_new();
	if (!v->codec)
		return NULL;
	struct cairn_xorb_verifier *out = v;
	v = NULL;
	return out;
}

void cairn_xorb_verifier_free(struct cairn_xorb_verifier *v)
{
	if (!v)
		return;
	cairn_codec_free(v->codec);
	cairn_buf_fini(&v->partial);
	cairn_buf_fini(&v->footer);
	cairn_chunk_list_fini(&v->list);
	free(v);
}

void cairn_xorb_verifier_freep(struct cairn_xorb_verifier **v)
{
	cairn_xorb_verifier_free(*v);
	*v = NULL;
}

/* Reads the header of the chunk that starts at data_end, and checks its lengths before any data are kept. */
static enum cairn_status verifier_header(struct cairn_xorb_verifier *v, const uint8_t *bytes)
{
	enum cairn_status status =
		cairn_xorb_chunk_header_parse(&v->header, bytes, v->data_end, v->options.chunk_bytes_max, &v->why);
	if (status != CAIRN_OK)
		return status;
	if (v->list.n >= v->options.chunks_max) {
		cairn_fail(&v->why, CAIRN_E_LIMIT, "xorb.too_many_chunks", v->data_end,
			   "a xorb has at most %" PRIu32 " chunks; begin another one", v->options.chunks_max);
		cairn_diag_numbers(&v->why, v->options.chunks_max, (uint64_t)v->list.n + 1);
		return CAIRN_E_LIMIT;
	}
	uint64_t end = v->data_end + CAIRN_XORB_CHUNK_HEADER_BYTES + v->header.compressed_bytes;
	if (end > v->options.bytes_max) {
		cairn_fail(&v->why, CAIRN_E_LIMIT, "xorb.too_long", v->data_end,
			   "this chunk ends at byte %" PRIu64 ", but a xorb has at most %" PRIu64
			   " bytes; begin another one",
			   end, v->options.bytes_max);
		cairn_diag_numbers(&v->why, v->options.bytes_max, end);
		return CAIRN_E_LIMIT;
	}
	return CAIRN_OK;
}

static enum cairn_status verifier_chunk(struct cairn_xorb_verifier *v, const uint8_t *data)
{
	const uint8_t *raw = NULL;
	enum cairn_status status = cairn_codec_unpack(v->codec, &raw, &v->header, data, v->data_end, &v->why);
	if (status != CAIRN_OK)
		return status;
	status = cairn_codec_judge(v->codec, &v->header, data, v->data_end, &v->why);
	if (status != CAIRN_OK)
		return status;
	struct cairn_hash hash;
	cairn_hash_chunk(&hash, raw, v->header.unpacked_bytes);
	v->data_end += CAIRN_XORB_CHUNK_HEADER_BYTES + v->header.compressed_bytes;
	v->unpacked_bytes += v->header.unpacked_bytes;
	v->chunks_of_scheme[v->header.scheme]++;
	struct cairn_span span = {v->header.unpacked_bytes, (uint32_t)v->data_end};
	return cairn_chunk_list_add(&v->list, &hash, span);
}

/* Takes bytes of the footer. Its length follows from the number of chunks, so no more is ever kept. */
static enum cairn_status verifier_footer(struct cairn_xorb_verifier *v, const uint8_t *bytes, size_t len)
{
	size_t whole = cairn_xorb_footer_bytes(v->list.n);
	size_t n = len < whole - v->footer.len ? len : whole - v->footer.len;
	cairn_buf_add(&v->footer, bytes, n);
	if (v->footer.status != CAIRN_OK)
		return v->footer.status;
	if (!cairn_xorb_footer_begins(v->footer.bytes, v->footer.len))
		return cairn_fail(&v->why, CAIRN_E_FORMAT, "xorb.chunk_version", v->data_end,
				  "neither a chunk header (its version is 0) nor a footer (XETBLOB) starts here");
	if (n < len)
		return cairn_fail(&v->why, CAIRN_E_FORMAT, "xorb.trailing", v->data_end + whole,
				  "bytes follow the footer of %zu bytes; a xorb ends with it", whole);
	return CAIRN_OK;
}

/* Adds bytes to the partial chunk: first up to the end of its header, then up to its end. */
static enum cairn_status verifier_collect(struct cairn_xorb_verifier *v, const uint8_t *bytes, size_t len, size_t *used)
{
	bool has_header = v->partial.len >= CAIRN_XORB_CHUNK_HEADER_BYTES;
	size_t whole = CAIRN_XORB_CHUNK_HEADER_BYTES + (has_header ? (size_t)v->header.compressed_bytes : 0);
	size_t need = whole - v->partial.len;
	*used = len < need ? len : need;
	cairn_buf_add(&v->partial, bytes, *used);
	if (v->partial.status != CAIRN_OK)
		return v->partial.status;
	if (*used < need)
		return CAIRN_OK;
	if (!has_header)
		return verifier_header(v, v->partial.bytes);
	v->partial.len = 0; /* the bytes stay where they are */
	return verifier_chunk(v, v->partial.bytes + CAIRN_XORB_CHUNK_HEADER_BYTES);
}

/* Takes one chunk without copying it if it is complete here. Otherwise keeps the part that has arrived. */
static enum cairn_status verifier_take(struct cairn_xorb_verifier *v, const uint8_t *bytes, size_t len, size_t *used)
{
	if (v->partial.len > 0 || len < CAIRN_XORB_CHUNK_HEADER_BYTES)
		return verifier_collect(v, bytes, len, used);
	*used = 0;
	enum cairn_status status = verifier_header(v, bytes);
	if (status != CAIRN_OK)
		return status;
	size_t whole = CAIRN_XORB_CHUNK_HEADER_BYTES + (size_t)v->header.compressed_bytes;
	if (len >= whole) {
		*used = whole;
		return verifier_chunk(v, bytes + CAIRN_XORB_CHUNK_HEADER_BYTES);
	}
	*used = len;
	cairn_buf_add(&v->partial, bytes, len);
	return v->partial.status;
}

static enum cairn_status verifier_fail(struct cairn_xorb_verifier *v, enum cairn_status status, struct cairn_diag *diag)
{
	v->status = status;
	if (diag && !diag->rule)
		*diag = v->why;
	return status;
}

enum cairn_status cairn_xorb_verifier_feed(struct cairn_xorb_verifier *v, const uint8_t *bytes, size_t len,
					   size_t *n_data, struct cairn_diag *diag)
{
	*n_data = 0;
	enum cairn_status status = v->status;
	while (status == CAIRN_OK && !v->in_footer && *n_data < len) {
		/* No chunk header starts with the first letter of the footer: its version would be 88. */
		if (v->partial.len == 0 && cairn_xorb_footer_begins(bytes + *n_data, 1)) {
			v->in_footer = true;
			break;
		}
		size_t used = 0;
		status = verifier_take(v, bytes + *n_data, len - *n_data, &used);
		*n_data += used;
	}
	if (status == CAIRN_OK && v->in_footer && *n_data < len)
		status = verifier_footer(v, bytes + *n_data, len - *n_data);
	return status == CAIRN_OK ? CAIRN_OK : verifier_fail(v, status, diag);
}

static enum cairn_status verifier_check_root(struct cairn_xorb_verifier *v, const struct cairn_hash *root,
					     const struct cairn_hash *expected)
{
	if (!expected || cairn_hash_equal(root, expected))
		return CAIRN_OK;
	char expected_text[CAIRN_HASH_TEXT_BYTES], root_text[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(expected_text, expected);
	cairn_hash_text(root_text, root);
	cairn_fail(&v->why, CAIRN_E_MISMATCH, "xorb.hash", CAIRN_NO_OFFSET,
		   "the %" PRIu32 " chunks of this xorb do not have the hash it was uploaded under; "
		   "its data was changed on the way, or the hash was computed over other chunks",
		   v->list.n);
	cairn_diag_values(&v->why, expected_text, root_text);
	return CAIRN_E_MISMATCH;
}

static enum cairn_status verifier_check_end(struct cairn_xorb_verifier *v)
{
	if (v->partial.len > 0) {
		bool has_header = v->partial.len >= CAIRN_XORB_CHUNK_HEADER_BYTES;
		size_t whole = CAIRN_XORB_CHUNK_HEADER_BYTES + (has_header ? (size_t)v->header.compressed_bytes : 0);
		cairn_fail(&v->why, CAIRN_E_FORMAT, "xorb.truncated", v->data_end + v->partial.len,
			   "the xorb ends in the %s of chunk %" PRIu32 ", %zu bytes short; send all of it",
			   has_header ? "data" : "header", v->list.n, whole - v->partial.len);
		cairn_diag_numbers(&v->why, v->data_end + whole, v->data_end + v->partial.len);
		return CAIRN_E_FORMAT;
	}
	if (v->list.n == 0)
		return cairn_fail(&v->why, CAIRN_E_FORMAT, "xorb.empty", 0,
				  "this xorb holds no chunk; there is no empty xorb, do not upload it");
	return CAIRN_OK;
}

enum cairn_status cairn_xorb_verifier_end(struct cairn_xorb_verifier *v, const struct cairn_hash *expected,
					  struct cairn_xorb_summary *out, struct cairn_diag *diag)
{
	enum cairn_status status = v->status == CAIRN_OK ? verifier_check_end(v) : v->status;
	struct cairn_hash root = {0};
	if (status == CAIRN_OK)
		cairn_chunk_list_root(&v->list, &root);
	if (status == CAIRN_OK && v->in_footer)
		status = cairn_xorb_footer_check(v->footer.bytes, v->footer.len, &v->list, &root, v->data_end, &v->why);
	if (status == CAIRN_OK)
		status = verifier_check_root(v, &root, expected);
	if (status != CAIRN_OK)
		return verifier_fail(v, status, diag);
	*out = (struct cairn_xorb_summary){
		.root = root,
		.chunk_data_bytes = v->data_end,
		.unpacked_bytes = v->unpacked_bytes,
		.has_footer = v->in_footer,
	};
	memcpy(out->chunks_of_scheme, v->chunks_of_scheme, sizeof(out->chunks_of_scheme));
	return CAIRN_OK;
}

const struct cairn_chunk_list *cairn_xorb_verifier_list(const struct cairn_xorb_verifier *v)
{
	return &v->list;
}

struct cairn_chunk_list cairn_xorb_verifier_take_list(struct cairn_xorb_verifier *v)
{
	struct cairn_chunk_list list = v->list;
	v->list = (struct cairn_chunk_list){0};
	return list;
}
