#include "base/cursor.h"

#include "base/bytes.h"

struct cairn_cur cairn_cur_init(const uint8_t *bytes, size_t len)
{
	return (struct cairn_cur){.start = bytes, .p = bytes, .left = len};
}

const uint8_t *cairn_cur_take(struct cairn_cur *c, size_t n)
{
	const uint8_t *at = c->p;

	if (c->bad || n > c->left) {
		c->bad = true;
		return NULL;
	}
	c->p += n;
	c->left -= n;
	return at;
}

uint64_t cairn_cur_offset(const struct cairn_cur *c)
{
	return (uint64_t)(c->p - c->start);
}

uint8_t cairn_cur_u8(struct cairn_cur *c)
{
	const uint8_t *p = cairn_cur_take(c, 1);
	return p ? *p : 0;
}

uint32_t cairn_cur_u32le(struct cairn_cur *c)
{
	const uint8_t *p = cairn_cur_take(c, 4);
	return p ? cairn_get_u32le(p) : 0;
}

uint64_t cairn_cur_u64le(struct cairn_cur *c)
{
	const uint8_t *p = cairn_cur_take(c, 8);
	return p ? cairn_get_u64le(p) : 0;
}

uint32_t cairn_cur_u32be(struct cairn_cur *c)
{
	const uint8_t *p = cairn_cur_take(c, 4);
	return p ? cairn_get_u32be(p) : 0;
}

uint64_t cairn_cur_u64be(struct cairn_cur *c)
{
	const uint8_t *p = cairn_cur_take(c, 8);
	return p ? cairn_get_u64be(p) : 0;
}

const uint8_t *cairn_cur_array(struct cairn_cur *c, size_t n, size_t elem_bytes)
{
	if (c->bad || n > c->left / elem_bytes) {
		c->bad = true;
		return NULL;
	}
	return cairn_cur_take(c, n * elem_bytes);
}
