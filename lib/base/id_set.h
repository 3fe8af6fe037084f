/* A set of ids, in the order of their first appearance. */
#ifndef CAIRN_BASE_ID_SET_H
#define CAIRN_BASE_ID_SET_H

#include "base/status.h"

#include <stdint.h>

/** A set. Owns its arrays: 16 to 24 bytes for each id. Zeroed: empty, without room. For one thread at a time. */
struct cairn_id_set {
	int64_t *ids; /* the n ids */
	uint32_t n;
	uint32_t *slots; /* index in ids plus 1; 0 is free. At most half full */
	uint32_t mask;
};

/** Allocates the arrays. @param n_max  most ids @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_id_set_init(struct cairn_id_set *set, uint32_t n_max);
void cairn_id_set_fini(struct cairn_id_set *set);

/** Returns the index of an id in ids; appends a new id. */
uint32_t cairn_id_set_place(struct cairn_id_set *set, int64_t id);

#endif
