/* Stores objects in an S3 service. copies.h has the names, and why each is used once. */
#include "base/clock.h"
#include "base/crash_point.h"
#include "base/fd.h"
#include "base/sys.h"
#include "hash/crypto.h"
#include "hash/hash_guard.h"
#include "store/backend.h"
#include "store/s3/client.h"
#include "store/s3/copies.h"
#include "store/s3/instance.h"
#include "store/s3/names.h"
#include "store/s3/object.h"
#include "store/tmpfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

enum {
	STORE_S3_OWNER_BYTES = 32,
	STORE_S3_ADDRESS_SEEN_S = 300, /* an address needs a request for its object at most this long ago */
};

/* Name below the prefix that marks the place's owner. */
#define STORE_S3_OWNER "owner"

struct store_s3 {
	struct cairn_store base;
	struct s3_client *client;
	struct s3_names *names;
	struct cairn_guards guards; /* a hash is guarded while its copies change */
	char *credentials;
	/* empty: the store was opened read-only, maybe while another process writes (options->beside) */
	char owner[STORE_S3_OWNER_BYTES + 1];
	int scratch_fd;
	pthread_mutex_t lock; /* guards last_ms */
	int64_t last_ms;      /* in the last name given to a copy */
};

struct store_s3_put {
	struct cairn_store_put base;
	struct cairn_tmpfile file;
	struct cairn_sha256 *sha256;
	uint64_t bytes;
};

static void store_s3_free(struct cairn_store *store)
{
	struct store_s3 *s = (struct store_s3 *)store;
	s3_client_free(s->client);
	s3_names_free(s->names);
	cairn_guards_fini(&s->guards);
	pthread_mutex_destroy(&s->lock);
	cairn_fd_closep(&s->scratch_fd);
	free(s->credentials);
	free(s);
}

/* --- copies ------------------------------------------------------------------------------------------------------- */

/* Lists all copies of a hash. A service may end a page anywhere, so only the last page tells which copy counts. */
static enum cairn_status store_s3_copies(struct store_s3 *s, const struct cairn_hash *hash, struct s3_copies *out,
					 struct cairn_diag *diag)
{
	char prefix[S3_NAME_BYTES];
	s3_copy_prefix(prefix, hash);
	enum cairn_status status = CAIRN_OK;
	do
		status = s3_copies_next(out, s->client, prefix, diag);
	while (status == CAIRN_OK && out->more);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_E_BUSY : status; /* without the bucket nothing is known */
}

/* Finds the copy that counts; its bytes are S3_COPY_NONE if there is none. */
static enum cairn_status store_s3_find(struct store_s3 *s, const struct cairn_hash *hash, struct s3_copy *out)
{
	uint32_t ticket;
	if (s3_names_find(s->names, hash, out, &ticket))
		return CAIRN_OK;
	CLEANUP(s3_copies_fini) struct s3_copies copies = {0};
	enum cairn_status status = store_s3_copies(s, hash, &copies, NULL);
	if (status != CAIRN_OK)
		return status;
	*out = copies.n > 0 ? copies.list[copies.n - 1] : (struct s3_copy){.hash = *hash, .state.bytes = S3_COPY_NONE};
	s3_names_learn(s->names, out, ticket);
	return CAIRN_OK;
}

/* Looks at a copy's object now. Only the object itself proves that it is missing, because a list may be stale. */
static enum cairn_status store_s3_read_state(struct store_s3 *s, struct s3_copy *copy)
{
	char name[S3_NAME_BYTES];
	s3_copy_name(name, copy);
	copy->seen_unix_s = cairn_clock_unix_s();
	return s3_read_state(s->client, name, &copy->state, NULL);
}

static bool store_s3_is_same_copy(const struct s3_copy *a, const struct s3_copy *b)
{
	return memcmp(a->id, b->id, sizeof(a->id)) == 0;
}

