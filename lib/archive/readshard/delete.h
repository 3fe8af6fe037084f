/* Deleting from a Read Shard that others may be reading. */
#ifndef CAIRN_ARCHIVE_READSHARD_DELETE_H
#define CAIRN_ARCHIVE_READSHARD_DELETE_H

#include "archive/readshard/reader.h"

#include <stdbool.h>

/**
 * Keep an object's bytes from being zeroed while they are read, here or in another process, for as long as any copy of
 * the descriptor is open: a read lock of the open file over its bytes. Look the object up once more afterwards: it may
 * have been deleted before. Does nothing where the file system has no locks.
 * @param fd  the file, opened for this alone
 */
void cairn_readshard_hold(int fd, const struct cairn_readshard_slot *slot);

/**
 * Delete an object: first its slot becomes a tombstone, durably, then its size and bytes are zeroed and their disk
 * space is given back where the file system can. A kill in between leaves an object that is gone, and bytes that
 * cairn_readshard_scrub() zeroes. The final bytes are those that swh.shard leaves.
 * @param s  of the same file
 * @param fd  open for reading and writing; no other deletion may run
 * Where objects overlap, or one is not within its section, a slot is wrong, and the bytes may be another's: then there
 * is the tombstone alone, and diag says where.
 * @param[out] zeroed  false: not, or somebody holds the bytes and cairn_readshard_scrub() comes later
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND; CAIRN_E_FORMAT the slot is damaged; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_readshard_delete(struct cairn_readshard *s, int fd,
							const uint8_t key[static CAIRN_READSHARD_KEY_BYTES],
							bool *zeroed, struct cairn_diag *diag);

/** Zero what no object covers, except for what is held. Likewise. @return CAIRN_OK; CAIRN_E_FORMAT as
 *  cairn_readshard_check_disjoint(), and nothing is zeroed; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_readshard_scrub(struct cairn_readshard *s, int fd, bool *zeroed,
						       struct cairn_diag *diag);

#endif
