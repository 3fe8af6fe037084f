/* The cold tier of a store: packs, each one file of many objects. A store of files keeps them as Read Shards in
 * DIR/packs. Packed objects are found, read, removed and set aside through store.h like others; this header has only
 * the calls for packs themselves. A store without packs lists none, begins none and has nothing to tidy. */
#ifndef CAIRN_STORE_PACK_H
#define CAIRN_STORE_PACK_H

#include "store/store.h"

enum {
	CAIRN_STORE_PACKS_MAX = 256,     /* packs served from DIR/packs; a lookup asks each in turn */
	CAIRN_STORE_PACK_NAME_MAX = 128, /* bytes of a name */
};

/** A file in DIR/packs. Borrowed during the call. */
struct cairn_store_pack {
	const char *name;
	uint64_t file_bytes;
	uint64_t n_objects;             /* including deleted ones */
	const struct cairn_diag *fault; /* why the file is not served, or its damage; NULL: none */
};

/** Calls visit for each file *.shard of the folder, by name, also if it is not served.
 * @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_store_each_pack(struct cairn_store *s,
						       void (*visit)(void *ctx, const struct cairn_store_pack *pack),
						       void *ctx);

/** Does what cairn_store_each_pack() does, but examines the structure of each served pack, and reports damage in fault.
 * Reads the whole index of each pack, and no objects. @return as cairn_store_each_pack() */
CAIRN_MUST_USE enum cairn_status cairn_store_check_packs(struct cairn_store *s,
							 void (*visit)(void *ctx, const struct cairn_store_pack *pack),
							 void *ctx);

/** Zeroes the bytes of deleted objects that were being read, or whose deletion was interrupted. Slow.
 * @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_store_tidy_packs(struct cairn_store *s);

/** Moves objects into a new pack. Before the commit nothing is visible, and a killed process leaves nothing. After the
 * commit each object is in the pack and in its old place, until cairn_store_packing_drop() removes it there. The caller
 * must prevent that objects are removed meanwhile. Memory: about 60 bytes an object. Owned by one thread at a time. */
struct cairn_store_packing;

/** Returns whether a name has only letters, digits, "-", "_" and ".", ends in ".shard", does not begin with a dot, and
 * has at most CAIRN_STORE_PACK_NAME_MAX bytes. */
bool cairn_store_is_pack_name(const char *name);

/** Begins a pack.
 * @param name  of its file
 * @param[out] out  owned by the caller, cairn_store_packing_free()
 * @return CAIRN_OK; CAIRN_E_USAGE a bad name, or a store without packs; CAIRN_E_CONFLICT the pack exists, or there are
 *         too many packs (pack.exists, pack.many); CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_store_packing_begin(struct cairn_store *s, const char *name,
							   struct cairn_store_packing **out, struct cairn_diag *diag);

/** Returns whether the object folder has an object of this length. */
bool cairn_store_packing_wants(const struct cairn_store_packing *p, const struct cairn_hash *hash, uint64_t bytes);

/** Copies an object into the pack. An object that another pack has is not copied; an identical leftover in the object
 * folder is removed.
 * @param bytes  its length
 * @param[out] added  false: nothing was copied
 * @return CAIRN_OK; CAIRN_E_LIMIT the pack is full; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_store_packing_add(struct cairn_store_packing *p, const struct cairn_hash *hash,
							 uint64_t bytes, bool *added);

/** Makes the pack durable and visible. Waits for the disk. @return CAIRN_OK; CAIRN_E_CONFLICT the name is taken
 * (pack.exists); CAIRN_E_FORMAT the pack does not read back as written; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_store_packing_commit(struct cairn_store_packing *p, struct cairn_diag *diag);

/** Calls visit for each object of the new pack, by place, after the commit. @return CAIRN_OK; CAIRN_E_FORMAT the disk
 * returns other bytes; CAIRN_E_NOMEM; what visit returned */
CAIRN_MUST_USE enum cairn_status cairn_store_packing_each(
	struct cairn_store_packing *p,
	enum cairn_status (*visit)(void *ctx, const struct cairn_hash *hash, uint64_t bytes), void *ctx);

/** Removes an object from the object folder if a pack has the same bytes. Nobody else may change it meanwhile.
 * @return CAIRN_OK, also if there was nothing to remove; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_store_packing_drop(struct cairn_store_packing *p, const struct cairn_hash *hash);

/** Ends the packing; without a commit nothing remains. NULL is harmless. */
void cairn_store_packing_free(struct cairn_store_packing *p);
void cairn_store_packing_freep(struct cairn_store_packing **p);

#endif
