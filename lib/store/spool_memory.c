#include "store/spool_memory.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	MEMORY_PIECES_MAX = CAIRN_SPOOL_KEPT_BYTES / CAIRN_SPOOL_SHORT_BYTES,
	MEMORY_STEPS = 4, /* lengths of pieces between a power of two and the next one */
	MEMORY_HUGE_BYTES = 2 * 1024 * 1024,
};

struct memory_piece {
	uint8_t *bytes; /* owned */
	size_t room;
	bool waited; /* since the last trim */
};

static pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static struct memory_piece memory_kept[MEMORY_PIECES_MAX];      /* the longest unused first */
static unsigned memory_n_kept;
static size_t memory_kept_bytes;

size_t cairn_spool_memory_room(uint64_t bytes)
{
	if (bytes > SIZE_MAX / 2)
		return 0;
	if (bytes <= CAIRN_SPOOL_SHORT_BYTES)
		return (size_t)bytes + 1;
	size_t power = CAIRN_SPOOL_SHORT_BYTES;
	while (power < bytes / 2)
		power *= 2;
	size_t step = power / MEMORY_STEPS;
	return ((size_t)bytes + step - 1) / step * step;
}

/* Allocates in huge pages if the system has them: touching new small pages costs more than reading the data. */
static uint8_t *memory_new(size_t room)
{
	void *bytes = NULL;
	if (room < MEMORY_HUGE_BYTES)
		return malloc(room);
	if (posix_memalign(&bytes, MEMORY_HUGE_BYTES, room) != 0)
		return NULL;
	(void)madvise(bytes, room, MADV_HUGEPAGE);
	return bytes;
}

/* Under the lock. */
static uint8_t *memory_remove(unsigned i)
{
	uint8_t *bytes = memory_kept[i].bytes;
	memory_kept_bytes -= memory_kept[i].room;
	memory_n_kept--;
	memmove(&memory_kept[i], &memory_kept[i + 1], (memory_n_kept - i) * sizeof(memory_kept[0]));
	return bytes;
}

uint8_t *cairn_spool_memory_take(size_t room)
{
	uint8_t *bytes = NULL;
	if (room <= CAIRN_SPOOL_SHORT_BYTES + 1)
		return malloc(room);
	pthread_mutex_lock(&memory_lock);
	for (unsigned i = memory_n_kept; i-- > 0 && !bytes;)
		if (memory_kept[i].room == room)
			bytes = memory_remove(i);
	pthread_mutex_unlock(&memory_lock);
	return bytes ? bytes : memory_new(room);
}

void cairn_spool_memory_give_back(uint8_t *piece, size_t room)
{
	uint8_t *dropped[MEMORY_PIECES_MAX];
	unsigned n = 0;
	if (!piece || room <= CAIRN_SPOOL_SHORT_BYTES + 1 || room > CAIRN_SPOOL_KEPT_BYTES) {
		free(piece);
		return;
	}
	pthread_mutex_lock(&memory_lock);
	while (memory_kept_bytes + room > CAIRN_SPOOL_KEPT_BYTES)
		dropped[n++] = memory_remove(0);
	memory_kept[memory_n_kept++] = (struct memory_piece){.bytes = piece, .room = room};
	memory_kept_bytes += room;
	pthread_mutex_unlock(&memory_lock);
	while (n > 0)
		free(dropped[--n]);
}

uint64_t cairn_spool_memory_kept_bytes(void)
{
	pthread_mutex_lock(&memory_lock);
	uint64_t bytes = memory_kept_bytes;
	pthread_mutex_unlock(&memory_lock);
	return bytes;
}

void cairn_spool_memory_trim(void)
{
	uint8_t *dropped[MEMORY_PIECES_MAX];
	unsigned n = 0;
	pthread_mutex_lock(&memory_lock);
	while (memory_n_kept > 0 && memory_kept[0].waited)
		dropped[n++] = memory_remove(0);
	for (unsigned i = 0; i < memory_n_kept; i++)
		memory_kept[i].waited = true;
	pthread_mutex_unlock(&memory_lock);
	while (n > 0)
		free(dropped[--n]);
}
