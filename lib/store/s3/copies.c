#include "store/s3/copies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COPIES_ASIDE ".aside"

enum {
	COPIES_HASH_AT = 5, /* "x/ab/" */
	COPIES_ID_AT = COPIES_HASH_AT + CAIRN_HASH_TEXT_BYTES,
	COPIES_NAME_LEN = COPIES_ID_AT + 2 * S3_COPY_ID_BYTES,
	COPIES_ROOM_FIRST = 8,
};

void s3_copies_fini(struct s3_copies *copies)
{
	free(copies->list);
	copies->list = NULL;
}

static bool copies_parse(struct s3_copy *out, const char *name, size_t len)
{
	return len >= COPIES_NAME_LEN && memcmp(name, "x/", 2) == 0 && name[4] == '/' &&
	       name[COPIES_ID_AT - 1] == '.' && memcmp(name + 2, name + COPIES_HASH_AT, 2) == 0 &&
	       cairn_hash_parse(&out->hash, name + COPIES_HASH_AT, CAIRN_HASH_TEXT_BYTES - 1) == CAIRN_OK &&
	       cairn_hex_parse(out->id, sizeof(out->id), name + COPIES_ID_AT, 2 * sizeof(out->id)) == CAIRN_OK;
}

static void copies_add(struct s3_copies *copies, const struct s3_copy *copy)
{
	if (copies->n == copies->room) {
		size_t room = copies->room > 0 ? 2 * copies->room : COPIES_ROOM_FIRST;
		struct s3_copy *list = realloc(copies->list, room * sizeof(*list));
		if (!list) {
			copies->no_memory = true;
			return;
		}
		copies->list = list;
		copies->room = room;
	}
	copies->list[copies->n++] = *copy;
}

/* Ignores names of other forms: they are not ours. */
static void copies_visit(void *ctx, const char *name, uint64_t bytes)
{
	struct s3_copies *copies = ctx;
	struct s3_copy copy = {.state.bytes = bytes};
	size_t len = strlen(name);
	if (len < sizeof(copies->after))
		memcpy(copies->after, name, len + 1);
	if (!copies_parse(&copy, name, len))
		return;
	const struct s3_copy *last = copies->n > 0 ? &copies->list[copies->n - 1] : NULL;
	if (strcmp(name + COPIES_NAME_LEN, COPIES_ASIDE) == 0) {
		if (last && cairn_hash_equal(&last->hash, &copy.hash) &&
		    memcmp(last->id, copy.id, sizeof(copy.id)) == 0)
			copies->n--;
	} else if (len == COPIES_NAME_LEN) {
		copies_add(copies, &copy);
	}
}

enum cairn_status s3_copies_next(struct s3_copies *copies, struct s3_client *client, const char *prefix,
				 struct cairn_diag *diag)
{
	struct s3_xml_list list = {.visit = copies_visit, .ctx = copies};
	char before[S3_NAME_BYTES];
	memcpy(before, copies->after, sizeof(before));
	enum cairn_status status = s3_list(client, prefix, before, S3_COPIES_PAGE, &list, diag);
	copies->more = list.truncated;
	if (status == CAIRN_OK && copies->no_memory)
		return CAIRN_E_NOMEM;
	if (status == CAIRN_OK && copies->more && strcmp(copies->after, before) <= 0)
		return cairn_fail(diag, CAIRN_E_BUSY, "store.busy", CAIRN_NO_OFFSET,
				  "the object store says that its list goes on, and gives no name after \"%s\"",
				  before);
	return status;
}

void s3_copies_keep_last(struct s3_copies *copies)
{
	size_t first = copies->n;
	while (first > 0 && cairn_hash_equal(&copies->list[first - 1].hash, &copies->list[copies->n - 1].hash))
		first--;
	copies->n -= first;
	if (first > 0 && copies->n > 0)
		memmove(copies->list, copies->list + first, copies->n * sizeof(*copies->list));
}

void s3_copy_prefix(char out[static S3_NAME_BYTES], const struct cairn_hash *hash)
{
	char text[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(text, hash);
	(void)snprintf(out, S3_NAME_BYTES, "x/%.2s/%s.", text, text);
}

void s3_copies_begin(struct s3_copies *copies, const struct cairn_hash *from)
{
	s3_copy_prefix(copies->after, from);
	copies->after[strlen(copies->after) - 1] = '\0'; /* without the last dot, so that names with it come after */
}

void s3_copy_name(char out[static S3_NAME_BYTES], const struct s3_copy *copy)
{
	char id[2 * S3_COPY_ID_BYTES + 1];
	s3_copy_prefix(out, &copy->hash);
	cairn_hex_text(id, copy->id, sizeof(copy->id));
	memcpy(out + strlen(out), id, sizeof(id));
}

void s3_copy_aside_name(char out[static S3_NAME_BYTES], const struct s3_copy *copy)
{
	s3_copy_name(out, copy);
	memcpy(out + strlen(out), COPIES_ASIDE, sizeof(COPIES_ASIDE));
}
