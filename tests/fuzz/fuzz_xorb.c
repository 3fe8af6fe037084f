/* Targets: cairn_xorb_verifier_*, cairn_xorb_reader_next, cairn_xorb_chunk_header_parse, cairn_xorb_footer_check,
 * cairn_codec_unpack. */
#include "fuzz/fuzz.h"
#include "xorb/codec.h"
#include "xorb/footer.h"
#include "xorb/reader.h"
#include "xorb/verifier.h"

/* The results, which must not depend on how a body is cut into pieces. */
struct verdict {
	enum cairn_status status;
	const char *rule;
	struct cairn_xorb_summary summary;
	uint64_t n_data;
};

static struct verdict fuzz_verify(const uint8_t *bytes, size_t len, size_t piece_bytes)
{
	CLEANUP(cairn_xorb_verifier_freep)
	struct cairn_xorb_verifier *v = cairn_xorb_verifier_new(&CAIRN_XORB_UPLOAD_OPTIONS);
	struct verdict verdict = {.status = CAIRN_OK};
	struct cairn_diag diag = {0};
	for (size_t at = 0; at < len && verdict.status == CAIRN_OK; at += piece_bytes) {
		size_t n = len - at < piece_bytes ? len - at : piece_bytes, n_data = 0;
		verdict.status = cairn_xorb_verifier_feed(v, bytes + at, n, &n_data, &diag);
		verdict.n_data += n_data;
	}
	if (verdict.status == CAIRN_OK)
		verdict.status = cairn_xorb_verifier_end(v, NULL, &verdict.summary, &diag);
	verdict.rule = diag.rule;
	fuzz_must(verdict.status == CAIRN_OK || (diag.rule && diag.text[0] != '\0'));
	return verdict;
}

/* Checks that an accepted xorb reads as the verifier saw it. */
static void fuzz_read(const uint8_t *bytes, size_t len, const struct verdict *verdict)
{
	CLEANUP(cairn_codec_freep) struct cairn_codec *codec = cairn_codec_new();
	CLEANUP(cairn_chunk_list_fini) struct cairn_chunk_list list = {0};
	struct cairn_xorb_reader r;
	struct cairn_xorb_chunk chunk;
	bool end = false;
	cairn_xorb_reader_init(&r, bytes, len);
	for (;;) {
		enum cairn_status status = cairn_xorb_reader_next(&r, &chunk, &end, NULL);
		fuzz_must(status == CAIRN_OK || verdict->status != CAIRN_OK);
		if (status != CAIRN_OK || end)
			break;
		const uint8_t *raw = NULL;
		struct cairn_hash hash;
		if (cairn_codec_unpack(codec, &raw, &chunk.header, chunk.data, chunk.at, NULL) != CAIRN_OK)
			break;
		cairn_hash_chunk(&hash, raw, chunk.header.unpacked_bytes);
		struct cairn_span span = {
			.unpacked_bytes = chunk.header.unpacked_bytes,
			.end = (uint32_t)(chunk.at + CAIRN_XORB_CHUNK_HEADER_BYTES + chunk.header.compressed_bytes),
		};
		if (cairn_chunk_list_add(&list, &hash, span) != CAIRN_OK)
			break;
	}
	if (verdict->status != CAIRN_OK)
		return;
	struct cairn_hash root;
	cairn_chunk_list_root(&list, &root);
	fuzz_must(cairn_hash_equal(&root, &verdict->summary.root));
	fuzz_must((r.footer != NULL) == verdict->summary.has_footer);
	fuzz_must(!r.footer || cairn_xorb_footer_check(r.footer, r.footer_bytes, &list, &root, 0, NULL) == CAIRN_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct verdict whole = fuzz_verify(bytes, len, len + 1);
	size_t piece_bytes = len > 0 ? (size_t)bytes[len - 1] + 1 : 1;
	struct verdict pieces = fuzz_verify(bytes, len, piece_bytes);
	fuzz_must(whole.status == pieces.status);
	if (whole.status == CAIRN_OK) {
		fuzz_must(memcmp(&whole.summary, &pieces.summary, sizeof(whole.summary)) == 0);
		fuzz_must(whole.n_data == pieces.n_data && whole.n_data == whole.summary.chunk_data_bytes);
	}
	fuzz_read(bytes, len, &whole);
	return 0;
}
