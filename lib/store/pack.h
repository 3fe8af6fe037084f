/* The cold tier of a store, where it has one: packs, each one file of many objects. A store of files keeps them as Read
 * Shards in DIR/packs. Objects in packs are found, read, removed and set aside through store.h like any other; here is
 * what concerns packs only. In a store without packs none is shown, none can be begun, and there is nothing to tidy. */
#ifndef CAIRN_STORE_PACK_H
#define CAIRN_STORE_PACK_H

#include "store/store.h"

enum {
	CAIRN_STORE_PACKS_MAX = 256,     /* files in DIR/packs that are served; a look-up asks each in turn */
	CAIRN_STORE_PACK_NAME_MAX = 128, /* bytes of a name */
};

/** A file in DIR/packs. Borrowed for the time of the call. */
struct cairn_store_pack {
	const char *name;
	uint64_t file_bytes;
	uint64_t n_objects;             /* that were written; some may be deleted */
	const struct cairn_diag *fault; /* why it is not served, or what is wrong with it; NULL: nothing */
};

/** Call visit for each file *.shard of the folder, by name, also for those that are not served.
 *  @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_store_each_pack(struct cairn_store *s,
						       void (*visit)(void *ctx, const struct cairn_store_pack *pack),
						       void *ctx);

/** Likewise, and examine the structure of each that is served: fault says what is wrong with it. Reads the index of
 *  each whole, and no objects. @return likewise */
CAIRN_MUST_USE enum cairn_status cairn_store_check_packs(struct cairn_store *s,
							 void (*visit)(void *ctx, const struct cairn_store_pack *pack),
							 void *ctx);

/** Zero the bytes of deleted objects that were being read, or whose deletion was cut short. Long.
 *  @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_store_tidy_packs(struct cairn_store *s);

/**
 * Moving objects into a new pack. Until the commit nothing is visible and nothing is left behind by a kill; after it
 * each object is in the pack and in its old place, until cairn_store_packing_drop() removes it there. Who calls sees to
 * it that no object is removed meanwhile. About 60 bytes of memory an object. Owned by one thread at a time.
 */
struct cairn_store_packing;

/** Letters, digits, "-", "_", "." and at the end ".shard"; no dot at the beginning, at most CAIRN_STORE_PACK_NAME_MAX
 *  bytes? */
bool cairn_store_is_pack_name(const char *name);

/**
 * @param name  of the file
 * @param[out] out  the caller's, cairn_store_packing_free()
 * @return CAIRN_OK; CAIRN_E_USAGE a bad name, or a store that has no packs; CAIRN_E_CONFLICT there is such a pack, or
 *         there are as many as may be (pack.exists, pack.many); CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_store_packing_begin(struct cairn_store *s, const char *name,
							   struct cairn_store_packing **out, struct cairn_diag *diag);

/** Is there an object of this length in the object folder? */
bool cairn_store_packing_wants(const struct cairn_store_packing *p, const struct cairn_hash *hash, uint64_t bytes);

/**
 * Copy an object into the pack. One that is in another pack already is not copied; the left-over of it in the object
 * folder, if there is one and it is the same, is removed.
 * @param bytes  its length
 * @param[out] added  false: nothing was copied
 * @return CAIRN_OK; CAIRN_E_LIMIT the pack is full; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_store_packing_add(struct cairn_store_packing *p, const struct cairn_hash *hash,
							 uint64_t bytes, bool *added);

/** Make the pack durable and visible. Waits for the disk. @return CAIRN_OK; CAIRN_E_CONFLICT another has come by this
 *  name (pack.exists); CAIRN_E_FORMAT what was written does not read back; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_store_packing_commit(struct cairn_store_packing *p, struct cairn_diag *diag);

/** After the commit: call visit for each object of the new pack, by place. @return CAIRN_OK; CAIRN_E_FORMAT the disk
 *  gives back other bytes; CAIRN_E_NOMEM; what visit answered */
CAIRN_MUST_USE enum cairn_status cairn_store_packing_each(
	struct cairn_store_packing *p,
	enum cairn_status (*visit)(void *ctx, const struct cairn_hash *hash, uint64_t bytes), void *ctx);

/** Remove an object from the object folder when a pack has the same bytes. Nobody else may be about to change it.
 *  @return CAIRN_OK, also when there was nothing to remove; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_store_packing_drop(struct cairn_store_packing *p, const struct cairn_hash *hash);

/** End; without a commit nothing is left. NULL is harmless. */
void cairn_store_packing_free(struct cairn_store_packing *p);
void cairn_store_packing_freep(struct cairn_store_packing **p);

#endif
