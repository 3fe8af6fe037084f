#include "cli/pull/pull_state.h"

#include "base/buf.h"
#include "base/cursor.h"
#include "base/fd.h"
#include "base/sys.h"
#include "cli/pull/pull_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATE_READ_RECORDS = 1024 };

static const uint8_t STATE_MAGIC[16] = "cairn pull 1\n";

enum cairn_status pull_write_at(int fd, uint64_t offset, const void *bytes, size_t len, struct cairn_diag *diag)
{
	enum cairn_status status = cairn_fd_write_at(fd, offset, bytes, len);
	return status == CAIRN_OK ? CAIRN_OK
				  : cairn_fail(diag, status, "file.write", offset, "cannot write: %s", strerror(errno));
}

static void state_header(uint8_t out[static PULL_STATE_HEADER_BYTES], const struct cairn_hash *file, uint64_t first,
			 uint64_t end)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf b = cairn_buf_init(PULL_STATE_HEADER_BYTES);
	cairn_buf_add(&b, STATE_MAGIC, sizeof(STATE_MAGIC));
	cairn_buf_add(&b, file->b, sizeof(file->b));
	cairn_buf_u64le(&b, first);
	cairn_buf_u64le(&b, end);
	memset(out, 0, PULL_STATE_HEADER_BYTES);
	if (b.status == CAIRN_OK)
		memcpy(out, b.bytes, PULL_STATE_HEADER_BYTES);
}

bool pull_state_matches(int fd, const struct cairn_hash *file, uint64_t first, uint64_t end)
{
	uint8_t want[PULL_STATE_HEADER_BYTES], got[PULL_STATE_HEADER_BYTES];
	state_header(want, file, first, end);
	return cairn_fd_read_at(fd, 0, got, sizeof(got)) == CAIRN_OK && memcmp(want, got, sizeof(want)) == 0;
}

enum cairn_status pull_state_begin(struct pull_state *s, const struct cairn_hash *file, uint64_t first, uint64_t end,
				   struct cairn_diag *diag)
{
	uint8_t header[PULL_STATE_HEADER_BYTES];
	state_header(header, file, first, end);
	enum cairn_status status = pull_state_cut(s, 0, diag);
	if (status == CAIRN_OK)
		status = pull_write_at(s->fd, 0, header, sizeof(header), diag);
	s->end = PULL_STATE_HEADER_BYTES;
	return status;
}

enum cairn_status pull_state_add(struct pull_state *s, const struct pull_chunk *chunks, size_t n,
				 struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf b = cairn_buf_init(n * PULL_STATE_RECORD_BYTES);
	for (size_t i = 0; i < n; i++) {
		cairn_buf_u64le(&b, chunks[i].at);
		cairn_buf_u64le(&b, chunks[i].bytes);
		cairn_buf_add(&b, chunks[i].hash.b, sizeof(chunks[i].hash.b));
	}
	if (b.status != CAIRN_OK)
		return b.status;
	enum cairn_status status = pull_write_at(s->fd, s->end, b.bytes, b.len, diag);
	if (status == CAIRN_OK)
		s->end += b.len;
	return status;
}

enum cairn_status pull_state_end_window(struct pull_state *s, uint64_t window_end, struct cairn_diag *diag)
{
	const struct pull_chunk mark = {.at = window_end};
	return pull_state_add(s, &mark, 1, diag);
}

enum cairn_status pull_state_cut(struct pull_state *s, uint64_t offset, struct cairn_diag *diag)
{
	if (cairn_sys_ftruncate(s->fd, (off_t)offset) != 0)
		return cairn_fail(diag, CAIRN_E_IO, "state.write", CAIRN_NO_OFFSET, "cannot cut the state file: %s",
				  strerror(errno));
	s->end = offset;
	return CAIRN_OK;
}

void pull_chunks_fini(struct pull_chunks *chunks)
{
	free(chunks->at);
	*chunks = (struct pull_chunks){0};
}

static enum cairn_status state_keep(struct pull_chunks *out, const struct pull_chunk *chunk)
{
	if (out->n == PULL_PLAN_CHUNKS_MAX)
		return CAIRN_OK; /* no failure: the chunk will be fetched again */
	if (out->n == out->cap) {
		size_t cap = out->cap ? 2 * out->cap : STATE_READ_RECORDS;
		struct pull_chunk *more = realloc(out->at, cap * sizeof(*more));
		if (!more)
			return CAIRN_E_NOMEM;
		out->at = more;
		out->cap = cap;
	}
	out->at[out->n++] = *chunk;
	return CAIRN_OK;
}

static int state_by_place(const void *pa, const void *pb)
{
	const struct pull_chunk *a = pa, *b = pb;
	return (a->at > b->at) - (a->at < b->at);
}

static void state_sort(struct pull_chunks *out)
{
	size_t n = 0;
	if (out->n > 0)
		qsort(out->at, out->n, sizeof(*out->at), state_by_place);
	for (size_t i = 0; i < out->n; i++)
		if (n == 0 || out->at[n - 1].at != out->at[i].at)
			out->at[n++] = out->at[i];
	out->n = n;
}

static enum cairn_status state_read_page(const struct pull_state *s, uint64_t *offset, struct pull_chunks *out,
					 struct cairn_diag *diag)
{
	uint8_t page[STATE_READ_RECORDS * PULL_STATE_RECORD_BYTES] = {0};
	uint64_t left = s->end > *offset ? s->end - *offset : 0;
	size_t n = (left < sizeof(page) ? (size_t)left : sizeof(page)) / PULL_STATE_RECORD_BYTES;
	if (n > 0 && cairn_fd_read_at(s->fd, *offset, page, n * PULL_STATE_RECORD_BYTES) != CAIRN_OK)
		return cairn_fail(diag, CAIRN_E_IO, "state.read", *offset, "cannot read the state file: %s",
				  strerror(errno));
	struct cairn_cur cur = cairn_cur_init(page, n * PULL_STATE_RECORD_BYTES);
	enum cairn_status status = CAIRN_OK;
	for (size_t i = 0; i < n && status == CAIRN_OK && !out->ended; i++) {
		struct pull_chunk chunk = {.at = cairn_cur_u64le(&cur)};
		chunk.bytes = cairn_cur_u64le(&cur);
		memcpy(chunk.hash.b, cairn_cur_take(&cur, CAIRN_HASH_BYTES), CAIRN_HASH_BYTES);
		*offset += PULL_STATE_RECORD_BYTES;
		out->ended = chunk.bytes == 0;
		if (out->ended)
			out->window_end = chunk.at;
		else
			status = state_keep(out, &chunk);
	}
	return status;
}

enum cairn_status pull_state_read(const struct pull_state *s, uint64_t offset, struct pull_chunks *out, uint64_t *next,
				  struct cairn_diag *diag)
{
	*out = (struct pull_chunks){0};
	enum cairn_status status = CAIRN_OK;
	while (status == CAIRN_OK && !out->ended && offset + PULL_STATE_RECORD_BYTES <= s->end)
		status = state_read_page(s, &offset, out, diag);
	*next = offset;
	if (status != CAIRN_OK)
		pull_chunks_fini(out);
	else
		state_sort(out);
	return status;
}
