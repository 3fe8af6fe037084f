#include "index/health.h"

#include "index/writer.h"

/* Did the engine fail, or did it refuse this write for its content? */
static bool health_is_failure(const struct cairn_index_write *write)
{
	static const char *const RULES[] = {"index.database", "index.corrupt", "index.silent"};
	bool failure = false;
	for (size_t i = 0; write->status != CAIRN_OK && i < sizeof(RULES) / sizeof(RULES[0]); i++)
		failure = failure || cairn_diag_has(&write->diag, RULES[i]);
	return failure;
}

void cairn_health_note(struct cairn_health *h, const struct cairn_index_write *batch, int64_t now_ms)
{
	bool written = false, probed = false;
	const struct cairn_index_write *failed = NULL;
	for (const struct cairn_index_write *write = batch; write; write = write->next) {
		bool well = write->status == CAIRN_OK;
		written = written || (well && !write->kind->probes);
		probed = probed || (well && write->kind->probes);
		if (health_is_failure(write))
			failed = write;
	}
	if (h->damaged)
		return;
	if (failed) {
		h->status = failed->status;
		h->diag = failed->diag;
		h->failed_ms = now_ms;
		h->damaged = cairn_diag_has(&failed->diag, "index.corrupt");
	} else if (written ||
		   (probed && (h->status == CAIRN_E_BUSY || now_ms - h->failed_ms >= CAIRN_HEALTH_HOLD_MS))) {
		h->status = CAIRN_OK;
	}
}

void cairn_health_condemn(struct cairn_health *h, const struct cairn_diag *diag)
{
	h->status = CAIRN_E_DAMAGED;
	h->diag = *diag;
	h->damaged = true;
}
