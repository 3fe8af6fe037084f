/* Copies all rows of an index, table by table, to move it to another engine or back. Rows are not interpreted: the
 * tables of all engines have the same columns (tables.h), and numbers stay the same.
 *
 * An index may be frozen: then it refuses writes (CAIRN_E_BUSY, index.frozen), except by the calls below. An index is
 * frozen while it is being filled, and after it was moved to another engine. */
#ifndef CAIRN_INDEX_TRANSFER_H
#define CAIRN_INDEX_TRANSFER_H

#include "base/buf.h"
#include "index/index.h"

/** Tables, in an order in which no row refers to a later table. */
enum cairn_index_table {
	CAIRN_TABLE_SCOPE,
	CAIRN_TABLE_ACCOUNT,
	CAIRN_TABLE_MEMBERSHIP,
	CAIRN_TABLE_API_KEY,
	CAIRN_TABLE_REPO,
	CAIRN_TABLE_FORMER,
	CAIRN_TABLE_MIRROR_ALIAS,
	CAIRN_TABLE_ACCESS_REQUEST,
	CAIRN_TABLE_XORB,
	CAIRN_TABLE_LIST, /* its rows are removed with those of xorb */
	CAIRN_TABLE_SHARD,
	CAIRN_TABLE_MEMBER,
	CAIRN_TABLE_DEDUPE,
	CAIRN_TABLE_FILE,
	CAIRN_TABLE_FILE_OWNER,
	CAIRN_TABLE_PROOF,
	CAIRN_TABLE_REFERENCE,
	CAIRN_TABLE_OBJECT,
	CAIRN_TABLE_LINE,
	CAIRN_TABLE_COMMIT,
	CAIRN_TABLE_REF,
	CAIRN_TABLE_PULL,
	CAIRN_TABLE_PROPOSED,
	CAIRN_TABLE_FEED,
	CAIRN_TABLE_CONTENT,
	CAIRN_TABLE_ENTRY,
	CAIRN_TABLE_MIRROR_REPO,
	CAIRN_TABLE_MIRROR_FILE,
	CAIRN_TABLE_MIRROR_PART,
	CAIRN_TABLE_MIRROR_PLACE,
	CAIRN_TABLE_TELEMETRY,
	CAIRN_TABLES,
};

/* The columns that a move uses. */
enum {
	CAIRN_XORB_ID = 0,
	CAIRN_XORB_HASH = 1,
	CAIRN_XORB_STORED = 4,
	CAIRN_XORB_COPY = 8, /* differs from index to index: never compared */
	CAIRN_LIST_SPANS = 1,
	CAIRN_LIST_HASHES = 2,
	CAIRN_DEDUPE_XORB = 2,
};

const char *cairn_index_table_name(enum cairn_index_table table);

/* --- rows --------------------------------------------------------------------------------------------------------- */

enum cairn_value_kind { CAIRN_VALUE_NULL, CAIRN_VALUE_NUMBER, CAIRN_VALUE_BYTES };

struct cairn_value {
	enum cairn_value_kind kind;
	int64_t number;
	size_t at, len; /* range in bytes */
};

/** Some rows of a table. For one thread at a time. */
struct cairn_index_rows {
	enum cairn_index_table table;
	uint32_t n;
	unsigned n_columns;
	struct cairn_value *values; /* n times n_columns; owned */
	size_t n_room;
	struct cairn_buf bytes;   /* owned */
	enum cairn_status status; /* CAIRN_OK; CAIRN_E_NOMEM, CAIRN_E_LIMIT: rows are missing */
};

/* bytes of rows in one call; a file of 1 TiB may have 24 MiB of terms */
enum { CAIRN_INDEX_ROWS_BYTES_MAX = 512 << 20 };

void cairn_index_rows_init(struct cairn_index_rows *rows, enum cairn_index_table table);
void cairn_index_rows_fini(struct cairn_index_rows *rows);
void cairn_index_rows_empty(struct cairn_index_rows *rows);

/** Appends a row of NULLs; the setters below change the last row. @return its number */
uint32_t cairn_index_rows_add(struct cairn_index_rows *rows);
void cairn_index_rows_number(struct cairn_index_rows *rows, unsigned column, int64_t number);
/** @param bytes  copied */
void cairn_index_rows_bytes(struct cairn_index_rows *rows, unsigned column, const void *bytes, size_t len);
/** Appends a copy of a row of the same table. */
void cairn_index_rows_copy(struct cairn_index_rows *rows, const struct cairn_index_rows *from, uint32_t row);

const struct cairn_value *cairn_index_rows_value(const struct cairn_index_rows *rows, uint32_t row, unsigned column);
/** Returns the bytes of a value, borrowed until a row is added. */
const uint8_t *cairn_index_rows_at(const struct cairn_index_rows *rows, const struct cairn_value *value);

