/* The test vectors of tests/data: reads them, and makes the input files that are too large to store. Every call fails
 * the running Check test if a file is missing or unexpected, so callers need not check results. */
#ifndef CAIRN_TESTS_SUPPORT_VECTORS_H
#define CAIRN_TESTS_SUPPORT_VECTORS_H

#include "base/status.h"
#include "hash/hash.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes that the struct owns. */
struct vec_bytes {
	uint8_t *bytes; /* never NULL; allocated to exactly len, so that a sanitizer notices a read past the end */
	size_t len;
};

/** Frees the bytes. For CLEANUP(). */
void vec_bytes_fini(struct vec_bytes *b);

/** Reads a whole file. @param name  path below tests/data, printf-like: vec_read("xorbs/%s", hash) */
struct vec_bytes vec_read(const char *name, ...) CAIRN_PRINTF(1, 2);

/** Copies len bytes into an allocation of exactly that size. */
struct vec_bytes vec_copy(const uint8_t *bytes, size_t len);

/** Reads a JSON file below tests/data. The caller frees it with json_decref(), or CLEANUP(vec_json_freep). */
json_t *vec_json(const char *name, ...) CAIRN_PRINTF(1, 2);

/** Reads a file with one JSON value on each line, as a JSON array. */
json_t *vec_json_lines(const char *name);

void vec_json_freep(json_t **value);

/** Returns the member `key` of an object. It must exist and have the type. */
const json_t *vec_get(const json_t *object, const char *key);
const char *vec_string(const json_t *object, const char *key);
uint64_t vec_u64(const json_t *object, const char *key);

/** Returns the hash in a JSON string, or in a text. */
struct cairn_hash vec_hash_of(const json_t *text);
struct cairn_hash vec_hash(const json_t *object, const char *key);
struct cairn_hash vec_hash_text(const char *text);

/** Returns the element of an array whose member "name" ("file" in the lists of mutants) has this value. */
const json_t *vec_find(const json_t *array, const char *key, const char *value);

/** Returns the next number of the splitmix64 generator that makes all vectors. The state starts as the seed. */
uint64_t vec_splitmix64(uint64_t *state);

/** Makes the input file that a "spec" of files.json describes. */
struct vec_bytes vec_make(const json_t *spec);

/** Reads an array of [hash, length] pairs. Hashes and lengths are the caller's, free(). @return the number of pairs */
size_t vec_pairs(const json_t *pairs, struct cairn_hash **hashes, uint64_t **lengths);

#endif
