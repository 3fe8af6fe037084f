/* A bundle: the objects of one chunk of a backup, one after the other, then their list.
 *
 *   the objects' bytes
 *   32 hash, 8 length      for each object
 *   4 number of objects, 8 "CAIRNXB1"
 *
 * Integers are big-endian, hashes in the order of struct cairn_hash. */
#ifndef CAIRN_BACKUP_BUNDLE_H
#define CAIRN_BACKUP_BUNDLE_H

#include "base/buf.h"
#include "hash/hash.h"

enum {
	CAIRN_BUNDLE_ENTRY_BYTES = 32 + 8,
	CAIRN_BUNDLE_END_BYTES = 4 + 8,
};

/** An object of a bundle; its bytes are borrowed from the bundle. */
struct cairn_bundle_object {
	struct cairn_hash hash;
	const uint8_t *bytes;
	uint64_t len;
};

/** Appends the list and the end of a bundle to its objects in out. @param entries  hash and length of each object */
void cairn_bundle_end(struct cairn_buf *out, const struct cairn_buf *entries);

void cairn_bundle_entry(struct cairn_buf *entries, const struct cairn_hash *hash, uint64_t len);

/** Visits the objects of a bundle, after checking all of its format.
 * @return CAIRN_OK; CAIRN_E_FORMAT "backup.bundle"; what visit returned */
CAIRN_MUST_USE enum cairn_status cairn_bundle_each(const uint8_t *bytes, uint64_t len,
						   enum cairn_status (*visit)(void *ctx,
									      const struct cairn_bundle_object *object),
						   void *ctx, struct cairn_diag *diag);

#endif
