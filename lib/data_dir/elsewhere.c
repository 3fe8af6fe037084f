#include "data_dir/elsewhere.h"

#include "base/fd.h"
#include "base/sys.h"
#include "hash/crypto.h"
#include "hash/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ELSEWHERE_PATH_BYTES = 4200, ELSEWHERE_TEXT_BYTES = ELSEWHERE_URL_BYTES + ELSEWHERE_OWNER_BYTES + 2 };

static const struct elsewhere_part {
	const char *name, *temp; /* file names in the folder */
	const char *rule, *url_rule;
} ELSEWHERE_PARTS[] = {
	[ELSEWHERE_STORE] = {"store", "new-store", "data_dir.store", "store.url"},
	[ELSEWHERE_INDEX] = {"index", "new-index", "data_dir.index", "index.url"},
};

static enum cairn_status elsewhere_io(const struct elsewhere_part *part, struct cairn_diag *diag, const char *what,
				      const char *path)
{
	return cairn_fail(diag, CAIRN_E_IO, part->rule, CAIRN_NO_OFFSET, "cannot %s %s: %s", what, path,
			  strerror(errno));
}

static bool elsewhere_path(char out[static ELSEWHERE_PATH_BYTES], const char *path, const char *name)
{
	int n = snprintf(out, ELSEWHERE_PATH_BYTES, "%s/%s", path, name);
	return n >= 0 && n < ELSEWHERE_PATH_BYTES;
}

/* Parses "URL\nOWNER\n". */
static bool elsewhere_parse(struct elsewhere *out, const char *text, size_t len)
{
	size_t url = strcspn(text, "\n");
	if (url == 0 || url >= sizeof(out->url) || len != url + 1 + sizeof(out->owner) - 1 + 1 || text[len - 1] != '\n')
		return false;
	memcpy(out->url, text, url);
	out->url[url] = '\0';
	memcpy(out->owner, text + url + 1, sizeof(out->owner) - 1);
	out->owner[sizeof(out->owner) - 1] = '\0';
	return strspn(out->owner, "0123456789abcdef") == sizeof(out->owner) - 1;
}

enum cairn_status elsewhere_read(struct elsewhere *out, enum elsewhere_what what, const char *path,
				 struct cairn_diag *diag)
{
	const struct elsewhere_part *part = &ELSEWHERE_PARTS[what];
	char name[ELSEWHERE_PATH_BYTES], text[ELSEWHERE_TEXT_BYTES + 1];
	size_t n = 0;
	*out = (struct elsewhere){.what = what};
	if (!elsewhere_path(name, path, part->name))
		return CAIRN_OK; /* a folder with so long a path cannot contain a file */
	CLEANUP(cairn_fd_closep) int fd = cairn_sys_open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	if (fd < 0)
		return errno == ENOENT ? CAIRN_OK : elsewhere_io(part, diag, "open", name);
	if (cairn_fd_read_upto(fd, text, sizeof(text) - 1, &n) != CAIRN_OK)
		return elsewhere_io(part, diag, "read", name);
	text[n] = '\0';
	if (elsewhere_parse(out, text, n))
		return CAIRN_OK;
	*out = (struct elsewhere){.what = what};
	return cairn_fail(diag, CAIRN_E_FORMAT, part->rule, CAIRN_NO_OFFSET,
			  "%s must have two lines, the URL of a %s and 32 digits: put it back from a backup", name,
			  part->name);
}

enum cairn_status elsewhere_move(struct elsewhere *e, const char *url, struct cairn_diag *diag)
{
	const struct elsewhere_part *part = &ELSEWHERE_PARTS[e->what];
	int n = snprintf(e->url, sizeof(e->url), "%s", url);
	return n < (int)sizeof(e->url) && !strpbrk(url, "\r\n")
		       ? CAIRN_OK
		       : cairn_fail(diag, CAIRN_E_USAGE, part->url_rule, CAIRN_NO_OFFSET,
				    "the URL of the %s is too long, or more than a line", part->name);
}

enum cairn_status elsewhere_new(struct elsewhere *out, const char *url, const struct cairn_secret *shared,
				struct cairn_diag *diag)
{
	static const char LABEL[] = "cairn owner 1";
	uint8_t bytes[(ELSEWHERE_OWNER_BYTES - 1) / 2];
	enum cairn_status status = elsewhere_move(out, url, diag);
	if (status != CAIRN_OK)
		return status;
	status = shared ? cairn_hkdf_sha256(bytes, sizeof(bytes), shared->bytes, shared->len, LABEL, sizeof(LABEL))
			: cairn_random(bytes, sizeof(bytes));
	if (status != CAIRN_OK)
		return elsewhere_io(&ELSEWHERE_PARTS[out->what], diag, "make a name for", url);
	cairn_hex_text(out->owner, bytes, sizeof(bytes));
	return CAIRN_OK;
}

enum cairn_status elsewhere_write(const struct elsewhere *e, const char *path, struct cairn_diag *diag)
{
	const struct elsewhere_part *part = &ELSEWHERE_PARTS[e->what];
	char name[ELSEWHERE_PATH_BYTES], temp[ELSEWHERE_PATH_BYTES], text[ELSEWHERE_TEXT_BYTES];
	if (!elsewhere_path(name, path, part->name) || !elsewhere_path(temp, path, part->temp))
		return CAIRN_E_IO;
	int n = snprintf(text, sizeof(text), "%s\n%s\n", e->url, e->owner);
	CLEANUP(cairn_fd_closep) int fd = cairn_sys_open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || cairn_fd_write_all(fd, text, (size_t)n) != CAIRN_OK || cairn_sys_fsync(fd) != 0 ||
	    cairn_sys_rename(temp, name) != 0 || cairn_fd_sync_parent(name) != CAIRN_OK)
		return elsewhere_io(part, diag, "write", name);
	return CAIRN_OK;
}

void elsewhere_remove(const struct elsewhere *e, const char *path)
{
	char name[ELSEWHERE_PATH_BYTES];
	if (elsewhere_path(name, path, ELSEWHERE_PARTS[e->what].name))
		(void)cairn_sys_unlink(name);
}
