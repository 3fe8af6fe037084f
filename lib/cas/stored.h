/* Reading stored bytes and judging them: in one way for the proof of a fetch, for mending, and for fsck. */
#ifndef CAIRN_CAS_STORED_H
#define CAIRN_CAS_STORED_H

#include "hash/chunk_list.h"
#include "store/store.h"
#include "xorb/codec.h"
#include "xorb/verifier.h"

/* What a reader needs of memory. A chunk fits in, however it was compressed: no compression doubles it. */
enum { CAS_BLOCK_BYTES = 2 * CAIRN_CHUNK_BYTES_MAX };

/** Where chunk i of a list begins in its object. */
static inline uint64_t cas_chunk_begin(const struct cairn_chunk_list *list, uint32_t i)
{
	return i == 0 ? 0 : list->spans[i - 1].end;
}

/**
 * Read one chunk of an object, unpack it and hash it.
 * @param list   what the chunk has to be
 * @param block  CAS_BLOCK_BYTES, scratch
 * @param[out] raw  its list->spans[i].unpacked_bytes, borrowed from the codec or from block; may be NULL
 * @return CAIRN_OK; CAIRN_E_DAMAGED it is not what the list says; CAIRN_E_IO the disk cannot read it; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cas_read_chunk(struct cairn_store_object *object, struct cairn_codec *codec,
						const struct cairn_chunk_list *list, uint32_t i, uint8_t *block,
						const uint8_t **raw);

/**
 * Read a whole object, unpack and hash all of it.
 * @param block     CAS_BLOCK_BYTES, scratch
 * @param verifier  new; has the chunk list afterwards
 * @return CAIRN_OK; CAIRN_E_FORMAT, CAIRN_E_MISMATCH, CAIRN_E_LIMIT it is damaged, and diag says where; CAIRN_E_IO the
 *         disk cannot read it (object.unreadable); CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cas_read_xorb(struct cairn_store_object *object, const struct cairn_hash *xorb,
					       struct cairn_xorb_verifier *verifier, uint8_t *block,
					       struct cairn_xorb_summary *summary, struct cairn_diag *diag);

#endif
