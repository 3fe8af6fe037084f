#include "xorb/lz4_frame.h"

#include "base/cursor.h"
#include "base/vec16.h"

#include <string.h>

enum {
	FRAME_MAGIC_BYTES = 4,
	FRAME_HAS_DICTIONARY = 0x01, /* bits of the flags */
	FRAME_HAS_LENGTH = 0x08,
	FRAME_HAS_BLOCK_SUMS = 0x10,
	FRAME_LENGTH_BYTES = 8,
	FRAME_LENGTH_GOES_ON = 15, /* a length of a sequence that goes on in the next bytes */
};
static const uint32_t FRAME_BLOCK_STORED = UINT32_C(1) << 31; /* bit of a block's length: the block is not compressed */

static enum cairn_status frame_refuse(uint64_t at, const char *what, struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_FORMAT, "xorb.chunk_lz4", at,
			  "the LZ4 frame of this chunk has %s, which not all clients read; compress it without", what);
}

/* Returns whether two zeros in a row stand at an even place. Must be fast, because all bytes of an upload pass here. */
static bool frame_has_zero_pair(const uint8_t *bytes, size_t len)
{
	typedef uint16_t pairs __attribute__((vector_size(16)));
	size_t i = 0;
	for (; i + 64 <= len; i += 64) {
		pairs v[4];
		memcpy(v, bytes + i, sizeof(v));
		if (!cairn_vec16_is_zero((cairn_vec16)((v[0] == 0) | (v[1] == 0) | (v[2] == 0) | (v[3] == 0))))
			return true;
	}
	for (; i + 2 <= len; i += 2) {
		if ((bytes[i] | bytes[i + 1]) == 0)
			return true;
	}
	return false;
}

/* Returns whether a block has a match at distance 0. A block is sequences of literals and a match; the last one ends
 * with its literals. Uses no cursor, because every sequence of an upload may pass here; reads nothing from end on. */
static bool frame_has_distance_0(const uint8_t *p, const uint8_t *end)
{
	while (p < end) {
		unsigned token = *p++, more = token >> 4 == FRAME_LENGTH_GOES_ON ? UINT8_MAX : 0;
		size_t literals = token >> 4;
		while (more == UINT8_MAX && p < end) {
			more = *p++;
			literals += more;
		}
		if ((size_t)(end - p) < literals + 2)
			return false;
		p += literals;
		if ((p[0] | p[1]) == 0)
			return true;
		p += 2;
		more = (token & FRAME_LENGTH_GOES_ON) == FRAME_LENGTH_GOES_ON ? UINT8_MAX : 0;
		while (more == UINT8_MAX && p < end)
			more = *p++;
	}
	return false;
}

static enum cairn_status frame_judge_block(const uint8_t *block, size_t len, bool stored, bool zeros, uint64_t at,
					   struct cairn_diag *diag)
{
	if (len == (stored ? 0 : 1)) /* a single byte is an empty sequence */
		return frame_refuse(at, "a block without content", diag);
	/* A distance of 0 is two zero bytes, so look for two zero bytes before walking through the block. */
	bool may = !stored && zeros && (frame_has_zero_pair(block, len) || frame_has_zero_pair(block + 1, len - 1));
	if (may && frame_has_distance_0(block, block + len))
		return frame_refuse(at, "a match at distance 0", diag);
	return CAIRN_OK;
}

enum cairn_status cairn_lz4_frame_judge(const uint8_t *frame, size_t len, const uint8_t *unpacked, size_t unpacked_len,
					uint64_t at, struct cairn_diag *diag)
{
	struct cairn_cur c = cairn_cur_init(frame, len);
	(void)cairn_cur_take(&c, FRAME_MAGIC_BYTES);
	unsigned flags = cairn_cur_u8(&c);
	if (flags & FRAME_HAS_DICTIONARY)
		return frame_refuse(at, "a dictionary ID", diag);
	if (flags & FRAME_HAS_BLOCK_SUMS)
		return frame_refuse(at, "checksums of blocks", diag);
	size_t length_bytes = flags & FRAME_HAS_LENGTH ? FRAME_LENGTH_BYTES : 0;
	(void)cairn_cur_take(&c, 1 + length_bytes + 1); /* block sizes, content length, header checksum */
	/* liblz4 unpacks a match at distance 0 to zeros, at least four. */
	bool zeros = frame_has_zero_pair(unpacked, unpacked_len);
	for (;;) {
		uint32_t word = cairn_cur_u32le(&c);
		if (word == 0)
			return CAIRN_OK;
		size_t block_len = word & ~FRAME_BLOCK_STORED;
		const uint8_t *block = cairn_cur_take(&c, block_len);
		if (!block) /* cannot happen after liblz4 has unpacked the frame */
			return frame_refuse(at, "a block that is cut short", diag);
		enum cairn_status status =
			frame_judge_block(block, block_len, word & FRAME_BLOCK_STORED, zeros, at, diag);
		if (status != CAIRN_OK)
			return status;
	}
}
