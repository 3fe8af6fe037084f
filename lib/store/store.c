#include "store/backend.h"

bool cairn_store_is_remote(const struct cairn_store *s)
{
	return s->backend->remote;
}

enum cairn_status cairn_store_ready(struct cairn_store *s, struct cairn_diag *diag)
{
	return s->backend->ready ? s->backend->ready(s, diag) : CAIRN_OK;
}

enum cairn_status cairn_store_add_address(struct cairn_store *s, struct cairn_buf *out, const struct cairn_hash *hash,
					  const struct cairn_copy_id *copy, uint64_t bytes, uint64_t first,
					  uint64_t last, uint64_t life_s)
{
	return s->backend->add_address ? s->backend->add_address(s, out, hash, copy, bytes, first, last, life_s)
				       : CAIRN_E_USAGE;
}

enum cairn_status cairn_store_reload(struct cairn_store *s, struct cairn_diag *diag)
{
	return s->backend->reload ? s->backend->reload(s, diag) : CAIRN_OK;
}

void cairn_store_free(struct cairn_store *s)
{
	if (s)
		s->backend->free(s);
}

void cairn_store_freep(struct cairn_store **s)
{
	cairn_store_free(*s);
	*s = NULL;
}

enum cairn_status cairn_store_put_begin(struct cairn_store *s, struct cairn_store_put **out)
{
	*out = NULL;
	enum cairn_status status = s->backend->put_begin(s, out);
	if (status == CAIRN_OK)
		(*out)->store = s;
	return status;
}

enum cairn_status cairn_store_put_write(struct cairn_store_put *p, const uint8_t *bytes, size_t len)
{
	if (p->failed == CAIRN_OK)
		p->failed = p->store->backend->put_write(p, bytes, len);
	return p->failed;
}

enum cairn_status cairn_store_put_commit(struct cairn_store_put *p, const struct cairn_hash *hash, bool *existed)
{
	*existed = false;
	enum cairn_status status = p->failed;
	if (status == CAIRN_OK)
		status = p->store->backend->put_commit(p, hash, existed);
	cairn_store_put_abort(p);
	return status;
}

enum cairn_status cairn_store_put_copy(struct cairn_store_put *p, const struct cairn_hash *hash,
				       struct cairn_copy_id *copy)
{
	const struct cairn_store_backend *backend = p->store->backend;
	*copy = (struct cairn_copy_id){0};
	enum cairn_status status = p->failed;
	if (status == CAIRN_OK)
		status = backend->put_copy ? backend->put_copy(p, hash, copy) : CAIRN_E_USAGE;
	cairn_store_put_abort(p);
	return status;
}

bool cairn_store_names_copies(const struct cairn_store *s)
{
	return s->backend->put_copy != NULL;
}

void cairn_store_put_abort(struct cairn_store_put *p)
{
	if (p)
		p->store->backend->put_abort(p);
}

void cairn_store_put_abortp(struct cairn_store_put **p)
{
	cairn_store_put_abort(*p);
	*p = NULL;
}

enum cairn_status cairn_store_get(struct cairn_store *s, const struct cairn_hash *hash, struct cairn_store_object **out)
{
	return cairn_store_get_copy(s, hash, 0, out);
}

enum cairn_status cairn_store_get_copy(struct cairn_store *s, const struct cairn_hash *hash, unsigned n,
				       struct cairn_store_object **out)
{
	*out = NULL;
	enum cairn_status status = s->backend->get(s, hash, n, out);
	if (status == CAIRN_OK)
		(*out)->backend = s->backend;
	return status;
}

enum cairn_status cairn_store_get_named(struct cairn_store *s, const struct cairn_hash *hash,
					const struct cairn_copy_id *copy, struct cairn_store_object **out)
{
	*out = NULL;
	enum cairn_status status =
		s->backend->get_named ? s->backend->get_named(s, hash, copy, out) : CAIRN_E_NOT_FOUND;
	if (status == CAIRN_OK)
		(*out)->backend = s->backend;
	return status;
}

