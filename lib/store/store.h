/* Immutable objects (xorbs) by hash. An interface of few calls, so that an object service can stand behind it. */
#ifndef CAIRN_STORE_STORE_H
#define CAIRN_STORE_STORE_H

#include "base/buf.h"
#include "hash/copy.h"
#include "hash/hash.h"

#include <sys/types.h>

/*
 * Statuses. Every call that answers one may also answer, unless it says otherwise:
 *   CAIRN_E_NOMEM
 *   CAIRN_E_BUSY   a service did not answer, has too much to do, or refuses us: nothing is known, and nothing may be
 *                  judged by it. Never from a store on this machine
 *   CAIRN_E_LIMIT  a name, or a request to a service, is longer than any should be. Never from a store on this machine
 * Where CAIRN_E_FULL and CAIRN_E_IO are listed they are the disk's; CAIRN_E_IO is also the answer of a service that
 * does not speak its protocol. A call that finds the whole place of a service gone (its bucket) answers CAIRN_E_BUSY
 * where CAIRN_E_NOT_FOUND would be taken for the object's.
 */

/** A store. Any thread may call; each put and each object handle belongs to one thread at a time. */
struct cairn_store;

/** An object on its way in: nothing of it is visible before cairn_store_put_commit(). */
struct cairn_store_put;

/** An object opened for reading. It stays readable when it is removed meanwhile, except in an S3 service, where reading
 * it then answers CAIRN_E_NOT_FOUND; such an object must not outlive its store. */
struct cairn_store_object;

/** How to open a store. Zeroed: to write. Strings are borrowed until it is open. */
struct cairn_store_options {
	/** To read from, maybe beside the process that writes to it: nothing is made or removed. A store that only its
	 * own process can see takes no notice of it. */
	bool beside;

	/* Of a store on another machine; those on this one take no notice. */
	const char *scratch;     /* folder in which objects on their way in wait; not needed beside */
	const char *owner;       /* 32 digits that nobody else has, by which the place is known; not needed beside */
	bool is_new;             /* nobody has it so far: it is taken, if that is so */
	const char *credentials; /* file of them, "instance" or the URL of a service; NULL: in the environment */
};

/**
 * Open a store by its URL.
 * - "files:DIR": objects as files, DIR/objects/ab/cd/<64 digits>. Each is written to a file without a name (or in
 *   DIR/tmp where the file system cannot), fsynced, linked, and its folder fsynced. What a killed process left in
 *   DIR/tmp is removed. Objects that were moved into packs (pack.h) are found there, and are no different to any call
 *   below.
 * - "memory:": objects in memory, for tests: they are lost when the store is freed. It passes for a remote one.
 * - "s3://BUCKET/PREFIX?endpoint=URL&region=NAME&ca=FILE": objects in an S3 service (s3/place.h has the details). Each
 * is in the service, durable as the service promises it, before its put is over. The bucket must be there, and the
 * prefix must be one data folder's own, which is checked. What the service does not answer within some seconds is
 * CAIRN_E_BUSY.
 * @param[out] out  owned by the caller, cairn_store_free()
 * @param options   NULL: to write
 * @return CAIRN_OK; CAIRN_E_USAGE no store has such a URL (store.url, store.insecure), or its credentials or its bucket
 *         are missing (store.credentials, store.bucket); CAIRN_E_CONFLICT it is somebody else's (store.owner);
 *         CAIRN_E_BUSY it does not answer, or not as S3 does (store.silent, store.busy, store.refused, store.answer);
 * CAIRN_E_IO with the cause in diag; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_store_open(struct cairn_store **out, const char *url,
						  const struct cairn_store_options *options, struct cairn_diag *diag);

/** What a store takes of this machine that a process must not give up before. Plain value. */
struct cairn_store_reach {
	uint16_t port;      /* of TCP, to connect to; 0: none */
	uint16_t keys_port; /* likewise, of the service that hands out its access keys */
	char ca[256];       /* file that is read with each new connection; "": none but the system's certificates */
};

/** Asks nobody. @param credentials  as in the options
 *  @return CAIRN_OK; CAIRN_E_USAGE as cairn_store_open(), or the credentials' service is not to be asked */
CAIRN_MUST_USE enum cairn_status cairn_store_reach(const char *url, const char *credentials,
						   struct cairn_store_reach *out, struct cairn_diag *diag);

/** Does it answer? One on this machine does. Waits for some seconds at most.
 *  @return CAIRN_OK; CAIRN_E_CONFLICT it is somebody else's (store.owner); CAIRN_E_NOT_FOUND nothing in it says whose
 * it is; CAIRN_E_BUSY, CAIRN_E_IO with the cause in diag */
CAIRN_MUST_USE enum cairn_status cairn_store_ready(struct cairn_store *s, struct cairn_diag *diag);

/**
 * Append an address at which anybody may read bytes first to last of an object without this process: by GET, with the
 * header "Range: bytes=FIRST-LAST" and no other range. No byte of it goes through this process, which cannot prove it.
 * @param copy    as the row names it
 * @param bytes   of the object, as whoever asks knows it
 * @param life_s  how long it is good, at least; nothing ends it earlier
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND there is no object of that length, or it can make none that is good
 *         for so long; CAIRN_E_USAGE it makes none; CAIRN_E_IO;
 *         CAIRN_E_LIMIT it does not fit into out
 */
