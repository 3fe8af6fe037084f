#include "archive/readshard/writer.h"

#include "archive/readshard/chd.h"
#include "base/bytes.h"
#include "base/fd.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	WRITER_BUF_BYTES = 1 << 20,
	WRITER_COPY_BYTES = 64 * 1024,         /* longer objects are copied without the buffer */
	WRITER_FLUSH_BYTES = 16 * 1024 * 1024, /* start writing to the disk after this many bytes */
	WRITER_FUNCTION_BYTES_MAX = 512 << 20,
};

struct cairn_readshard_writer {
	int fd;
	enum cairn_status failed; /* sticky: the first failure */
	bool no_copy;             /* the kernel cannot copy between these files */
	uint64_t at;              /* offset of the next byte, after those in the buffer */
	uint64_t flushed;         /* writing to the disk was started up to this offset */
	struct cairn_buf entries; /* key and offset of each object, as in the index */
	uint32_t n;
	size_t n_buf;
	uint8_t buf[WRITER_BUF_BYTES];
};

enum cairn_status cairn_readshard_writer_new(struct cairn_readshard_writer **out, int fd)
{
	struct cairn_readshard_writer *w = calloc(1, sizeof(*w));
	*out = w;
	if (!w)
		return CAIRN_E_NOMEM;
	w->fd = fd;
	w->entries = cairn_buf_init((size_t)CAIRN_READSHARD_OBJECTS_MAX * CAIRN_READSHARD_SLOT_BYTES);
	w->at = w->n_buf = CAIRN_READSHARD_OBJECTS_START; /* zeros, until the header is written over them */
	return CAIRN_OK;
}

void cairn_readshard_writer_free(struct cairn_readshard_writer *w)
{
	if (!w)
		return;
	cairn_buf_fini(&w->entries);
	free(w);
}

void cairn_readshard_writer_freep(struct cairn_readshard_writer **w)
{
	cairn_readshard_writer_free(*w);
	*w = NULL;
}

/* Records a failure, so that nothing is written after it. */
static enum cairn_status writer_note(struct cairn_readshard_writer *w, enum cairn_status status)
{
	w->failed = status;
	return status;
}

static enum cairn_status writer_flush(struct cairn_readshard_writer *w)
{
	enum cairn_status status = cairn_fd_write_all(w->fd, w->buf, w->n_buf);
	w->n_buf = 0;
	/* Lets the disk write meanwhile, not only at the end. Just a hint. */
	if (status == CAIRN_OK && w->at - w->flushed >= WRITER_FLUSH_BYTES) {
		(void)sync_file_range(w->fd, (off_t)w->flushed, (off_t)(w->at - w->flushed), SYNC_FILE_RANGE_WRITE);
		w->flushed = w->at;
	}
	return status;
}

static enum cairn_status writer_put(struct cairn_readshard_writer *w, const uint8_t *bytes, size_t len)
{
	while (len > 0) {
		if (w->n_buf == sizeof(w->buf)) {
			enum cairn_status status = writer_flush(w);
			if (status != CAIRN_OK)
				return status;
		}
		size_t n = sizeof(w->buf) - w->n_buf < len ? sizeof(w->buf) - w->n_buf : len;
		memcpy(w->buf + w->n_buf, bytes, n);
		w->n_buf += n;
		w->at += n;
		bytes += n;
		len -= n;
	}
	return CAIRN_OK;
}

/* Writes through the buffer. */
static enum cairn_status writer_read(struct cairn_readshard_writer *w, int from_fd, uint64_t offset, uint64_t len)
{
	while (len > 0) {
		if (w->n_buf == sizeof(w->buf)) {
			enum cairn_status status = writer_flush(w);
			if (status != CAIRN_OK)
				return status;
		}
		size_t n = sizeof(w->buf) - w->n_buf;
		if (n > len)
			n = (size_t)len;
		enum cairn_status status = cairn_fd_read_at(from_fd, offset, w->buf + w->n_buf, n);
		if (status != CAIRN_OK)
			return status;
		w->n_buf += n;
		w->at += n;
		offset += n;
		len -= n;
	}
	return CAIRN_OK;
}

/* Copies within the kernel, or through the buffer what the kernel cannot copy. */
static enum cairn_status writer_copy(struct cairn_readshard_writer *w, int from_fd, uint64_t len)
{
	off_t from = 0;
	if (len < WRITER_COPY_BYTES || w->no_copy)
		return writer_read(w, from_fd, 0, len);
	enum cairn_status status = writer_flush(w);
	while (status == CAIRN_OK && (uint64_t)from < len) {
		ssize_t n = cairn_sys_copy_file_range(from_fd, &from, w->fd, NULL, (size_t)(len - (uint64_t)from), 0);
		if (n < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EIO))
			return cairn_fd_status(errno);
		if (n <= 0) { /* two file systems, or an old kernel */
			w->no_copy = true;
			return writer_read(w, from_fd, (uint64_t)from, len - (uint64_t)from);
		}
		w->at += (uint64_t)n;
	}
	return status;
}

static enum cairn_status writer_begin(struct cairn_readshard_writer *w,
				      const uint8_t key[static CAIRN_READSHARD_KEY_BYTES], uint64_t len)
{
	uint8_t number[CAIRN_READSHARD_SIZE_BYTES];
	if (w->failed != CAIRN_OK)
		return w->failed;
	if (w->n == CAIRN_READSHARD_OBJECTS_MAX)
		return CAIRN_E_LIMIT;
	cairn_buf_add(&w->entries, key, CAIRN_READSHARD_KEY_BYTES);
	cairn_put_u64be(number, w->at);
	cairn_buf_add(&w->entries, number, sizeof(number));
	if (w->entries.status != CAIRN_OK)
		return w->entries.status;
	w->n++;
	cairn_put_u64be(number, len);
	return writer_put(w, number, sizeof(number));
}

