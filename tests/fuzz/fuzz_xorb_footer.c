/* A footer after a xorb of one to three chunks. The first byte selects the xorb, the others are the footer. An accepted
 * footer agrees with the chunks in every field. A footer that agrees, with any nonce, is accepted. */
#include "base/buf.h"
#include "fuzz/fuzz.h"
#include "xorb/footer.h"

enum { NONCE_BYTES = 16, LENGTH_BYTES = 4 };

static void footer_list(struct cairn_chunk_list *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct cairn_hash hash;
		cairn_hash_chunk(&hash, "abc", i + 1);
		struct cairn_span span = {.unpacked_bytes = i + 1, .end = (i + 1) * (i + 2) / 2 + 8 * (i + 1)};
		fuzz_must(cairn_chunk_list_add(list, &hash, span) == CAIRN_OK);
	}
}

static void footer_number(struct cairn_buf *out, uint32_t n)
{
	const uint8_t bytes[4] = {(uint8_t)n, (uint8_t)(n >> 8), (uint8_t)(n >> 16), (uint8_t)(n >> 24)};
	cairn_buf_add(out, bytes, sizeof(bytes));
}

/* Writes the only footer that agrees with the list, with a nonce of zeros. */
static void footer_write(struct cairn_buf *out, const struct cairn_chunk_list *list, const struct cairn_hash *root)
{
	uint32_t boundaries_bytes = 40 + 8 * list->n, unpacked_bytes = 0;
	cairn_buf_add(out, "XETBLOB\1", 8);
	cairn_buf_add(out, root->b, sizeof(root->b));
	cairn_buf_add(out, "XBLBHSH\0", 8);
	footer_number(out, list->n);
	cairn_buf_add(out, list->hashes, list->n * sizeof(*list->hashes));
	cairn_buf_add(out, "XBLBBND\1", 8);
	footer_number(out, list->n);
	for (uint32_t i = 0; i < list->n; i++)
		footer_number(out, list->spans[i].end);
	for (uint32_t i = 0; i < list->n; i++)
		footer_number(out, unpacked_bytes += list->spans[i].unpacked_bytes);
	footer_number(out, list->n);
	footer_number(out, 12 + 32 * list->n + boundaries_bytes);
	footer_number(out, boundaries_bytes);
	cairn_buf_add(out, (const uint8_t[NONCE_BYTES]){0}, NONCE_BYTES);
	footer_number(out, (uint32_t)out->len);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	CLEANUP(cairn_chunk_list_fini) struct cairn_chunk_list list = {0};
	CLEANUP(cairn_buf_fini) struct cairn_buf right = cairn_buf_init(4096);
	struct cairn_hash root;
	struct cairn_diag diag = {0};
	if (len == 0)
		return 0;
	footer_list(&list, 1 + bytes[0] % 3);
	bytes++, len--;
	cairn_chunk_list_root(&list, &root);
	footer_write(&right, &list, &root);
	enum cairn_status status = cairn_xorb_footer_check(bytes, len, &list, &root, 7, &diag);
	size_t judged = right.len - NONCE_BYTES - LENGTH_BYTES;
	bool same = len == right.len && memcmp(bytes, right.bytes, judged) == 0 &&
		    memcmp(bytes + len - LENGTH_BYTES, right.bytes + len - LENGTH_BYTES, LENGTH_BYTES) == 0;
	fuzz_must((status == CAIRN_OK) == same);
	fuzz_must(status == CAIRN_OK ? diag.rule == NULL : diag.rule && diag.offset >= 7 && diag.offset <= 7 + len);
	fuzz_must(cairn_xorb_footer_begins(bytes, len) || !same);
	return 0;
}
