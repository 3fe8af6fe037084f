/* Shared by the files that compare the rows of two indexes. move_table.c holds and writes the changed rows.
 * move_xorbs.c first copies the objects of xorbs. move_rows.c compares the tables. */
#ifndef CAIRN_CAS_MOVE_MOVE_TABLE_H
#define CAIRN_CAS_MOVE_MOVE_TABLE_H

#include "cas/move/move_work.h"
#include "hash/crypto.h"
#include "index/rows.h"

enum { MOVE_XORBS = 64 /* xorbs written together, with their lists; up to 4 GiB of objects */ };

/** The state of a pass over one table. */
struct move_table {
	struct move *m;
	enum cairn_index_table table;
	struct cairn_index_rows drop, put;           /* owned: rows yet to be dropped or put */
	struct cairn_index_rows drop_list, put_list; /* owned: rows of chunk lists yet to be dropped or put */
	struct cairn_index_rows there;               /* owned: rows of the second index that put replaces */
	struct cairn_sha256 *digest;                 /* owned */
	uint64_t n_rows;
};

/* --- move_table.c ------------------------------------------------------------------------------------------------- */

void move_table_fini(struct move_table *w);

/** Drops and puts the waiting rows. @return as cairn_move() */
CAIRN_MUST_USE enum cairn_status move_write(struct move_table *w);

/** Returns the value of a numeric column. */
int64_t move_number(const struct cairn_index_rows *rows, uint32_t row, unsigned column);

/* --- move_xorbs.c ------------------------------------------------------------------------------------------------- */

/** Xorbs whose rows differ, and which wait for their objects. */
struct move_xorbs;

/** Makes an empty list. @return NULL without memory */
struct move_xorbs *move_xorbs_new(void);
void move_xorbs_free(struct move_xorbs **x);

/** Adds a row of the first index that differs, and finds its object. Writes a full batch. @return as cairn_move() */
CAIRN_MUST_USE enum cairn_status move_take_xorb(struct move_table *w, struct move_xorbs *all,
						const struct cairn_index_rows *from, uint32_t i);

/** Copies the objects of the waiting xorbs, and writes all waiting rows. @return as cairn_move() */
CAIRN_MUST_USE enum cairn_status move_write_xorbs(struct move_table *w, struct move_xorbs *all);

#endif
