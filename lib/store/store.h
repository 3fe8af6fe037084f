/* Stores immutable objects (xorbs) by hash. The interface is small, so that an object service can implement it. */
#ifndef CAIRN_STORE_STORE_H
#define CAIRN_STORE_STORE_H

#include "base/buf.h"
#include "hash/copy_id.h"
#include "hash/hash.h"

#include <sys/types.h>

/* Statuses. Every call that returns a status may also return, unless it says otherwise:
 *   CAIRN_E_NOMEM
 *   CAIRN_E_BUSY   a service did not answer, is overloaded, or refuses us: the state is unknown, so conclude nothing.
 *   Never from a store on this machine
 *   CAIRN_E_LIMIT  a name, or a request to a service, is too long. Never from a store on this machine
 * CAIRN_E_FULL and CAIRN_E_IO, where listed, are errors of the disk; CAIRN_E_IO is also returned if a service does not
 * speak its protocol. If the bucket of a service is gone, a call returns CAIRN_E_BUSY where CAIRN_E_NOT_FOUND would
 * seem to be about the object. */

/** A store. Any thread may call; each put and each object handle belongs to one thread at a time. */
struct cairn_store;

/** An object being written, not visible before cairn_store_put_commit(). */
struct cairn_store_put;

/** An object opened for reading. It stays readable if it is removed meanwhile. In an S3 service, reading then returns
 * CAIRN_E_NOT_FOUND, and the object must not outlive its store. */
struct cairn_store_object;

/** Options for opening a store. Zeroed: open for writing. Strings are borrowed until the store is open. */
struct cairn_store_options {
	/** Open for reading, maybe beside the process that writes: creates and removes nothing. Ignored by a store
	 * that only its own process can see. */
	bool beside;

	/* Only for a store on another machine; ignored by others. */
	const char *scratch;     /* folder for objects being written; not needed beside */
	const char *owner;       /* 32 unique digits that mark the owner of the place; not needed beside */
	bool is_new;             /* claim the place, which must have no owner */
	const char *credentials; /* a file, "instance" or the URL of a service; NULL: the environment */
};

/** Opens a store by its URL.
 * - "files:DIR": objects as files, DIR/objects/ab/cd/<64 digits>. Each is written to a file without a name (or in
 * DIR/tmp if the file system has none such), fsynced, linked, and its folder fsynced. Remains of a killed process in
 * DIR/tmp are removed. Packed objects (pack.h) behave like others in all calls below.
 * - "memory:": objects in memory, for tests; freeing the store drops them. Behaves as a remote store.
 * - "s3://BUCKET/PREFIX?endpoint=URL&region=NAME&ca=FILE": objects in an S3 service (see s3/place.h). An object is in
 * the service, as durable as the service promises, before its put ends. The bucket must exist, and the prefix must
 * belong to one data folder, which is checked. A request without an answer within some seconds is CAIRN_E_BUSY.
 * @param[out] out  owned by the caller, cairn_store_free()
 * @param options   NULL: to write
 * @return CAIRN_OK; CAIRN_E_USAGE the URL is not valid (store.url, store.insecure), or its credentials or its bucket
 *         are missing (store.credentials, store.bucket); CAIRN_E_CONFLICT the place has another owner (store.owner);
 *         CAIRN_E_BUSY the service does not answer, or not as S3 does (store.silent, store.busy, store.refused,
 *         store.answer); CAIRN_E_IO with the cause in diag; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_store_open(struct cairn_store **out, const char *url,
						  const struct cairn_store_options *options, struct cairn_diag *diag);

/** Resources of this machine that a store needs, so the process must keep access to them. Plain value. */
struct cairn_store_reach {
	uint16_t port;      /* TCP port to connect to; 0: none */
	uint16_t keys_port; /* as port, of the service that issues access keys */
	char ca[256];       /* file read for each new connection; "": only the system's certificates */
};

/** Sends no request. @param credentials  as in the options
 * @return CAIRN_OK; CAIRN_E_USAGE as cairn_store_open(), or the service for credentials must not be asked */
CAIRN_MUST_USE enum cairn_status cairn_store_reach(const char *url, const char *credentials,
						   struct cairn_store_reach *out, struct cairn_diag *diag);

/** Checks that the store works; asks a remote store, and waits at most some seconds.
 * @return CAIRN_OK; CAIRN_E_CONFLICT the place has another owner (store.owner); CAIRN_E_NOT_FOUND the place has no
 *         mark of an owner; CAIRN_E_BUSY, CAIRN_E_IO with the cause in diag */
CAIRN_MUST_USE enum cairn_status cairn_store_ready(struct cairn_store *s, struct cairn_diag *diag);

/** Appends an address at which anybody may read bytes first to last of an object without this process: by GET, with the
 * header "Range: bytes=FIRST-LAST" and no other range. This process never sees those bytes and cannot verify them.
 * @param copy    as the row names it
 * @param bytes   length of the object, as the caller knows it
 * @param life_s  the least lifetime; nothing ends it earlier
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND there is no object of that length, or no address can live that long;
 *         CAIRN_E_USAGE the store makes no addresses; CAIRN_E_IO; CAIRN_E_LIMIT out is too small */
