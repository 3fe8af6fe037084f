#include "cas/object/stored.h"

#include "cas/internal.h"

enum cairn_status cas_read_chunk(struct cairn_store_object *object, struct cairn_codec *codec,
				 const struct cairn_chunk_list *list, uint32_t i, uint8_t *block, const uint8_t **raw)
{
	uint64_t at = cas_chunk_begin(list, i), end = list->spans[i].end;
	struct cairn_xorb_chunk_header header;
	const uint8_t *unpacked;
	struct cairn_hash hash;
	if (end < at + CAIRN_XORB_CHUNK_HEADER_BYTES || end - at > CAS_BLOCK_BYTES ||
	    end > cairn_store_object_bytes(object))
		return CAIRN_E_DAMAGED;
	enum cairn_status status = cairn_store_object_read(object, at, block, (size_t)(end - at));
	if (status != CAIRN_OK)
		return status;
	if (cairn_xorb_chunk_header_parse(&header, block, at, CAIRN_CHUNK_READ_BYTES_MAX, NULL) != CAIRN_OK ||
	    header.compressed_bytes != end - at - CAIRN_XORB_CHUNK_HEADER_BYTES ||
	    header.unpacked_bytes != list->spans[i].unpacked_bytes)
		return CAIRN_E_DAMAGED;
	const uint8_t *data = block + CAIRN_XORB_CHUNK_HEADER_BYTES;
	status = cairn_codec_unpack(codec, &unpacked, &header, data, at, NULL);
	/* A frame that decodes correctly here may decode differently, or not at all, at a client. */
	if (status == CAIRN_OK)
		status = cairn_codec_judge(codec, &header, data, at, NULL);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOMEM ? status : CAIRN_E_DAMAGED;
	cairn_hash_chunk(&hash, unpacked, header.unpacked_bytes);
	if (raw)
		*raw = unpacked;
	return cairn_hash_equal(&hash, &list->hashes[i]) ? CAIRN_OK : CAIRN_E_DAMAGED;
}

enum cairn_status cas_read_xorb(struct cairn_store_object *object, const struct cairn_hash *xorb,
				const struct cas_pace *pace, struct cairn_xorb_verifier *verifier, uint8_t *block,
				struct cairn_xorb_summary *summary, struct cairn_diag *diag)
{
	uint64_t bytes = cairn_store_object_bytes(object);
	enum cairn_status status = CAIRN_OK;
	for (uint64_t at = 0; at < bytes && status == CAIRN_OK;) {
		size_t n = bytes - at < CAS_BLOCK_BYTES ? (size_t)(bytes - at) : CAS_BLOCK_BYTES, n_data;
		status = cairn_store_object_read(object, at, block, n);
		if (status == CAIRN_E_IO)
			return cairn_fail(diag, status, "object.unreadable", at, "the disk cannot read it");
		if (status == CAIRN_E_BUSY)
			return cas_store_is_silent(diag);
		if (status == CAIRN_OK)
			status = cairn_xorb_verifier_feed(verifier, block, n, &n_data, diag);
		at += n;
		if (pace && !pace->go_on(pace->ctx, n))
			return CAIRN_E_BUSY;
	}
	if (status == CAIRN_OK)
		status = cairn_xorb_verifier_end(verifier, xorb, summary, diag);
	if (status == CAIRN_OK && summary->has_footer)
		status = cairn_fail(diag, CAIRN_E_FORMAT, "object.footer", CAIRN_NO_OFFSET,
				    "it has a footer, which is never stored");
	return status;
}
