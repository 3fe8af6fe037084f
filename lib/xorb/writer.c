#include "xorb/writer.h"

#include "xorb/codec.h"

#include <stdlib.h>

struct cairn_xorb_writer {
	struct cairn_codec *codec;
	struct cairn_buf out;
	struct cairn_chunk_list list;
	uint64_t unpacked_bytes;
	uint32_t drained_bytes; /* bytes of the xorb that were drained from out */
};

_Static_assert(CAIRN_XORB_BYTES_MAX + CAIRN_XORB_CHUNKS_MAX * CAIRN_XORB_CHUNK_HEADER_BYTES <=
		       CAIRN_XORB_SERIALIZED_BYTES_MAX,
	       "a full xorb of chunks that do not compress must fit");

struct cairn_xorb_writer *cairn_xorb_writer_new(void)
{
	struct cairn_xorb_writer *w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->out = cairn_buf_init(CAIRN_XORB_SERIALIZED_BYTES_MAX);
	w->codec = cairn_codec_new();
	if (!w->codec) {
		free(w);
		return NULL;
	}
	return w;
}

void cairn_xorb_writer_free(struct cairn_xorb_writer *w)
{
	if (!w)
		return;
	cairn_codec_free(w->codec);
	cairn_buf_fini(&w->out);
	cairn_chunk_list_fini(&w->list);
	free(w);
}

void cairn_xorb_writer_freep(struct cairn_xorb_writer **w)
{
	cairn_xorb_writer_free(*w);
	*w = NULL;
}

bool cairn_xorb_writer_fits(const struct cairn_xorb_writer *w, size_t len)
{
	return w->list.n < CAIRN_XORB_CHUNKS_MAX && len <= CAIRN_XORB_BYTES_MAX - w->unpacked_bytes;
}

enum cairn_status cairn_xorb_writer_add(struct cairn_xorb_writer *w, const uint8_t *raw, size_t len,
					const struct cairn_hash *hash)
{
	if (len == 0 || len > CAIRN_CHUNK_BYTES_MAX)
		return CAIRN_E_USAGE;
	if (!cairn_xorb_writer_fits(w, len))
		return CAIRN_E_LIMIT;
	size_t start = w->out.len;
	enum cairn_status status = cairn_codec_compress(w->codec, &w->out, raw, len, NULL);
	if (status == CAIRN_OK)
		status = cairn_chunk_list_add(
			&w->list, hash, (struct cairn_span){(uint32_t)len, w->drained_bytes + (uint32_t)w->out.len});
	if (status != CAIRN_OK) {
		w->out.len = start;
		w->out.status = CAIRN_OK;
		return status;
	}
	w->unpacked_bytes += len;
	return CAIRN_OK;
}

const uint8_t *cairn_xorb_writer_bytes(const struct cairn_xorb_writer *w, size_t *len)
{
	*len = w->out.len;
	return w->out.bytes;
}

void cairn_xorb_writer_drained(struct cairn_xorb_writer *w)
{
	w->drained_bytes += (uint32_t)w->out.len;
	w->out.len = 0;
}

const struct cairn_chunk_list *cairn_xorb_writer_list(const struct cairn_xorb_writer *w)
{
	return &w->list;
}

uint64_t cairn_xorb_writer_unpacked_bytes(const struct cairn_xorb_writer *w)
{
	return w->unpacked_bytes;
}

void cairn_xorb_writer_reset(struct cairn_xorb_writer *w)
{
	w->out.len = 0;
	w->list.n = 0;
	w->unpacked_bytes = 0;
	w->drained_bytes = 0;
}