CAIRN_MUST_USE enum cairn_status cairn_store_add_address(struct cairn_store *s, struct cairn_buf *out,
							 const struct cairn_hash *hash, const struct cairn_copy *copy,
							 uint64_t bytes, uint64_t first, uint64_t last,
							 uint64_t life_s);

/** Read its credentials again, if it has any. Those in use stay when that fails.
 *  @return CAIRN_OK; CAIRN_E_USAGE there are none, or they are not valid; CAIRN_E_IO they cannot be read
 *          (store.credentials); CAIRN_E_NOMEM; nothing else */
CAIRN_MUST_USE enum cairn_status cairn_store_reload(struct cairn_store *s, struct cairn_diag *diag);

/** Does it stand for one on another machine? Its calls may wait for long then, so none is for a thread that serves many
 * requests, and its objects give no descriptor. */
bool cairn_store_is_remote(const struct cairn_store *s);

void cairn_store_free(struct cairn_store *s);
void cairn_store_freep(struct cairn_store **s);

/** Begin an object. @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM; nothing else */
CAIRN_MUST_USE enum cairn_status cairn_store_put_begin(struct cairn_store *s, struct cairn_store_put **out);

/** Append bytes. Sticky: after a failure each further call, and the commit, answers the same.
 *  @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_FULL; nothing else */
CAIRN_MUST_USE enum cairn_status cairn_store_put_write(struct cairn_store_put *p, const uint8_t *bytes, size_t len);

/**
 * Make the object durable and visible under its name; when there is one already, keep that and drop this.
 * Waits for the disk. The handle is used up, whatever the answer.
 * @param[out] existed  it was there before. The kept bytes may be another layout of the same chunks, of another
 * length: who records a layout must take it from the stored object then, not from what was put
 * @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_FULL
 */
CAIRN_MUST_USE enum cairn_status cairn_store_put_commit(struct cairn_store_put *p, const struct cairn_hash *hash,
							bool *existed);

/**
 * Likewise, beside whatever copies there are: under a name of its own, which nothing had before. So others may put and
 * remove copies of the same hash at once, whose rows tell which one counts.
 * @param[out] copy  its name
 * @return CAIRN_OK; CAIRN_E_USAGE the store names no copies; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_BUSY also: it may be
 *         there, or come to be, under a name that nobody knows
 */
CAIRN_MUST_USE enum cairn_status cairn_store_put_copy(struct cairn_store_put *p, const struct cairn_hash *hash,
						      struct cairn_copy *copy);

/** Does it give each copy a name? One whose objects are files keeps them by their hash alone. */
bool cairn_store_names_copies(const struct cairn_store *s);

/** Drop it; nothing is left behind. NULL is harmless. */
void cairn_store_put_abort(struct cairn_store_put *p);
void cairn_store_put_abortp(struct cairn_store_put **p);

/** Open for reading. @param[out] out  the caller's, cairn_store_object_free()
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status cairn_store_get(struct cairn_store *s, const struct cairn_hash *hash,
						 struct cairn_store_object **out);

/** Likewise one of several copies, as a store that is half packed has them; the first is what cairn_store_get() opens.
 *  @param n  from 0. @return likewise; CAIRN_E_NOT_FOUND there are not so many; CAIRN_E_IO of this one alone */
CAIRN_MUST_USE enum cairn_status cairn_store_get_copy(struct cairn_store *s, const struct cairn_hash *hash, unsigned n,
						      struct cairn_store_object **out);

/** Likewise the one of this name, and no other.
 *  @return likewise; CAIRN_E_NOT_FOUND also where the store names no copies */
CAIRN_MUST_USE enum cairn_status cairn_store_get_named(struct cairn_store *s, const struct cairn_hash *hash,
						       const struct cairn_copy *copy, struct cairn_store_object **out);

/** Its name; not named in a store that names none. */
struct cairn_copy cairn_store_object_copy(const struct cairn_store_object *o);
uint64_t cairn_store_object_bytes(const struct cairn_store_object *o);

/** A number that tells which bytes were opened: a file that took the place of this one under the same name has another,
 * and so has this one once it was written to (except for once in 2^64). */
uint64_t cairn_store_object_identity(const struct cairn_store_object *o);

/** Read exactly len bytes at offset. @return CAIRN_OK; CAIRN_E_IO also when the object is shorter; CAIRN_E_NOT_FOUND
 * the object was removed or changed since it was opened: open it again to see what is there */
CAIRN_MUST_USE enum cairn_status cairn_store_object_read(struct cairn_store_object *o, uint64_t offset, uint8_t *out,
							 size_t len);

/** Get ready to read len bytes at offset, at least one: a store on another machine is asked for the first of them now,
 * so that the caller learns of a failure before it promises the bytes to anybody. @return as cairn_store_object_read()
 */
CAIRN_MUST_USE enum cairn_status cairn_store_object_prepare(struct cairn_store_object *o, uint64_t offset,
							    uint64_t len);

