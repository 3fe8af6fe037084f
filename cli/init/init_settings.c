/* The file of settings of a new server. A file that sets nothing but its data folder, as the package brings one, keeps
 * its comments: a new setting takes the place of the comment that shows its default. */
#include "base/fd.h"
#include "base/sys.h"
#include "cli/init/init.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SETTINGS_BYTES_MAX = 1024 * 1024, SETTINGS_MAX = 12, SETTINGS_LINE_BYTES = 2 * INIT_PATH_BYTES };

struct settings_line {
	const char *name, *value;
	bool written;
};

struct settings_lines {
	struct settings_line line[SETTINGS_MAX];
	size_t n;
};

static void settings_want(struct settings_lines *lines, const char *name, const char *value)
{
	if (value[0])
		lines->line[lines->n++] = (struct settings_line){.name = name, .value = value};
}

static void settings_list(struct settings_lines *lines, const struct init_place *place, const struct init_wish *wish)
{
	*lines = (struct settings_lines){.n = 0};
	settings_want(lines, "data_dir", place->data_dir);
	settings_want(lines, "listen", wish->address.listen);
	settings_want(lines, "public_url", wish->address.behind_proxy ? wish->address.url : "");
	settings_want(lines, "token_key", place->keys);
	settings_want(lines, "token_audience", wish->address.url);
	settings_want(lines, "token_issuer", INIT_ISSUER);
	settings_want(lines, "tls_certificate", wish->tls_certificate);
	settings_want(lines, "tls_key", wish->tls_key);
	settings_want(lines, "hub_private", wish->repositories_are_public ? "" : "*");
	/* All connections of a proxy come from one address. */
	settings_want(lines, "connections_per_address_max", wish->address.behind_proxy ? "1008" : "");
}

static enum cairn_status settings_check_values(const struct settings_lines *lines, struct cairn_diag *diag)
{
	for (size_t i = 0; i < lines->n; i++)
		if (strpbrk(lines->line[i].value, "\r\n;"))
			return cairn_fail(diag, CAIRN_E_USAGE, "init.path", CAIRN_NO_OFFSET,
					  "a file of settings cannot hold this value of %s, for it has a ; or a line "
					  "break: %.120s",
					  lines->line[i].name, lines->line[i].value);
	return CAIRN_OK;
}

/* The setting whose default a comment shows, as in "#listen = 127.0.0.1:8080". */
static struct settings_line *settings_of_comment(struct settings_lines *lines, const char *line)
{
	for (size_t i = 0; i < lines->n; i++) {
		size_t len = strlen(lines->line[i].name);
		if (line[0] == '#' && strncmp(line + 1, lines->line[i].name, len) == 0 &&
		    strncmp(line + 1 + len, " =", 2) == 0)
			return &lines->line[i];
	}
	return NULL;
}

static void settings_put(struct cairn_buf *out, struct settings_line *line)
{
	cairn_buf_printf(out, "%s = %s\n", line->name, line->value);
	line->written = true;
}

static enum cairn_status settings_take_line(struct cairn_buf *out, struct settings_lines *lines, const char *line,
					    struct cairn_diag *diag)
{
	char data_dir[SETTINGS_LINE_BYTES];
	struct settings_line *shown = settings_of_comment(lines, line);
	(void)snprintf(data_dir, sizeof(data_dir), "%s = %s", lines->line[0].name, lines->line[0].value);
	if (shown && !shown->written) {
		settings_put(out, shown);
	} else if (strcmp(line, data_dir) == 0) {
		settings_put(out, &lines->line[0]);
	} else if (line[strspn(line, " \t")] == '\0' || line[0] == '#') {
		cairn_buf_printf(out, "%s\n", line);
	} else {
		return cairn_fail(
			diag, CAIRN_E_CONFLICT, "init.settings", CAIRN_NO_OFFSET,
			"the file has the setting \"%.120s\" already, and is not overwritten: edit it, or move "
			"it away",
			line);
	}
	return CAIRN_OK;
}

/* Read the file that is there, line by line. @param[out] mode  its permissions */
static enum cairn_status settings_take(struct init_settings *s, struct settings_lines *lines, mode_t *mode,
				       struct cairn_diag *diag)
{
	char line[SETTINGS_LINE_BYTES];
	struct stat st;
	FILE *file = fopen(s->path, "re");
	if (!file && errno == ENOENT) {
		cairn_buf_printf(&s->text, "# Settings of cairnd, written by cairn init. "
					   "`cairnd --print-settings-file` explains each of them.\n");
		return CAIRN_OK;
	}
	enum cairn_status status = CAIRN_OK;
	if (!file || cairn_sys_fstat(fileno(file), &st) != 0)
		status = CAIRN_E_IO;
	while (status == CAIRN_OK && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		status = settings_take_line(&s->text, lines, line, diag);
	}
	if (status == CAIRN_OK && ferror(file))
		status = CAIRN_E_IO;
	if (status == CAIRN_OK)
		*mode = st.st_mode & 0777;
	int error = errno;
	if (file)
		(void)fclose(file);
	return status == CAIRN_E_IO ? cairn_fail(diag, status, "init.settings", CAIRN_NO_OFFSET,
						 "cannot read %.160s: %s", s->path, strerror(error))
				    : status;
}

static enum cairn_status settings_begin_part(struct init_settings *s, mode_t mode, struct cairn_diag *diag)
{
	(void)snprintf(s->part, sizeof(s->part), "%s.part", s->path);
	s->fd = cairn_sys_open(s->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (s->fd >= 0 && cairn_sys_fchmod(s->fd, mode) == 0)
		return CAIRN_OK;
	return cairn_fail(diag, cairn_fd_make_status(errno), "init.settings", CAIRN_NO_OFFSET,
			  "cannot make %.160s: %s%s", s->part, strerror(errno),
			  errno == EEXIST ? "; remove it if no other cairn init is running" : "");
}

enum cairn_status init_settings_open(struct init_settings *s, const struct init_place *place,
				     const struct init_wish *wish, struct cairn_diag *diag)
{
	struct settings_lines lines;
	mode_t mode = 0644;
	*s = (struct init_settings){.fd = -1, .path = place->settings, .text = cairn_buf_init(SETTINGS_BYTES_MAX)};
	settings_list(&lines, place, wish);
	enum cairn_status status = settings_check_values(&lines, diag);
	if (status == CAIRN_OK)
		status = settings_take(s, &lines, &mode, diag);
	for (size_t i = 0; i < lines.n; i++)
		if (!lines.line[i].written)
			settings_put(&s->text, &lines.line[i]);
	if (status == CAIRN_OK)
		status = s->text.status;
	return status == CAIRN_OK ? settings_begin_part(s, mode, diag) : status;
}

enum cairn_status init_settings_commit(struct init_settings *s, struct cairn_diag *diag)
{
	enum cairn_status status = cairn_fd_write_all(s->fd, s->text.bytes, s->text.len);
	if (status == CAIRN_OK && (cairn_sys_fsync(s->fd) != 0 || cairn_sys_rename(s->part, s->path) != 0))
		status = cairn_fd_status(errno);
	if (status != CAIRN_OK)
		return cairn_fail(diag, status, "init.settings", CAIRN_NO_OFFSET, "cannot write %.160s: %s", s->path,
				  strerror(errno));
	cairn_fd_closep(&s->fd);
	return cairn_fd_sync_parent(s->path);
}

void init_settings_fini(struct init_settings *s)
{
	if (s->fd >= 0)
		(void)cairn_sys_unlink(s->part);
	cairn_fd_closep(&s->fd);
	cairn_buf_fini(&s->text);
}
