/* Stores objects in memory, in a list: enough for tests and fuzzers. */
#include "base/buf.h"
#include "store/backend.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { STORE_MEM_OBJECT_BYTES_MAX = 1024 * 1024 * 1024 };

/* Immutable once in the list; counted, so that readers keep a removed object. */
struct store_mem_blob {
	struct store_mem_blob *next;
	struct cairn_hash hash;
	struct cairn_buf buf;
	uint64_t identity;
	bool aside; /* kept, but no longer found */
	atomic_uint refs;
};

struct store_mem {
	struct cairn_store base;
	pthread_mutex_t lock; /* guards all below */
	struct store_mem_blob *blobs;
	uint64_t n_blobs; /* ever stored */
};

struct store_mem_put {
	struct cairn_store_put base;
	struct store_mem_blob *blob;
};

struct store_mem_object {
	struct cairn_store_object base;
	struct store_mem_blob *blob;
};

static void store_mem_unref(struct store_mem_blob *blob)
{
	if (!blob || atomic_fetch_sub(&blob->refs, 1) > 1)
		return;
	cairn_buf_fini(&blob->buf);
	free(blob);
}

/* Under the lock. @return the link to the object; a link that holds NULL if there is none */
static struct store_mem_blob **store_mem_find(struct store_mem *m, const struct cairn_hash *hash)
{
	struct store_mem_blob **at = &m->blobs;
	while (*at && ((*at)->aside || !cairn_hash_equal(&(*at)->hash, hash)))
		at = &(*at)->next;
	return at;
}

static void store_mem_free(struct cairn_store *s)
{
	struct store_mem *m = (struct store_mem *)s;
	while (m->blobs) {
		struct store_mem_blob *blob = m->blobs;
		m->blobs = blob->next;
		store_mem_unref(blob);
	}
	pthread_mutex_destroy(&m->lock);
	free(m);
}

static enum cairn_status store_mem_put_begin(struct cairn_store *s, struct cairn_store_put **out)
{
	(void)s;
	struct store_mem_put *p = calloc(1, sizeof(*p));
	struct store_mem_blob *blob = calloc(1, sizeof(*blob));
	if (!p || !blob) {
		free(p);
		free(blob);
		return CAIRN_E_NOMEM;
	}
	blob->buf = cairn_buf_init(STORE_MEM_OBJECT_BYTES_MAX);
	atomic_init(&blob->refs, 1);
	p->blob = blob;
	*out = &p->base;
	return CAIRN_OK;
}

static enum cairn_status store_mem_put_write(struct cairn_store_put *put, const uint8_t *bytes, size_t len)
{
	struct store_mem_put *p = (struct store_mem_put *)put;
	cairn_buf_add(&p->blob->buf, bytes, len);
	return p->blob->buf.status == CAIRN_OK ? CAIRN_OK : CAIRN_E_FULL;
}

static enum cairn_status store_mem_put_commit(struct cairn_store_put *put, const struct cairn_hash *hash, bool *existed)
{
	struct store_mem_put *p = (struct store_mem_put *)put;
	struct store_mem *m = (struct store_mem *)put->store;
	pthread_mutex_lock(&m->lock);
	*existed = *store_mem_find(m, hash) != NULL;
	if (!*existed) {
		p->blob->hash = *hash;
		p->blob->identity = ++m->n_blobs;
		p->blob->next = m->blobs;
		m->blobs = p->blob;
		p->blob = NULL;
	}
	pthread_mutex_unlock(&m->lock);
	return CAIRN_OK;
}

static void store_mem_put_abort(struct cairn_store_put *put)
{
	struct store_mem_put *p = (struct store_mem_put *)put;
	store_mem_unref(p->blob);
	free(p);
}

static enum cairn_status store_mem_get(struct cairn_store *s, const struct cairn_hash *hash, unsigned n,
				       struct cairn_store_object **out)
{
	struct store_mem *m = (struct store_mem *)s;
	if (n > 0)
		return CAIRN_E_NOT_FOUND;
	struct store_mem_object *o = calloc(1, sizeof(*o));
	if (!o)
		return CAIRN_E_NOMEM;
	pthread_mutex_lock(&m->lock);
	o->blob = *store_mem_find(m, hash);
	if (o->blob)
		atomic_fetch_add(&o->blob->refs, 1);
	pthread_mutex_unlock(&m->lock);
	if (!o->blob) {
		free(o);
		return CAIRN_E_NOT_FOUND;
	}
	o->base.bytes = o->blob->buf.len;
	o->base.identity = o->blob->identity;
	o->base.fd = -1;
	*out = &o->base;
	return CAIRN_OK;
}

static enum cairn_status store_mem_object_read(struct cairn_store_object *object, uint64_t offset, uint8_t *out,
					       size_t len)
{
	const struct store_mem_object *o = (const struct store_mem_object *)object;
	if (len > 0)
		memcpy(out, o->blob->buf.bytes + offset, len);
	return CAIRN_OK;
}

