/* Writes the settings file of a new server. A file that sets only the data folder, such as the package's, keeps its
 * comments. A new setting replaces the comment that shows its default. */
#include "base/fd.h"
#include "base/sys.h"
#include "cli/common/cli.h"
#include "cli/init/init.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	SETTINGS_BYTES_MAX = 1024 * 1024,
	SETTINGS_MAX = 12,
	SETTINGS_VARIABLE_BYTES = 64,
	SETTINGS_LINE_BYTES = 2 * INIT_PATH_BYTES
};
/* inih reads a line, with its line break and a NUL, into 200 bytes (INI_MAX_LINE) */
enum { SETTINGS_READ_BYTES_MAX = 198 };

static const gid_t SETTINGS_ANY_GROUP = (gid_t)-1; /* for fchown(): does not change the group */

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
	/* Through a proxy, all connections come from one address, so allow many. */
	settings_want(lines, "connections_per_address_max", wish->address.behind_proxy ? "1008" : "");
}

/* Would the daemon read this value unchanged? inih cuts text after a semicolon, and blanks at the end. */
static bool settings_value_is_kept(const char *value)
{
	size_t len = strlen(value);
	return !strpbrk(value, "\r\n;") && !isspace((unsigned char)value[len - 1]);
}

static enum cairn_status settings_check_line(const struct settings_line *line, struct cairn_diag *diag)
{
	size_t len = strlen(line->name) + strlen(" = ") + strlen(line->value);
	if (!settings_value_is_kept(line->value))
		return cairn_fail(diag, CAIRN_E_USAGE, "init.path", CAIRN_NO_OFFSET,
				  "a file of settings cannot hold this value of %s, for it has a ; or a line break, or "
				  "ends with a blank: %.120s",
				  line->name, line->value);
	if (len > SETTINGS_READ_BYTES_MAX)
		return cairn_fail(diag, CAIRN_E_USAGE, "init.path", CAIRN_NO_OFFSET,
				  "the line of %s would have %zu bytes, and cairnd reads at most %d from a file of "
				  "settings; choose a shorter path or address than %.120s",
				  line->name, len, SETTINGS_READ_BYTES_MAX, line->value);
	return CAIRN_OK;
}

enum cairn_status init_settings_check(const struct init_place *place, const struct init_wish *wish,
				      struct cairn_diag *diag)
{
	struct settings_lines lines;
	enum cairn_status status = CAIRN_OK;
	settings_list(&lines, place, wish);
	for (size_t i = 0; i < lines.n && status == CAIRN_OK; i++)
		status = settings_check_line(&lines.line[i], diag);
	return status;
}

/* --- variables that win over the file --------------------------------------------------------------------------- */

/* Returns the port of an address that listens on all networks. @return NULL: another address */
static const char *settings_port_of_all(const char *listen)
{
	static const char *const ALL[] = {"0.0.0.0:", "[::]:"};
	for (size_t i = 0; i < sizeof(ALL) / sizeof(ALL[0]); i++)
		if (strncmp(listen, ALL[i], strlen(ALL[i])) == 0)
			return listen + strlen(ALL[i]);
	return NULL;
}

/* Do two values mean the same? The image sets CAIRN_LISTEN to 0.0.0.0:8080, and init writes [::]:8080, which do. */
static bool settings_mean_the_same(const char *a, const char *b)
{
	const char *port_a = settings_port_of_all(a), *port_b = settings_port_of_all(b);
	return strcmp(a, b) == 0 || (port_a && port_b && strcmp(port_a, port_b) == 0);
}

void init_settings_warn(const struct init_place *place, const struct init_wish *wish)
{
	struct settings_lines lines;
	settings_list(&lines, place, wish);
	for (size_t i = 0; i < lines.n; i++) {
		const struct settings_line *line = &lines.line[i];
		char variable[SETTINGS_VARIABLE_BYTES];
		(void)snprintf(variable, sizeof(variable), "CAIRN_%s", line->name);
		for (char *c = variable; *c; c++)
			*c = (char)toupper((unsigned char)*c);
		const char *value = getenv(variable);
		if (value && value[0] && !settings_mean_the_same(value, line->value))
			cli_note("the variable %s is %.120s, and a daemon that has this variable takes it instead of "
				 "\"%s = %s\"; unset it for the daemon unless this is meant",
				 variable, value, line->name, line->value);
	}
}

/* Returns the setting whose default a comment shows, as in "#listen = 127.0.0.1:8080". */
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
	if (strlen(line) > SETTINGS_READ_BYTES_MAX)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "init.settings", CAIRN_NO_OFFSET,
				  "the file has a line of %zu bytes, and cairnd reads at most %d; shorten it: %.120s",
				  strlen(line), SETTINGS_READ_BYTES_MAX, line);
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

/* Opens an existing file. @return CAIRN_OK; also if there is none, and then *file is NULL */
static enum cairn_status settings_open_old(const char *path, FILE **file, struct stat *st, struct cairn_diag *diag)
{
	*file = NULL;
	CLEANUP(cairn_fd_closep) int fd = cairn_sys_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	if (fd < 0 && errno == ENOENT)
		return CAIRN_OK;
	if (fd < 0 && errno == ELOOP)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "init.settings", CAIRN_NO_OFFSET,
				  "%.160s is a symbolic link, which cairn init does not replace: put a copy of its "
				  "target there, or remove the link",
				  path);
	if (fd >= 0 && cairn_sys_fstat(fd, st) == 0) {
		if (!S_ISREG(st->st_mode))
			return cairn_fail(diag, CAIRN_E_CONFLICT, "init.settings", CAIRN_NO_OFFSET,
					  "%.160s is not a file: move it away", path);
		*file = fdopen(fd, "r");
	}
	if (!*file)
		return cairn_fail(diag, CAIRN_E_IO, "init.settings", CAIRN_NO_OFFSET, "cannot read %.160s: %s", path,
				  strerror(errno));
	fd = -1;
	return CAIRN_OK;
}

