/* Between the files that compare the rows of two indexes. move_table.c has what is to be written, and writes it;
 * move_xorbs.c copies the objects of xorbs before that; move_rows.c goes through the tables. */
#ifndef CAIRN_CAS_MOVE_TABLE_H
#define CAIRN_CAS_MOVE_TABLE_H

#include "cas/move_work.h"
#include "hash/crypto.h"
#include "index/rows.h"

enum { MOVE_XORBS = 64 /* written together, with their lists; up to 4 GiB of objects */ };

/** What a pass does with a table. */
struct move_table {
	struct move *m;
	enum cairn_index_table table;
	struct cairn_index_rows drop, put;           /* owned: on their way */
	struct cairn_index_rows drop_list, put_list; /* likewise, of xorbs */
	struct cairn_index_rows there; /* likewise: rows of the second index that those to be put replace */
	struct cairn_sha256 *digest;   /* owned */
	uint64_t n_rows;
};

/* --- move_table.c ------------------------------------------------------------------------------------------------- */

void move_table_fini(struct move_table *w);

/** Drop and put what waits. @return as cairn_move() */
CAIRN_MUST_USE enum cairn_status move_write(struct move_table *w);

/** What a column of numbers has. */
int64_t move_number(const struct cairn_index_rows *rows, uint32_t row, unsigned column);

/* --- move_xorbs.c ------------------------------------------------------------------------------------------------- */

/** Xorbs whose rows differ, which wait for their objects. */
struct move_xorbs;

/** @return NULL: there is no memory */
struct move_xorbs *move_xorbs_new(void);
void move_xorbs_free(struct move_xorbs **x);

/** Take a row of the first index that differs, and look what it needs; as many as go together are written. @return as
 *  cairn_move() */
CAIRN_MUST_USE enum cairn_status move_take_xorb(struct move_table *w, struct move_xorbs *all,
						const struct cairn_index_rows *from, uint32_t i);

/** Copy what those need that wait, and write their rows, and what else waits. @return as cairn_move() */
CAIRN_MUST_USE enum cairn_status move_write_xorbs(struct move_table *w, struct move_xorbs *all);

#endif