/* Returns the cached version of a copy's object, or asks the service. Later changes are noticed by reads. */
static enum cairn_status store_s3_know(struct store_s3 *s, struct s3_copy *copy)
{
	uint32_t ticket;
	struct s3_copy known;
	if (s3_names_find(s->names, &copy->hash, &known, &ticket) && known.state.bytes != S3_COPY_NONE &&
	    known.state.modified != 0 && store_s3_is_same_copy(&known, copy)) {
		*copy = known;
		return CAIRN_OK;
	}
	enum cairn_status status = store_s3_read_state(s, copy);
	if (status == CAIRN_OK)
		s3_names_learn(s->names, copy, ticket);
	else if (status == CAIRN_E_NOT_FOUND)
		s3_names_forget(s->names, &copy->hash);
	return status;
}

static struct s3_copy store_s3_copy_of(const struct cairn_hash *hash, const struct cairn_copy_id *name)
{
	struct s3_copy copy = {.hash = *hash};
	memcpy(copy.id, name->b, sizeof(copy.id));
	return copy;
}

/* Makes a unique name: a UUID of version 7. Its time rises from one name to the next even if the clock does not. */
static enum cairn_status store_s3_new_copy(struct store_s3 *s, const struct cairn_hash *hash, struct s3_copy *out)
{
	struct cairn_copy_id name;
	enum cairn_status status = cairn_random(name.b, sizeof(name.b));
	pthread_mutex_lock(&s->lock);
	int64_t now_ms = cairn_clock_unix_ms();
	s->last_ms = now_ms > s->last_ms ? now_ms : s->last_ms + 1;
	cairn_copy_id_set_unix_ms(&name, s->last_ms);
	pthread_mutex_unlock(&s->lock);
	name.b[6] = (uint8_t)(0x70 | (name.b[6] & 0x0f));
	name.b[8] = (uint8_t)(0x80 | (name.b[8] & 0x3f));
	*out = store_s3_copy_of(hash, &name);
	return status;
}

/* --- putting ------------------------------------------------------------------------------------------------------ */

static void store_s3_put_abort(struct cairn_store_put *put)
{
	struct store_s3_put *p = (struct store_s3_put *)put;
	cairn_tmpfile_fini(&p->file);
	cairn_sha256_free(p->sha256);
	free(p);
}

static enum cairn_status store_s3_put_begin(struct cairn_store *store, struct cairn_store_put **out)
{
	const struct store_s3 *s = (const struct store_s3 *)store;
	struct store_s3_put *p = calloc(1, sizeof(*p));
	if (!p)
		return CAIRN_E_NOMEM;
	p->file = CAIRN_TMPFILE_NONE;
	p->sha256 = cairn_sha256_new();
	enum cairn_status status = p->sha256 ? cairn_tmpfile_open(&p->file, s->scratch_fd) : CAIRN_E_NOMEM;
	if (status != CAIRN_OK) {
		store_s3_put_abort(&p->base);
		return status;
	}
	cairn_tmpfile_unlink(&p->file);
	cairn_crash_point(CAIRN_CRASH_PUT_BEGUN);
	*out = &p->base;
	return CAIRN_OK;
}

static enum cairn_status store_s3_put_write(struct cairn_store_put *put, const uint8_t *bytes, size_t len)
{
	struct store_s3_put *p = (struct store_s3_put *)put;
	cairn_sha256_add(p->sha256, bytes, len);
	p->bytes += len;
	enum cairn_status status = cairn_fd_write_all(p->file.fd, bytes, len);
	cairn_crash_point(CAIRN_CRASH_PUT_WRITTEN);
	return status;
}

static enum cairn_status store_s3_send(struct store_s3 *s, struct store_s3_put *p, const struct cairn_hash *hash,
				       struct s3_copy *copy)
{
	uint8_t digest[CAIRN_SHA256_BYTES];
	char sha256[S3_HEX_SHA256_BYTES], name[S3_NAME_BYTES];
	cairn_sha256_end(p->sha256, digest);
	cairn_hex_text(sha256, digest, sizeof(digest));
	enum cairn_status status = store_s3_new_copy(s, hash, copy);
	s3_copy_name(name, copy);
	if (status == CAIRN_OK)
		status = s3_put(s->client, name, NULL, p->file.fd, p->bytes, sha256, &copy->state, NULL);
	if (status != CAIRN_OK) {
		s3_names_forget(s->names, hash); /* it may exist in spite of the failure, or appear later */
		return status == CAIRN_E_NOT_FOUND ? CAIRN_E_BUSY : status == CAIRN_E_MISMATCH ? CAIRN_E_IO : status;
	}
	copy->seen_unix_s = cairn_clock_unix_s();
	s3_names_set(s->names, copy);
	cairn_crash_point(CAIRN_CRASH_PUT_DURABLE);
	return CAIRN_OK;
}