/* Reads an existing file, line by line. The new file gets its owner, group and permissions. */
static enum cairn_status settings_take(struct init_settings *s, struct settings_lines *lines, struct cairn_diag *diag)
{
	char line[SETTINGS_LINE_BYTES];
	struct stat st;
	FILE *file;
	enum cairn_status status = settings_open_old(s->path, &file, &st, diag);
	if (status == CAIRN_OK && !file)
		cairn_buf_printf(&s->text, "# Settings of cairnd, written by cairn init. "
					   "`cairnd --print-settings-file` explains each of them.\n");
	if (!file)
		return status;
	while (status == CAIRN_OK && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		status = settings_take_line(&s->text, lines, line, diag);
	}
	if (status == CAIRN_OK && ferror(file))
		status = cairn_fail(diag, CAIRN_E_IO, "init.settings", CAIRN_NO_OFFSET, "cannot read %.160s: %s",
				    s->path, strerror(errno));
	(void)fclose(file);
	s->mode = st.st_mode & 0777;
	s->uid = st.st_uid;
	s->gid = st.st_gid;
	return status;
}

/* Is FILE.part still the only name of this file? An earlier holder of the lock may have renamed or removed it. If the
 * file has a second name, this command would write into somebody else's file. */
static bool settings_part_is_ours(const struct init_settings *s)
{
	struct stat st, named;
	return cairn_sys_fstat(s->fd, &st) == 0 && cairn_sys_lstat(s->part, &named) == 0 && S_ISREG(st.st_mode) &&
	       st.st_nlink == 1 && st.st_dev == named.st_dev && st.st_ino == named.st_ino;
}

/* Locks FILE.part. @return an error message, with errno; NULL: none */
static const char *settings_lock_part(struct init_settings *s)
{
	s->fd = cairn_sys_open(s->part, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (s->fd < 0)
		return strerror(errno);
	if (cairn_sys_flock(s->fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK)
			return strerror(errno);
		errno = EEXIST;
		return "another cairn init is running";
	}
	if (!settings_part_is_ours(s)) {
		errno = EEXIST;
		return "another cairn init was running, or something else has this name; remove it if it is there, "
		       "and type the command again";
	}
	return cairn_sys_ftruncate(s->fd, 0) == 0 ? NULL : strerror(errno);
}

/* Begins FILE.part. An interrupted command leaves it, so a lock tells whether another command is writing it. */
static enum cairn_status settings_begin_part(struct init_settings *s, struct cairn_diag *diag)
{
	(void)snprintf(s->part, sizeof(s->part), "%s.part", s->path);
	const char *wrong = settings_lock_part(s);
	if (!wrong)
		return CAIRN_OK;
	enum cairn_status status = cairn_fail(diag, cairn_fd_make_status(errno), "init.settings", CAIRN_NO_OFFSET,
					      "cannot make %.160s: %s", s->part, wrong);
	cairn_fd_closep(&s->fd); /* else init_settings_fini() would remove the file of another command */
	return status;
}

/* Sets owner and permissions. A reused FILE.part may belong to the owner of an earlier file. */
static enum cairn_status settings_give_owner(const struct init_settings *s, struct cairn_diag *diag)
{
	struct stat st;
	if (cairn_sys_fstat(s->fd, &st) == 0 && st.st_uid == s->uid &&
	    (st.st_gid == s->gid || s->gid == SETTINGS_ANY_GROUP))
		return CAIRN_OK;
	if (fchown(s->fd, s->uid, s->gid) == 0)
		return CAIRN_OK;
	return cairn_fail(diag, cairn_fd_make_status(errno), "init.settings", CAIRN_NO_OFFSET,
			  "cannot keep the owner and the group of %.160s: %s", s->path, strerror(errno));
}

enum cairn_status init_settings_open(struct init_settings *s, const struct init_place *place,
				     const struct init_wish *wish, struct cairn_diag *diag)
{
	struct settings_lines lines;
	*s = (struct init_settings){
		.fd = -1,
		.path = place->settings,
		.mode = 0644,
		.uid = geteuid(),
		.gid = SETTINGS_ANY_GROUP,
		.text = cairn_buf_init(SETTINGS_BYTES_MAX),
	};
	settings_list(&lines, place, wish);
	enum cairn_status status = settings_begin_part(s, diag);
	if (status == CAIRN_OK)
		status = settings_take(s, &lines, diag);
	if (status == CAIRN_OK)
		status = settings_give_owner(s, diag);
	for (size_t i = 0; i < lines.n; i++)
		if (!lines.line[i].written)
			settings_put(&s->text, &lines.line[i]);
	return status == CAIRN_OK ? s->text.status : status;
}

enum cairn_status init_settings_commit(struct init_settings *s, struct cairn_diag *diag)
{
	enum cairn_status status = cairn_fd_write_all(s->fd, s->text.bytes, s->text.len);
	if (status == CAIRN_OK && cairn_sys_fchmod(s->fd, s->mode) != 0)
		status = cairn_fd_make_status(errno);
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
