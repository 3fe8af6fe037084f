/* Integers in byte arrays, little-endian unless the name differs. Alignment and the host's byte order do not matter. */
#ifndef CAIRN_BASE_BYTES_H
#define CAIRN_BASE_BYTES_H

#include <stdint.h>

static inline uint32_t cairn_get_u32le(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint32_t cairn_get_u24le(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;
}

static inline uint64_t cairn_get_u64le(const uint8_t *p)
{
	return (uint64_t)cairn_get_u32le(p) | (uint64_t)cairn_get_u32le(p + 4) << 32;
}

static inline void cairn_put_u16le(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
}

static inline uint16_t cairn_get_u16le(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static inline void cairn_put_u24le(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)(v >> 16);
}

static inline void cairn_put_u32le(uint8_t *p, uint32_t v)
{
	cairn_put_u24le(p, v);
	p[3] = (uint8_t)(v >> 24);
}

static inline void cairn_put_u64le(uint8_t *p, uint64_t v)
{
	cairn_put_u32le(p, (uint32_t)v);
	cairn_put_u32le(p + 4, (uint32_t)(v >> 32));
}

static inline uint32_t cairn_get_u32be(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

static inline void cairn_put_u32be(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

static inline uint64_t cairn_get_u64be(const uint8_t *p)
{
	return __builtin_bswap64(cairn_get_u64le(p));
}

static inline void cairn_put_u64be(uint8_t *p, uint64_t v)
{
	cairn_put_u64le(p, __builtin_bswap64(v));
}

#endif
