/* The footer that older clients append to a xorb (source: reference client, xorb object format version 1). */
#ifndef CAIRN_XORB_FOOTER_H
#define CAIRN_XORB_FOOTER_H

#include "hash/chunk_list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* footer     := "XETBLOB" u8 version (1), xorb hash, hashes, boundaries, u32 n,
 *               u32 hashes' distance and u32 boundaries' distance from the end of info, 16 reserved bytes (a nonce),
 *               u32 length of info (all of the footer before this number)
 * hashes     := "XBLBHSH" u8 version (0), u32 n, n hashes
 * boundaries := "XBLBBND" u8 version (1), u32 n, n u32 ends in the serialized xorb, n u32 ends in the raw bytes
 * n is the number of chunks. Version 0 lacks the raw ends; it has not been written for years and is refused. */
enum {
	CAIRN_XORB_FOOTER_IDENT_BYTES = 7,
	CAIRN_XORB_FOOTER_FIXED_BYTES = 96, /* a footer for no chunks */
	CAIRN_XORB_FOOTER_CHUNK_BYTES = 40, /* bytes that each chunk adds */
};

/** Returns the exact length of the footer of a xorb of n chunks, in bytes. */
size_t cairn_xorb_footer_bytes(uint32_t n_chunks);

/** Returns whether the len bytes (> 0) are the first ones of a footer. */
bool cairn_xorb_footer_begins(const uint8_t *bytes, size_t len);

/** Compares every field of a footer with the chunks before it, except for reserved bytes.
 * @param bytes  the footer, and nothing after it
 * @param list   chunks of the xorb, with their places
 * @param root   hash over the list
 * @param at     offset of the footer in the xorb, for the message
 * @return CAIRN_OK
 *         CAIRN_E_FORMAT    length, version, a tag, a count, an offset
 *         CAIRN_E_MISMATCH  hash of the xorb or of a chunk */
CAIRN_MUST_USE enum cairn_status cairn_xorb_footer_check(const uint8_t *bytes, size_t len,
							 const struct cairn_chunk_list *list,
							 const struct cairn_hash *root, uint64_t at,
							 struct cairn_diag *diag);

#endif
