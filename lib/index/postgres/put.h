/* Between the files that register a shard. Each call that says nothing else answers as those of write.h. */
#ifndef CAIRN_INDEX_POSTGRES_PUT_H
#define CAIRN_INDEX_POSTGRES_PUT_H

#include "index/postgres/write.h"

/** A xorb of the shard, and its row. */
struct cairn_pg_put_xorb_row {
	struct cairn_pg_known row;
	uint32_t of_file; /* the last file that named it; 0: none */
};

struct cairn_pg_put {
	struct cairn_pg_tx *tx;
	struct cairn_index_put_shard *put;
	struct cairn_pg_put_xorb_row *xorbs; /* owned: those of the shard */
	int64_t scope, owner;
	bool found, known;                                    /* its row is there; and says that all of it is */
	uint32_t n_made;                                      /* xorbs that this shard made known */
	struct cairn_pg_array prefixes, prefix_xorbs, places; /* of chunks that clients may ask about, not sent yet */
};

/** Its number, of $1 to $3 as cairn_pg_put_args() sets them. */
#define CAIRN_PG_SHARD "(SELECT id FROM shard WHERE hash = $1 AND scope = $2 AND owner = $3)"
void cairn_pg_put_args(struct cairn_pg_put *p, struct cairn_pg_args *args);

/** Let clients ask about a chunk. @param prefix  first 8 bytes of its hash */
CAIRN_MUST_USE enum cairn_status cairn_pg_put_dedupe(struct cairn_pg_put *p, uint64_t prefix, int64_t xorb,
						     uint32_t place);
/** Send those that are left. */
CAIRN_MUST_USE enum cairn_status cairn_pg_put_send_dedupe(struct cairn_pg_put *p);
/** A xorb is not what the shard says (xorb.differs). @return CAIRN_E_CONFLICT */
enum cairn_status cairn_pg_put_conflict(struct cairn_pg_put *p, const struct cairn_hash *xorb, const char *what);
/** Queue a look-up of xorbs: place from 1 on, and then what cairn_pg_known() takes. */
unsigned cairn_pg_put_queue_xorbs(struct cairn_pg_tx *tx, struct cairn_pg_array *ids, struct cairn_pg_array *hashes);
/** Of files: place from 1 on, and number. */
unsigned cairn_pg_put_queue_find_files(struct cairn_pg_tx *tx, struct cairn_pg_array *hashes);
/** Register the files. */
CAIRN_MUST_USE enum cairn_status cairn_pg_put_files(struct cairn_pg_put *p);

#endif