static enum cairn_status store_s3_put_copy(struct cairn_store_put *put, const struct cairn_hash *hash,
					   struct cairn_copy_id *out)
{
	struct s3_copy copy;
	enum cairn_status status =
		store_s3_send((struct store_s3 *)put->store, (struct store_s3_put *)put, hash, &copy);
	if (status == CAIRN_OK)
		memcpy(out->b, copy.id, sizeof(out->b));
	return status;
}

static enum cairn_status store_s3_put_commit(struct cairn_store_put *put, const struct cairn_hash *hash, bool *existed)
{
	struct store_s3_put *p = (struct store_s3_put *)put;
	struct store_s3 *s = (struct store_s3 *)put->store;
	struct cairn_guard guard;
	struct s3_copy copy;
	cairn_guard_take(&s->guards, &guard, hash);
	enum cairn_status status = store_s3_find(s, hash, &copy);
	*existed = status == CAIRN_OK && copy.state.bytes != S3_COPY_NONE;
	if (status == CAIRN_OK && !*existed)
		status = store_s3_send(s, p, hash, &copy);
	cairn_guard_release(&s->guards, &guard);
	return status;
}

/* --- getting ------------------------------------------------------------------------------------------------------ */

/* Finds the n-th copy, counted from the last one. */
static enum cairn_status store_s3_find_nth(struct store_s3 *s, const struct cairn_hash *hash, unsigned n,
					   struct s3_copy *out)
{
	CLEANUP(s3_copies_fini) struct s3_copies copies = {0};
	enum cairn_status status = n == 0 ? store_s3_find(s, hash, out) : store_s3_copies(s, hash, &copies, NULL);
	if (status == CAIRN_OK && n > 0)
		*out = n < copies.n ? copies.list[copies.n - 1 - n] : (struct s3_copy){.state.bytes = S3_COPY_NONE};
	return status == CAIRN_OK && out->state.bytes == S3_COPY_NONE ? CAIRN_E_NOT_FOUND : status;
}

static enum cairn_status store_s3_get(struct cairn_store *store, const struct cairn_hash *hash, unsigned n,
				      struct cairn_store_object **out)
{
	struct store_s3 *s = (struct store_s3 *)store;
	struct s3_copy copy;
	enum cairn_status status = store_s3_find_nth(s, hash, n, &copy);
	if (status == CAIRN_OK)
		status = n == 0 ? store_s3_know(s, &copy) : store_s3_read_state(s, &copy);
	return status == CAIRN_OK ? s3_object_open(s->client, s->names, &copy, out) : status;
}

static enum cairn_status store_s3_get_named(struct cairn_store *store, const struct cairn_hash *hash,
					    const struct cairn_copy_id *name, struct cairn_store_object **out)
{
	struct store_s3 *s = (struct store_s3 *)store;
	struct s3_copy copy = store_s3_copy_of(hash, name);
	enum cairn_status status = store_s3_know(s, &copy);
	return status == CAIRN_OK ? s3_object_open(s->client, s->names, &copy, out) : status;
}

static enum cairn_status store_s3_stat(struct cairn_store *store, const struct cairn_hash *hash, uint64_t *bytes)
{
	struct s3_copy copy;
	enum cairn_status status = store_s3_find_nth((struct store_s3 *)store, hash, 0, &copy);
	if (status == CAIRN_OK)
		*bytes = copy.state.bytes;
	return status;
}

