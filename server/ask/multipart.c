#include "server/ask/multipart.h"

#include "hash/crypto.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PART_HEAD_BYTES = 256, BOUNDARY_RANDOM_BYTES = 12 };

struct part {
	uint64_t at;    /* offset of the part's head in the body */
	uint64_t first; /* offset of the part's first byte in the object */
	uint64_t n_bytes;
};

struct multipart {
	struct cairn_fetch_source source;
	uint64_t object_bytes;
	uint64_t bytes; /* length of the whole body */
	char boundary[2 * BOUNDARY_RANDOM_BYTES + 1];
	char content_type[96];
	size_t n_parts;
	size_t current; /* the part that was read last */
	struct part parts[];
};

/* Writes the head of part i, or the closing line for i = n_parts. @return its length */
static size_t multipart_head(const struct multipart *m, size_t i, char out[static PART_HEAD_BYTES])
{
	if (i == m->n_parts)
		return (size_t)snprintf(out, PART_HEAD_BYTES, "\r\n--%s--\r\n", m->boundary);
	const struct part *part = &m->parts[i];
	return (size_t)snprintf(out, PART_HEAD_BYTES,
				"%s--%s\r\nContent-Type: application/octet-stream\r\nContent-Range: bytes %" PRIu64
				"-%" PRIu64 "/%" PRIu64 "\r\n\r\n",
				i ? "\r\n" : "", m->boundary, part->first, part->first + part->n_bytes - 1,
				m->object_bytes);
}

struct multipart *multipart_new(struct cairn_fetch_source *source, uint64_t object_bytes,
				const struct cairn_fetch_range *ranges, size_t n)
{
	uint8_t random[BOUNDARY_RANDOM_BYTES];
	struct multipart *m = calloc(1, sizeof(*m) + n * sizeof(m->parts[0]));
	if (!m || cairn_random(random, sizeof(random)) != CAIRN_OK) {
		free(m);
		return NULL;
	}
	m->source = *source;
	*source = (struct cairn_fetch_source){0};
	m->object_bytes = object_bytes;
	m->n_parts = n;
	cairn_hex_text(m->boundary, random, sizeof(random));
	(void)snprintf(m->content_type, sizeof(m->content_type), "multipart/byteranges; boundary=%s", m->boundary);
	char head[PART_HEAD_BYTES];
	for (size_t i = 0; i < n; i++) {
		m->parts[i] = (struct part){
			.at = m->bytes, .first = ranges[i].first, .n_bytes = ranges[i].last - ranges[i].first + 1};
		m->bytes += multipart_head(m, i, head) + m->parts[i].n_bytes;
	}
	m->bytes += multipart_head(m, n, head);
	return m;
}

void multipart_free(void *multipart)
{
	struct multipart *m = multipart;
	if (!m)
		return;
	cairn_fetch_source_fini(&m->source);
	free(m);
}

uint64_t multipart_bytes(const struct multipart *m)
{
	return m->bytes;
}

const char *multipart_content_type(const struct multipart *m)
{
	return m->content_type;
}

/* Finds the part that has byte pos of the body; n_parts for the closing line. */
static size_t multipart_find(const struct multipart *m, uint64_t pos)
{
	char head[PART_HEAD_BYTES];
	size_t i = m->current < m->n_parts && m->parts[m->current].at <= pos ? m->current : 0;
	while (i < m->n_parts && pos >= m->parts[i].at + multipart_head(m, i, head) + m->parts[i].n_bytes)
		i++;
	return i;
}

static uint64_t multipart_end_of_data(const struct multipart *m)
{
	char head[PART_HEAD_BYTES];
	return m->bytes - multipart_head(m, m->n_parts, head);
}

ssize_t multipart_read(void *multipart, uint64_t pos, uint8_t *out, size_t max)
{
	struct multipart *m = multipart;
	size_t filled = 0;
	while (filled < max && pos < m->bytes) {
		char head[PART_HEAD_BYTES];
		m->current = multipart_find(m, pos);
		size_t head_len = multipart_head(m, m->current, head);
		bool closing = m->current == m->n_parts;
		uint64_t in_part = pos - (closing ? multipart_end_of_data(m) : m->parts[m->current].at);
		size_t n;
		if (in_part < head_len) {
			n = head_len - (size_t)in_part < max - filled ? head_len - (size_t)in_part : max - filled;
			memcpy(out + filled, head + in_part, n);
		} else {
			const struct part *part = &m->parts[m->current];
			uint64_t done = in_part - head_len, left = part->n_bytes - done;
			n = left < max - filled ? (size_t)left : max - filled;
			if (cairn_fetch_source_read(&m->source, part->first + done, out + filled, n) != CAIRN_OK)
				return -1;
		}
		filled += n;
		pos += n;
	}
	return (ssize_t)filled;
}
