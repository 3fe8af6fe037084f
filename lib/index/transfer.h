/* All rows of an index as they are, table by table, for moving them to another engine and back. What a row means is
 * nobody's business here: the tables of all engines have the same columns (tables.h), and a number stays what it was.
 *
 * An index may be frozen: then it takes no writes from whoever has it open (CAIRN_E_BUSY, index.frozen), except for
 * those below. One that is being filled is half a store; one that was moved out has its successor elsewhere. */
#ifndef CAIRN_INDEX_TRANSFER_H
#define CAIRN_INDEX_TRANSFER_H

#include "base/buf.h"
#include "index/index.h"

/** In an order in which no row needs one of a later table. */
enum cairn_index_table {
	CAIRN_TABLE_SCOPE,
	CAIRN_TABLE_ACCOUNT,
	CAIRN_TABLE_MEMBERSHIP,
	CAIRN_TABLE_API_KEY,
	CAIRN_TABLE_REPO,
	CAIRN_TABLE_FORMER,
	CAIRN_TABLE_XORB,
	CAIRN_TABLE_LIST, /* rows go with those of xorb */
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
	CAIRN_TABLE_CONTENT,
	CAIRN_TABLE_ENTRY,
	CAIRN_TABLE_TELEMETRY,
	CAIRN_TABLES,
};

/* Columns of those tables that a mover knows. */
enum {
	CAIRN_XORB_ID = 0,
	CAIRN_XORB_HASH = 1,
	CAIRN_XORB_STORED = 4,
	CAIRN_XORB_COPY = 8, /* of the index that has the row: never compared */
	CAIRN_LIST_SPANS = 1,
	CAIRN_LIST_HASHES = 2,
	CAIRN_DEDUPE_XORB = 2,
};

/** For people. */
const char *cairn_index_table_name(enum cairn_index_table table);

/* --- rows --------------------------------------------------------------------------------------------------------- */

enum cairn_value_kind { CAIRN_VALUE_NULL, CAIRN_VALUE_NUMBER, CAIRN_VALUE_BYTES };

struct cairn_value {
	enum cairn_value_kind kind;
	int64_t number;
	size_t at, len; /* in bytes of its rows */
};

/** Some rows of a table. Owned by one thread at a time. */
struct cairn_index_rows {
	enum cairn_index_table table;
	uint32_t n;
	unsigned n_columns;
	struct cairn_value *values; /* n times n_columns; owned */
	size_t n_room;
	struct cairn_buf bytes;   /* owned */
	enum cairn_status status; /* CAIRN_OK; CAIRN_E_NOMEM, CAIRN_E_LIMIT: not all are there */
};

enum { CAIRN_INDEX_ROWS_BYTES_MAX = 512 << 20 }; /* of one call; a file of a TiB may have 24 MiB of terms */

void cairn_index_rows_init(struct cairn_index_rows *rows, enum cairn_index_table table);
void cairn_index_rows_fini(struct cairn_index_rows *rows); /* for CLEANUP() */
void cairn_index_rows_empty(struct cairn_index_rows *rows);

/** Append a row of NULLs; @return its number. What is set below is of the last row. */
uint32_t cairn_index_rows_add(struct cairn_index_rows *rows);
void cairn_index_rows_number(struct cairn_index_rows *rows, unsigned column, int64_t number);
/** @param bytes  copied */
void cairn_index_rows_bytes(struct cairn_index_rows *rows, unsigned column, const void *bytes, size_t len);
/** Append a copy of a row of the same table. */
void cairn_index_rows_copy(struct cairn_index_rows *rows, const struct cairn_index_rows *from, uint32_t row);

const struct cairn_value *cairn_index_rows_value(const struct cairn_index_rows *rows, uint32_t row, unsigned column);
/** Borrowed until a row is added. */
const uint8_t *cairn_index_rows_at(const struct cairn_index_rows *rows, const struct cairn_value *value);

/** By their keys, as pages of any engine are ordered. @return below, at or above 0 */
int cairn_index_rows_compare(const struct cairn_index_rows *a, uint32_t i, const struct cairn_index_rows *b,
			     uint32_t j);
/** In all columns that are compared. */
bool cairn_index_rows_equal(const struct cairn_index_rows *a, uint32_t i, const struct cairn_index_rows *b, uint32_t j);

/* --- an index ----------------------------------------------------------------------------------------------------- */

/** One end of a move. One thread at a time. */
struct cairn_index_transfer;