/** Compares two rows by their keys, which is the order of pages in all engines. @return below, at or above 0 */
int cairn_index_rows_compare(const struct cairn_index_rows *a, uint32_t i, const struct cairn_index_rows *b,
			     uint32_t j);
/** Are two rows equal in all columns that are compared? */
bool cairn_index_rows_equal(const struct cairn_index_rows *a, uint32_t i, const struct cairn_index_rows *b, uint32_t j);

/* --- an index ----------------------------------------------------------------------------------------------------- */

/** Source or target of a move. For one thread at a time. */
struct cairn_index_transfer;

enum cairn_index_frozen { CAIRN_INDEX_THAWED, CAIRN_INDEX_FILLING, CAIRN_INDEX_MOVED };

/** Returns a text for people, after "this store": why it refuses writes, and what to do. "" for CAIRN_INDEX_THAWED. */
const char *cairn_index_frozen_words(enum cairn_index_frozen frozen);

/** Is the index at this URL frozen? Opens the index only for this. @return as cairn_index_transfer_open() */
CAIRN_MUST_USE enum cairn_status cairn_index_ask_frozen(const char *url, enum cairn_index_frozen *out,
							struct cairn_diag *diag);

/** The counts and the state that an index stores. */
struct cairn_index_state {
	enum cairn_index_frozen frozen;
	int64_t collection, n_files, n_xorbs, n_shards, n_eligible, stored_bytes;
};

/** Opens an index by its URL (index.h), even if another process has it open.
 * @param writes  functions that write may be called
 * @return CAIRN_OK; CAIRN_E_USAGE no engine has such a URL (index.url), or it has a password (index.password);
 *         CAIRN_E_CONFLICT made by an older version (index.older) or a newer one (index.newer), or not Cairn's
 *         (index.foreign); CAIRN_E_IO, also if it is missing; otherwise as every read (index.h) */
CAIRN_MUST_USE enum cairn_status cairn_index_transfer_open(struct cairn_index_transfer **out, const char *url,
							   bool writes, struct cairn_diag *diag);
void cairn_index_transfer_freep(struct cairn_index_transfer **t);

/* The functions below return CAIRN_OK, CAIRN_E_NOMEM, or with diag CAIRN_E_IO, _BUSY, _FULL, _DAMAGED or _FORMAT.
 * Functions that pass rows also return CAIRN_E_LIMIT: the rows have more than CAIRN_INDEX_ROWS_BYTES_MAX. */

/** Reads the next rows of a table, in the order of its keys.
 * @param after  begin after the key of its row `row`; NULL: from the first
 * @param[out] out  rows of that table, emptied first; empty: there are no more */
CAIRN_MUST_USE enum cairn_status cairn_index_transfer_page(struct cairn_index_transfer *t, enum cairn_index_table table,
							   const struct cairn_index_rows *after, uint32_t row,
							   uint32_t limit, struct cairn_index_rows *out,
							   struct cairn_diag *diag);
CAIRN_MUST_USE enum cairn_status cairn_index_transfer_state(struct cairn_index_transfer *t,
							    struct cairn_index_state *out, struct cairn_diag *diag);
/** Returns the highest number that a row of the table ever had; 0: none, or its rows have no numbers. */
CAIRN_MUST_USE enum cairn_status cairn_index_transfer_last(struct cairn_index_transfer *t, enum cairn_index_table table,
							   int64_t *number, struct cairn_diag *diag);

/** Freezes or thaws an index: from the commit on, only this process may write, or others may again. */
CAIRN_MUST_USE enum cairn_status cairn_index_transfer_freeze(struct cairn_index_transfer *t,
							     enum cairn_index_frozen frozen, struct cairn_diag *diag);

/** Writes rows of a frozen index, in one transaction: removes the rows with the keys of `drop`, then inserts `put`,
 * replacing rows with the same keys or other unique values. Durable after cairn_index_transfer_end().
 * @param drop, put  n of each, of any tables; each may be empty */
CAIRN_MUST_USE enum cairn_status cairn_index_transfer_write(struct cairn_index_transfer *t,
							    const struct cairn_index_rows *const *drop,
							    const struct cairn_index_rows *const *put, size_t n,
							    struct cairn_diag *diag);

/** Begins to fill an index: freezes it, disables constraints between tables until the end, and removes rows that no
 * move copies. May be repeated. */
CAIRN_MUST_USE enum cairn_status cairn_index_transfer_begin(struct cairn_index_transfer *t, struct cairn_diag *diag);
/** Ends filling: sets the last numbers given, and checks and enables the constraints between tables. The index stays
 * frozen.
 * @param last  last number of each table
 * @return also CAIRN_E_DAMAGED (index.rows): a row refers to a missing row */
CAIRN_MUST_USE enum cairn_status cairn_index_transfer_end(struct cairn_index_transfer *t,
							  const struct cairn_index_state *state,
							  const int64_t last[static CAIRN_TABLES],
							  struct cairn_diag *diag);

#endif
