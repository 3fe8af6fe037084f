/* The only includer of LZ4. */
#include "xorb/codec.h"

#include "base/bytes.h"
#include "base/vec16.h"
#include "xorb/lz4_frame.h"

#include <assert.h>
#include <inttypes.h>
#include <lz4frame.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* Room after the expected raw bytes. With it, LZ4 unpacks the last block in place instead of through a copy,
	 * and data beyond the stated length show as bytes written. Blocks of the stock clients have 64 KiB. */
	EXCESS_BYTES = 256 * 1024,
	N_CANDIDATES = 2,    /* plain, and grouped */
	SAMPLE_BYTES = 4096, /* from two places */
	SAMPLE_SHORT_BYTES = SAMPLE_BYTES / 4,
	SAMPLE_MARGIN = 32, /* drop the longer candidate if it is longer by more than 1/32 */
};

struct codec_scratch {
	uint8_t *bytes;
	size_t cap;
};

struct cairn_codec {
	LZ4F_dctx *dctx;
	struct codec_scratch unpacked;  /* output of LZ4 */
	struct codec_scratch ungrouped; /* bytes in their original order */
	struct codec_scratch grouped;
	struct codec_scratch compressed[N_CANDIDATES]; /* the candidates of one chunk */
	uint8_t sample[SAMPLE_BYTES];
};

struct cairn_codec *cairn_codec_new(void)
{
	struct cairn_codec *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	if (LZ4F_isError(LZ4F_createDecompressionContext(&c->dctx, LZ4F_VERSION))) {
		free(c);
		return NULL;
	}
	return c;
}

void cairn_codec_free(struct cairn_codec *c)
{
	if (!c)
		return;
	LZ4F_freeDecompressionContext(c->dctx);
	free(c->unpacked.bytes);
	free(c->ungrouped.bytes);
	free(c->grouped.bytes);
	for (size_t i = 0; i < N_CANDIDATES; i++)
		free(c->compressed[i].bytes);
	free(c);
}

void cairn_codec_freep(struct cairn_codec **c)
{
	cairn_codec_free(*c);
	*c = NULL;
}

/* Frees and allocates, as the contents need not be kept. */
static uint8_t *codec_reserve(struct codec_scratch *s, size_t need)
{
	if (need <= s->cap)
		return s->bytes;
	free(s->bytes);
	s->bytes = malloc(need);
	s->cap = s->bytes ? need : 0;
	return s->bytes;
}

/* Returns where group g of n grouped bytes starts; the first n % 4 groups are one byte longer. */
static size_t codec_group_start(size_t n, size_t g)
{
	return n / 4 * g + (g < n % 4 ? g : n % 4);
}

static void codec_group(uint8_t *out, const uint8_t *raw, size_t n)
{
	uint8_t *group[4];
	for (size_t g = 0; g < 4; g++)
		group[g] = out + codec_group_start(n, g);
	size_t i = 0;
	for (; i < n / 4; i++)
		for (size_t g = 0; g < 4; g++)
			group[g][i] = raw[4 * i + g];
	for (size_t g = 0; g < n % 4; g++)
		group[g][i] = raw[4 * i + g];
}

/* Zip groups 0 and 2, then 1 and 3, then both results: the four bytes of each number are then side by side. */
static void codec_ungroup_64(uint8_t *out, const uint8_t *const group[4])
{
	cairn_vec16 a = cairn_vec16_load(group[0]), b = cairn_vec16_load(group[1]), c = cairn_vec16_load(group[2]),
		    d = cairn_vec16_load(group[3]);
	cairn_vec16 ac = cairn_vec16_zip_low(a, c), bd = cairn_vec16_zip_low(b, d);
	cairn_vec16_store(out, cairn_vec16_zip_low(ac, bd));
	cairn_vec16_store(out + 16, cairn_vec16_zip_high(ac, bd));
	ac = cairn_vec16_zip_high(a, c), bd = cairn_vec16_zip_high(b, d);
	cairn_vec16_store(out + 32, cairn_vec16_zip_low(ac, bd));
	cairn_vec16_store(out + 48, cairn_vec16_zip_high(ac, bd));
}

static void codec_ungroup(uint8_t *restrict out, const uint8_t *restrict grouped, size_t n)
{
	const uint8_t *group[4];
	for (size_t g = 0; g < 4; g++)
		group[g] = grouped + codec_group_start(n, g);
	size_t i = 0;
	for (; i + 16 <= n / 4; i += 16) {
		codec_ungroup_64(out + 4 * i, group);
		for (size_t g = 0; g < 4; g++)
			group[g] += 16;
	}
	for (size_t at = 4 * i; at < n; at++)
		out[at] = *group[at % 4]++;
}

