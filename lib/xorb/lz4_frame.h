/* What clients make of an LZ4 frame. Knows the frame's layout, not the library. */
#ifndef CAIRN_XORB_LZ4_FRAME_H
#define CAIRN_XORB_LZ4_FRAME_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/**
 * Is this frame, which liblz4 has unpacked, the same to every client? liblz4 reads more than the others: hf_xet
 * (lz4_flex) refuses dictionary IDs and matches at distance 0 and takes an empty block for the end; the JavaScript
 * client steps over checksums of blocks at the wrong side of them, and hands out wrong bytes. Nobody's encoder writes
 * any of these. A xorb that had one would be stored under the name of the good one, and honest clients would not send
 * theirs. Source: LZ4 frame format 1.6; lz4_flex 0.13; @huggingface/hub 2.17 (vendor/lz4js); hf_xet 1.1.3 and 1.8.0
 * were tried.
 * @param unpacked  what the frame unpacks to: only where that has zeros can a distance be 0
 * @param at        offset in the xorb, for the diagnosis
 * @return CAIRN_OK; CAIRN_E_FORMAT
 */
CAIRN_MUST_USE enum cairn_status cairn_lz4_frame_judge(const uint8_t *frame, size_t len, const uint8_t *unpacked,
						       size_t unpacked_len, uint64_t at, struct cairn_diag *diag);

#endif
