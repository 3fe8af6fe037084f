#include "archive/fold/reader.h"
#include "cli/inspect/inspect.h"

bool inspect_is_fold(const uint8_t *bytes, size_t len)
{
	return cairn_fold_is(bytes, len);
}

static void inspect_fold_chunk(struct report *r, const struct cairn_fold_chunk *c)
{
	record_begin(r, 1, "chunk", c->offset);
	record_text(r, "name", c->name);
	record_text(r, "ctype", c->ctype);
	record_flags(r, "flags", c->flags);
	record_u64(r, "uncomp_len", c->uncomp_len);
	record_u64(r, "comp_len", c->comp_len);
	record_u64(r, "crc32c", c->crc32c);
	record_u64(r, "parity", c->parity);
	record_u64(r, "ecc_len", c->ecc_len);
	record_hex(r, "sha256", c->sha256, CAIRN_SHA256_BYTES);
	record_end(r);
}

enum cairn_status inspect_fold(struct report *r, const uint8_t *bytes, size_t len, struct progress *bar,
			       struct cairn_diag *diag)
{
	static const struct cairn_fold_read_options OPTIONS = {.check_parity = true};
	const struct cairn_fold_source source = {.fd = -1, .bytes = bytes, .len = len};
	CLEANUP(cairn_fold_closep) struct cairn_fold *f = NULL;
	enum cairn_status status = cairn_fold_open(&f, &source, diag);
	if (status != CAIRN_OK)
		return status;
	const struct cairn_fold_index *ix = cairn_fold_index_of(f);
	record_begin(r, 0, "index", ix->at);
	record_u64(r, "bytes", ix->text.len);
	record_text(r, "version", ix->version);
	record_u64(r, "chunks", ix->n_chunks);
	if (ix->has_manifest)
		record_hex(r, "manifest_hash", ix->manifest_hash, CAIRN_SHA256_BYTES);
	if (ix->has_merkle)
		record_hex(r, "merkle_root", ix->merkle_root, CAIRN_SHA256_BYTES);
	record_end(r);
	for (size_t i = 0; status == CAIRN_OK && i < ix->n_chunks; i++) {
		CLEANUP(cairn_fold_data_fini) struct cairn_fold_data data = {0};
		progress_clear(bar); /* the record begins on a clean line */
		inspect_fold_chunk(r, &ix->chunks[i]);
		progress_draw(bar, ix->chunks[i].offset, 0);
		status = cairn_fold_read(f, &ix->chunks[i], &OPTIONS, &data, diag);
		if (status == CAIRN_OK && data.n_wrong > 0)
			status = cairn_fail(diag, CAIRN_E_MISMATCH, "fold.repairable", ix->chunks[i].offset,
					    "chunk \"%.100s\" is damaged, but within its parity: run cairn fold repair",
					    ix->chunks[i].name);
	}
	progress_clear(bar);
	return status;
}
