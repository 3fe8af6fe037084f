/* Xet hashes: the 32-byte value, its text form, and the keyed BLAKE3 kinds of the protocol. */
#ifndef CAIRN_HASH_HASH_H
#define CAIRN_HASH_HASH_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CAIRN_HASH_BYTES = 32,
	CAIRN_SHA256_BYTES = 32,        /* stored as plain bytes, never as a struct cairn_hash */
	CAIRN_HASH_TEXT_BYTES = 64 + 1, /* 64 digits and a zero */
	CAIRN_HASH_NODES_MAX = 86,      /* most messages of cairn_hash_nodes() and cairn_hash_ranges() */
	CAIRN_HASH_RANGE_CHUNKS = 32,   /* most chunks in a range of cairn_hash_ranges() */
};

/** A hash of any kind. Never a char pointer; arrays of it are contiguous 32-byte values. */
struct cairn_hash {
	uint8_t b[CAIRN_HASH_BYTES];
};

/** Writes the text form of the protocol: four little-endian u64, each as 16 lower-case digits. Not plain byte order:
 * the bytes 00 01 02 .. 1f become 07060504030201000f0e0d0c... */
void cairn_hash_text(char out[static CAIRN_HASH_TEXT_BYTES], const struct cairn_hash *hash);

/** Parses the text form, also with upper-case digits, as the reference server does.
 * @param text  exactly len characters; need not end in a zero
 * @return CAIRN_OK; CAIRN_E_FORMAT not 64 hexadecimal digits */
CAIRN_MUST_USE enum cairn_status cairn_hash_parse(struct cairn_hash *out, const char *text, size_t len);

/** Writes hex digits in plain byte order, as sha256sum does, for digests other than Xet hashes. out: 2 n + 1 bytes. */
void cairn_hex_text(char *out, const uint8_t *bytes, size_t n);

/** Parses 2 n hexadecimal digits in plain byte order. @return CAIRN_OK; CAIRN_E_FORMAT */
CAIRN_MUST_USE enum cairn_status cairn_hex_parse(uint8_t *out, size_t n, const char *text, size_t len);

bool cairn_hash_equal(const struct cairn_hash *a, const struct cairn_hash *b);
bool cairn_hash_is_zero(const struct cairn_hash *hash);

/** Returns the last 8 bytes as a little-endian u64, which decides cut points of the merkle tree and dedupe
 * eligibility. */
uint64_t cairn_hash_tail(const struct cairn_hash *hash);

/** Returns whether clients may ask for a chunk by its hash alone: cairn_hash_tail() is 0 mod 1024. */
bool cairn_hash_is_eligible(const struct cairn_hash *chunk);

/** Computes the hash of a chunk from its raw bytes. */
void cairn_hash_chunk(struct cairn_hash *out, const void *bytes, size_t len);

/** Computes an inner node of the merkle tree from the message of its children (see merkle.h). */
void cairn_hash_node(struct cairn_hash *out, const void *message, size_t len);

/** Computes cairn_hash_node() of several messages, at least twice as fast on processors with vectors.
 * @param messages  n messages of 1 to 1024 bytes, one after the other
 * @param ends      where each message ends
 * @param n         at most CAIRN_HASH_NODES_MAX */
void cairn_hash_nodes(struct cairn_hash *out, const char *messages, const size_t *ends, size_t n);

/** Makes a file's hash from the merkle root of its chunks: zero for the empty file (root zero), else one more hash. */
void cairn_hash_file(struct cairn_hash *out, const struct cairn_hash *root);

/** Computes the keyed chunk hash of a dedupe answer ("HMAC" in the documents). A zero key: the hash itself. */
void cairn_hash_keyed(struct cairn_hash *out, const struct cairn_hash *key, const struct cairn_hash *chunk);

/** Authenticates a message of this server to itself: keyed BLAKE3, with a secret key for this purpose alone. For short
 * messages it takes a tenth of the time of OpenSSL's HMAC-SHA-256. */
void cairn_hash_mac(struct cairn_hash *out, const uint8_t key[static CAIRN_HASH_BYTES], const void *bytes, size_t len);

/** Computes the identity of an uploaded body (shards): plain BLAKE3 of its bytes. */
void cairn_hash_body(struct cairn_hash *out, const void *bytes, size_t len);

/** Computes the verification hash of a term over the raw hashes of its chunks, piece by piece. Opaque; no clean-up. */
struct cairn_range_hasher {
	_Alignas(8) uint8_t state[1920];
};
void cairn_range_hash_init(struct cairn_range_hasher *h);
void cairn_range_hash_add(struct cairn_range_hasher *h, const struct cairn_hash *chunks, size_t n);
void cairn_range_hash_end(const struct cairn_range_hasher *h, struct cairn_hash *out);

/** Computes the verification hashes of several short terms side by side, as cairn_hash_nodes() does.
 * @param chunks  chunks of n terms, one after the other, 1 to CAIRN_HASH_RANGE_CHUNKS in each
 * @param ends    where each term ends in the chunks
 * @param n       at most CAIRN_HASH_NODES_MAX */
void cairn_hash_ranges(struct cairn_hash *out, const struct cairn_hash *chunks, const size_t *ends, size_t n);

#endif
