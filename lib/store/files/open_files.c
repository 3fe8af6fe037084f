#include "store/files/open_files.h"

#include "base/bytes.h"
#include "base/fd.h"

#include <fcntl.h>

void store_open_files_init(struct store_open_files *files)
{
	for (size_t i = 0; i < STORE_OPEN_FILES_MAX; i++) {
		files->at[i] = (struct store_open_file){.fd = -1};
		pthread_mutex_init(&files->at[i].lock, NULL);
	}
}

void store_open_files_fini(struct store_open_files *files)
{
	for (size_t i = 0; i < STORE_OPEN_FILES_MAX; i++) {
		cairn_fd_closep(&files->at[i].fd);
		pthread_mutex_destroy(&files->at[i].lock);
	}
}

static struct store_open_file *open_files_place(struct store_open_files *files, const struct cairn_hash *hash)
{
	return &files->at[cairn_get_u64le(hash->b) % STORE_OPEN_FILES_MAX];
}

static bool open_files_has(const struct store_open_file *place, const struct cairn_hash *hash)
{
	return place->fd >= 0 && cairn_hash_equal(&place->hash, hash);
}

int store_open_files_get(struct store_open_files *files, const struct cairn_hash *hash, uint64_t *n_forgotten)
{
	struct store_open_file *place = open_files_place(files, hash);
	pthread_mutex_lock(&place->lock);
	bool found = open_files_has(place, hash);
	int fd = found ? fcntl(place->fd, F_DUPFD_CLOEXEC, 0) : -1;
	*n_forgotten = place->n_forgotten;
	pthread_mutex_unlock(&place->lock);
	return fd;
}

void store_open_files_keep(struct store_open_files *files, const struct cairn_hash *hash, int fd, uint64_t n_forgotten)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0)
		return;
	struct store_open_file *place = open_files_place(files, hash);
	pthread_mutex_lock(&place->lock);
	int unwanted = copy;
	if (place->n_forgotten == n_forgotten) {
		unwanted = place->fd;
		place->hash = *hash;
		place->fd = copy;
	}
	pthread_mutex_unlock(&place->lock);
	cairn_fd_closep(&unwanted);
}

void store_open_files_forget(struct store_open_files *files, const struct cairn_hash *hash)
{
	int unwanted = -1;
	struct store_open_file *place = open_files_place(files, hash);
	pthread_mutex_lock(&place->lock);
	place->n_forgotten++;
	if (open_files_has(place, hash)) {
		unwanted = place->fd;
		place->fd = -1;
	}
	pthread_mutex_unlock(&place->lock);
	cairn_fd_closep(&unwanted);
}
