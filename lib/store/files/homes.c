#include "store/files/homes.h"

#include "base/crash_point.h"
#include "base/fd.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HOMES_MODE = 0700 };

/* A folder's places in the bit sets, and its path. */
struct homes_place {
	unsigned outer, inner;
	char outer_path[3];
	char path[STORE_HOMES_PATH_BYTES];
};

static struct homes_place homes_place(const struct cairn_hash *hash)
{
	char text[CAIRN_HASH_TEXT_BYTES];
	struct homes_place place;
	cairn_hash_text(text, hash);
	/* The text form prints the bytes of each group of eight backwards. */
	place.outer = hash->b[7];
	place.inner = place.outer << 8 | hash->b[6];
	memcpy(place.outer_path, (char[]){text[0], text[1], '\0'}, sizeof(place.outer_path));
	memcpy(place.path, (char[]){text[0], text[1], '/', text[2], text[3], '\0'}, sizeof(place.path));
	return place;
}

static bool homes_has(atomic_uint_fast64_t *bits, unsigned i)
{
	return atomic_load(&bits[i / STORE_HOMES_WORD_BITS]) >> i % STORE_HOMES_WORD_BITS & 1;
}

static void homes_add(atomic_uint_fast64_t *bits, unsigned i)
{
	atomic_fetch_or(&bits[i / STORE_HOMES_WORD_BITS], UINT64_C(1) << i % STORE_HOMES_WORD_BITS);
}

static bool homes_make(int objects_fd, const char *path)
{
	if (cairn_sys_mkdirat(objects_fd, path, HOMES_MODE) < 0 && errno != EEXIST)
		return false;
	cairn_crash_point(CAIRN_CRASH_PUT_FOLDER_MADE);
	return true;
}

int store_homes_open(struct store_homes *h, int objects_fd, const struct cairn_hash *hash)
{
	const struct homes_place place = homes_place(hash);
	if (!homes_has(h->outer_durable, place.outer) && !homes_make(objects_fd, place.outer_path))
		return -1;
	if (!homes_has(h->inner_durable, place.inner) && !homes_make(objects_fd, place.path))
		return -1;
	return cairn_sys_openat(objects_fd, place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
}

static bool homes_sync_outer(int objects_fd, const char *path)
{
	CLEANUP(cairn_fd_closep)
	int outer_fd = cairn_sys_openat(objects_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	return outer_fd >= 0 && cairn_sys_fsync(outer_fd) == 0;
}

/* Syncs the innermost folder first: a journal then usually writes all, and the outer syncs find nothing left. */
bool store_homes_sync(struct store_homes *h, int objects_fd, const struct cairn_hash *hash, int home_fd)
{
	const struct homes_place place = homes_place(hash);
	if (cairn_sys_fsync(home_fd) < 0)
		return false;
	if (!homes_has(h->inner_durable, place.inner)) {
		if (!homes_sync_outer(objects_fd, place.outer_path))
			return false;
		homes_add(h->inner_durable, place.inner);
	}
	if (!homes_has(h->outer_durable, place.outer)) {
		if (cairn_sys_fsync(objects_fd) < 0)
			return false;
		homes_add(h->outer_durable, place.outer);
	}
	return true;
}
