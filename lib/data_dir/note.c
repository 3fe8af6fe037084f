#include "data_dir/note.h"

#include "base/crash_point.h"
#include "base/fd.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOTE_PATH_BYTES = 4300 };

/* Writes the path DIR/IN or DIR/IN/NAME. @return false, with errno: the path is too long */
static bool note_path(char out[static NOTE_PATH_BYTES], const char *data_dir, const char *in, const char *name)
{
	int n = snprintf(out, NOTE_PATH_BYTES, "%s/%s%s%s", data_dir, in, name ? "/" : "", name ? name : "");
	errno = ENAMETOOLONG;
	return n >= 0 && n < NOTE_PATH_BYTES;
}

/* Reads a line "name number" into its field; ignores unknown names. @return false: the line has another form */
static bool note_take_line(const char *line, const struct cairn_note_field *fields, size_t n)
{
	char *end;
	size_t len = strcspn(line, " ");
	if (line[len] != ' ')
		return false;
	errno = 0;
	int64_t value = strtoll(line + len + 1, &end, 10);
	if (end == line + len + 1 || *end || errno != 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (strlen(fields[i].name) == len && memcmp(fields[i].name, line, len) == 0)
			*fields[i].value = value;
	return true;
}

/* Reads into a second array first, so that a damaged note changes nothing. */
enum cairn_status cairn_note_parse(char *text, const struct cairn_note_field *fields, size_t n)
{
	int64_t values[CAIRN_NOTE_FIELDS_MAX];
	struct cairn_note_field copies[CAIRN_NOTE_FIELDS_MAX];
	for (size_t i = 0; i < n; i++) {
		values[i] = *fields[i].value;
		copies[i] = (struct cairn_note_field){fields[i].name, &values[i]};
	}
	while (*text) {
		char *end = strchr(text, '\n');
		if (!end)
			return CAIRN_E_NOT_FOUND;
		*end = 0;
		if (!note_take_line(text, copies, n))
			return CAIRN_E_NOT_FOUND;
		text = end + 1;
	}
	for (size_t i = 0; i < n; i++)
		*fields[i].value = values[i];
	return CAIRN_OK;
}

/* Opens a folder of notes. root may work here on files of a daemon's user, who must not be able to redirect root. So no
 * links are followed below the data folder, and writes always create new files. @return -1, with errno */
static int note_open_folder(const char *data_dir, const char *in)
{
	char path[NOTE_PATH_BYTES];
	return note_path(path, data_dir, in, NULL)
		       ? cairn_sys_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
		       : -1;
}

enum cairn_status cairn_note_read(const char *data_dir, const char *name, const struct cairn_note_field *fields,
				  size_t n)
{
	char text[CAIRN_NOTE_BYTES_MAX + 1];
	size_t len = 0;
	CLEANUP(cairn_fd_closep) int folder_fd = note_open_folder(data_dir, "notes");
	if (folder_fd < 0)
		return errno == ENOENT ? CAIRN_E_NOT_FOUND : CAIRN_E_IO;
	/* O_NONBLOCK: opening a FIFO would wait. */
	CLEANUP(cairn_fd_closep)
	int fd = cairn_sys_openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	if (fd < 0)
		return errno == ENOENT ? CAIRN_E_NOT_FOUND : CAIRN_E_IO;
	if (cairn_fd_read_upto(fd, text, CAIRN_NOTE_BYTES_MAX, &len) != CAIRN_OK)
		return CAIRN_E_IO;
	text[len] = 0;
	return len == 0 || strlen(text) != len ? CAIRN_E_NOT_FOUND : cairn_note_parse(text, fields, n);
}

void cairn_note_text(struct cairn_buf *out, const struct cairn_note_field *fields, size_t n)
{
	for (size_t i = 0; i < n; i++)
		cairn_buf_printf(out, "%s %" PRId64 "\n", fields[i].name, *fields[i].value);
}

static enum cairn_status note_write_file(int folder_fd, const char *name, const struct cairn_buf *text)
{
	if (cairn_sys_unlinkat(folder_fd, name, 0) < 0 && errno != ENOENT)
		return cairn_fd_status(errno);
	CLEANUP(cairn_fd_closep)
	int fd = cairn_sys_openat(folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return cairn_fd_status(errno);
	enum cairn_status status = cairn_fd_write_all(fd, text->bytes, text->len);
	/* The daemon must be able to read a note that root wrote. */
	if (status == CAIRN_OK && (cairn_sys_fchmod(fd, 0644) < 0 || cairn_sys_fsync(fd) < 0))
		status = cairn_fd_status(errno);
	return status;
}

/* Gives files that root made to the daemon's user. If that fails, the daemon reports that it cannot write there. */
static void note_hand_over(const char *data_dir, int folder_fd)
{
	struct stat whole, folder;
	if (cairn_sys_stat(data_dir, &whole) == 0 && cairn_sys_fstat(folder_fd, &folder) == 0 && folder.st_uid == 0)
		(void)!fchown(folder_fd, whole.st_uid, whole.st_gid);
}

/* Writes into DIR/tmp first; the next daemon removes leftovers there. */
static enum cairn_status note_replace(const char *data_dir, int notes_fd, const char *name,
				      const struct cairn_buf *text)
{
	CLEANUP(cairn_fd_closep) int tmp_fd = note_open_folder(data_dir, "tmp");
	if (tmp_fd < 0)
		return cairn_fd_status(errno);
	enum cairn_status status = note_write_file(tmp_fd, name, text);
	if (status != CAIRN_OK)
		return status;
	cairn_crash_point(CAIRN_CRASH_NOTE_WRITTEN);
	if (cairn_sys_renameat(tmp_fd, name, notes_fd, name) < 0 || cairn_sys_fsync(notes_fd) < 0)
		return cairn_fd_status(errno);
	return CAIRN_OK;
}

enum cairn_status cairn_note_write(const char *data_dir, const char *name, const struct cairn_note_field *fields,
				   size_t n)
{
	char folder[NOTE_PATH_BYTES];
	bool made;
	CLEANUP(cairn_buf_fini) struct cairn_buf text = cairn_buf_init(CAIRN_NOTE_BYTES_MAX);
	if (!note_path(folder, data_dir, "notes", NULL))
		return CAIRN_E_IO;
	cairn_note_text(&text, fields, n);
	if (text.status != CAIRN_OK)
		return text.status;
	enum cairn_status status = cairn_fd_make_folder(folder, &made);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_fd_closep) int notes_fd = note_open_folder(data_dir, "notes");
	if (notes_fd < 0)
		return cairn_fd_status(errno);
	if (made && geteuid() == 0)
		note_hand_over(data_dir, notes_fd);
	return note_replace(data_dir, notes_fd, name, &text);
}
