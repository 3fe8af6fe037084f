/* A multipart/byteranges body over ranges of one object (RFC 9110, 14.6). Pure except for reading the object. */
#ifndef CAIRN_SERVER_MULTIPART_H
#define CAIRN_SERVER_MULTIPART_H

#include "cas/serve/fetch.h"

#include <sys/types.h>

/** Owns the parts that it reads. For one thread at a time. */
struct multipart;

/** @param source  taken over @param object_bytes  length of the whole object @param ranges  copied; each lies within
 * the object @return NULL without memory */
struct multipart *multipart_new(struct cairn_fetch_source *source, uint64_t object_bytes,
				const struct cairn_fetch_range *ranges, size_t n);
void multipart_free(void *multipart);

/** Returns the length of the whole body. */
uint64_t multipart_bytes(const struct multipart *m);

/** Returns the value of the Content-Type header. Borrowed. */
const char *multipart_content_type(const struct multipart *m);

/** Reads up to max bytes of the body from pos on; for http_reply_reader(). Mostly moves forward. @return -1: failed */
ssize_t multipart_read(void *multipart, uint64_t pos, uint8_t *out, size_t max);

#endif
