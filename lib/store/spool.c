#include "store/spool.h"

#include "base/fd.h"
#include "base/sys.h"
#include "store/spool_memory.h"
#include "store/tmpfile.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct cairn_spool {
	struct cairn_tmpfile file; /* or, until there is a file: */
	uint8_t *memory;           /* owned; used for memory_bytes of its memory_room */
	size_t memory_bytes, memory_room;
	const char *dir;
	uint64_t bytes, bytes_max;
	uint8_t *copy; /* of the file's bytes; owned; NULL: not read */
	size_t copy_room;
};

static atomic_size_t spool_memory; /* of all spools; the copies of files do not count */

static void spool_open_memory(struct cairn_spool *s, uint64_t bytes)
{
	if (bytes > CAIRN_SPOOL_MEMORY_BYTES)
		return;
	size_t room = cairn_spool_memory_room(bytes);
	size_t most = bytes > CAIRN_SPOOL_LONG_BYTES ? CAIRN_SPOOL_MEMORY_BYTES_LONG : CAIRN_SPOOL_MEMORY_BYTES_ALL;
	if (atomic_fetch_add(&spool_memory, room) + room <= most)
		s->memory = cairn_spool_memory_take(room);
	if (!s->memory) {
		atomic_fetch_sub(&spool_memory, room);
		return;
	}
	s->memory_bytes = (size_t)bytes;
	s->memory_room = room;
}

static void spool_close_memory(struct cairn_spool *s)
{
	atomic_fetch_sub(&spool_memory, s->memory_room);
	cairn_spool_memory_give_back(s->memory, s->memory_room);
	s->memory = NULL;
	s->memory_bytes = s->memory_room = 0;
}

static enum cairn_status spool_open_file(struct cairn_spool *s)
{
	CLEANUP(cairn_fd_closep) int dir_fd = cairn_sys_open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (dir_fd < 0)
		return CAIRN_E_IO;
	enum cairn_status status = cairn_tmpfile_open(&s->file, dir_fd);
	if (status == CAIRN_OK)
		cairn_tmpfile_unlink(&s->file);
	return status;
}

static enum cairn_status spool_move_to_file(struct cairn_spool *s)
{
	enum cairn_status status = spool_open_file(s);
	if (status == CAIRN_OK)
		status = cairn_fd_write_all(s->file.fd, s->memory, (size_t)s->bytes);
	if (status == CAIRN_OK)
		spool_close_memory(s);
	else
		cairn_tmpfile_fini(&s->file);
	return status;
}

enum cairn_status cairn_spool_new(struct cairn_spool **out, const char *dir, uint64_t bytes_max,
				  uint64_t bytes_expected)
{
	*out = NULL;
	CLEANUP(cairn_spool_freep) struct cairn_spool *s = calloc(1, sizeof(*s));
	if (!s)
		return CAIRN_E_NOMEM;
	s->file = CAIRN_TMPFILE_NONE;
	s->dir = dir;
	s->bytes_max = bytes_max;
	spool_open_memory(s, bytes_expected);
	enum cairn_status status = s->memory ? CAIRN_OK : spool_open_file(s);
	if (status != CAIRN_OK)
		return status;
	*out = s;
	s = NULL;
	return CAIRN_OK;
}

enum cairn_status cairn_spool_write(struct cairn_spool *s, const uint8_t *bytes, size_t len)
{
	enum cairn_status status = CAIRN_OK;
	if (len > s->bytes_max - s->bytes)
		return CAIRN_E_LIMIT;
	if (s->memory && len > s->memory_bytes - s->bytes)
		status = spool_move_to_file(s);
	if (status == CAIRN_OK && s->memory)
		memcpy(s->memory + s->bytes, bytes, len);
	else if (status == CAIRN_OK)
		status = cairn_fd_write_all(s->file.fd, bytes, len);
	if (status == CAIRN_OK)
		s->bytes += len;
	return status;
}

uint64_t cairn_spool_bytes(const struct cairn_spool *s)
{
	return s->bytes;
}

bool cairn_spool_is_file(const struct cairn_spool *s)
{
	return !s->memory;
}

static enum cairn_status spool_read_file(struct cairn_spool *s)
{
	size_t room = cairn_spool_memory_room(s->bytes);
	uint8_t *copy = room > 0 ? cairn_spool_memory_take(room) : NULL;
	if (!copy)
		return CAIRN_E_NOMEM;
	enum cairn_status status = cairn_fd_read_at(s->file.fd, 0, copy, (size_t)s->bytes);
	if (status != CAIRN_OK) {
		cairn_spool_memory_give_back(copy, room);
		return status;
	}
	s->copy = copy;
	s->copy_room = room;
	return CAIRN_OK;
}

enum cairn_status cairn_spool_read(struct cairn_spool *s, const uint8_t **bytes, size_t *len)
{
	enum cairn_status status = s->memory || s->copy ? CAIRN_OK : spool_read_file(s);
	if (status != CAIRN_OK)
		return status;
	*bytes = s->memory ? s->memory : s->copy;
	*len = (size_t)s->bytes;
	return CAIRN_OK;
}

int cairn_spool_take_fd(struct cairn_spool *s)
{
	int fd = s->file.fd;
	s->file.fd = -1;
	return fd;
}

void cairn_spool_free(struct cairn_spool *s)
{
	if (!s)
		return;
	cairn_spool_memory_give_back(s->copy, s->copy_room);
	spool_close_memory(s);
	cairn_tmpfile_fini(&s->file);
	free(s);
}

void cairn_spool_freep(struct cairn_spool **s)
{
	cairn_spool_free(*s);
	*s = NULL;
}
