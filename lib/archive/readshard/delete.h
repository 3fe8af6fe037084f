/* Deletes objects from a Read Shard that other processes may be reading. */
#ifndef CAIRN_ARCHIVE_READSHARD_DELETE_H
#define CAIRN_ARCHIVE_READSHARD_DELETE_H

#include "archive/readshard/reader.h"

#include <stdbool.h>

/** Keeps every process from zeroing an object's bytes while a copy of the descriptor is open, by a read lock on the
 * bytes. Look the object up again afterwards: it may have been deleted before. Does nothing on file systems without
 * locks. @param fd  the file, opened only for this lock */
void cairn_readshard_hold(int fd, const struct cairn_readshard_slot *slot);

/** Deletes an object: first its slot becomes a tombstone, durably. Then its size and bytes are zeroed, and their disk
 * space is freed if the file system can. If the process is killed in between, the object stays deleted, and
 * cairn_readshard_scrub() zeroes its bytes. swh.shard does the same. If objects overlap, or one is outside its
 * section, a slot is wrong, and the bytes may be another object's: then only the tombstone is written, and diag says
 * where.
 * @param s  the same file
 * @param fd  open for reading and writing; no other deletion may run
 * @param[out] zeroed  false: not zeroed, or a reader holds the bytes: call cairn_readshard_scrub() later
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND; CAIRN_E_FORMAT the slot is damaged; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_readshard_delete(struct cairn_readshard *s, int fd,
							const uint8_t key[static CAIRN_READSHARD_KEY_BYTES],
							bool *zeroed, struct cairn_diag *diag);

/** Zeroes bytes that no object covers, except bytes held by readers. fd and zeroed as for cairn_readshard_delete().
 * @return CAIRN_OK; CAIRN_E_FORMAT as cairn_readshard_check_disjoint(), and nothing is zeroed; CAIRN_E_IO;
 * CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_readshard_scrub(struct cairn_readshard *s, int fd, bool *zeroed,
						       struct cairn_diag *diag);

#endif