/* Always asks the service. @param[out] same  the object exists and is unchanged */
static enum cairn_status store_s3_compare(struct store_s3 *s, struct s3_copy *copy, bool *same)
{
	uint32_t ticket;
	struct s3_copy known;
	bool is_known = s3_names_find(s->names, &copy->hash, &known, &ticket) && known.state.bytes != S3_COPY_NONE &&
			store_s3_is_same_copy(&known, copy);
	enum cairn_status status = store_s3_read_state(s, copy);
	*same = status == CAIRN_OK && (!is_known || s3_state_agrees(&known.state, &copy->state));
	if (*same)
		s3_names_learn(s->names, copy, ticket);
	else if (status == CAIRN_OK || status == CAIRN_E_NOT_FOUND)
		s3_names_forget(s->names, &copy->hash);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

static enum cairn_status store_s3_find_either(struct store_s3 *s, const struct cairn_hash *hash,
					      const struct cairn_copy_id *name, struct s3_copy *out)
{
	if (!cairn_copy_id_is_set(name))
		return store_s3_find_nth(s, hash, 0, out);
	*out = store_s3_copy_of(hash, name);
	return CAIRN_OK;
}

static enum cairn_status store_s3_unchanged(struct cairn_store *store, const struct cairn_hash *hash,
					    const struct cairn_copy_id *name, uint64_t bytes, bool *unchanged)
{
	struct store_s3 *s = (struct store_s3 *)store;
	struct s3_copy copy;
	*unchanged = false;
	enum cairn_status status = store_s3_find_either(s, hash, name, &copy);
	if (status == CAIRN_OK)
		status = store_s3_compare(s, &copy, unchanged);
	*unchanged = *unchanged && copy.state.bytes == bytes;
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

/* A listed copy is durable: the service promises that. */
static enum cairn_status store_s3_confirm(struct cairn_store *store, const struct cairn_hash *hash, unsigned n)
{
	struct s3_copy copy;
	return store_s3_find_nth((struct store_s3 *)store, hash, n, &copy);
}

/* --- removing ----------------------------------------------------------------------------------------------------- */

/* Under the guard. */
static enum cairn_status store_s3_remove_copies(struct store_s3 *s, const struct cairn_hash *hash,
						struct cairn_diag *diag)
{
	char name[S3_NAME_BYTES];
	CLEANUP(s3_copies_fini) struct s3_copies copies = {0};
	enum cairn_status status = store_s3_copies(s, hash, &copies, diag);
	for (size_t i = 0; i < copies.n && status == CAIRN_OK; i++) {
		s3_copy_name(name, &copies.list[i]);
		status = s3_delete(s->client, name, diag);
	}
	return status;
}

static enum cairn_status store_s3_remove(struct cairn_store *store, const struct cairn_hash *hash,
					 struct cairn_diag *diag)
{
	struct store_s3 *s = (struct store_s3 *)store;
	struct cairn_guard guard;
	cairn_guard_take(&s->guards, &guard, hash);
	enum cairn_status status = store_s3_remove_copies(s, hash, diag);
	if (status == CAIRN_OK)
		s3_names_set(s->names, &(struct s3_copy){.hash = *hash, .state.bytes = S3_COPY_NONE});
	else
		s3_names_forget(s->names, hash);
	cairn_crash_point(CAIRN_CRASH_REMOVE_UNLINKED);
	cairn_guard_release(&s->guards, &guard);
	return status;
}

static enum cairn_status store_s3_remove_copy(struct cairn_store *store, const struct cairn_hash *hash,
					      const struct cairn_copy_id *which, struct cairn_diag *diag)
{
	struct store_s3 *s = (struct store_s3 *)store;
	struct s3_copy copy = store_s3_copy_of(hash, which);
	char name[S3_NAME_BYTES];
	s3_copy_name(name, &copy);
	enum cairn_status status = s3_delete(s->client, name, diag);
	s3_names_forget(s->names, hash);
	cairn_crash_point(CAIRN_CRASH_REMOVE_UNLINKED);
	return status;
}

/* Sets a copy aside by an empty object; the copy's bytes stay in place. */
static enum cairn_status store_s3_set_aside(struct cairn_store *store, const struct cairn_hash *hash)
{
	static const char EMPTY[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
	struct store_s3 *s = (struct store_s3 *)store;
	struct cairn_guard guard;
	struct s3_copy copy;
	char name[S3_NAME_BYTES];
	cairn_guard_take(&s->guards, &guard, hash);
	enum cairn_status status = store_s3_find_nth(s, hash, 0, &copy);
	if (status == CAIRN_OK) {
		s3_copy_aside_name(name, &copy);
		status = s3_put(s->client, name, (const uint8_t *)"", -1, 0, EMPTY, NULL, NULL);
		s3_names_forget(s->names, hash);
	}
	cairn_crash_point(CAIRN_CRASH_ASIDE_DURABLE);
	cairn_guard_release(&s->guards, &guard);
	return status;
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

/* A visitor, and whether it gets the last copy of each hash or every copy. */
struct store_s3_visitor {
	enum cairn_status (*last)(void *ctx, const struct cairn_hash *hash, uint64_t bytes);
	enum cairn_status (*every)(void *ctx, const struct cairn_hash *hash, const struct cairn_copy_id *copy);
	void *ctx;
};

/* Counts the copies of hashes that are complete: the next page has no more of them and sets none aside. */
static size_t store_s3_decided(const struct s3_copies *copies)
{
	size_t n = copies->n;
	while (copies->more && n > 0 && cairn_hash_equal(&copies->list[n - 1].hash, &copies->list[copies->n - 1].hash))
		n--;
	return n;
}

static enum cairn_status store_s3_visit(const struct s3_copies *copies, const struct store_s3_visitor *visitor)
{
	enum cairn_status status = CAIRN_OK;
	size_t n = store_s3_decided(copies);
	for (size_t i = 0; i < n && status == CAIRN_OK; i++) {
		const struct s3_copy *copy = &copies->list[i];
		bool is_last = i + 1 == n || !cairn_hash_equal(&copy->hash, &copies->list[i + 1].hash);
		struct cairn_copy_id name;
		memcpy(name.b, copy->id, sizeof(name.b));
		if (visitor->every)
			status = visitor->every(visitor->ctx, &copy->hash, &name);
		else if (is_last && visitor->last)
			status = visitor->last(visitor->ctx, &copy->hash, copy->state.bytes);
	}
	return status;
}

/* Begins before the names of a hash: they all come after its text. @param from  NULL: from the first */
static enum cairn_status store_s3_walk(struct store_s3 *s, const struct cairn_hash *from,
				       const struct store_s3_visitor *visitor)
{
	CLEANUP(s3_copies_fini) struct s3_copies copies = {0};
	enum cairn_status status = CAIRN_OK;
	if (from)
		s3_copies_begin(&copies, from);
	do {
		s3_copies_keep_last(&copies);
		status = s3_copies_next(&copies, s->client, "x/", NULL);
		if (status == CAIRN_OK)
			status = store_s3_visit(&copies, visitor);
	} while (status == CAIRN_OK && copies.more);
	return status;
}

static enum cairn_status store_s3_each(struct cairn_store *store,
				       enum cairn_status (*visit)(void *ctx, const struct cairn_hash *hash,
								  uint64_t bytes),
				       void *ctx)
{
	return store_s3_walk((struct store_s3 *)store, NULL, &(struct store_s3_visitor){.last = visit, .ctx = ctx});
}

static enum cairn_status store_s3_each_copy(struct cairn_store *store, const struct cairn_hash *from,
					    enum cairn_status (*visit)(void *ctx, const struct cairn_hash *hash,
								       const struct cairn_copy_id *copy),
					    void *ctx)
{
	return store_s3_walk((struct store_s3 *)store, from, &(struct store_s3_visitor){.every = visit, .ctx = ctx});
}

/* A service has unlimited room; only the scratch folder for incoming objects has a limit. */
static void store_s3_room(struct cairn_store *store, struct cairn_store_room *out)
{
	const struct store_s3 *s = (const struct store_s3 *)store;
	struct statvfs st;
	*out = (struct cairn_store_room){UINT64_MAX, UINT64_MAX, UINT64_MAX};
	if (s->scratch_fd >= 0 && cairn_sys_fstatvfs(s->scratch_fd, &st) == 0)
		out->bytes = (uint64_t)st.f_bavail * st.f_frsize;
}

static void store_s3_traffic(struct cairn_store *store, struct cairn_store_traffic *out)
{
	s3_client_traffic(((const struct store_s3 *)store)->client, out);
}

/* --- whose it is -------------------------------------------------------------------------------------------------- */

static enum cairn_status store_s3_ready(struct cairn_store *store, struct cairn_diag *diag)
{
	struct store_s3 *s = (struct store_s3 *)store;
	char owner[STORE_S3_OWNER_BYTES];
	enum cairn_status status =
		s3_get(s->client, STORE_S3_OWNER, NULL, 0, (uint8_t *)owner, STORE_S3_OWNER_BYTES, diag);
	if (status == CAIRN_OK && memcmp(owner, s->owner, sizeof(owner)) != 0)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "store.owner", CAIRN_NO_OFFSET,
				  "the store belongs to another data folder, or to daemons with another secret_file: "
				  "give each its own bucket or prefix, or the secret_file that they have");
	return status;
}

/* Claims the place. Two data folders may claim it at once, and some services ignore the condition of a new name. So
 * read the mark back: it names the owner. */
static enum cairn_status store_s3_claim(struct store_s3 *s, struct cairn_diag *diag)
{
	uint8_t digest[CAIRN_SHA256_BYTES];
	char sha256[S3_HEX_SHA256_BYTES];
	enum cairn_status status = cairn_sha256_of(digest, s->owner, STORE_S3_OWNER_BYTES);
	cairn_hex_text(sha256, digest, sizeof(digest));
	if (status == CAIRN_OK)
		status = s3_put_new(s->client, STORE_S3_OWNER, (const uint8_t *)s->owner, STORE_S3_OWNER_BYTES, sha256,
				    diag);
	if (status == CAIRN_E_NOT_FOUND)
		return cairn_fail(diag, CAIRN_E_USAGE, "store.bucket", CAIRN_NO_OFFSET,
				  "the object store has no such bucket: make it, or correct its name");
	if (status == CAIRN_OK || status == CAIRN_E_CONFLICT)
		status = store_s3_ready(&s->base, diag);
	return status == CAIRN_E_NOT_FOUND
		       ? cairn_fail(diag, CAIRN_E_BUSY, "store.busy", CAIRN_NO_OFFSET,
				    "the object store does not show the object \"owner\", which it has just taken")
		       : status;
}

static enum cairn_status store_s3_check_owner(struct store_s3 *s, bool is_new, struct cairn_diag *diag)
{
	enum cairn_status status = store_s3_ready(&s->base, diag);
	if (status != CAIRN_E_NOT_FOUND)
		return status;
	if (is_new)
		return store_s3_claim(s, diag);
	return cairn_fail(
		diag, CAIRN_E_CONFLICT, "store.owner", CAIRN_NO_OFFSET,
		"this data folder's objects are not in that bucket and prefix: its object \"owner\" is missing");
}

static enum cairn_status store_s3_reload(struct cairn_store *store, struct cairn_diag *diag)
{
	return s3_client_reload(((struct store_s3 *)store)->client, diag);
}

/* Looks at a copy again after STORE_S3_ADDRESS_SEEN_S. @return as store_s3_know(); CAIRN_E_NOT_FOUND also: changed */
static enum cairn_status store_s3_see(struct store_s3 *s, struct s3_copy *copy)
{
	bool same;
	enum cairn_status status = store_s3_know(s, copy);
	int64_t age_s = cairn_clock_unix_s() - copy->seen_unix_s;
	if (status != CAIRN_OK || (age_s >= 0 && age_s < STORE_S3_ADDRESS_SEEN_S))
		return status;
	status = store_s3_compare(s, copy, &same);
	return status == CAIRN_OK && !same ? CAIRN_E_NOT_FOUND : status;
}

static enum cairn_status store_s3_add_address(struct cairn_store *store, struct cairn_buf *out,
					      const struct cairn_hash *hash, const struct cairn_copy_id *which,
					      uint64_t bytes, uint64_t first, uint64_t last, uint64_t life_s)
{
	struct store_s3 *s = (struct store_s3 *)store;
	char name[S3_NAME_BYTES];
	struct s3_copy copy;
	enum cairn_status status = store_s3_find_either(s, hash, which, &copy);
	if (status == CAIRN_OK)
		status = store_s3_see(s, &copy);
	if (status != CAIRN_OK || copy.state.bytes != bytes)
		return status == CAIRN_OK ? CAIRN_E_NOT_FOUND : status;
	s3_copy_name(name, &copy);
	return s3_add_address(s->client, out, name, first, last, life_s);
}

static const struct cairn_store_backend STORE_S3_BACKEND = {
	.remote = true,
	.free = store_s3_free,
	.put_begin = store_s3_put_begin,
	.put_write = store_s3_put_write,
	.put_commit = store_s3_put_commit,
	.put_copy = store_s3_put_copy,
	.get_named = store_s3_get_named,
	.remove_copy = store_s3_remove_copy,
	.put_abort = store_s3_put_abort,
	.get = store_s3_get,
	.object_read = s3_object_read,
	.object_prepare = s3_object_prepare,
	.object_free = s3_object_free,
	.stat = store_s3_stat,
	.unchanged = store_s3_unchanged,
	.confirm = store_s3_confirm,
	.remove = store_s3_remove,
	.set_aside = store_s3_set_aside,
	.each = store_s3_each,
	.each_copy = store_s3_each_copy,
	.room = store_s3_room,
	.traffic = store_s3_traffic,
	.add_address = store_s3_add_address,
	.ready = store_s3_ready,
	.reload = store_s3_reload,
};

static enum cairn_status store_s3_open_scratch(struct store_s3 *s, const char *scratch, struct cairn_diag *diag)
{
	s->scratch_fd = cairn_sys_open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	return s->scratch_fd >= 0
		       ? CAIRN_OK
		       : cairn_fail(diag, CAIRN_E_IO, "store.scratch", CAIRN_NO_OFFSET,
				    "cannot open the folder %s, in which uploads wait: %s", scratch, strerror(errno));
}

static enum cairn_status store_s3_set_up(struct store_s3 *s, const struct s3_place *place,
					 const struct cairn_store_options *options, struct cairn_diag *diag)
{
	s->names = s3_names_new();
	if (options->credentials)
		s->credentials = strdup(options->credentials);
	if (!s->names || (options->credentials && !s->credentials))
		return CAIRN_E_NOMEM;
	enum cairn_status status = s3_client_new(&s->client, place, s->credentials, diag);
	if (status != CAIRN_OK || options->beside)
		return status;
	memcpy(s->owner, options->owner, STORE_S3_OWNER_BYTES);
	status = store_s3_open_scratch(s, options->scratch, diag);
	return status == CAIRN_OK ? store_s3_check_owner(s, options->is_new, diag) : status;
}

enum cairn_status store_s3_open(struct cairn_store **out, const char *rest, const struct cairn_store_options *options,
				struct cairn_diag *diag)
{
	struct s3_place place;
	enum cairn_status status = s3_place_parse(&place, rest, diag);
	if (status != CAIRN_OK)
		return status;
	if (!options->beside &&
	    (!options->scratch || !options->owner || strlen(options->owner) != STORE_S3_OWNER_BYTES))
		return cairn_fail(diag, CAIRN_E_USAGE, "store.url", CAIRN_NO_OFFSET,
				  "to write to an S3 store takes a scratch folder and an owner of %d digits",
				  STORE_S3_OWNER_BYTES);
	struct store_s3 *s = calloc(1, sizeof(*s));
	if (!s)
		return CAIRN_E_NOMEM;
	s->base.backend = &STORE_S3_BACKEND;
	s->scratch_fd = -1;
	cairn_guards_init(&s->guards);
	pthread_mutex_init(&s->lock, NULL);
	status = store_s3_set_up(s, &place, options, diag);
	if (status == CAIRN_OK)
		*out = &s->base;
	else
		store_s3_free(&s->base);
	return status;
}

enum cairn_status store_s3_reach(const char *rest, const char *credentials, struct cairn_store_reach *out,
				 struct cairn_diag *diag)
{
	struct s3_place place;
	struct s3_instance instance = {.port = 0};
	enum cairn_status status = s3_place_parse(&place, rest, diag);
	out->port = place.port;
	memcpy(out->ca, place.ca, sizeof(out->ca));
	if (status != CAIRN_OK || (credentials && !s3_instance_is_named(credentials)))
		return status;
	status = s3_instance_parse(&instance, credentials, diag);
	out->keys_port = instance.port;
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}
