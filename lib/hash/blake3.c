/* The keyed BLAKE3 kinds. The only file that includes blake3.h and its internals: the public interface vectorizes one
 * long input, but not many short ones. */
#include "hash/hash.h"

#include <assert.h>
#include <blake3.h>
#include <blake3_impl.h>
#include <string.h>

/* Keys of the protocol, named after the input (source: protocol document, reference client). */
static const uint8_t DATA_KEY[BLAKE3_KEY_LEN] = {102, 151, 245, 119, 91,  149, 80,  222, 49,  53,  203,
						 172, 165, 151, 24,  28,  157, 228, 33,  16,  155, 235,
						 43,  88,  180, 208, 176, 75,  147, 173, 242, 41};
static const uint8_t NODE_KEY[BLAKE3_KEY_LEN] = {1,   126, 197, 199, 165, 71,  41,  150, 253, 148, 102,
						 102, 180, 138, 2,   230, 93,  221, 83,  111, 55,  199,
						 109, 210, 248, 99,  82,  230, 74,  83,  113, 63};
static const uint8_t VERIFICATION_KEY[BLAKE3_KEY_LEN] = {127, 24,  87,  214, 206, 86,  237, 102, 18,  127, 249,
							 19,  231, 165, 195, 243, 164, 205, 38,  213, 181, 219,
							 73,  230, 65,  36,  152, 127, 40,  251, 148, 195};
static const uint8_t FILE_KEY[BLAKE3_KEY_LEN] = {0};

_Static_assert(sizeof(blake3_hasher) <= sizeof(struct cairn_range_hasher), "grow cairn_range_hasher");
_Static_assert(_Alignof(blake3_hasher) <= _Alignof(struct cairn_range_hasher), "align cairn_range_hasher");

static void blake3_keyed(struct cairn_hash *out, const uint8_t key[BLAKE3_KEY_LEN], const void *bytes, size_t len)
{
	blake3_hasher h;
	blake3_hasher_init_keyed(&h, key);
	blake3_hasher_update(&h, bytes, len);
	blake3_hasher_finalize(&h, out->b, sizeof(out->b));
}

void cairn_hash_chunk(struct cairn_hash *out, const void *bytes, size_t len)
{
	blake3_keyed(out, DATA_KEY, bytes, len);
}

void cairn_hash_node(struct cairn_hash *out, const void *message, size_t len)
{
	blake3_keyed(out, NODE_KEY, message, len);
}

enum { BLAKE3_MANY_MAX = CAIRN_HASH_NODES_MAX + MAX_SIMD_DEGREE };

/* Hashes messages of equal length, filling the processor's vectors. The library hashes a remainder in powers of two,
 * one after the other: seven messages take 2.4 times as long as eight, three 1.5 times as long as four. So the free
 * places repeat the last message. @param messages, out  n, and room for MAX_SIMD_DEGREE more */
static void blake3_many(const uint8_t **messages, size_t n, size_t n_blocks, const uint8_t key[BLAKE3_KEY_LEN],
			uint8_t end_flags, uint8_t (*out)[BLAKE3_OUT_LEN])
{
	uint32_t words[BLAKE3_KEY_LEN / 4];
	size_t rest = n % blake3_simd_degree(), lanes = 4;
	while (lanes < rest)
		lanes *= 2;
	for (; rest > 2 && rest < lanes; rest++, n++)
		messages[n] = messages[n - 1];
	load_key_words(key, words);
	blake3_hash_many(messages, n, n_blocks, words, 0, false, KEYED_HASH, CHUNK_START, end_flags, out[0]);
}

/* Hashes messages with equal numbers of whole blocks side by side, then the last block of each, of 1 to 64 bytes. If
 * all last blocks are whole, the first step includes them. */