static enum cairn_status codec_refuse(size_t code, uint64_t at, struct cairn_diag *diag)
{
	const char *name = LZ4F_getErrorName(code);
	if (strcmp(name, "ERROR_allocation_failed") == 0)
		return CAIRN_E_NOMEM;
	return cairn_fail(diag, CAIRN_E_FORMAT, "xorb.chunk_lz4", at,
			  "the data of this chunk is not a valid LZ4 frame (%s); compress it again", name);
}

static enum cairn_status codec_refuse_length(const struct cairn_xorb_chunk_header *header, size_t got, uint64_t at,
					     struct cairn_diag *diag)
{
	bool over = got > header->unpacked_bytes;
	cairn_fail(diag, CAIRN_E_FORMAT, "xorb.chunk_length", at,
		   "this chunk unpacks to %s%zu bytes, but its header says %" PRIu32, over ? "at least " : "", got,
		   header->unpacked_bytes);
	cairn_diag_numbers(diag, header->unpacked_bytes, got);
	return CAIRN_E_FORMAT;
}

/* Unpacks data, which must be one LZ4 frame of exactly the length that the header gives. */
static enum cairn_status codec_unpack_frame(struct cairn_codec *c, const struct cairn_xorb_chunk_header *header,
					    const uint8_t *data, uint64_t at, struct cairn_diag *diag)
{
	size_t room = (size_t)header->unpacked_bytes + EXCESS_BYTES;
	if (!codec_reserve(&c->unpacked, room))
		return CAIRN_E_NOMEM;
	LZ4F_resetDecompressionContext(c->dctx); /* the frame before may have ended in an error */
	const LZ4F_decompressOptions_t options = {.stableDst = 1};
	size_t got = 0, used = 0, hint = 1;
	while (hint != 0 && used < header->compressed_bytes && got <= header->unpacked_bytes) {
		size_t out = room - got, in = header->compressed_bytes - used;
		hint = LZ4F_decompress(c->dctx, c->unpacked.bytes + got, &out, data + used, &in, &options);
		if (LZ4F_isError(hint))
			return codec_refuse(hint, at, diag);
		got += out;
		used += in;
	}
	if (got > header->unpacked_bytes)
		return codec_refuse_length(header, got, at, diag);
	if (hint != 0)
		return cairn_fail(diag, CAIRN_E_FORMAT, "xorb.chunk_lz4", at,
				  "the LZ4 frame of this chunk goes on after its %" PRIu32 " bytes; it was cut short",
				  header->compressed_bytes);
	if (got != header->unpacked_bytes)
		return codec_refuse_length(header, got, at, diag);
	if (used != header->compressed_bytes) {
		cairn_fail(diag, CAIRN_E_FORMAT, "xorb.chunk_lz4", at,
			   "the LZ4 frame of this chunk ends after %zu of %" PRIu32 " bytes; leave nothing after it",
			   used, header->compressed_bytes);
		cairn_diag_numbers(diag, header->compressed_bytes, used);
		return CAIRN_E_FORMAT;
	}
	return CAIRN_OK;
}

enum cairn_status cairn_codec_unpack(struct cairn_codec *c, const uint8_t **raw,
				     const struct cairn_xorb_chunk_header *header, const uint8_t *data, uint64_t at,
				     struct cairn_diag *diag)
{
	if (header->scheme == CAIRN_SCHEME_NONE) {
		if (header->compressed_bytes != header->unpacked_bytes)
			return codec_refuse_length(header, header->compressed_bytes, at, diag);
		*raw = data;
		return CAIRN_OK;
	}
	enum cairn_status status = codec_unpack_frame(c, header, data, at, diag);
	if (status != CAIRN_OK)
		return status;
	*raw = c->unpacked.bytes;
	if (header->scheme == CAIRN_SCHEME_GROUPED_LZ4) {
		if (!codec_reserve(&c->ungrouped, header->unpacked_bytes))
			return CAIRN_E_NOMEM;
		codec_ungroup(c->ungrouped.bytes, c->unpacked.bytes, header->unpacked_bytes);
		*raw = c->ungrouped.bytes;
	}
	return CAIRN_OK;
}

enum cairn_status cairn_codec_judge(const struct cairn_codec *c, const struct cairn_xorb_chunk_header *header,
				    const uint8_t *data, uint64_t at, struct cairn_diag *diag)
{
	if (header->scheme == CAIRN_SCHEME_NONE)
		return CAIRN_OK;
	return cairn_lz4_frame_judge(data, header->compressed_bytes, c->unpacked.bytes, header->unpacked_bytes, at,
				     diag);
}

