#include "store/spool.h"

#include "base/fd.h"
#include "store/tmpfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

struct cairn_spool {
	struct cairn_tmpfile file;
	uint64_t bytes, bytes_max;
	void *map; /* NULL: not mapped */
};

enum cairn_status cairn_spool_new(struct cairn_spool **out, const char *dir, uint64_t bytes_max)
{
	*out = NULL;
	CLEANUP(cairn_fd_closep) int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return CAIRN_E_IO;
	CLEANUP(cairn_spool_freep) struct cairn_spool *s = calloc(1, sizeof(*s));
	if (!s)
		return CAIRN_E_NOMEM;
	s->bytes_max = bytes_max;
	enum cairn_status status = cairn_tmpfile_open(&s->file, dir_fd);
	if (status != CAIRN_OK)
		return status;
	cairn_tmpfile_unlink(&s->file);
	*out = s;
	s = NULL;
	return CAIRN_OK;
}

enum cairn_status cairn_spool_write(struct cairn_spool *s, const uint8_t *bytes, size_t len)
{
	if (len > s->bytes_max - s->bytes)
		return CAIRN_E_LIMIT;
	enum cairn_status status = cairn_fd_write_all(s->file.fd, bytes, len);
	if (status == CAIRN_OK)
		s->bytes += len;
	return status;
}

uint64_t cairn_spool_bytes(const struct cairn_spool *s)
{
	return s->bytes;
}

enum cairn_status cairn_spool_map(struct cairn_spool *s, const uint8_t **bytes, size_t *len)
{
	static const uint8_t nothing[1];
	*bytes = nothing;
	*len = 0;
	if (s->bytes > SIZE_MAX)
		return CAIRN_E_NOMEM;
	if (s->bytes > 0 && !s->map) {
		void *map = mmap(NULL, (size_t)s->bytes, PROT_READ, MAP_SHARED, s->file.fd, 0);
		if (map == MAP_FAILED)
			return errno == ENOMEM ? CAIRN_E_NOMEM : CAIRN_E_IO;
		s->map = map;
	}
	if (s->map) {
		*bytes = s->map;
		*len = (size_t)s->bytes;
	}
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
	if (s->map)
		(void)munmap(s->map, (size_t)s->bytes);
	cairn_tmpfile_fini(&s->file);
	free(s);
}

void cairn_spool_freep(struct cairn_spool **s)
{
	cairn_spool_free(*s);
	*s = NULL;
}