static void blake3_alike(struct cairn_hash *const *out, const uint8_t **messages, const size_t *lens, size_t n,
			 size_t n_whole, const uint8_t key[BLAKE3_KEY_LEN])
{
	uint8_t after[BLAKE3_MANY_MAX][BLAKE3_OUT_LEN];
	size_t n_full = 0;
	for (size_t i = 0; i < n; i++)
		n_full += lens[i] == (n_whole + 1) * BLAKE3_BLOCK_LEN;
	bool all_full = n > 0 && n_full == n;
	if (all_full)
		blake3_many(messages, n, n_whole + 1, key, CHUNK_END | ROOT, after);
	else if (n_whole > 0)
		blake3_many(messages, n, n_whole, key, 0, after);
	for (size_t i = 0; i < n && all_full; i++)
		memcpy(out[i]->b, after[i], sizeof(out[i]->b));
	for (size_t i = 0; i < n && !all_full; i++) {
		uint32_t state[BLAKE3_KEY_LEN / 4];
		uint8_t block[BLAKE3_BLOCK_LEN] = {0};
		size_t rest = lens[i] - n_whole * BLAKE3_BLOCK_LEN;
		memcpy(block, messages[i] + n_whole * BLAKE3_BLOCK_LEN, rest);
		load_key_words(n_whole > 0 ? after[i] : key, state);
		blake3_compress_in_place(state, block, (uint8_t)rest, 0,
					 KEYED_HASH | CHUNK_END | ROOT | (n_whole > 0 ? 0 : CHUNK_START));
		store_cv_words(out[i]->b, state);
	}
}

/* Hashes n messages. @param ends  end of each, in units of unit_bytes; a message has 1 to BLAKE3_CHUNK_LEN bytes */
static void blake3_side_by_side(struct cairn_hash *out, const uint8_t *messages, const size_t *ends, size_t unit_bytes,
				size_t n, const uint8_t key[BLAKE3_KEY_LEN])
{
	const uint8_t *alike[BLAKE3_MANY_MAX];
	struct cairn_hash *alike_out[CAIRN_HASH_NODES_MAX];
	size_t alike_lens[CAIRN_HASH_NODES_MAX], n_done = 0;
	for (size_t n_whole = 0; n_done < n; n_whole++) {
		size_t n_alike = 0;
		for (size_t i = 0, start = 0; i < n; start = ends[i++]) {
			size_t len = (ends[i] - start) * unit_bytes;
			assert(len > 0 && len <= BLAKE3_CHUNK_LEN);
			if ((len - 1) / BLAKE3_BLOCK_LEN != n_whole)
				continue;
			alike[n_alike] = messages + start * unit_bytes;
			alike_lens[n_alike] = len;
			alike_out[n_alike++] = &out[i];
		}
		blake3_alike(alike_out, alike, alike_lens, n_alike, n_whole, key);
		n_done += n_alike;
	}
}

void cairn_hash_nodes(struct cairn_hash *out, const char *messages, const size_t *ends, size_t n)
{
	blake3_side_by_side(out, (const uint8_t *)messages, ends, 1, n, NODE_KEY);
}

void cairn_hash_ranges(struct cairn_hash *out, const struct cairn_hash *chunks, const size_t *ends, size_t n)
{
	blake3_side_by_side(out, chunks->b, ends, sizeof(*chunks), n, VERIFICATION_KEY);
}

void cairn_hash_file(struct cairn_hash *out, const struct cairn_hash *root)
{
	if (cairn_hash_is_zero(root))
		*out = *root;
	else
		blake3_keyed(out, FILE_KEY, root->b, sizeof(root->b));
}

void cairn_hash_keyed(struct cairn_hash *out, const struct cairn_hash *key, const struct cairn_hash *chunk)
{
	if (cairn_hash_is_zero(key))
		*out = *chunk;
	else
		blake3_keyed(out, key->b, chunk->b, sizeof(chunk->b));
}

void cairn_hash_mac(struct cairn_hash *out, const uint8_t key[static CAIRN_HASH_BYTES], const void *bytes, size_t len)
{
	blake3_keyed(out, key, bytes, len);
}

void cairn_hash_body(struct cairn_hash *out, const void *bytes, size_t len)
{
	blake3_hasher h;
	blake3_hasher_init(&h);
	blake3_hasher_update(&h, bytes, len);
	blake3_hasher_finalize(&h, out->b, sizeof(out->b));
}

static blake3_hasher *range_state(struct cairn_range_hasher *h)
{
	return (blake3_hasher *)(void *)h->state;
}

void cairn_range_hash_init(struct cairn_range_hasher *h)
{
	blake3_hasher_init_keyed(range_state(h), VERIFICATION_KEY);
}

void cairn_range_hash_add(struct cairn_range_hasher *h, const struct cairn_hash *chunks, size_t n)
{
	blake3_hasher_update(range_state(h), chunks, n * sizeof(*chunks));
}

void cairn_range_hash_end(const struct cairn_range_hasher *h, struct cairn_hash *out)
{
	blake3_hasher_finalize((const blake3_hasher *)(const void *)h->state, out->b, sizeof(out->b));
}