static void store_mem_object_free(struct cairn_store_object *object)
{
	struct store_mem_object *o = (struct store_mem_object *)object;
	store_mem_unref(o->blob);
	free(o);
}

static enum cairn_status store_mem_stat(struct cairn_store *s, const struct cairn_hash *hash, uint64_t *bytes)
{
	struct store_mem *m = (struct store_mem *)s;
	pthread_mutex_lock(&m->lock);
	const struct store_mem_blob *blob = *store_mem_find(m, hash);
	if (blob)
		*bytes = blob->buf.len;
	pthread_mutex_unlock(&m->lock);
	return blob ? CAIRN_OK : CAIRN_E_NOT_FOUND;
}

/* Memory needs no sync. */
static enum cairn_status store_mem_confirm(struct cairn_store *s, const struct cairn_hash *hash, unsigned n)
{
	if (n > 0)
		return CAIRN_E_NOT_FOUND;
	uint64_t bytes;
	return store_mem_stat(s, hash, &bytes);
}

static enum cairn_status store_mem_remove(struct cairn_store *s, const struct cairn_hash *hash, struct cairn_diag *diag)
{
	(void)diag;
	struct store_mem *m = (struct store_mem *)s;
	pthread_mutex_lock(&m->lock);
	struct store_mem_blob **at = store_mem_find(m, hash);
	struct store_mem_blob *blob = *at;
	if (blob)
		*at = blob->next;
	pthread_mutex_unlock(&m->lock);
	store_mem_unref(blob);
	return CAIRN_OK;
}

static enum cairn_status store_mem_set_aside(struct cairn_store *s, const struct cairn_hash *hash)
{
	struct store_mem *m = (struct store_mem *)s;
	pthread_mutex_lock(&m->lock);
	struct store_mem_blob *blob = *store_mem_find(m, hash);
	if (blob)
		blob->aside = true;
	pthread_mutex_unlock(&m->lock);
	return blob ? CAIRN_OK : CAIRN_E_NOT_FOUND;
}

struct store_mem_entry {
	struct cairn_hash hash;
	uint64_t bytes;
};

/* Returns a copy of the list, so that a visitor may use the store. @return owned by the caller; NULL without memory */
static struct store_mem_entry *store_mem_list(struct store_mem *m, size_t *n)
{
	*n = 0;
	pthread_mutex_lock(&m->lock);
	size_t n_all = 1;
	for (const struct store_mem_blob *blob = m->blobs; blob; blob = blob->next)
		n_all++;
	struct store_mem_entry *list = calloc(n_all, sizeof(*list));
	for (const struct store_mem_blob *blob = m->blobs; list && blob; blob = blob->next) {
		if (!blob->aside)
			list[(*n)++] = (struct store_mem_entry){.hash = blob->hash, .bytes = blob->buf.len};
	}
	pthread_mutex_unlock(&m->lock);
	return list;
}

static enum cairn_status store_mem_each(struct cairn_store *s,
					enum cairn_status (*visit)(void *ctx, const struct cairn_hash *hash,
								   uint64_t bytes),
					void *ctx)
{
	size_t n = 0;
	struct store_mem_entry *list = store_mem_list((struct store_mem *)s, &n);
	enum cairn_status status = list ? CAIRN_OK : CAIRN_E_IO;
	for (size_t i = 0; status == CAIRN_OK && i < n; i++)
		status = visit(ctx, &list[i].hash, list[i].bytes);
	free(list);
	return status;
}

static void store_mem_room(struct cairn_store *s, struct cairn_store_room *out)
{
	(void)s;
	*out = (struct cairn_store_room){UINT64_MAX, UINT64_MAX, UINT64_MAX};
}

static const struct cairn_store_backend STORE_MEM_BACKEND = {
	.remote = true, /* so that tests cover the duties of a remote store's callers */
	.free = store_mem_free,
	.put_begin = store_mem_put_begin,
	.put_write = store_mem_put_write,
	.put_commit = store_mem_put_commit,
	.put_abort = store_mem_put_abort,
	.get = store_mem_get,
	.object_read = store_mem_object_read,
	.object_free = store_mem_object_free,
	.stat = store_mem_stat,
	.confirm = store_mem_confirm,
	.remove = store_mem_remove,
	.set_aside = store_mem_set_aside,
	.each = store_mem_each,
	.room = store_mem_room,
};

enum cairn_status store_mem_open(struct cairn_store **out, const char *rest, const struct cairn_store_options *options,
				 struct cairn_diag *diag)
{
	(void)options;
	if (*rest)
		return cairn_fail(diag, CAIRN_E_USAGE, "store.url", CAIRN_NO_OFFSET,
				  "nothing follows memory:, it names no place");
	struct store_mem *m = calloc(1, sizeof(*m));
	if (!m)
		return CAIRN_E_NOMEM;
	m->base.backend = &STORE_MEM_BACKEND;
	pthread_mutex_init(&m->lock, NULL);
	*out = &m->base;
	return CAIRN_OK;
}
