#include "base/folder.h"

#include "base/fd.h"
#include "base/sys.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum cairn_status cairn_folder_open(struct cairn_folder *out, int fd)
{
	out->stream = fd < 0 ? NULL : fdopendir(fd);
	if (out->stream)
		return CAIRN_OK;
	int error = errno;
	cairn_fd_closep(&fd);
	errno = error;
	return cairn_fd_status(error);
}

enum cairn_status cairn_folder_next(struct cairn_folder *folder, const char **name)
{
	*name = NULL;
	assert(folder->stream);
	for (;;) {
		errno = 0;
		const struct dirent *entry = readdir(folder->stream);
		if (!entry && errno == EINTR)
			continue; /* errno is not a result, as in base/sys.h */
		if (!entry)
			return errno == 0 ? CAIRN_OK : cairn_fd_status(errno);
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		*name = entry->d_name;
		return CAIRN_OK;
	}
}

void cairn_folder_rewind(struct cairn_folder *folder)
{
	rewinddir(folder->stream);
}

void cairn_folder_close(struct cairn_folder *folder)
{
	int error = errno;
	if (folder->stream)
		(void)closedir(folder->stream);
	folder->stream = NULL;
	errno = error;
}

enum cairn_status cairn_folder_stat(int folder_fd, const char *name, struct stat *out)
{
	if (cairn_sys_fstatat(folder_fd, name, out, AT_SYMLINK_NOFOLLOW) == 0)
		return CAIRN_OK;
	return errno == ENOENT ? CAIRN_E_NOT_FOUND : cairn_fd_status(errno);
}

static int folder_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum cairn_status folder_add(struct cairn_folder_names *names, size_t *room, const char *name)
{
	if (names->n == *room) {
		size_t more = *room ? 2 * *room : 16;
		char **items = reallocarray(names->items, more, sizeof(*items));
		if (!items)
			return CAIRN_E_NOMEM;
		names->items = items;
		*room = more;
	}
	names->items[names->n] = strdup(name);
	if (!names->items[names->n])
		return CAIRN_E_NOMEM;
	names->n++;
	return CAIRN_OK;
}

enum cairn_status cairn_folder_list(struct cairn_folder_names *out, int fd, bool (*wanted)(const char *name))
{
	CLEANUP(cairn_folder_close) struct cairn_folder folder = {0};
	enum cairn_status status = cairn_folder_open(&folder, fd);
	const char *name = NULL;
	size_t room = 0;
	while (status == CAIRN_OK && (status = cairn_folder_next(&folder, &name)) == CAIRN_OK && name) {
		if (!wanted || wanted(name))
			status = folder_add(out, &room, name);
	}
	if (status != CAIRN_OK)
		cairn_folder_names_fini(out);
	else if (out->n > 0)
		qsort(out->items, out->n, sizeof(*out->items), folder_compare);
	return status;
}

void cairn_folder_names_fini(struct cairn_folder_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->items[i]);
	free(names->items);
	*names = (struct cairn_folder_names){0};
}
