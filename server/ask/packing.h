/* Moves xorbs into a pack, in the background: one packing at a time in each process. */
#ifndef CAIRN_SERVER_PACKING_H
#define CAIRN_SERVER_PACKING_H

#include "cas/keep/pack.h"

/** The state of the running packing, or of the last one. Plain value. */
struct packs_state {
	uint64_t id; /* 0: no packing since the start */
	bool running;
	char name[CAIRN_STORE_PACK_NAME_MAX + 1];
	struct cairn_pack_report report;
	enum cairn_status status; /* valid when the packing has ended */
	struct cairn_diag diag;   /* valid when the packing has ended */
};

struct app;

/** Begins a packing. Any thread. @param name  a valid name of a pack @param[out] id  number of the packing @return
 * CAIRN_OK; CAIRN_E_CONFLICT: another packing is running; CAIRN_E_BUSY: no worker is free, and nothing was changed */
CAIRN_MUST_USE enum cairn_status packs_begin(struct app *app, const char *name, int64_t older_than_s, uint64_t *id);

/** Copies the state of the packing. Any thread. */
void packs_state(struct packs_state *out);

#endif
