#include "store/s3/credentials.h"

#include "base/fd.h"
#include "base/sys.h"
#include "store/s3/instance.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* Copies a value that is valid in a header. @return false: too long, or other characters */
static bool credentials_take(char *out, size_t out_len, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	if (len >= out_len)
		return false;
	memcpy(out, text, len);
	out[len] = '\0';
	return true;
}

static const char *credentials_skip(const char *text)
{
	return text + strspn(text, " \t\r");
}

/* @return false: the value is not valid */
static bool credentials_take_line(struct s3_credentials *out, const char *line, size_t len)
{
	const struct {
		const char *name;
		char *value;
		size_t value_len;
	} lines[] = {
		{"aws_access_key_id", out->id, sizeof(out->id)},
		{"aws_secret_access_key", out->secret, sizeof(out->secret)},
		{"aws_session_token", out->token, sizeof(out->token)},
	};
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		size_t name_len = strlen(lines[i].name);
		const char *at = credentials_skip(line + name_len);
		if (len <= name_len || strncmp(line, lines[i].name, name_len) != 0 || *at != '=')
			continue;
		at = credentials_skip(at + 1);
		const char *end = line + len;
		while (end > at && strchr(" \t\r", end[-1]))
			end--;
		return lines[i].value[0] ||
		       credentials_take(lines[i].value, lines[i].value_len, at, (size_t)(end - at));
	}
	return true;
}

static bool credentials_take_text(struct s3_credentials *out, const char *text)
{
	bool taken = true;
	unsigned sections = 0;
	for (const char *line = text; *line && taken && sections < 2;) {
		size_t len = strcspn(line, "\n");
		const char *at = credentials_skip(line);
		sections += *at == '[';
		if (*at && *at != '[' && *at != '#' && at < line + len && sections < 2)
			taken = credentials_take_line(out, at, (size_t)(line + len - at));
		line += len + (line[len] == '\n');
	}
	return taken;
}

static enum cairn_status credentials_read_file(struct s3_credentials *out, const char *path, struct cairn_diag *diag)
{
	char text[S3_CREDENTIALS_FILE_BYTES_MAX + 1];
	size_t n = 0;
	CLEANUP(cairn_fd_closep) int fd = cairn_sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	if (fd < 0 || cairn_fd_read_upto(fd, text, sizeof(text) - 1, &n) != CAIRN_OK)
		return cairn_fail(diag, CAIRN_E_IO, "store.credentials", CAIRN_NO_OFFSET,
				  "cannot read the store's credentials in %s: %s", path, strerror(errno));
	text[n] = '\0';
	bool taken = credentials_take_text(out, text);
	explicit_bzero(text, sizeof(text));
	return taken ? CAIRN_OK
		     : cairn_fail(diag, CAIRN_E_USAGE, "store.credentials", CAIRN_NO_OFFSET,
				  "a value in %s is longer than any key, or has blanks in it", path);
}

static enum cairn_status credentials_read_environment(struct s3_credentials *out, struct cairn_diag *diag)
{
	const char *id = secure_getenv("AWS_ACCESS_KEY_ID"), *secret = secure_getenv("AWS_SECRET_ACCESS_KEY"),
		   *token = secure_getenv("AWS_SESSION_TOKEN");
	if (credentials_take(out->id, sizeof(out->id), id ? id : "", id ? strlen(id) : 0) &&
	    credentials_take(out->secret, sizeof(out->secret), secret ? secret : "", secret ? strlen(secret) : 0) &&
	    credentials_take(out->token, sizeof(out->token), token ? token : "", token ? strlen(token) : 0))
		return CAIRN_OK;
	return cairn_fail(diag, CAIRN_E_USAGE, "store.credentials", CAIRN_NO_OFFSET,
			  "a variable AWS_... is longer than any key, or has blanks in it");
}

/* @return CAIRN_E_NOT_FOUND: no service is named */
static enum cairn_status credentials_ask(struct s3_credentials *out, const char *service, struct cairn_diag *diag)
{
	struct s3_instance instance;
	enum cairn_status status = s3_instance_parse(&instance, service, diag);
	return status == CAIRN_OK ? s3_instance_read(&instance, out, diag) : status;
}

enum cairn_status s3_credentials_read(struct s3_credentials *out, const char *from, struct cairn_diag *diag)
{
	*out = (struct s3_credentials){.id = ""};
	if (s3_instance_is_named(from))
		return credentials_ask(out, from, diag);
	const char *file = from ? from : secure_getenv("AWS_SHARED_CREDENTIALS_FILE");
	enum cairn_status status =
		file ? credentials_read_file(out, file, diag) : credentials_read_environment(out, diag);
	if (status != CAIRN_OK || (out->id[0] && out->secret[0]))
		return status;
	if (!file && !out->id[0] && !out->secret[0])
		status = credentials_ask(out, NULL, diag);
	else
		status = CAIRN_E_NOT_FOUND;
	if (status != CAIRN_E_NOT_FOUND)
		return status;
	return cairn_fail(diag, CAIRN_E_USAGE, "store.credentials", CAIRN_NO_OFFSET,
			  "the store needs an access key: give store_credentials a file with aws_access_key_id and "
			  "aws_secret_access_key, or \"instance\", or set AWS_ACCESS_KEY_ID and "
			  "AWS_SECRET_ACCESS_KEY");
}
