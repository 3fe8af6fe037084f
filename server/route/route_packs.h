/* The progress of this process's packing. */
#ifndef CAIRN_SERVER_ROUTE_PACKS_H
#define CAIRN_SERVER_ROUTE_PACKS_H

#include "cas/keep/pack.h"

/** The running packing, or the last one. Plain value. */
struct packs_state {
	uint64_t id; /* 0: there was none since the start */
	bool running;
	char name[CAIRN_STORE_PACK_NAME_MAX + 1];
	struct cairn_pack_report report;
	enum cairn_status status; /* valid once it has ended */
};

/** Copies the state. Any thread. */
void packs_state(struct packs_state *out);

#endif
