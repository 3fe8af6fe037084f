#include "mirror/unpack.h"

#include <string.h>

static const struct mirror_packed_range *unpack_range(const struct mirror_unpack *u)
{
	return &u->packed->ranges[u->range];
}

void mirror_unpack_begin(struct mirror_unpack *u, uint32_t range)
{
	u->range = range;
	u->chunk = unpack_range(u)->first;
	u->left = unpack_range(u)->end - unpack_range(u)->at;
	u->n_held = 0;
}

bool mirror_unpack_is_whole(const struct mirror_unpack *u)
{
	return u->left == 0 && u->n_held == 0 && u->chunk == unpack_range(u)->past;
}

uint64_t mirror_unpack_reach(const struct mirror_unpack *u)
{
	const struct mirror_packed *p = u->packed;
	uint64_t at = 0;
	for (uint32_t i = 0; i < p->n_terms; i++) {
		at += u->done[i];
		if (u->done[i] < p->terms[i].bytes)
			break;
	}
	at = at > p->skip ? at - p->skip : 0;
	return at < p->bytes ? at : p->bytes;
}

/* Writes those bytes that the stretch has. @param at  offset in the terms */
static bool unpack_write(const struct mirror_unpack *u, uint64_t at, const uint8_t *bytes, size_t len)
{
	uint64_t first = u->packed->skip, end = first + u->packed->bytes, to = at + len;
	uint64_t from = at > first ? at : first;
	to = to < end ? to : end;
	return from >= to || u->write(u->ctx, from - first, bytes + (from - at), (size_t)(to - from));
}

/* Passes a chunk to each term that has it. A term's length must be that of its chunks. */
static enum cairn_status unpack_place(struct mirror_unpack *u, const uint8_t *raw, uint32_t len)
{
	for (uint32_t i = 0; i < u->packed->n_terms; i++) {
		const struct mirror_packed_term *term = &u->packed->terms[i];
		if (term->range != u->range || u->chunk < term->first || u->chunk >= term->past)
			continue;
		bool is_last = u->chunk + 1 == term->past;
		uint32_t left = term->bytes - u->done[i];
		if (is_last ? len != left : len >= left)
			return CAIRN_E_FORMAT;
		if (!unpack_write(u, term->at + u->done[i], raw, len))
			return CAIRN_E_BUSY;
		u->done[i] += len;
	}
	u->chunk++;
	return CAIRN_OK;
}

/* Parses the header of the chunk that begins here. @param[out] bytes  length of the chunk with its header */
static enum cairn_status unpack_header(const struct mirror_unpack *u, const uint8_t *at,
				       struct cairn_xorb_chunk_header *header, size_t *bytes)
{
	enum cairn_status status = cairn_xorb_chunk_header_parse(header, at, 0, CAIRN_CHUNK_BYTES_MAX, NULL);
	*bytes = CAIRN_XORB_CHUNK_HEADER_BYTES + (size_t)(status == CAIRN_OK ? header->compressed_bytes : 0);
	return status == CAIRN_OK && u->chunk == unpack_range(u)->past ? CAIRN_E_FORMAT : status;
}

static enum cairn_status unpack_chunk(struct mirror_unpack *u, const struct cairn_xorb_chunk_header *header,
				      const uint8_t *at)
{
	const uint8_t *raw;
	enum cairn_status status =
		cairn_codec_unpack(u->codec, &raw, header, at + CAIRN_XORB_CHUNK_HEADER_BYTES, 0, NULL);
	return status == CAIRN_OK ? unpack_place(u, raw, header->unpacked_bytes) : status;
}

/* Copies bytes until so many are held, or none are left. @return number of bytes copied */
static size_t unpack_hold(struct mirror_unpack *u, size_t until, const uint8_t *bytes, size_t len)
{
	size_t n = until > u->n_held ? until - u->n_held : 0;
	n = n < len ? n : len;
	if (n > 0)
		memcpy(u->held + u->n_held, bytes, n);
	u->n_held += n;
	return n;
}

/* Takes bytes of one chunk, which is unpacked in place if it arrived in one piece. */
static enum cairn_status unpack_some(struct mirror_unpack *u, const uint8_t *bytes, size_t len, size_t *taken)
{
	struct cairn_xorb_chunk_header header;
	size_t whole;
	enum cairn_status status;
	if (u->n_held == 0 && len >= CAIRN_XORB_CHUNK_HEADER_BYTES) {
		status = unpack_header(u, bytes, &header, &whole);
		*taken = whole;
		if (status != CAIRN_OK || whole <= len)
			return status == CAIRN_OK ? unpack_chunk(u, &header, bytes) : status;
	}
	*taken = unpack_hold(u, CAIRN_XORB_CHUNK_HEADER_BYTES, bytes, len);
	if (u->n_held < CAIRN_XORB_CHUNK_HEADER_BYTES)
		return CAIRN_OK;
	status = unpack_header(u, u->held, &header, &whole);
	if (status != CAIRN_OK)
		return status;
	*taken += unpack_hold(u, whole, bytes + *taken, len - *taken);
	if (u->n_held < whole)
		return CAIRN_OK;
	u->n_held = 0;
	return unpack_chunk(u, &header, u->held);
}

enum cairn_status mirror_unpack_take(struct mirror_unpack *u, const uint8_t *bytes, size_t len)
{
	enum cairn_status status = len <= u->left ? CAIRN_OK : CAIRN_E_FORMAT;
	while (status == CAIRN_OK && len > 0) {
		size_t taken;
		status = unpack_some(u, bytes, len, &taken);
		if (status != CAIRN_OK)
			break;
		bytes += taken;
		len -= taken;
		u->left -= taken;
	}
	if (status == CAIRN_OK && u->left == 0 && !mirror_unpack_is_whole(u))
		return CAIRN_E_FORMAT;
	return status;
}
