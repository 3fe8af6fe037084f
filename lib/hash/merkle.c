#include "hash/merkle.h"

#include "base/decimal.h"

#include <string.h>

enum { NODE_TEXT_MAX = 64 + 3 + CAIRN_DECIMAL_TEXT_MAX + 1 }; /* hash, " : ", decimal u64, newline */

_Static_assert((int)CAIRN_MERKLE_PARENTS_MAX <= (int)CAIRN_HASH_NODES_MAX, "all groups are hashed in one call");

bool cairn_merkle_is_cut(const struct cairn_hash *node)
{
	return cairn_hash_tail(node) % 4 == 0;
}

/* Counts the nodes of the first group of n. @param[out] complete  the group ends there, whatever follows */
static unsigned merkle_group(const struct cairn_merkle_node *nodes, unsigned n, bool *complete)
{
	for (unsigned len = CAIRN_MERKLE_GROUP_MIN; len <= n; len++) {
		*complete = len == CAIRN_MERKLE_GROUP_MAX || cairn_merkle_is_cut(&nodes[len - 1].hash);
		if (*complete)
			return len;
	}
	*complete = false;
	return n;
}

/* Writes one line of a node's message, without printf: formatting is a third of the work of verification.
 * @return address after it */
static char *merkle_line(char *out, const struct cairn_merkle_node *child)
{
	cairn_hash_text(out, &child->hash);
	memcpy(out + 64, " : ", 3);
	char *end = cairn_decimal_text(out + 67, child->bytes);
	*end = '\n';
	return end + 1;
}

unsigned cairn_merkle_merge(const struct cairn_merkle_node *nodes, unsigned n, bool is_last,
			    struct cairn_merkle_node *parents, unsigned *n_parents)
{
	char messages[CAIRN_MERKLE_MERGE_MAX * NODE_TEXT_MAX + 1];
	size_t ends[CAIRN_MERKLE_PARENTS_MAX];
	struct cairn_hash hashes[CAIRN_MERKLE_PARENTS_MAX];
	char *end = messages;
	unsigned merged = 0;
	for (*n_parents = 0; merged < n; ++*n_parents) {
		bool complete;
		unsigned len = merkle_group(nodes + merged, n - merged, &complete);
		if (!complete && !is_last)
			break;
		uint64_t bytes = 0;
		for (; len > 0; len--, merged++) {
			end = merkle_line(end, &nodes[merged]);
			bytes += nodes[merged].bytes;
		}
		parents[*n_parents].bytes = bytes;
		ends[*n_parents] = (size_t)(end - messages);
	}
	cairn_hash_nodes(hashes, messages, ends, *n_parents);
	for (unsigned i = 0; i < *n_parents; i++)
		parents[i].hash = hashes[i];
	return merged;
}

static unsigned merkle_waiting_max(unsigned at)
{
	static const unsigned LOWEST[] = {CAIRN_MERKLE_WAITING_0, CAIRN_MERKLE_WAITING_1};
	return at < 2 ? LOWEST[at] : CAIRN_MERKLE_GROUP_MAX;
}

static struct cairn_merkle_node *merkle_waiting(struct cairn_merkle *m, unsigned at)
{
	static const unsigned LOWEST[] = {0, CAIRN_MERKLE_WAITING_0};
	static const unsigned REST = CAIRN_MERKLE_WAITING_0 + CAIRN_MERKLE_WAITING_1;
	return m->waiting + (at < 2 ? LOWEST[at] : REST + (at - 2) * CAIRN_MERKLE_GROUP_MAX);
}

static void merkle_use_level(struct cairn_merkle *m, unsigned at)
{
	if (at < m->top)
		return;
	m->level[at] = (struct cairn_merkle_level){0};
	m->top = at + 1;
}

void cairn_merkle_init(struct cairn_merkle *m)
{
	m->top = 0;
	merkle_use_level(m, 0);
}

static void merkle_push(struct cairn_merkle *m, unsigned at, const struct cairn_merkle_node *node);

/* Moves the groups of a level up, as nodes. */
static void merkle_promote(struct cairn_merkle *m, unsigned at, bool is_last)
{
	struct cairn_merkle_node parents[CAIRN_MERKLE_PARENTS_MAX], *nodes = merkle_waiting(m, at);
	struct cairn_merkle_level *level = &m->level[at];
	unsigned n_parents, merged = cairn_merkle_merge(nodes, level->n, is_last, parents, &n_parents);
	level->n -= merged;
	level->passed = true;
	memmove(nodes, nodes + merged, level->n * sizeof(*nodes));
	for (unsigned i = 0; i < n_parents; i++)
		merkle_push(m, at + 1, &parents[i]);
}

static void merkle_push(struct cairn_merkle *m, unsigned at, const struct cairn_merkle_node *node)
{
	merkle_use_level(m, at);
	merkle_waiting(m, at)[m->level[at].n++] = *node;
	if (m->level[at].n == merkle_waiting_max(at))
		merkle_promote(m, at, false);
}

void cairn_merkle_add(struct cairn_merkle *m, const struct cairn_hash *chunk, uint64_t bytes)
{
	merkle_push(m, 0, &(struct cairn_merkle_node){.hash = *chunk, .bytes = bytes});
}

void cairn_merkle_root(struct cairn_merkle *m, struct cairn_hash *out)
{
	memset(out, 0, sizeof(*out));
	for (unsigned at = 0; at < m->top; at++) {
		const struct cairn_merkle_level *level = &m->level[at];
		if (!level->passed && level->n == 1) {
			*out = merkle_waiting(m, at)->hash;
			return;
		}
		if (level->n > 0)
			merkle_promote(m, at, true);
	}
}
