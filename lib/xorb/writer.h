/* Builds xorbs from chunks. */
#ifndef CAIRN_XORB_WRITER_H
#define CAIRN_XORB_WRITER_H

#include "hash/chunk_list.h"
#include "xorb/format.h"

#include <stdbool.h>

/** A xorb under construction, in memory: at most CAIRN_XORB_SERIALIZED_BYTES_MAX. Owned by one thread at a time. */
struct cairn_xorb_writer;

/** @return an empty writer; NULL without memory */
struct cairn_xorb_writer *cairn_xorb_writer_new(void);
void cairn_xorb_writer_free(struct cairn_xorb_writer *w);
void cairn_xorb_writer_freep(struct cairn_xorb_writer **w);

/**
 * Returns whether a chunk of len raw bytes still fits. The limits are those of the stock clients: CAIRN_XORB_CHUNKS_MAX
 * chunks and CAIRN_XORB_BYTES_MAX raw bytes. Compression never makes a chunk longer, so the serialized limit holds. */
bool cairn_xorb_writer_fits(const struct cairn_xorb_writer *w, size_t len);

/** Compresses and appends a chunk.
 * @param raw   len raw bytes, 1 .. CAIRN_CHUNK_BYTES_MAX
 * @param hash  their chunk hash
 * @return CAIRN_OK
 *         CAIRN_E_USAGE  a length out of range
 *         CAIRN_E_LIMIT  does not fit: send the xorb, cairn_xorb_writer_reset(), add again
 *         CAIRN_E_NOMEM
 *         The xorb is as before after a failure. */
CAIRN_MUST_USE enum cairn_status cairn_xorb_writer_add(struct cairn_xorb_writer *w, const uint8_t *raw, size_t len,
						       const struct cairn_hash *hash);

/** Returns the serialized xorb after the drained part. Borrowed until the next add, reset or free. */
const uint8_t *cairn_xorb_writer_bytes(const struct cairn_xorb_writer *w, size_t *len);

/** Drops the serialized bytes, which the caller has taken. cairn_xorb_writer_bytes() then returns later ones. */
void cairn_xorb_writer_drained(struct cairn_xorb_writer *w);

/** Returns the chunks, borrowed until the next add, reset or free. The list's root is the xorb's hash. */
const struct cairn_chunk_list *cairn_xorb_writer_list(const struct cairn_xorb_writer *w);

/** Returns the raw bytes of the chunks so far. */
uint64_t cairn_xorb_writer_unpacked_bytes(const struct cairn_xorb_writer *w);

/** Begins the next xorb; keeps the memory. */
void cairn_xorb_writer_reset(struct cairn_xorb_writer *w);

#endif
