/* Targets: cairn_fold_open, cairn_fold_read, cairn_json_canonical, cairn_parity_mend. */
#include "archive/fold/reader.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static const uint8_t NOTHING;
	const struct cairn_fold_source source = {.fd = -1, .bytes = len > 0 ? bytes : &NOTHING, .len = len};
	const struct cairn_fold_read_options options = {.check_parity = len % 2 == 0};
	CLEANUP(cairn_fold_closep) struct cairn_fold *f = NULL;
	struct cairn_diag diag = {0};
	enum cairn_status status = cairn_fold_open(&f, &source, &diag);
	if (status != CAIRN_OK && status != CAIRN_E_NOMEM && (!diag.rule || diag.text[0] == '\0'))
		abort(); /* a refusal must have a rule */
	if (status != CAIRN_OK)
		return 0;
	const struct cairn_fold_index *ix = cairn_fold_index_of(f);
	for (size_t i = 0; i < ix->n_chunks; i++) {
		CLEANUP(cairn_fold_data_fini) struct cairn_fold_data data = {0};
		if (cairn_fold_index_find(ix, ix->chunks[i].name) != &ix->chunks[i])
			abort();
		if (ix->chunks[i].uncomp_len > 1 << 24)
			continue; /* the fuzzer's memory is limited */
		diag = (struct cairn_diag){0};
		status = cairn_fold_read(f, &ix->chunks[i], &options, &data, &diag);
		if (status == CAIRN_OK ? data.len != ix->chunks[i].uncomp_len : !diag.rule && status != CAIRN_E_NOMEM)
			abort();
	}
	return 0;
}
