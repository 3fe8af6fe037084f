/* Immutable objects (xorbs) by hash. An interface of few calls, so that an object service can stand behind it. */
#ifndef CAIRN_STORE_STORE_H
#define CAIRN_STORE_STORE_H

#include "hash/hash.h"

#include <sys/types.h>

/** A store. Any thread may call; each put and each object handle belongs to one thread at a time. */
struct cairn_store;

/** An object on its way in: nothing of it is visible before cairn_store_put_commit(). */
struct cairn_store_put;

/** An object opened for reading. It stays readable also when it is removed meanwhile. */
struct cairn_store_object;

/**
 * Objects as files: DIR/objects/ab/cd/<64 digits>, written to a file without a name (or in DIR/tmp where the file
 * system cannot), fsynced, linked, folder fsynced. Left-over temporary files of a killed process are removed here.
 * Objects that were moved into packs (pack.h) are found there, and are no different to any call below.
 * @param[out] out  owned by the caller, cairn_store_free()
 * @return CAIRN_OK; CAIRN_E_IO with the cause in diag; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_store_open_fs(struct cairn_store **out, const char *dir,
						     struct cairn_diag *diag);

/** The same beside the process that has the folder, to read from: what lies in DIR/tmp is that one's, and stays. */
CAIRN_MUST_USE enum cairn_status cairn_store_open_fs_beside(struct cairn_store **out, const char *dir,
							    struct cairn_diag *diag);

/** Objects in memory, for tests and fuzzers. fail_after: the n-th writing call from now fails with CAIRN_E_IO; 0:
 * never. */
CAIRN_MUST_USE enum cairn_status cairn_store_open_mem(struct cairn_store **out, unsigned fail_after);

void cairn_store_free(struct cairn_store *s);
void cairn_store_freep(struct cairn_store **s);

/** Begin an object. @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_store_put_begin(struct cairn_store *s, struct cairn_store_put **out);

/** Append bytes. @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_FULL */
CAIRN_MUST_USE enum cairn_status cairn_store_put_write(struct cairn_store_put *p, const uint8_t *bytes, size_t len);

/**
 * Make the object durable and visible under its name; when there is one already, keep that and drop this.
 * Waits for the disk. The handle is used up, whatever the answer.
 * @param[out] existed  it was there before. The kept bytes may be another packing of the same chunks, of another
 * length: who records a layout must take it from the stored object then, not from what was put
 * @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_FULL
 */
CAIRN_MUST_USE enum cairn_status cairn_store_put_commit(struct cairn_store_put *p, const struct cairn_hash *hash,
							bool *existed);

/** Drop it; nothing is left behind. NULL is harmless. */
void cairn_store_put_abort(struct cairn_store_put *p);
void cairn_store_put_abortp(struct cairn_store_put **p);

/** Open for reading. @return CAIRN_OK; CAIRN_E_NOT_FOUND; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_store_get(struct cairn_store *s, const struct cairn_hash *hash,
						 struct cairn_store_object **out);
uint64_t cairn_store_object_bytes(const struct cairn_store_object *o);

/** Read exactly len bytes at offset. @return CAIRN_OK; CAIRN_E_IO also when the object is shorter */
CAIRN_MUST_USE enum cairn_status cairn_store_object_read(struct cairn_store_object *o, uint64_t offset, uint8_t *out,
							 size_t len);

/** Hand over the descriptor to send from: the caller closes it, and the object can't be read any more. The bytes stay
 * as they are for as long as it is open.
 *  @param[out] offset  where the object begins in that file: it may be one of many in a pack
 *  @return -1 when the store has none (it is not files) */
int cairn_store_object_take_fd(struct cairn_store_object *o, uint64_t *offset);
void cairn_store_object_free(struct cairn_store_object *o);
void cairn_store_object_freep(struct cairn_store_object **o);

/** Is it there, and how long? @return CAIRN_OK; CAIRN_E_NOT_FOUND; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status cairn_store_stat(struct cairn_store *s, const struct cairn_hash *hash,
						  uint64_t *bytes);

/** Remove an object. It is gone at once, and may be back after a loss of power: whoever removes has made sure before
 * that no row vouches for it. @return CAIRN_OK also when it was not there; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status cairn_store_remove(struct cairn_store *s, const struct cairn_hash *hash);

/** Move an object aside (DIR/damaged) so that it is no longer found but not lost. @return CAIRN_OK; CAIRN_E_NOT_FOUND;
 * CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status cairn_store_set_aside(struct cairn_store *s, const struct cairn_hash *hash);

/** Call visit for each object, in no order; visit may remove what it is shown. @return CAIRN_OK; CAIRN_E_IO; or what
 * visit answered when not CAIRN_OK */
CAIRN_MUST_USE enum cairn_status cairn_store_each(struct cairn_store *s,
						  enum cairn_status (*visit)(void *ctx, const struct cairn_hash *hash,
									     uint64_t bytes),
						  void *ctx);

/** Bytes free for this process where objects are kept; UINT64_MAX when there is no such limit. */
uint64_t cairn_store_free_bytes(struct cairn_store *s);

#endif
