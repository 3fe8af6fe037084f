/* Finds LZ4 frames that clients would unpack differently. Parses the frame without the library. */
#ifndef CAIRN_XORB_LZ4_FRAME_H
#define CAIRN_XORB_LZ4_FRAME_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/** Checks that every client unpacks a frame to the bytes that liblz4 gave. liblz4 accepts more than others: hf_xet
 * (lz4_flex) refuses dictionary IDs and matches at distance 0, and takes an empty block for the end. The JavaScript
 * client misplaces checksums of blocks and returns wrong bytes. No encoder writes any of these. If such a xorb were
 * stored, dedupe would stop honest clients from sending the good one with the same hash. Source: LZ4 frame format 1.6;
 * lz4_flex 0.13; @huggingface/hub 2.17 (vendor/lz4js); hf_xet 1.1.3 and 1.8.0 were tried.
 * @param unpacked  the unpacked frame; a distance can be 0 only if it contains zeros
 * @param at        offset in the xorb, for the message
 * @return CAIRN_OK; CAIRN_E_FORMAT */
CAIRN_MUST_USE enum cairn_status cairn_lz4_frame_judge(const uint8_t *frame, size_t len, const uint8_t *unpacked,
						       size_t unpacked_len, uint64_t at, struct cairn_diag *diag);

#endif
