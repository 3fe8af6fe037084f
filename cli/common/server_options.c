#include "cli/common/server_options.h"

#include "base/decimal.h"
#include "base/fd.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { SERVER_TOKEN_BYTES_MAX = 8 * 1024, SERVER_RETRIES_DEFAULT = 5, SERVER_RETRIES_MAX = 20 };
static const char SERVER_URL_DEFAULT[] = "http://127.0.0.1:8080";

static const char *server_given(const char *option, const char *variable)
{
	const char *value = option ? option : getenv(variable);
	return value && *value ? value : NULL;
}

static enum cairn_status server_read_token(char out[static SERVER_TOKEN_BYTES_MAX + 1], const char *path,
					   struct cairn_diag *diag)
{
	size_t n = 0;
	CLEANUP(cairn_fd_closep) int fd = cairn_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "token.file", CAIRN_NO_OFFSET, "cannot open %s: %s", path,
				  strerror(errno));
	if (cairn_fd_read_upto(fd, out, SERVER_TOKEN_BYTES_MAX + 1, &n) != CAIRN_OK)
		return cairn_fail(diag, CAIRN_E_IO, "token.file", CAIRN_NO_OFFSET, "cannot read %s: %s", path,
				  strerror(errno));
	while (n > 0 && (out[n - 1] == '\n' || out[n - 1] == '\r' || out[n - 1] == ' '))
		n--;
	if (n == 0 || n > SERVER_TOKEN_BYTES_MAX || memchr(out, '\n', n))
		return cairn_fail(diag, CAIRN_E_USAGE, "token.file", CAIRN_NO_OFFSET,
				  "%s must hold one token and nothing else", path);
	out[n] = '\0';
	return CAIRN_OK;
}

enum cairn_status server_options_open(const struct server_options *s, struct client **out, struct cairn_diag *diag)
{
	char token[SERVER_TOKEN_BYTES_MAX + 2];
	struct client_options options = {.url = server_given(s->url, "CAIRN_SERVER"),
					 .token = server_given(s->token, "CAIRN_TOKEN"),
					 .verbose = s->verbose};
	if (!options.url)
		options.url = SERVER_URL_DEFAULT;
	uint64_t retries = SERVER_RETRIES_DEFAULT;
	if (s->retries && !cairn_decimal_parse(s->retries, 0, SERVER_RETRIES_MAX, &retries))
		return cairn_fail(diag, CAIRN_E_USAGE, "option.retries", CAIRN_NO_OFFSET, "--retries takes 0 to %d",
				  SERVER_RETRIES_MAX);
	options.retries = (unsigned)retries;
	if (s->token_file && s->token)
		return cairn_fail(diag, CAIRN_E_USAGE, "option.token", CAIRN_NO_OFFSET,
				  "give --token or --token-file, not both");
	if (s->token_file) {
		enum cairn_status status = server_read_token(token, s->token_file, diag);
		if (status != CAIRN_OK)
			return status;
		options.token = token;
	}
	if (options.token && strpbrk(options.token, "\r\n"))
		return cairn_fail(diag, CAIRN_E_USAGE, "option.token", CAIRN_NO_OFFSET,
				  "the token has a line break in it");
	return client_new(out, &options, diag);
}
