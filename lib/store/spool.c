#include "store/spool.h"

#include "base/fd.h"
#include "base/sys.h"
#include "store/tmpfile.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct cairn_spool {
	struct cairn_tmpfile file; /* or, until there is a file: */
	uint8_t *memory;           /* owned; room for memory_bytes */
	size_t memory_bytes;
	const char *dir;
	uint64_t bytes, bytes_max;
	uint8_t *copy; /* of the file's bytes; owned; NULL: not read */
};

static atomic_size_t spool_memory; /* of all spools */

/* Memory kept for reuse by longer bodies, each piece with room for the longest. The C library would return it to the
 * kernel, and new pages cost as much as a file's. */
enum { SPOOL_SHORT_BYTES = 128 * 1024, SPOOL_KEPT_MAX = 8 };
enum { SPOOL_HUGE_BYTES = 2 * 1024 * 1024 };
static pthread_mutex_t spool_kept_lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *spool_kept[SPOOL_KEPT_MAX]; /* owned */
static unsigned spool_n_kept;

static uint8_t *spool_take(size_t bytes)
{
	if (bytes <= SPOOL_SHORT_BYTES)
		return malloc(bytes + 1);
	pthread_mutex_lock(&spool_kept_lock);
	uint8_t *memory = spool_n_kept > 0 ? spool_kept[--spool_n_kept] : NULL;
	pthread_mutex_unlock(&spool_kept_lock);
	return memory ? memory : malloc(CAIRN_SPOOL_MEMORY_BYTES);
}

static void spool_give_back(uint8_t *memory, size_t bytes)
{
	if (memory && bytes > SPOOL_SHORT_BYTES) {
		pthread_mutex_lock(&spool_kept_lock);
		if (spool_n_kept < SPOOL_KEPT_MAX) {
			spool_kept[spool_n_kept++] = memory;
			memory = NULL;
		}
		pthread_mutex_unlock(&spool_kept_lock);
	}
	free(memory);
}

static void spool_open_memory(struct cairn_spool *s, uint64_t bytes)
{
	if (bytes > CAIRN_SPOOL_MEMORY_BYTES)
		return;
	size_t n = (size_t)bytes;
	if (atomic_fetch_add(&spool_memory, n) + n <= CAIRN_SPOOL_MEMORY_BYTES_ALL)
		s->memory = spool_take(n);
	if (s->memory)
		s->memory_bytes = n;
	else
		atomic_fetch_sub(&spool_memory, n);
}

static void spool_close_memory(struct cairn_spool *s)
{
	atomic_fetch_sub(&spool_memory, s->memory_bytes);
	spool_give_back(s->memory, s->memory_bytes);
	s->memory = NULL;
	s->memory_bytes = 0;
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

/* Allocates in huge pages if the system has them: touching new small pages costs more than reading the data. */
static uint8_t *spool_take_large(uint64_t bytes)
{
	if (bytes < SPOOL_HUGE_BYTES)
		return malloc((size_t)bytes + 1);
	if (bytes > SIZE_MAX - SPOOL_HUGE_BYTES)
		return NULL;
	size_t room = ((size_t)bytes + SPOOL_HUGE_BYTES - 1) / SPOOL_HUGE_BYTES * SPOOL_HUGE_BYTES;
	uint8_t *memory = aligned_alloc(SPOOL_HUGE_BYTES, room);
	if (memory)
		(void)madvise(memory, room, MADV_HUGEPAGE);
	return memory;
}

static enum cairn_status spool_read_file(struct cairn_spool *s)
{
	uint8_t *copy = spool_take_large(s->bytes);
	if (!copy)
		return CAIRN_E_NOMEM;
	enum cairn_status status = cairn_fd_read_at(s->file.fd, 0, copy, (size_t)s->bytes);
	if (status == CAIRN_OK)
		s->copy = copy;
	else
		free(copy);
	return status;
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
	free(s->copy);
	spool_close_memory(s);
	cairn_tmpfile_fini(&s->file);
	free(s);
}

void cairn_spool_freep(struct cairn_spool **s)
{
	cairn_spool_free(*s);
	*s = NULL;
}
