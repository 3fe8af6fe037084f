/* Shared by the files that register a shard. Statuses are as in write.h, unless another is named. */
#ifndef CAIRN_INDEX_POSTGRES_PUT_H
#define CAIRN_INDEX_POSTGRES_PUT_H

#include "index/postgres/write.h"

struct cairn_pg_put_xorb_row {
	struct cairn_pg_xorb_state row;
	uint32_t of_file; /* number of the last file that named the xorb; 0: none */
};

struct cairn_pg_put {
	struct cairn_pg_tx *tx;
	struct cairn_index_put_shard *put;
	struct cairn_pg_put_xorb_row *xorbs; /* owned: the xorbs of the shard */
	int64_t scope, owner;
	bool found, still_counts; /* found: the shard's row exists; still_counts: cairn_pg_registration_counts() */
	uint32_t n_made;          /* xorbs that this shard added */
	struct cairn_pg_array prefixes, prefix_xorbs, places; /* eligible chunks, not sent yet */
};

/** The number of the shard that $1 to $3 identify, as CAIRN_PG_SHARD_ARGS() sets them. */
#define CAIRN_PG_SHARD         "(SELECT id FROM shard WHERE hash = $1 AND scope = $2 AND owner = $3)"
#define CAIRN_PG_SHARD_ARGS(p) cairn_db_hash(&(p)->put->body), cairn_db_int((p)->scope), cairn_db_int((p)->owner)

/** Makes a chunk eligible, so that clients may ask about it. @param prefix  first 8 bytes of the chunk's hash */
CAIRN_MUST_USE enum cairn_status cairn_pg_put_dedupe(struct cairn_pg_put *p, uint64_t prefix, int64_t xorb,
						     uint32_t place);
/** Sends the remaining eligible chunks. */
CAIRN_MUST_USE enum cairn_status cairn_pg_put_send_dedupe(struct cairn_pg_put *p);
/** Reports that a xorb differs from the shard (xorb.differs). @return CAIRN_E_CONFLICT */
enum cairn_status cairn_pg_put_conflict(struct cairn_pg_put *p, const struct cairn_hash *xorb, const char *what);
/** Queues a lookup of xorbs. The answer has the array index, from 1, and the columns for cairn_pg_get_xorb_state(). */
unsigned cairn_pg_put_queue_xorbs(struct cairn_pg_tx *tx, struct cairn_pg_array *ids, struct cairn_pg_array *hashes);
/** Queues, after the references, a statement by which xorbs that a file needs no longer count for their uploaders. */
void cairn_pg_put_queue_registered(struct cairn_pg_tx *tx, struct cairn_pg_array *xorbs);
/** Queues a lookup of files. The answer has the index in the array, from 1, and the file's number. */
unsigned cairn_pg_put_queue_find_files(struct cairn_pg_tx *tx, struct cairn_pg_array *hashes);
/** Registers the files. */
CAIRN_MUST_USE enum cairn_status cairn_pg_put_files(struct cairn_pg_put *p);

#endif