CAIRN_MUST_USE enum cairn_status cairn_store_add_address(struct cairn_store *s, struct cairn_buf *out,
							 const struct cairn_hash *hash,
							 const struct cairn_copy_id *copy, uint64_t bytes,
							 uint64_t first, uint64_t last, uint64_t life_s);

/** Reads the store's credentials again, if it has any. On failure the current ones stay.
 * @return CAIRN_OK; CAIRN_E_USAGE missing or not valid; CAIRN_E_IO they cannot be read (store.credentials);
 *         CAIRN_E_NOMEM; nothing else */
CAIRN_MUST_USE enum cairn_status cairn_store_reload(struct cairn_store *s, struct cairn_diag *diag);

/** Returns whether the store behaves as one on another machine. Then calls may wait long, so a thread that serves many
 * requests must not make them, and objects give no descriptor. */
bool cairn_store_is_remote(const struct cairn_store *s);

void cairn_store_free(struct cairn_store *s);
void cairn_store_freep(struct cairn_store **s);

/** Begins an object. @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM; nothing else */
CAIRN_MUST_USE enum cairn_status cairn_store_put_begin(struct cairn_store *s, struct cairn_store_put **out);

/** Appends bytes. After a failure each further call and the commit return the same status.
 * @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_FULL; nothing else */
CAIRN_MUST_USE enum cairn_status cairn_store_put_write(struct cairn_store_put *p, const uint8_t *bytes, size_t len);

/** Makes the object durable and visible under its name. If the name exists, keeps that object and drops this one. Waits
 * for the disk. Consumes the handle in any case.
 * @param[out] existed  the name existed. The kept object may be another layout of the same chunks, of another length:
 *         a caller that records a layout must read it from the stored object then
 * @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_FULL */
CAIRN_MUST_USE enum cairn_status cairn_store_put_commit(struct cairn_store_put *p, const struct cairn_hash *hash,
							bool *existed);

/** Does what cairn_store_put_commit() does, but stores a copy beside existing ones, under a new unique name. So others
 * may put and remove copies of the same hash at once; their rows tell which copy counts.
 * @param[out] copy  its name
 * @return CAIRN_OK; CAIRN_E_USAGE the store names no copies; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_BUSY also: the copy may
 *         exist, or appear later, under a name that nobody knows */
CAIRN_MUST_USE enum cairn_status cairn_store_put_copy(struct cairn_store_put *p, const struct cairn_hash *hash,
						      struct cairn_copy_id *copy);

/** Returns whether the store names each copy; a store of files knows objects by hash alone. */
bool cairn_store_names_copies(const struct cairn_store *s);

/** Drops the object; nothing remains. NULL is harmless. */
void cairn_store_put_abort(struct cairn_store_put *p);
void cairn_store_put_abortp(struct cairn_store_put **p);

/** Opens an object for reading. @param[out] out  owned by the caller, cairn_store_object_free()
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status cairn_store_get(struct cairn_store *s, const struct cairn_hash *hash,
						 struct cairn_store_object **out);

/** Opens one of several copies, as a half-packed store has them; copy 0 is that of cairn_store_get().
 * @param n  from 0. @return as cairn_store_get(); CAIRN_E_NOT_FOUND there are fewer; CAIRN_E_IO of this copy alone */
CAIRN_MUST_USE enum cairn_status cairn_store_get_copy(struct cairn_store *s, const struct cairn_hash *hash, unsigned n,
						      struct cairn_store_object **out);

/** Opens the copy of this name, and no other.
 * @return as cairn_store_get(); CAIRN_E_NOT_FOUND also if the store names no copies */
CAIRN_MUST_USE enum cairn_status cairn_store_get_named(struct cairn_store *s, const struct cairn_hash *hash,
						       const struct cairn_copy_id *copy,
						       struct cairn_store_object **out);

/** Returns the copy's name; "not named" in a store that names none. */
struct cairn_copy_id cairn_store_object_copy(const struct cairn_store_object *o);
uint64_t cairn_store_object_bytes(const struct cairn_store_object *o);

/** Returns a number that identifies the opened bytes. It changes if another file takes the place under the same name,
 * or if the object is written to (except once in 2^64). */
uint64_t cairn_store_object_identity(const struct cairn_store_object *o);

/** Reads exactly len bytes at offset. @return CAIRN_OK; CAIRN_E_IO also if the object is shorter; CAIRN_E_NOT_FOUND
 * the object was removed or changed since it was opened: open it again */
CAIRN_MUST_USE enum cairn_status cairn_store_object_read(struct cairn_store_object *o, uint64_t offset, uint8_t *out,
							 size_t len);

/** Prepares a read of len bytes, at least one, at offset: a remote store requests the first of them now. So the caller
 * learns of a failure before it promises the bytes to anybody. @return as cairn_store_object_read() */
CAIRN_MUST_USE enum cairn_status cairn_store_object_prepare(struct cairn_store_object *o, uint64_t offset,
							    uint64_t len);

