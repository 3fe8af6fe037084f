/* Hashes made from numbers: the same for the same numbers, so that what was put in can be asked for by another program
 * without a list of it. */
#ifndef CAIRN_BENCH_SYNTHETIC_H
#define CAIRN_BENCH_SYNTHETIC_H

#include "hash/hash.h"

/** A number that looks random, of another; no two numbers give the same. */
uint64_t synthetic_mix(uint64_t x);

/** @param kind  what it is the hash of: below 256  @param number  which of that kind: below 2^54 */
struct cairn_hash synthetic_hash(uint64_t kind, uint64_t number);

#endif
