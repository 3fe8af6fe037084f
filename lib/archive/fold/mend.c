#include "archive/fold/mend.h"

#include <string.h>

void cairn_fold_unweave(const struct cairn_fold_chunk *c, const uint8_t *area, uint8_t *comp)
{
	uint64_t n_data = CAIRN_PARITY_WORD_BYTES - c->parity;
	for (uint64_t at = 0; at < c->comp_len; at += n_data, area += CAIRN_PARITY_WORD_BYTES) {
		uint64_t n = c->comp_len - at < n_data ? c->comp_len - at : n_data;
		memcpy(comp + at, area, n);
	}
}

static void mend_word(struct cairn_fold_mended *m, const struct cairn_parity *p, uint8_t *word, size_t len, uint64_t at)
{
	unsigned n_wrong = 0;
	if (cairn_parity_mend(p, word, len, &n_wrong) != CAIRN_OK && m->n_lost++ == 0)
		m->first_lost = at;
	m->n_wrong += n_wrong;
}

struct cairn_fold_mended cairn_fold_mend_woven(const struct cairn_parity *p, uint8_t *area, uint64_t len)
{
	struct cairn_fold_mended m = {0};
	for (uint64_t at = 0; at < len; at += CAIRN_PARITY_WORD_BYTES) {
		uint64_t left = len - at;
		mend_word(&m, p, area + at, left < CAIRN_PARITY_WORD_BYTES ? left : CAIRN_PARITY_WORD_BYTES, at);
	}
	return m;
}

struct cairn_fold_mended cairn_fold_mend_apart(const struct cairn_parity *p, const struct cairn_fold_chunk *c,
					       uint8_t *area)
{
	struct cairn_fold_mended m = {0};
	size_t n_data = cairn_parity_data_bytes(p), n_parity = CAIRN_PARITY_WORD_BYTES - n_data;
	uint8_t *parity = area + c->comp_len;
	for (uint64_t at = 0; at < c->comp_len; at += n_data, parity += n_parity) {
		uint8_t word[CAIRN_PARITY_WORD_BYTES];
		size_t n = c->comp_len - at < n_data ? (size_t)(c->comp_len - at) : n_data;
		memcpy(word, area + at, n);
		memcpy(word + n, parity, n_parity);
		mend_word(&m, p, word, n + n_parity, at);
		memcpy(area + at, word, n);
		memcpy(parity, word + n, n_parity);
	}
	return m;
}
