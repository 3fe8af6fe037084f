/* Finds who holds the write-ahead log. A read that began before the last commits keeps the log from being used anew, so
 * the log grows until that read ends. */
#ifndef CAIRN_INDEX_SQLITE_LOG_READER_H
#define CAIRN_INDEX_SQLITE_LOG_READER_H

#include "index/sqlite/reader.h"

/** Zeroed: not opened yet. */
struct cairn_log_reader {
	bool opened;
	int shm_fd; /* the log's shared memory, on which readers have their locks */
};

/**
 * Writes, for people, who reads: another process by its number, otherwise the oldest read of the pool. The caller holds
 * a lock.
 * @param path      of the shared memory
 * @param since_ms  a read of the pool that began later does not count
 * @return false: nobody is found */
bool cairn_log_reader_find(struct cairn_log_reader *r, const char *path, struct cairn_pool *pool, int64_t since_ms,
			   char *out, size_t size);

#endif
