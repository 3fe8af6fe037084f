/* Hashes made from numbers. The same numbers give the same hashes, so another program can ask for them without a
 * list. */
#ifndef CAIRN_BENCH_SYNTHETIC_H
#define CAIRN_BENCH_SYNTHETIC_H

#include "hash/hash.h"

/** Maps a number to one that looks random. Different numbers give different results. */
uint64_t synthetic_mix(uint64_t x);

/** Makes a hash. @param kind  kind of the thing, below 256 @param number  the thing's number in its kind, below 2^54 */
struct cairn_hash synthetic_hash(uint64_t kind, uint64_t number);

#endif