/* Blocks that do not refer to each other, because every decoder of the protocol reads them. */
static enum cairn_status codec_compress_frame(struct codec_scratch *out, size_t *out_len, const uint8_t *bytes,
					      size_t len)
{
	const LZ4F_preferences_t preferences = {
		.frameInfo = {.blockSizeID = LZ4F_max256KB, .blockMode = LZ4F_blockIndependent},
	};
	size_t bound = LZ4F_compressFrameBound(len, &preferences);
	if (!codec_reserve(out, bound))
		return CAIRN_E_NOMEM;
	*out_len = LZ4F_compressFrame(out->bytes, bound, bytes, len, &preferences);
	return LZ4F_isError(*out_len) ? CAIRN_E_NOMEM : CAIRN_OK;
}

/* Compresses plain (i = 0) or grouped (i = 1). */
static enum cairn_status codec_compress_candidate(struct cairn_codec *c, size_t i, size_t *out_len, const uint8_t *raw,
						  size_t len)
{
	if (i > 0) {
		if (!codec_reserve(&c->grouped, len))
			return CAIRN_E_NOMEM;
		codec_group(c->grouped.bytes, raw, len);
		raw = c->grouped.bytes;
	}
	return codec_compress_frame(&c->compressed[i], out_len, raw, len);
}

/* Compresses a sample both ways to choose the candidates for the whole chunk. Compressing whole chunks both ways took
 * most of the time of an upload of text. */
static enum cairn_status codec_choose(struct cairn_codec *c, bool wanted[static N_CANDIDATES], const uint8_t *raw,
				      size_t len)
{
	size_t lengths[N_CANDIDATES];
	for (size_t i = 0; i < N_CANDIDATES; i++)
		wanted[i] = true;
	if (len < (size_t)4 * SAMPLE_BYTES)
		return CAIRN_OK;
	memcpy(c->sample, raw + len / 4, SAMPLE_BYTES / 2);
	memcpy(c->sample + SAMPLE_BYTES / 2, raw + len / 4 * 3, SAMPLE_BYTES / 2);
	for (size_t i = 0; i < N_CANDIDATES; i++) {
		enum cairn_status status = codec_compress_candidate(c, i, &lengths[i], c->sample, SAMPLE_BYTES);
		if (status != CAIRN_OK)
			return status;
	}
	/* A very short result means long repetitions: the sample tells nothing then, and trying both ways is fast. */
	if (lengths[0] < SAMPLE_SHORT_BYTES || lengths[1] < SAMPLE_SHORT_BYTES)
		return CAIRN_OK;
	for (size_t i = 0; i < N_CANDIDATES; i++)
		wanted[i] = lengths[i] - lengths[i] / SAMPLE_MARGIN <= lengths[1 - i];
	return CAIRN_OK;
}

enum cairn_status cairn_codec_compress(struct cairn_codec *c, struct cairn_buf *out, const uint8_t *raw, size_t len,
				       enum cairn_scheme *scheme)
{
	bool wanted[N_CANDIDATES];
	assert(len > 0 && len <= CAIRN_CHUNK_READ_BYTES_MAX);
	struct cairn_xorb_chunk_header header = {(uint32_t)len, (uint32_t)len, CAIRN_SCHEME_NONE};
	const uint8_t *data = raw;
	enum cairn_status chosen = codec_choose(c, wanted, raw, len);
	if (chosen != CAIRN_OK)
		return chosen;
	for (size_t i = 0; i < N_CANDIDATES; i++) {
		size_t compressed = 0;
		if (!wanted[i])
			continue;
		enum cairn_status status = codec_compress_candidate(c, i, &compressed, raw, len);
		if (status != CAIRN_OK)
			return status;
		if (compressed < header.compressed_bytes) {
			header.compressed_bytes = (uint32_t)compressed;
			header.scheme = i == 0 ? CAIRN_SCHEME_LZ4 : CAIRN_SCHEME_GROUPED_LZ4;
			data = c->compressed[i].bytes;
		}
	}
	uint8_t *at = cairn_buf_extend(out, CAIRN_XORB_CHUNK_HEADER_BYTES + (size_t)header.compressed_bytes);
	if (!at)
		return out->status;
	cairn_xorb_chunk_header_write(at, &header);
	memcpy(at + CAIRN_XORB_CHUNK_HEADER_BYTES, data, header.compressed_bytes);
	if (scheme)
		*scheme = header.scheme;
	return CAIRN_OK;
}
