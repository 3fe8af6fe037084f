/* Ids in the order in which they first came. */
#ifndef CAIRN_BASE_ID_SET_H
#define CAIRN_BASE_ID_SET_H

#include "base/status.h"

#include <stdint.h>

/** Owns its arrays: 16 to 24 bytes for each id that there is room for. Zeroed is empty, without room. One thread at a
 *  time. */
struct cairn_id_set {
	int64_t *ids; /* n of them */
	uint32_t n;
	uint32_t *slots; /* place + 1; 0 is free. At most half full */
	uint32_t mask;
};

/** Make room. @param n_max  more than so many are never placed @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_id_set_init(struct cairn_id_set *set, uint32_t n_max);
void cairn_id_set_fini(struct cairn_id_set *set);

/** The place of an id among ids; it is appended when it is new. */
uint32_t cairn_id_set_place(struct cairn_id_set *set, int64_t id);

#endif
