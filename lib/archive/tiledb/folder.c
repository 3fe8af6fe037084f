#include "archive/tiledb/folder.h"

#include "base/fd.h"
#include "base/folder.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void cairn_tiledb_names_fini(struct cairn_tiledb_names *names)
{
	for (uint32_t i = 0; i < names->n; i++)
		free(names->items[i]);
	free(names->items);
	*names = (struct cairn_tiledb_names){0};
}

enum cairn_status cairn_tiledb_names_add(struct cairn_tiledb_names *names, const char *text, size_t len)
{
	if (names->n == names->cap) {
		if (names->cap == CAIRN_TILEDB_FRAGMENTS_MAX)
			return CAIRN_E_LIMIT;
		uint32_t cap = names->cap ? 2 * names->cap : 16;
		char **items = realloc(names->items, cap * sizeof(*items));
		if (!items)
			return CAIRN_E_NOMEM;
		names->items = items;
		names->cap = cap;
	}
	names->items[names->n] = strndup(text, len);
	if (!names->items[names->n])
		return CAIRN_E_NOMEM;
	names->n++;
	return CAIRN_OK;
}

static int names_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void cairn_tiledb_names_sort(struct cairn_tiledb_names *names)
{
	uint32_t kept = 0;
	if (names->n == 0)
		return;
	qsort(names->items, names->n, sizeof(*names->items), names_compare);
	for (uint32_t i = 0; i < names->n; i++) {
		if (kept > 0 && strcmp(names->items[i], names->items[kept - 1]) == 0)
			free(names->items[i]);
		else
			names->items[kept++] = names->items[i];
	}
	names->n = kept;
}

bool cairn_tiledb_names_has(const struct cairn_tiledb_names *names, const char *text)
{
	return names->n > 0 && bsearch(&text, names->items, names->n, sizeof(*names->items), names_compare);
}

void cairn_tiledb_path(char out[static CAIRN_TILEDB_PATH_BYTES], const char *folder, const char *name)
{
	(void)snprintf(out, CAIRN_TILEDB_PATH_BYTES, "%s/%s", folder, name);
}

enum cairn_status cairn_tiledb_folder_list(struct cairn_tiledb_names *out, int dir_fd, const char *name,
					   struct cairn_diag *diag)
{
	CLEANUP(cairn_folder_close) struct cairn_folder folder = {0};
	const char *entry = NULL;
	int fd = cairn_sys_openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0 && errno == ENOENT)
		return CAIRN_OK;
	enum cairn_status status = cairn_folder_open(&folder, fd);
	while (status == CAIRN_OK && (status = cairn_folder_next(&folder, &entry)) == CAIRN_OK && entry) {
		if (entry[0] != '.')
			status = cairn_tiledb_names_add(out, entry, strlen(entry));
	}
	if (status == CAIRN_E_LIMIT)
		return cairn_fail(diag, status, "tiledb.limit", CAIRN_NO_OFFSET, "%s: has over %d entries", name,
				  CAIRN_TILEDB_FRAGMENTS_MAX);
	if (status == CAIRN_E_IO)
		return cairn_fail(diag, CAIRN_E_IO, "tiledb.read", CAIRN_NO_OFFSET, "%s: %s", name, strerror(errno));
	cairn_tiledb_names_sort(out);
	return status;
}

int cairn_tiledb_file_open(int dir_fd, const char *path, uint64_t *len, enum cairn_status *status,
			   struct cairn_diag *diag)
{
	struct stat st;
	CLEANUP(cairn_fd_closep) int fd = cairn_sys_openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	if (fd < 0 && errno == ENOENT) {
		*status = cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.missing", CAIRN_NO_OFFSET, "%s: the file is missing",
				     path);
		return -1;
	}
	if (fd < 0 || cairn_sys_fstat(fd, &st) < 0) {
		*status = cairn_fail(diag, CAIRN_E_IO, "tiledb.read", CAIRN_NO_OFFSET, "%s: %s", path, strerror(errno));
		return -1;
	}
	if (!S_ISREG(st.st_mode)) {
		*status = cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.missing", CAIRN_NO_OFFSET,
				     "%s: is not a regular file", path);
		return -1;
	}
	*len = (uint64_t)st.st_size;
	*status = CAIRN_OK;
	int out = fd;
	fd = -1;
	return out;
}

enum cairn_status cairn_tiledb_file_read(struct cairn_buf *out, int dir_fd, const char *path, size_t max,
					 struct cairn_diag *diag)
{
	enum cairn_status status;
	uint64_t len = 0;
	CLEANUP(cairn_fd_closep) int fd = cairn_tiledb_file_open(dir_fd, path, &len, &status, diag);
	if (fd < 0)
		return status;
	if (len > max) {
		(void)cairn_fail(diag, CAIRN_E_LIMIT, "tiledb.limit", CAIRN_NO_OFFSET, "%s: the file is too long",
				 path);
		cairn_diag_numbers(diag, max, len);
		return CAIRN_E_LIMIT;
	}
	uint8_t *bytes = cairn_buf_extend(out, (size_t)len);
	if (!bytes && len > 0)
		return out->status;
	status = cairn_fd_read_at(fd, 0, bytes, (size_t)len);
	if (status == CAIRN_OK)
		return CAIRN_OK;
	return cairn_fail(diag, status, "tiledb.read", CAIRN_NO_OFFSET, "%s: cannot be read", path);
}

enum cairn_status cairn_tiledb_blame(struct cairn_diag *diag, enum cairn_status status, const char *path,
				     uint64_t offset)
{
	if (status == CAIRN_OK || !diag || !diag->rule)
		return status;
	char text[sizeof(diag->text)];
	(void)snprintf(text, sizeof(text), "%s", diag->text);
	(void)snprintf(diag->text, sizeof(diag->text), "%.130s: %.120s", path, text);
	if (diag->has_offset)
		diag->offset += offset;
	return status;
}
