/* Finds who keeps the write-ahead log from being restarted: a read that began before the last commits. The log grows
 * until that read ends. */
#ifndef CAIRN_INDEX_SQLITE_LOG_READER_H
#define CAIRN_INDEX_SQLITE_LOG_READER_H

#include "index/sqlite/reader.h"

/** Zeroed: not opened yet. */
struct cairn_log_reader {
	bool opened;
	int shm_fd; /* the log's shared memory, on which readers have locks */
};

/**
 * Describes the reader for people: another process by its number, or else the oldest read of the pool. Calls must not
 * overlap.
 * @param path      path of the shared memory
 * @param since_ms  ignores reads of the pool that began later @return false: no reader was found */
bool cairn_log_reader_find(struct cairn_log_reader *r, const char *path, struct cairn_pool *pool, int64_t since_ms,
			   char *out, size_t size);

#endif
