/* Sorts more records than fit into memory: writes sorted runs to a file without a name, then merges them. */
#ifndef CAIRN_CLI_EXPORT_SORTER_H
#define CAIRN_CLI_EXPORT_SORTER_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CAIRN_SORTER_RUNS_MAX = 2048,           /* so at most this many times run_bytes can be sorted */
	CAIRN_SORTER_RECORD_BYTES_MAX = 1024,   /* longest record */
	CAIRN_SORTER_RUN_BYTES_MIN = 64 * 1024, /* smallest run_bytes */
};

/** Sorts records of one length; equal records keep their order. Owned by one thread at a time. */
struct cairn_sorter;

struct cairn_sorter_options {
	int dir_fd;          /* folder for the file, if one is needed; must stay open */
	size_t record_bytes; /* 8 .. CAIRN_SORTER_RECORD_BYTES_MAX */
	size_t key_bytes;    /* length of the key at a record's start, compared as by memcmp(); 8 .. record_bytes */
	size_t run_bytes;    /* memory for records while adding; a fifth more is used */
};

/** Makes a sorter. @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_sorter_new(struct cairn_sorter **out,
						  const struct cairn_sorter_options *options);
void cairn_sorter_freep(struct cairn_sorter **sorter);

/** Adds a record. Call before the first record is read. @return CAIRN_OK; CAIRN_E_LIMIT: too many; CAIRN_E_IO;
 * CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_sorter_add(struct cairn_sorter *sorter, const void *record);

/** Returns the next record in order. The first call ends the adding and frees its memory.
 * @param[out] record  borrowed until the next call; NULL: no more records
 * @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_sorter_next(struct cairn_sorter *sorter, const uint8_t **record);

#endif
