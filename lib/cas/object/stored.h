/* Reads stored bytes and judges them, in the same way for fetches, for mending, and for fsck. */
#ifndef CAIRN_CAS_OBJECT_STORED_H
#define CAIRN_CAS_OBJECT_STORED_H

#include "hash/chunk_list.h"
#include "store/store.h"
#include "xorb/codec.h"
#include "xorb/verifier.h"

#include <stdbool.h>

/** Does the status mean that the bytes themselves are wrong? Any other failure proves nothing: the disk or another
 * machine did not deliver them. */
static inline bool cas_is_damage(enum cairn_status status)
{
	return status == CAIRN_E_FORMAT || status == CAIRN_E_MISMATCH || status == CAIRN_E_LIMIT ||
	       status == CAIRN_E_DAMAGED;
}

/* Bytes of a reader's buffer. Every compressed chunk fits, because no compression doubles a chunk. */
enum { CAS_BLOCK_BYTES = 2 * CAIRN_CHUNK_BYTES_MAX };

/** Returns the offset of chunk i of a list in its object. */
static inline uint64_t cas_chunk_begin(const struct cairn_chunk_list *list, uint32_t i)
{
	return i == 0 ? 0 : list->spans[i - 1].end;
}

/** Reads one chunk of an object, unpacks it and hashes it.
 * @param list   the list that the chunk must agree with
 * @param block  CAS_BLOCK_BYTES, scratch
 * @param[out] raw  its list->spans[i].unpacked_bytes, borrowed from the codec or from block; may be NULL
 * @return CAIRN_OK; CAIRN_E_DAMAGED it differs from the list; CAIRN_E_IO the disk cannot read it; CAIRN_E_NOMEM;
 *         CAIRN_E_BUSY, CAIRN_E_NOT_FOUND as cairn_store_object_read() */
CAIRN_MUST_USE enum cairn_status cas_read_chunk(struct cairn_store_object *object, struct cairn_codec *codec,
						const struct cairn_chunk_list *list, uint32_t i, uint8_t *block,
						const uint8_t **raw);

/** The pace of a long read. Zeroed: as fast as possible. */
struct cas_pace {
	/** Called after each block that was read, with its size; may wait. @return false to stop (CAIRN_E_BUSY) */
	bool (*go_on)(void *ctx, size_t bytes);
	void *ctx;
};

/** Reads a whole object, unpacks and hashes it.
 * @param pace      NULL: as fast as possible
 * @param block     CAS_BLOCK_BYTES, scratch
 * @param verifier  new; has the chunk list afterwards
 * @return CAIRN_OK; CAIRN_E_BUSY stopped, and diag is empty; CAIRN_E_FORMAT, CAIRN_E_MISMATCH, CAIRN_E_LIMIT it is
 *         damaged, and diag says where; CAIRN_E_IO the disk cannot read it (object.unreadable); CAIRN_E_NOMEM;
 *         CAIRN_E_BUSY (store.silent), CAIRN_E_NOT_FOUND as cairn_store_object_read() */
CAIRN_MUST_USE enum cairn_status cas_read_xorb(struct cairn_store_object *object, const struct cairn_hash *xorb,
					       const struct cas_pace *pace, struct cairn_xorb_verifier *verifier,
					       uint8_t *block, struct cairn_xorb_summary *summary,
					       struct cairn_diag *diag);

#endif
