/* Types and calls shared by the files that move a store. */
#ifndef CAIRN_CAS_MOVE_MOVE_WORK_H
#define CAIRN_CAS_MOVE_MOVE_WORK_H

#include "cas/move/move.h"
#include "data_dir/data_dir.h"
#include "hash/chunk_list.h"
#include "store/store.h"

/** Ascending ids, in the order in which they were added. Zeroed is empty. */
struct move_ids {
	int64_t *ids; /* owned */
	size_t n, room;
};
bool move_ids_have(const struct move_ids *set, int64_t id);
CAIRN_MUST_USE enum cairn_status move_ids_add(struct move_ids *set, int64_t id);

struct move {
	const struct cairn_move_options *options;
	struct cairn_move_report *report;
	struct cairn_diag *diag;
	char from_index[CAIRN_DATA_DIR_URL_BYTES], from_store[CAIRN_DATA_DIR_URL_BYTES];
	struct cairn_index_transfer *from, *to; /* owned, like the next member */
	struct cairn_store *source;
	struct cairn_data_dir *to_dir;
	struct cairn_store *target; /* borrowed */
	int hold_fd;
	bool names_source, names_target; /* rows name the copies of that store */
	bool is_frozen;                  /* the first store accepts no writes, so a missing object counts as damaged */
	struct move_ids damaged, known;  /* damaged xorbs: found in this pass, and in the pass before */
	uint64_t damaged_bytes, n_withdrawn;
	uint64_t n_changed; /* changes in this pass */
};

/** An object to be copied. */
struct move_object {
	struct cairn_hash hash;
	uint64_t bytes;
	struct cairn_copy_id copy;           /* its copy id in the first store, as its row has it */
	const struct cairn_chunk_list *list; /* borrowed: the list it must have; NULL: unknown */
	/* result: CAIRN_OK; CAIRN_E_NOT_FOUND; CAIRN_E_DAMAGED; other failures end the move */
	enum cairn_status status;
	struct cairn_copy_id moved; /* result: its copy id in the second store, if rows name copies there */
	struct cairn_diag diag;
};

/** Copies objects, several at a time. @return CAIRN_OK, with the status of each; CAIRN_E_BUSY stopped; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status move_objects(struct move *m, struct move_object *objects, size_t n);

/** Compares all rows of all tables, and makes the second store equal to the first. @return as cairn_move() */
CAIRN_MUST_USE enum cairn_status move_pass(struct move *m);

#endif
