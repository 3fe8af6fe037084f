/* A growing byte buffer with a maximum set at the start. */
#ifndef CAIRN_BASE_BUF_H
#define CAIRN_BASE_BUF_H

#include "base/status.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/** A buffer. Failures stick: status then has the reason, and later appends do nothing. For one thread at a time. */
struct cairn_buf {
	uint8_t *bytes;           /* owned, may move at every append; the caller's in cairn_buf_over() */
	size_t len;               /* bytes in use */
	size_t cap;               /* bytes allocated */
	size_t max;               /* never grows past this */
	enum cairn_status status; /* CAIRN_OK; CAIRN_E_LIMIT: over max; CAIRN_E_NOMEM */
};

/** Makes an empty buffer that may grow to max bytes. Allocates nothing. */
struct cairn_buf cairn_buf_init(size_t max);

/** Makes an empty buffer in the caller's memory, of max bytes. Allocates nothing and must not be released. */
struct cairn_buf cairn_buf_over(void *bytes, size_t max);

/** Releases the bytes that the buffer owns and empties it; harmless on a zeroed or freed buffer. For CLEANUP(). */
void cairn_buf_fini(struct cairn_buf *b);

void cairn_buf_add(struct cairn_buf *b, const void *bytes, size_t n);

/** Appends n bytes for the caller to write. @return their address; NULL if the buffer is in error */
uint8_t *cairn_buf_extend(struct cairn_buf *b, size_t n);

/** Appends little-endian integers. */
void cairn_buf_u32le(struct cairn_buf *b, uint32_t v);
void cairn_buf_u64le(struct cairn_buf *b, uint64_t v);

/** Appends the same byte n times. */
void cairn_buf_fill(struct cairn_buf *b, uint8_t byte, size_t n);

/** Appends formatted text, without its terminating zero. */
void cairn_buf_printf(struct cairn_buf *b, const char *fmt, ...) CAIRN_PRINTF(2, 3);
/** Does what cairn_buf_printf() does, for functions that have a va_list. */
void cairn_buf_vprintf(struct cairn_buf *b, const char *fmt, va_list ap) CAIRN_PRINTF(2, 0);

#endif
