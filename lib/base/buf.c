#include "base/buf.h"

#include "base/bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cairn_buf cairn_buf_init(size_t max)
{
	return (struct cairn_buf){.max = max};
}

struct cairn_buf cairn_buf_over(void *bytes, size_t max)
{
	return (struct cairn_buf){.bytes = bytes, .cap = max, .max = max};
}

void cairn_buf_fini(struct cairn_buf *b)
{
	free(b->bytes);
	*b = (struct cairn_buf){.max = b->max};
}

static bool buf_reserve(struct cairn_buf *b, size_t n)
{
	if (b->status != CAIRN_OK)
		return false;
	if (n > b->max - b->len) {
		b->status = CAIRN_E_LIMIT;
		return false;
	}
	size_t need = b->len + n;
	if (b->bytes && need <= b->cap)
		return true;
	size_t cap = b->cap < 256 ? 256 : b->cap;
	while (cap < need)
		cap += cap / 2;
	cap = cap > b->max ? b->max : cap;
	uint8_t *bytes = realloc(b->bytes, cap);
	if (!bytes) {
		b->status = CAIRN_E_NOMEM;
		return false;
	}
	b->bytes = bytes;
	b->cap = cap;
	return true;
}

uint8_t *cairn_buf_extend(struct cairn_buf *b, size_t n)
{
	if (!buf_reserve(b, n))
		return NULL;
	uint8_t *at = b->bytes + b->len;
	b->len += n;
	return at;
}

void cairn_buf_add(struct cairn_buf *b, const void *bytes, size_t n)
{
	if (n == 0)
		return;
	uint8_t *at = cairn_buf_extend(b, n);
	if (at)
		memcpy(at, bytes, n);
}

void cairn_buf_u32le(struct cairn_buf *b, uint32_t v)
{
	uint8_t *at = cairn_buf_extend(b, 4);
	if (at)
		cairn_put_u32le(at, v);
}

void cairn_buf_u64le(struct cairn_buf *b, uint64_t v)
{
	uint8_t *at = cairn_buf_extend(b, 8);
	if (at)
		cairn_put_u64le(at, v);
}

void cairn_buf_fill(struct cairn_buf *b, uint8_t byte, size_t n)
{
	uint8_t *at = n ? cairn_buf_extend(b, n) : NULL;
	if (at)
		memset(at, byte, n);
}

void cairn_buf_vprintf(struct cairn_buf *b, const char *fmt, va_list ap)
{
	va_list again;
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	/* Reserve a byte for the terminating zero, which vsnprintf always writes. */
	if (n < 0 || !buf_reserve(b, (size_t)n + 1)) {
		if (n < 0)
			b->status = CAIRN_E_FORMAT;
		return;
	}
	(void)vsnprintf((char *)b->bytes + b->len, (size_t)n + 1, fmt, ap);
	b->len += (size_t)n;
}

void cairn_buf_printf(struct cairn_buf *b, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	cairn_buf_vprintf(b, fmt, ap);
	va_end(ap);
}