enum cairn_index_frozen { CAIRN_INDEX_THAWED, CAIRN_INDEX_FILLING, CAIRN_INDEX_MOVED };

/** For people, behind "this store": why it takes nothing new, and what to do. "" of CAIRN_INDEX_THAWED. */
const char *cairn_index_frozen_words(enum cairn_index_frozen frozen);

/** Is the index at this URL frozen? Opened for that alone. @return as cairn_index_transfer_open() */
CAIRN_MUST_USE enum cairn_status cairn_index_ask_frozen(const char *url, enum cairn_index_frozen *out,
							struct cairn_diag *diag);

/** What the index keeps of itself. */
struct cairn_index_state {
	enum cairn_index_frozen frozen;
	int64_t collection, n_files, n_xorbs, n_shards, n_eligible, stored_bytes;
};

/**
 * Open an index by its URL (index.h), beside whoever has it.
 * @param writes  the calls that write may be made
 * @return CAIRN_OK; CAIRN_E_USAGE no engine has such a URL (index.url), or it has a password (index.password);
 *         CAIRN_E_CONFLICT it is of an older version (index.older) or a newer one (index.newer), or not Cairn's
 *         (index.foreign); CAIRN_E_IO, also when it is missing; otherwise as every read (index.h)
 */
CAIRN_MUST_USE enum cairn_status cairn_index_transfer_open(struct cairn_index_transfer **out, const char *url,
							   bool writes, struct cairn_diag *diag);
void cairn_index_transfer_freep(struct cairn_index_transfer **t); /* for CLEANUP() */

/* Each of these answers CAIRN_OK, or CAIRN_E_IO, CAIRN_E_BUSY, CAIRN_E_FULL, CAIRN_E_DAMAGED, CAIRN_E_FORMAT with the
 * cause in diag, or CAIRN_E_NOMEM; those that hand rows over also CAIRN_E_LIMIT: they are more than
 * CAIRN_INDEX_ROWS_BYTES_MAX. */

/**
 * The next rows of a table in the order of its keys.
 * @param after  NULL: from the first; else behind row `row` of it, whose key alone counts
 * @param[out] out  of that table, emptied; empty: there are no more
 */
CAIRN_MUST_USE enum cairn_status cairn_index_transfer_page(struct cairn_index_transfer *t, enum cairn_index_table table,
							   const struct cairn_index_rows *after, uint32_t row,
							   uint32_t limit, struct cairn_index_rows *out,
							   struct cairn_diag *diag);
/** What the index keeps of itself now. */
CAIRN_MUST_USE enum cairn_status cairn_index_transfer_state(struct cairn_index_transfer *t,
							    struct cairn_index_state *out, struct cairn_diag *diag);
/** The highest number that a row of the table ever had; 0: none, or its rows have no numbers. */
CAIRN_MUST_USE enum cairn_status cairn_index_transfer_last(struct cairn_index_transfer *t, enum cairn_index_table table,
							   int64_t *number, struct cairn_diag *diag);

/** From its commit on nobody else writes, or again. */
CAIRN_MUST_USE enum cairn_status cairn_index_transfer_freeze(struct cairn_index_transfer *t,
							     enum cairn_index_frozen frozen, struct cairn_diag *diag);

/** Of one that is frozen: drop the rows that have the keys of these, then put others in, in place of what has their
 * keys or what else may be there once; all in one transaction, durable with the last call of
 * cairn_index_transfer_end().
 * @param drop, put  n of each, of any tables; an empty one is passed over */
CAIRN_MUST_USE enum cairn_status cairn_index_transfer_write(struct cairn_index_transfer *t,
							    const struct cairn_index_rows *const *drop,
							    const struct cairn_index_rows *const *put, size_t n,
							    struct cairn_diag *diag);

/** Begin to fill: it is frozen, and rules between its tables are off until the end. Harmless when it was begun. */
CAIRN_MUST_USE enum cairn_status cairn_index_transfer_begin(struct cairn_index_transfer *t, struct cairn_diag *diag);
/**
 * All rows are there: numbers go on behind these, and the rules between tables hold, which is looked at.
 * It stays frozen.
 * @param last  of each table
 * @return also CAIRN_E_DAMAGED (index.rows): a row names one that is not there
 */
CAIRN_MUST_USE enum cairn_status cairn_index_transfer_end(struct cairn_index_transfer *t,
							  const struct cairn_index_state *state,
							  const int64_t last[static CAIRN_TABLES],
							  struct cairn_diag *diag);

#endif
