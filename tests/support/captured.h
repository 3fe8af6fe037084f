/* The captured shards of tests/data, and the captured xorbs as a store. Every call fails the running Check test if it
 * finds anything unexpected, as in vectors.h. */
#ifndef CAIRN_TESTS_SUPPORT_CAPTURED_H
#define CAIRN_TESTS_SUPPORT_CAPTURED_H

#include "support/made.h"
#include "support/vectors.h"

/** Names of all captured shards ("shards/small"), without suffix: uploads first, then answers to chunk queries. */
extern const char *const CAPTURED_SHARDS[];
extern const size_t CAPTURED_SHARDS_N;
extern const size_t CAPTURED_UPLOADS_N;

/** Names of all captured xorbs ("xorbs/HASH"). Each also has a description ("xorbs/HASH.json"). */
extern const char *const CAPTURED_XORBS[];
extern const size_t CAPTURED_XORBS_N;

/** Returns the dump of a shard. The number 2^64-1 is too large for the JSON reader, and reads as -1. */
json_t *captured_dump(const char *name);

/** Loads xorbs by their dumps. @param texts  hashes in text form; NULL: all captured ones */
struct made_store captured_store(const json_t *texts);
void captured_store_fini(struct made_store *store);

#endif
