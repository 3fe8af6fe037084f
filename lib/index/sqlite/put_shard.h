/* Shared by files that register a shard: put_shard.c adds its row, xorbs and eligible chunks, put_files.c its files. */
#ifndef CAIRN_INDEX_SQLITE_PUT_SHARD_H
#define CAIRN_INDEX_SQLITE_PUT_SHARD_H

#include "index/sqlite/write.h"

struct put_shard_xorb {
	int64_t id;
	uint32_t n_chunks;
	uint32_t of_file; /* number of the last file that named the xorb; 0: none */
};

/** A file of the shard that will be added. */
struct put_files_file {
	const struct cairn_index_new_file *file;
	const struct cairn_index_new_term *terms;
	uint8_t *rows;  /* owned: its terms as stored */
	int64_t *xorbs; /* owned: the xorbs that the terms name, each once */
	uint32_t n_xorbs;
	int64_t id; /* 0: the file exists already */
};

struct put_shard {
	struct cairn_tx *tx;
	struct cairn_index_put_shard *put;
	struct put_shard_xorb *xorbs; /* owned */
	int64_t id, scope, owner;
	struct put_files_file *files; /* owned: the files of the next statement */
	uint32_t n_waiting;           /* files gathered for the next statement */
	uint64_t n_waiting_terms;     /* terms of these files */
	uint32_t n_files;             /* files so far, which is the number of the current file */
	int64_t first_file;           /* number of the first file that this shard added; 0: none yet */
	int64_t new_bytes;            /* bytes of files that this shard added */
};

/** Reports a fault of a xorb. @return CAIRN_E_CONFLICT */
CAIRN_MUST_USE enum cairn_status put_shard_conflict(struct put_shard *p, const char *rule,
						    const struct cairn_hash *xorb, const char *what);

/** Makes a chunk eligible. @param prefix  first 8 bytes of the chunk's hash */
CAIRN_MUST_USE enum cairn_status put_shard_dedupe(struct put_shard *p, uint64_t prefix, int64_t xorb, uint32_t place);

/** Adds the gathered rows: eligible chunks, references, owners. */
CAIRN_MUST_USE enum cairn_status put_shard_add_all(struct put_shard *p);

/** Adds the gathered owners of new files. */
CAIRN_MUST_USE enum cairn_status put_shard_add_owners(struct put_shard *p);

/** Adds all files. Afterwards call put_shard_add_all() for rows still gathered, and put_files_fini() to free. */
CAIRN_MUST_USE enum cairn_status put_files(struct put_shard *p);
void put_files_fini(struct put_shard *p);

#endif
