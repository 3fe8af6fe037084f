#include "cli/inspect/inspect.h"
#include "xorb/codec.h"
#include "xorb/reader.h"
#include "xorb/verifier.h"

/* Shows a chunk: header fields, offset in the unpacked xorb, and hash. */
static enum cairn_status inspect_chunk(struct report *r, struct cairn_codec *codec,
				       const struct cairn_xorb_chunk *chunk, uint32_t index, uint64_t unpacked_at,
				       struct cairn_diag *diag)
{
	const uint8_t *raw = NULL;
	struct cairn_hash hash;
	enum cairn_status status = cairn_codec_unpack(codec, &raw, &chunk->header, chunk->data, chunk->at, diag);
	record_begin(r, 0, "chunk", chunk->at);
	record_u64(r, "index", index);
	record_text(r, "scheme", cairn_scheme_name(chunk->header.scheme));
	record_u64(r, "compressed_bytes", chunk->header.compressed_bytes);
	record_u64(r, "bytes", chunk->header.unpacked_bytes);
	record_u64(r, "unpacked_offset", unpacked_at);
	if (status == CAIRN_OK) {
		cairn_hash_chunk(&hash, raw, chunk->header.unpacked_bytes);
		record_hash(r, "hash", &hash);
	}
	record_end(r);
	return status;
}

static enum cairn_status inspect_chunks(struct report *r, const uint8_t *bytes, size_t len, struct cairn_diag *diag)
{
	CLEANUP(cairn_codec_freep) struct cairn_codec *codec = cairn_codec_new();
	struct cairn_xorb_reader reader;
	struct cairn_xorb_chunk chunk;
	uint64_t unpacked_at = 0;
	bool end = false;
	if (!codec)
		return CAIRN_E_NOMEM;
	cairn_xorb_reader_init(&reader, bytes, len);
	for (uint32_t i = 0;; i++) {
		enum cairn_status status = cairn_xorb_reader_next(&reader, &chunk, &end, diag);
		if (status != CAIRN_OK || end)
			return status;
		status = inspect_chunk(r, codec, &chunk, i, unpacked_at, diag);
		if (status != CAIRN_OK)
			return status;
		unpacked_at += chunk.header.unpacked_bytes;
	}
}

enum cairn_status inspect_xorb(struct report *r, const uint8_t *bytes, size_t len, const struct cairn_hash *expected,
			       struct cairn_diag *diag)
{
	CLEANUP(cairn_xorb_verifier_freep) struct cairn_xorb_verifier *v = NULL;
	struct cairn_xorb_summary summary;
	size_t n_data = 0;
	enum cairn_status status = inspect_chunks(r, bytes, len, diag);
	if (status != CAIRN_OK)
		return status;
	v = cairn_xorb_verifier_new(&CAIRN_XORB_UPLOAD_OPTIONS);
	if (!v)
		return CAIRN_E_NOMEM;
	status = cairn_xorb_verifier_feed(v, bytes, len, &n_data, diag);
	if (status == CAIRN_OK)
		status = cairn_xorb_verifier_end(v, expected, &summary, diag);
	if (status != CAIRN_OK)
		return status;
	record_begin(r, 0, "xorb", 0);
	record_hash(r, "hash", &summary.root);
	record_u64(r, "chunks", cairn_xorb_verifier_list(v)->n);
	record_u64(r, "chunk_data_bytes", summary.chunk_data_bytes);
	record_u64(r, "bytes", summary.unpacked_bytes);
	record_u64(r, "footer_bytes", len - summary.chunk_data_bytes);
	record_end(r);
	return CAIRN_OK;
}
