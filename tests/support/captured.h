/* The captured shards of tests/data, and the captured xorbs as a store. As vectors.h, every call ends the running test
 * when something is not as expected. */
#ifndef CAIRN_TESTS_SUPPORT_CAPTURED_H
#define CAIRN_TESTS_SUPPORT_CAPTURED_H

#include "support/made.h"
#include "support/vectors.h"

/** Names of all captured shards ("shards/small"), without ending: uploads first, then answers to chunk queries. */
extern const char *const CAPTURED_SHARDS[];
extern const size_t CAPTURED_SHARDS_N;
extern const size_t CAPTURED_UPLOADS_N;

/** Names of all captured xorbs ("xorbs/HASH"), of which there is also a description ("xorbs/HASH.json"). */
extern const char *const CAPTURED_XORBS[];
extern const size_t CAPTURED_XORBS_N;

/** The dump of a shard. One number of the dumps is too large for the JSON reader: 2^64-1, read as -1. */
json_t *captured_dump(const char *name);

/** Load xorbs by their dumps. @param texts  hashes in text form; NULL: all captured ones */
struct made_store captured_store(const json_t *texts);
/** For CLEANUP(). */
void captured_store_fini(struct made_store *store);

#endif