/** Hand over the descriptor to send from: the caller closes it, and the object can't be read any more. The bytes stay
 * as they are for as long as it is open.
 *  @param[out] offset  where the object begins in that file: it may be one of many in a pack
 *  @return -1: it has none, as those of a remote store */
int cairn_store_object_take_fd(struct cairn_store_object *o, uint64_t *offset);
void cairn_store_object_free(struct cairn_store_object *o);
void cairn_store_object_freep(struct cairn_store_object **o);

/** Is it there, and how long? @return CAIRN_OK; CAIRN_E_NOT_FOUND; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status cairn_store_stat(struct cairn_store *s, const struct cairn_hash *hash,
						  uint64_t *bytes);

/**
 * A row says that the object is there, and cairn_store_stat() agrees: is it still of this length, and as it was when
 * this process last stored, opened or read it? A service is asked again; on this machine stat() has just looked.
 * @param copy  as the row names it
 * @return CAIRN_OK; CAIRN_E_IO
 */
CAIRN_MUST_USE enum cairn_status cairn_store_unchanged(struct cairn_store *s, const struct cairn_hash *hash,
						       const struct cairn_copy *copy, uint64_t bytes, bool *unchanged);

/**
 * Make durable an object that was found: its name may be left by a process that was killed before its sync, and go with
 * the power. Whoever lets a row vouch for an object, or removes another copy of it, because it was found calls this
 * first. Waits for the disk.
 * @param n  which copy, as cairn_store_get_copy(). @return CAIRN_OK; CAIRN_E_NOT_FOUND; CAIRN_E_IO; CAIRN_E_FULL
 */
CAIRN_MUST_USE enum cairn_status cairn_store_confirm(struct cairn_store *s, const struct cairn_hash *hash, unsigned n);

/** Remove an object. It is gone at once, and may be back after a loss of power: whoever removes has made sure before
 * that no row vouches for it. @param[out] diag  what a service said that did not remove it: store.silent, store.busy,
 * store.refused; may be NULL @return CAIRN_OK also when it was not there; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status cairn_store_remove(struct cairn_store *s, const struct cairn_hash *hash,
						    struct cairn_diag *diag);

/** Remove the copy of this name, and no other. @param[out] diag  likewise @return CAIRN_OK also when it was not there;
 * CAIRN_E_USAGE the store names no copies; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status cairn_store_remove_copy(struct cairn_store *s, const struct cairn_hash *hash,
							 const struct cairn_copy *copy, struct cairn_diag *diag);

/** Move the copy that cairn_store_get() opens aside (DIR/damaged), so that it is not lost, and is no longer in the way
 * of another one. @return CAIRN_OK; CAIRN_E_NOT_FOUND; CAIRN_E_IO; CAIRN_E_FULL */
CAIRN_MUST_USE enum cairn_status cairn_store_set_aside(struct cairn_store *s, const struct cairn_hash *hash);

/** Call visit for each object, in no order; visit may remove what it is shown. @return CAIRN_OK; CAIRN_E_IO;
 * CAIRN_E_NOT_FOUND the bucket is gone; or what visit answered when not CAIRN_OK */
CAIRN_MUST_USE enum cairn_status cairn_store_each(struct cairn_store *s,
						  enum cairn_status (*visit)(void *ctx, const struct cairn_hash *hash,
									     uint64_t bytes),
						  void *ctx);

/** Likewise for each copy, where each has a name, but those that were set aside; in the order of their hashes' texts
 * and then of their names. @param from  NULL: from the first; else from this hash on, whether it is there or not
 *  @return likewise; CAIRN_E_USAGE the store names no copies */
CAIRN_MUST_USE enum cairn_status cairn_store_each_copy(
	struct cairn_store *s, const struct cairn_hash *from,
	enum cairn_status (*visit)(void *ctx, const struct cairn_hash *hash, const struct cairn_copy *copy), void *ctx);

/** How much of what objects need is left for this process where they are kept. UINT64_MAX: there is no such limit. */
struct cairn_store_room {
	uint64_t bytes;
	uint64_t files;          /* that can still be made (inodes) */
	uint64_t files_capacity; /* that there can be in all */
};

/** When the file system does not say, nothing is known to be free. */
void cairn_store_room(struct cairn_store *s, struct cairn_store_room *out);

/** What a remote store is asked for. */
enum cairn_store_request {
	CAIRN_STORE_PUT,
	CAIRN_STORE_GET,
	CAIRN_STORE_LIST,
	CAIRN_STORE_DELETE,
	CAIRN_STORE_REQUESTS, /* how many of these there are */
};

/** Requests that ended, since the store was opened; each counts once however often it was tried. */
struct cairn_store_traffic {
	struct {
		uint64_t n, ms;    /* and how long they took together */
		uint64_t n_failed; /* of them: the service was silent, had too much to do, or refused us */
	} requests[CAIRN_STORE_REQUESTS];
};

/** Any thread. @return false: the store asks no service */
bool cairn_store_traffic(struct cairn_store *s, struct cairn_store_traffic *out);

#endif
