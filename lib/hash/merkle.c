#include "hash/merkle.h"

#include "base/decimal.h"

#include <string.h>

enum { NODE_TEXT_MAX = 64 + 3 + CAIRN_DECIMAL_TEXT_MAX + 1 }; /* hash, " : ", decimal u64, newline */

void cairn_merkle_init(struct cairn_merkle *m)
{
	m->level[0].n = 0;
	m->level[0].passed = false;
	m->top = 1;
}

/* One line of a node's message. Formatting is a third of the work of verification, so no printf here.
 * @return the place after it */
static char *merkle_line(char *out, const struct cairn_hash *hash, uint64_t bytes)
{
	cairn_hash_text(out, hash);
	memcpy(out + 64, " : ", 3);
	char *end = cairn_decimal_text(out + 67, bytes);
	*end = '\n';
	return end + 1;
}

bool cairn_merkle_is_cut(const struct cairn_hash *node)
{
	return cairn_hash_tail(node) % 4 == 0;
}

uint64_t cairn_merkle_join(struct cairn_hash *out, const struct cairn_hash *hashes, const uint64_t *bytes, unsigned n)
{
	char message[CAIRN_MERKLE_GROUP_MAX * NODE_TEXT_MAX + 1];
	char *end = message;
	uint64_t sum = 0;
	for (unsigned i = 0; i < n; i++) {
		end = merkle_line(end, &hashes[i], bytes[i]);
		sum += bytes[i];
	}
	cairn_hash_node(out, message, (size_t)(end - message));
	return sum;
}

static void merkle_push(struct cairn_merkle *m, unsigned at, const struct cairn_hash *hash, uint64_t bytes);

/* Make one node of everything that waits on a level, and hand it to the level above. */
static void merkle_close_group(struct cairn_merkle *m, unsigned at)
{
	struct cairn_merkle_level *level = &m->level[at];
	struct cairn_hash node;
	uint64_t bytes = cairn_merkle_join(&node, level->hash, level->bytes, level->n);
	level->n = 0;
	level->passed = true;
	merkle_push(m, at + 1, &node, bytes);
}

static void merkle_push(struct cairn_merkle *m, unsigned at, const struct cairn_hash *hash, uint64_t bytes)
{
	struct cairn_merkle_level *level = &m->level[at];
	if (at == m->top) {
		level->n = 0;
		level->passed = false;
		m->top++;
	}
	level->hash[level->n] = *hash;
	level->bytes[level->n] = bytes;
	level->n++;
	if (level->n == CAIRN_MERKLE_GROUP_MAX || (level->n >= CAIRN_MERKLE_GROUP_MIN && cairn_merkle_is_cut(hash)))
		merkle_close_group(m, at);
}

void cairn_merkle_add(struct cairn_merkle *m, const struct cairn_hash *chunk, uint64_t bytes)
{
	merkle_push(m, 0, chunk, bytes);
}

void cairn_merkle_root(struct cairn_merkle *m, struct cairn_hash *out)
{
	memset(out, 0, sizeof(*out));
	for (unsigned at = 0; at < m->top; at++) {
		struct cairn_merkle_level *level = &m->level[at];
		if (!level->passed && level->n == 1) {
			*out = level->hash[0];
			return;
		}
		if (level->n > 0)
			merkle_close_group(m, at);
	}
}