enum cairn_status cairn_readshard_writer_add(struct cairn_readshard_writer *w,
					     const uint8_t key[static CAIRN_READSHARD_KEY_BYTES], const uint8_t *bytes,
					     size_t len)
{
	enum cairn_status status = writer_begin(w, key, len);
	if (status == CAIRN_OK)
		status = writer_put(w, bytes, len);
	return writer_note(w, status);
}

enum cairn_status cairn_readshard_writer_add_fd(struct cairn_readshard_writer *w,
						const uint8_t key[static CAIRN_READSHARD_KEY_BYTES], int from_fd,
						uint64_t len)
{
	enum cairn_status status = writer_begin(w, key, len);
	if (status == CAIRN_OK)
		status = writer_copy(w, from_fd, len);
	return writer_note(w, status);
}

/* Returns the entry of each slot, counted from 1; 0: the slot is free. */
static uint32_t *writer_slots(const struct cairn_readshard_writer *w, const struct cairn_chd *function)
{
	uint32_t *slots = calloc(function->n_slots, sizeof(*slots));
	for (uint32_t i = 0; i < w->n && slots; i++)
		slots[cairn_chd_search(function, w->entries.bytes + (size_t)i * CAIRN_READSHARD_SLOT_BYTES)] = i + 1;
	return slots;
}

static enum cairn_status writer_put_index(struct cairn_readshard_writer *w, const struct cairn_chd *function)
{
	uint8_t none[CAIRN_READSHARD_SLOT_BYTES] = {0};
	uint32_t *slots = writer_slots(w, function);
	enum cairn_status status = slots ? CAIRN_OK : CAIRN_E_NOMEM;
	cairn_put_u64be(none + CAIRN_READSHARD_KEY_BYTES, CAIRN_READSHARD_NO_OFFSET);
	for (uint32_t i = 0; i < function->n_slots && status == CAIRN_OK; i++) {
		const uint8_t *entry = slots[i] ? w->entries.bytes + (size_t)(slots[i] - 1) * sizeof(none) : none;
		status = writer_put(w, entry, sizeof(none));
	}
	free(slots);
	return status;
}

static enum cairn_status writer_put_header(struct cairn_readshard_writer *w, uint64_t index_at, uint64_t function_at)
{
	uint8_t header[CAIRN_READSHARD_HEADER_BYTES] = CAIRN_READSHARD_NAME;
	cairn_put_u64be(header + CAIRN_READSHARD_VERSION_AT, CAIRN_READSHARD_VERSION);
	cairn_put_u64be(header + CAIRN_READSHARD_COUNT_AT, w->n);
	cairn_put_u64be(header + CAIRN_READSHARD_OBJECTS_AT, CAIRN_READSHARD_OBJECTS_START);
	cairn_put_u64be(header + CAIRN_READSHARD_OBJECTS_BYTES_AT, index_at - CAIRN_READSHARD_OBJECTS_START);
	cairn_put_u64be(header + CAIRN_READSHARD_INDEX_AT, index_at);
	cairn_put_u64be(header + CAIRN_READSHARD_INDEX_BYTES_AT, function_at - index_at);
	cairn_put_u64be(header + CAIRN_READSHARD_FUNCTION_AT, function_at);
	ssize_t n = cairn_sys_pwrite(w->fd, header, sizeof(header), 0);
	return n == (ssize_t)sizeof(header) ? CAIRN_OK : n < 0 ? cairn_fd_status(errno) : CAIRN_E_IO;
}

static enum cairn_status writer_put_rest(struct cairn_readshard_writer *w, const struct cairn_buf *dump)
{
	CLEANUP(cairn_chd_fini) struct cairn_chd function = {0};
	struct cairn_cur cur = cairn_cur_init(dump->bytes, dump->len);
	uint64_t index_at = w->at;
	enum cairn_status status = cairn_chd_parse(&function, &cur, NULL);
	if (status == CAIRN_OK)
		status = writer_put_index(w, &function);
	uint64_t function_at = w->at;
	if (status == CAIRN_OK)
		status = writer_put(w, dump->bytes, dump->len);
	if (status == CAIRN_OK)
		status = writer_flush(w);
	if (status == CAIRN_OK)
		status = writer_put_header(w, index_at, function_at);
	if (status == CAIRN_OK && cairn_sys_fsync(w->fd) < 0)
		status = cairn_fd_status(errno);
	return status;
}

static enum cairn_status writer_end(struct cairn_readshard_writer *w, struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf dump = cairn_buf_init(WRITER_FUNCTION_BYTES_MAX);
	const struct cairn_chd_keys keys = {
		.keys = w->entries.bytes, .stride_bytes = CAIRN_READSHARD_SLOT_BYTES, .n = w->n};
	uint32_t first = 0, second = 0;
	enum cairn_status status = cairn_chd_build(&dump, &keys, &first, &second);
	if (status == CAIRN_E_CONFLICT) {
		const uint8_t *entry = w->entries.bytes + (size_t)second * CAIRN_READSHARD_SLOT_BYTES;
		return cairn_fail(diag, status, "readshard.duplicate",
				  cairn_get_u64be(entry + CAIRN_READSHARD_KEY_BYTES),
				  "objects %" PRIu32 " and %" PRIu32 " have the same key", first, second);
	}
	return status == CAIRN_OK ? writer_put_rest(w, &dump) : status;
}

enum cairn_status cairn_readshard_writer_end(struct cairn_readshard_writer *w, struct cairn_diag *diag)
{
	return w->failed == CAIRN_OK ? writer_note(w, writer_end(w, diag)) : w->failed;
}
