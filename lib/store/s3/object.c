#include "store/s3/object.h"

#include <stdlib.h>
#include <string.h>

enum { OBJECT_AHEAD_BYTES = 1024 * 1024 }; /* read ahead for a sequential reader */

struct s3_object {
	struct cairn_store_object base;
	struct s3_client *client; /* borrowed, as names */
	struct s3_names *names;
	struct s3_copy copy;
	uint64_t next;  /* offset of a sequential reader's next read */
	uint8_t *ahead; /* NULL, or bytes of the object from ahead_at on; owned */
	uint64_t ahead_at;
	size_t ahead_bytes;
};

/* Changes when the object is changed, so that an earlier verification no longer counts. */
static uint64_t object_identity(const struct s3_copy *copy)
{
	uint64_t words[] = {0, copy->state.bytes, copy->state.etag, copy->state.modified};
	memcpy(&words[0], copy->id + S3_COPY_ID_BYTES - sizeof(words[0]), sizeof(words[0]));
	return store_identity(words, sizeof(words) / sizeof(words[0]));
}

enum cairn_status s3_object_open(struct s3_client *client, struct s3_names *names, const struct s3_copy *copy,
				 struct cairn_store_object **out)
{
	struct s3_object *o = calloc(1, sizeof(*o));
	if (!o)
		return CAIRN_E_NOMEM;
	o->client = client;
	o->names = names;
	o->copy = *copy;
	o->base.bytes = copy->state.bytes;
	memcpy(o->base.copy.b, copy->id, sizeof(copy->id));
	o->base.identity = object_identity(copy);
	o->base.fd = -1;
	*out = &o->base;
	return CAIRN_OK;
}

/* Refuses bytes if the object is no longer the opened version. */
static enum cairn_status object_get(struct s3_object *o, uint64_t offset, uint8_t *out, size_t len)
{
	char name[S3_NAME_BYTES];
	s3_copy_name(name, &o->copy);
	enum cairn_status status = s3_get(o->client, name, &o->copy.state, offset, out, len, NULL);
	if (status != CAIRN_E_NOT_FOUND && status != CAIRN_E_CONFLICT)
		return status;
	s3_names_forget(o->names, &o->copy.hash);
	return CAIRN_E_NOT_FOUND;
}

/* Copies bytes that were read ahead. @return how many */
static size_t object_take_ahead(const struct s3_object *o, uint64_t offset, uint8_t *out, size_t len)
{
	if (!o->ahead || offset < o->ahead_at || offset - o->ahead_at >= o->ahead_bytes)
		return 0;
	size_t from = (size_t)(offset - o->ahead_at), n = o->ahead_bytes - from;
	n = n < len ? n : len;
	memcpy(out, o->ahead + from, n);
	return n;
}

static enum cairn_status object_read_ahead(struct s3_object *o, uint64_t at, size_t len)
{
	if (!o->ahead && !(o->ahead = malloc(OBJECT_AHEAD_BYTES)))
		return CAIRN_E_NOMEM;
	o->ahead_bytes = 0;
	enum cairn_status status = object_get(o, at, o->ahead, len);
	if (status != CAIRN_OK)
		return status;
	o->ahead_at = at;
	o->ahead_bytes = len;
	return CAIRN_OK;
}

/* Reads ahead for sequential readers: chunks are read in order, and a request takes longer than most of them. */
enum cairn_status s3_object_read(struct cairn_store_object *object, uint64_t offset, uint8_t *out, size_t len)
{
	struct s3_object *o = (struct s3_object *)object;
	bool on = offset == o->next && offset > 0;
	size_t n = object_take_ahead(o, offset, out, len);
	o->next = offset + len;
	if (n == len)
		return CAIRN_OK;
	uint64_t at = offset + n, left = o->base.bytes - at;
	size_t rest = len - n, ahead = left < OBJECT_AHEAD_BYTES ? (size_t)left : OBJECT_AHEAD_BYTES;
	if (!on || rest >= ahead)
		return object_get(o, at, out + n, rest);
	enum cairn_status status = object_read_ahead(o, at, ahead);
	if (status == CAIRN_OK)
		memcpy(out + n, o->ahead, rest);
	return status;
}

enum cairn_status s3_object_prepare(struct cairn_store_object *object, uint64_t offset, uint64_t len)
{
	struct s3_object *o = (struct s3_object *)object;
	return object_read_ahead(o, offset, len < OBJECT_AHEAD_BYTES ? (size_t)len : OBJECT_AHEAD_BYTES);
}

void s3_object_free(struct cairn_store_object *object)
{
	struct s3_object *o = (struct s3_object *)object;
	free(o->ahead);
	free(o);
}
