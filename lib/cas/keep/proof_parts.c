#include "cas/keep/proof_parts.h"

#include <stdlib.h>
#include <string.h>

enum { PARTS_MAX = 4096 }; /* owners with a long file in progress: some 2 MiB */

struct cairn_proof_parts {
	uint64_t round;
	uint32_t n, room;
	struct cas_proof_part *part; /* owned */
};

struct cairn_proof_parts *cairn_proof_parts_new(void)
{
	return calloc(1, sizeof(struct cairn_proof_parts));
}

void cairn_proof_parts_free(struct cairn_proof_parts *parts)
{
	if (!parts)
		return;
	while (parts->n > 0)
		cas_proof_parts_drop(parts, parts->part);
	free(parts->part);
	free(parts);
}

void cas_proof_parts_begin(struct cairn_proof_parts *parts)
{
	parts->round++;
}

void cas_proof_parts_drop(struct cairn_proof_parts *parts, struct cas_proof_part *part)
{
	cairn_sha256_free(part->digest);
	*part = parts->part[--parts->n];
}

/* Drops the parts of files that are gone. The part of a file that exists is taken in each round. */
static void parts_drop_old(struct cairn_proof_parts *parts)
{
	for (uint32_t i = parts->n; i-- > 0;)
		if (parts->part[i].round + 1 < parts->round)
			cas_proof_parts_drop(parts, &parts->part[i]);
}

/* @return false: no room */
static bool parts_make_room(struct cairn_proof_parts *parts)
{
	if (parts->n == PARTS_MAX)
		parts_drop_old(parts);
	if (parts->n < parts->room)
		return true;
	if (parts->room == PARTS_MAX)
		return false;
	uint32_t room = parts->room == 0 ? 16 : 2 * parts->room;
	struct cas_proof_part *part = realloc(parts->part, room * sizeof(*part));
	if (!part)
		return false;
	parts->part = part;
	parts->room = room;
	return true;
}

static struct cas_proof_part *parts_of(struct cairn_proof_parts *parts, int64_t owner_id)
{
	for (uint32_t i = 0; i < parts->n; i++)
		if (parts->part[i].owner_id == owner_id)
			return &parts->part[i];
	return NULL;
}

struct cas_proof_part *cas_proof_parts_take(struct cairn_proof_parts *parts, const struct cairn_index_due *due)
{
	struct cas_proof_part *part = parts_of(parts, due->owner_id);
	if (part &&
	    (!cairn_hash_equal(&part->file, &due->file) || memcmp(part->said, due->said, sizeof(due->said)) != 0)) {
		cas_proof_parts_drop(parts, part);
		part = NULL;
	}
	if (!part) {
		if (!parts_make_room(parts))
			return NULL;
		part = &parts->part[parts->n++];
		*part = (struct cas_proof_part){.owner_id = due->owner_id, .file = due->file};
		memcpy(part->said, due->said, sizeof(due->said));
	}
	part->round = parts->round;
	return part;
}
