/* The cold tier: moves older xorbs into a pack, during uploads and downloads. */
#ifndef CAIRN_CAS_KEEP_PACK_H
#define CAIRN_CAS_KEEP_PACK_H

#include "cas/cas.h"
#include "store/pack.h"

/** The progress of a packing. */
struct cairn_pack_report {
	uint64_t total_bytes;            /* of the xorbs to pack */
	uint64_t n_packed, bytes_packed; /* already in the pack */
	bool durable;                    /* the pack is complete and serves; only the removal follows */
	uint64_t n_moved;                /* packed objects that are removed from the object folder */
};

struct cairn_pack_options {
	const char *name;     /* name of the pack, see cairn_store_packing_begin() */
	int64_t older_than_s; /* xorbs that arrived, or were renewed, later than this stay; 0: pack all */
	/** Called after each xorb, and when the pack is durable. @return false to stop (CAIRN_E_BUSY) */
	bool (*progress)(void *ctx, const struct cairn_pack_report *so_far);
	void *ctx;
};

/** Moves xorbs into a new pack, which takes long. Copies all of them, makes the pack durable, and only then removes
 * them from the object folder, one by one. So after a kill at any point each xorb is in at least one of the two
 * places. The next packing removes objects that stayed in the folder. No collection runs until the pack is durable.
 * Makes no pack if there is no xorb to move. Retired xorbs stay where they are.
 * @return CAIRN_OK; CAIRN_E_BUSY stopped, or with rule gc.running: a collection or packing is in progress;
 *         CAIRN_E_FULL; CAIRN_E_USAGE, CAIRN_E_CONFLICT as cairn_store_packing_begin(); as index and store. report has
 *         the counts, also on failure */
CAIRN_MUST_USE enum cairn_status cairn_cas_pack(struct cairn_cas *cas, const struct cairn_pack_options *options,
						struct cairn_pack_report *report, struct cairn_diag *diag);

/** May a pack have this name? */
bool cairn_cas_is_pack_name(const char *name);

/** Visits all packs, in the order of their names. @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_cas_each_pack(struct cairn_cas *cas,
						     void (*visit)(void *ctx, const struct cairn_store_pack *pack),
						     void *ctx);

#endif