/** Hands over the descriptor to send from: the caller closes it, and the object cannot be read any more. The bytes stay
 * unchanged while the descriptor is open.
 * @param[out] offset  the object's beginning in that file: it may be one of many in a pack
 * @return -1: no descriptor, as in a remote store */
int cairn_store_object_take_fd(struct cairn_store_object *o, uint64_t *offset);
void cairn_store_object_free(struct cairn_store_object *o);
void cairn_store_object_freep(struct cairn_store_object **o);

/** Returns the length of an object. @return CAIRN_OK; CAIRN_E_NOT_FOUND; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status cairn_store_stat(struct cairn_store *s, const struct cairn_hash *hash,
						  uint64_t *bytes);

/** Checks an object that a row and cairn_store_stat() confirm: does it still have this length, and is it unchanged
 * since this process last stored, opened or read it? Asks a service again; on this machine stat() is current.
 * @param copy  as the row names it
 * @return CAIRN_OK; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status cairn_store_unchanged(struct cairn_store *s, const struct cairn_hash *hash,
						       const struct cairn_copy_id *copy, uint64_t bytes,
						       bool *unchanged);

/** Makes an object that was found durable. Its name may come from a process that was killed before its sync, and a loss
 * of power would take it. Call this first if a found object lets a row vouch for it, or lets another copy be removed.
 * Waits for the disk.
 * @param n  which copy, as cairn_store_get_copy(). @return CAIRN_OK; CAIRN_E_NOT_FOUND; CAIRN_E_IO; CAIRN_E_FULL */
CAIRN_MUST_USE enum cairn_status cairn_store_confirm(struct cairn_store *s, const struct cairn_hash *hash, unsigned n);

/** Removes an object, at once but not durably: it may be back after a loss of power. The caller has made sure that no
 * row vouches for it. @param[out] diag  why a service did not remove it: store.silent, store.busy, store.refused; may
 * be NULL @return CAIRN_OK, also if it did not exist; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status cairn_store_remove(struct cairn_store *s, const struct cairn_hash *hash,
						    struct cairn_diag *diag);

/** Removes the copy of this name, and no other. @param[out] diag  as cairn_store_remove() @return CAIRN_OK, also if it
 * did not exist; CAIRN_E_USAGE the store names no copies; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status cairn_store_remove_copy(struct cairn_store *s, const struct cairn_hash *hash,
							 const struct cairn_copy_id *copy, struct cairn_diag *diag);

/** Moves the copy that cairn_store_get() opens aside (DIR/damaged): its bytes are kept, and a new copy can take its
 * place. @return CAIRN_OK; CAIRN_E_NOT_FOUND; CAIRN_E_IO; CAIRN_E_FULL */
CAIRN_MUST_USE enum cairn_status cairn_store_set_aside(struct cairn_store *s, const struct cairn_hash *hash);

/** Calls visit for each object, in no order; visit may remove the object. @return CAIRN_OK; CAIRN_E_IO;
 * CAIRN_E_NOT_FOUND the bucket is gone; or what visit returned when not CAIRN_OK */
CAIRN_MUST_USE enum cairn_status cairn_store_each(struct cairn_store *s,
						  enum cairn_status (*visit)(void *ctx, const struct cairn_hash *hash,
									     uint64_t bytes),
						  void *ctx);

/** Visits each named copy that is not set aside, ordered by the hashes' texts and then by name; see cairn_store_each().
 * @param from  NULL: the first; else begin at this hash, whether it exists or not
 * @return as cairn_store_each(); CAIRN_E_USAGE the store names no copies */
CAIRN_MUST_USE enum cairn_status cairn_store_each_copy(struct cairn_store *s, const struct cairn_hash *from,
						       enum cairn_status (*visit)(void *ctx,
										  const struct cairn_hash *hash,
										  const struct cairn_copy_id *copy),
						       void *ctx);

/** Resources for objects that are left for this process. UINT64_MAX: there is no such limit. */
struct cairn_store_room {
	uint64_t bytes;
	uint64_t files;          /* free (inodes) */
	uint64_t files_capacity; /* in all */
};

/** Finds how much room the store has. If the file system gives no answer, reports nothing as free. */
void cairn_store_room(struct cairn_store *s, struct cairn_store_room *out);

/** Kinds of requests to a remote store. */
enum cairn_store_request {
	CAIRN_STORE_PUT,
	CAIRN_STORE_GET,
	CAIRN_STORE_LIST,
	CAIRN_STORE_DELETE,
	CAIRN_STORE_REQUESTS, /* number of kinds */
};

/** Requests that ended since the store was opened; retries are not counted separately. */
struct cairn_store_traffic {
	struct {
		uint64_t n, ms;    /* requests, and their time in sum */
		uint64_t n_failed; /* of n: the service was silent, overloaded, or refused us */
	} requests[CAIRN_STORE_REQUESTS];
};

/** Counts requests to the store's service. Any thread. @return false: the store uses none */
bool cairn_store_traffic(struct cairn_store *s, struct cairn_store_traffic *out);

#endif
