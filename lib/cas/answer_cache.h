/* A cache of built dedupe answers in bounded memory. Evicts the least recently used answer first. */
#ifndef CAIRN_CAS_ANSWER_CACHE_H
#define CAIRN_CAS_ANSWER_CACHE_H

#include "cas/answer.h"
#include "cas/cas.h"

/** A cache, for any thread. Chunks are divided among parts, each with a lock that is held for a lookup only. */
struct cairn_answer_cache;

/** @param bytes_max  for all answers. 16 parts share them evenly, or fewer, so that each has 4 MiB and room for four of
 *                   the longest answers. An answer larger than a quarter of its part is not cached @param
 *                   answer_bytes_max  a length that few answers exceed @return NULL without memory */
struct cairn_answer_cache *cairn_answer_cache_new(uint64_t bytes_max, uint64_t answer_bytes_max);
void cairn_answer_cache_free(struct cairn_answer_cache *c);

/** Returns a counted reference to the answer made at this time; NULL: not in the cache. */
const struct cairn_answer *cairn_answer_cache_get(struct cairn_answer_cache *c, const char *scope,
						  const struct cairn_hash *chunk, int64_t made_unix_s);

/** Returns how often the cache was cleared. Call it before building an answer. */
uint64_t cairn_answer_cache_generation(const struct cairn_answer_cache *c);

/** Adds an answer (and a reference to it), replacing an older answer. Does nothing if the cache was cleared since
 * generation was read, and perhaps if memory is short. */
void cairn_answer_cache_put(struct cairn_answer_cache *c, uint64_t generation, const char *scope,
			    const struct cairn_hash *chunk, int64_t made_unix_s, const struct cairn_answer *answer);

/** Removes all answers, because a xorb must no longer be offered. */
void cairn_answer_cache_clear(struct cairn_answer_cache *c);

struct cairn_cas_stats;
void cairn_answer_cache_stats(struct cairn_answer_cache *c, struct cairn_cas_stats *out);

/** Makes an answer of bytes (malloc; owned from now on), referenced by the caller. @return NULL: no memory; bytes
 * freed */
struct cairn_answer *cairn_answer_new(uint8_t *bytes, size_t len);

#endif