struct cairn_copy_id cairn_store_object_copy(const struct cairn_store_object *o)
{
	return o->copy;
}

uint64_t cairn_store_object_identity(const struct cairn_store_object *o)
{
	return o->identity;
}

uint64_t cairn_store_object_bytes(const struct cairn_store_object *o)
{
	return o->bytes;
}

enum cairn_status cairn_store_object_read(struct cairn_store_object *o, uint64_t offset, uint8_t *out, size_t len)
{
	if (offset > o->bytes || len > o->bytes - offset)
		return CAIRN_E_IO;
	return o->backend->object_read(o, offset, out, len);
}

enum cairn_status cairn_store_object_prepare(struct cairn_store_object *o, uint64_t offset, uint64_t len)
{
	if (offset > o->bytes || len > o->bytes - offset)
		return CAIRN_E_IO;
	return o->backend->object_prepare ? o->backend->object_prepare(o, offset, len) : CAIRN_OK;
}

int cairn_store_object_take_fd(struct cairn_store_object *o, uint64_t *offset)
{
	int fd = o->fd;
	*offset = o->fd_offset;
	o->fd = -1;
	return fd;
}

void cairn_store_object_free(struct cairn_store_object *o)
{
	if (o)
		o->backend->object_free(o);
}

void cairn_store_object_freep(struct cairn_store_object **o)
{
	cairn_store_object_free(*o);
	*o = NULL;
}

enum cairn_status cairn_store_stat(struct cairn_store *s, const struct cairn_hash *hash, uint64_t *bytes)
{
	*bytes = 0;
	return s->backend->stat(s, hash, bytes);
}

enum cairn_status cairn_store_unchanged(struct cairn_store *s, const struct cairn_hash *hash,
					const struct cairn_copy_id *copy, uint64_t bytes, bool *unchanged)
{
	*unchanged = true;
	return s->backend->unchanged ? s->backend->unchanged(s, hash, copy, bytes, unchanged) : CAIRN_OK;
}

enum cairn_status cairn_store_confirm(struct cairn_store *s, const struct cairn_hash *hash, unsigned n)
{
	return s->backend->confirm(s, hash, n);
}

enum cairn_status cairn_store_remove(struct cairn_store *s, const struct cairn_hash *hash, struct cairn_diag *diag)
{
	return s->backend->remove(s, hash, diag);
}

enum cairn_status cairn_store_remove_copy(struct cairn_store *s, const struct cairn_hash *hash,
					  const struct cairn_copy_id *copy, struct cairn_diag *diag)
{
	return s->backend->remove_copy ? s->backend->remove_copy(s, hash, copy, diag) : CAIRN_E_USAGE;
}

enum cairn_status cairn_store_set_aside(struct cairn_store *s, const struct cairn_hash *hash)
{
	return s->backend->set_aside(s, hash);
}

enum cairn_status cairn_store_each_copy(struct cairn_store *s, const struct cairn_hash *from,
					enum cairn_status (*visit)(void *ctx, const struct cairn_hash *hash,
								   const struct cairn_copy_id *copy),
					void *ctx)
{
	return s->backend->each_copy ? s->backend->each_copy(s, from, visit, ctx) : CAIRN_E_USAGE;
}

enum cairn_status cairn_store_each(struct cairn_store *s,
				   enum cairn_status (*visit)(void *ctx, const struct cairn_hash *hash, uint64_t bytes),
				   void *ctx)
{
	return s->backend->each(s, visit, ctx);
}

void cairn_store_room(struct cairn_store *s, struct cairn_store_room *out)
{
	s->backend->room(s, out);
}

bool cairn_store_traffic(struct cairn_store *s, struct cairn_store_traffic *out)
{
	*out = (struct cairn_store_traffic){0};
	if (!s->backend->traffic)
		return false;
	s->backend->traffic(s, out);
	return true;
}
