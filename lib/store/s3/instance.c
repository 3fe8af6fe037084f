#include "store/s3/instance.h"

#include "base/decimal.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/sys.h"
#include "store/s3/http.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	INSTANCE_ANSWER_BYTES_MAX = 16 * 1024, /* including a token of at most S3_TOKEN_TEXT_BYTES */
	INSTANCE_LINE_BYTES = S3_TOKEN_TEXT_BYTES + 64,
	INSTANCE_ROLE_BYTES_MAX = 128,
	INSTANCE_PAGE_BYTES = 2 * S3_INSTANCE_URL_BYTES, /* a URL and a path */
};

#define INSTANCE_CONTAINER "http://169.254.170.2"
#define INSTANCE_MACHINE   "http://169.254.169.254"
#define INSTANCE_ROLES     "/latest/meta-data/iam/security-credentials/"

bool s3_instance_is_named(const char *credentials)
{
	return credentials && (strcmp(credentials, "instance") == 0 || strncmp(credentials, "http://", 7) == 0 ||
			       strncmp(credentials, "https://", 8) == 0);
}

/* Returns whether a host is this machine or a link-local address of Amazon's services, which is never routed. */
static bool instance_is_near(const char *host, size_t len)
{
	static const char *const HOSTS[] = {"localhost",      "[::1]",           "169.254.170.2",  "169.254.170.23",
					    "[fd00:ec2::23]", "169.254.169.254", "[fd00:ec2::254]"};
	for (size_t i = 0; i < sizeof(HOSTS) / sizeof(HOSTS[0]); i++)
		if (strlen(HOSTS[i]) == len && strncasecmp(host, HOSTS[i], len) == 0)
			return true;
	/* An address in 127.0.0.0/8, not a name that begins like one. */
	return len > 4 && strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") >= len;
}

static enum cairn_status instance_refuse(const char *url, const char *what, struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_USAGE, "store.credentials", CAIRN_NO_OFFSET,
			  "\"%.200s\", where the store's access key is to be had, %s", url, what);
}

static enum cairn_status instance_take_url(struct s3_instance *out, const char *url, struct cairn_diag *diag)
{
	bool tls = strncmp(url, "https://", 8) == 0;
	if (!tls && strncmp(url, "http://", 7) != 0)
		return instance_refuse(url, "is no URL of http or https", diag);
	const char *host = url + (tls ? 8 : 7), *path = host + strcspn(host, "/?#");
	const char *bracket = *host == '[' ? memchr(host, ']', (size_t)(path - host)) : host;
	const char *colon = bracket ? memchr(bracket, ':', (size_t)(path - bracket)) : NULL;
	size_t len = (size_t)((colon ? colon : path) - host);
	char digits[8] = "";
	uint64_t port = tls ? 443 : 80;
	if (colon)
		(void)snprintf(digits, sizeof(digits), "%.*s", (int)(path - colon - 1), colon + 1);
	if (!bracket || len == 0 || memchr(host, '@', (size_t)(path - host)) ||
	    (colon && !cairn_decimal_parse(digits, 1, UINT16_MAX, &port)))
		return instance_refuse(url, "has no host, or no port from 1 to 65535", diag);
	if (!tls && !instance_is_near(host, len))
		return instance_refuse(url,
				       "has no TLS, and is neither this machine nor an address that hands out "
				       "keys to it alone; use https",
				       diag);
	if (strlen(url) >= sizeof(out->url))
		return instance_refuse(url, "is longer than 511 bytes", diag);
	memcpy(out->url, url, strlen(url) + 1);
	out->port = (uint16_t)port;
	return CAIRN_OK;
}

static enum cairn_status instance_take_machine(struct s3_instance *out, struct cairn_diag *diag)
{
	const char *url = secure_getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");
	enum cairn_status status = instance_take_url(out, url && *url ? url : INSTANCE_MACHINE, diag);
	size_t len = strlen(out->url);
	if (len > 0 && out->url[len - 1] == '/')
		out->url[len - 1] = '\0';
	out->is_machine = true;
	return status;
}

enum cairn_status s3_instance_parse(struct s3_instance *out, const char *credentials, struct cairn_diag *diag)
{
	char url[S3_INSTANCE_URL_BYTES];
	const char *relative = secure_getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
		   *full = secure_getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI");
	*out = (struct s3_instance){.url = ""};
	if (credentials)
		return strcmp(credentials, "instance") == 0 ? instance_take_machine(out, diag)
							    : instance_take_url(out, credentials, diag);
	if (!relative || !*relative)
		return full && *full ? instance_take_url(out, full, diag) : CAIRN_E_NOT_FOUND;
	if (*relative != '/' || snprintf(url, sizeof(url), INSTANCE_CONTAINER "%s", relative) >= (int)sizeof(url))
		return instance_refuse(relative, "is no path, or longer than any", diag);
	return instance_take_url(out, url, diag);
}

static void instance_free_http(struct s3_http **http)
{
	s3_http_free(*http);
}

/* @param[out] answer  ended by a zero byte */
static enum cairn_status instance_ask(struct s3_http *http, const char *method, const char *url, const char *line,
				      struct cairn_buf *answer, struct cairn_diag *diag)
{
	const char *const lines[] = {line};
	struct s3_http_call call = {
		.method = method, .url = url, .headers = lines, .n_headers = line[0] != '\0', .answer = answer};
	call.body = (const uint8_t *)"";
	answer->len = 0;
	enum cairn_status status = s3_http_send(http, &call, diag);
	if (status == CAIRN_E_NOMEM)
		return status;
	if (status != CAIRN_OK)
		return cairn_fail(diag, CAIRN_E_IO, "store.credentials", CAIRN_NO_OFFSET,
				  "%s does not answer, or answers with more than an access key", url);
	if (call.code != 200)
		return cairn_fail(diag, CAIRN_E_IO, "store.credentials", CAIRN_NO_OFFSET,
				  "%s answered %u when it was asked for the store's access key", url, call.code);
	cairn_buf_add(answer, "", 1);
	return answer->status;
}

/* Writes a header line. @return false: the value does not fit a line */
static bool instance_line(char line[static INSTANCE_LINE_BYTES], const char *name, const char *value)
{
	size_t len = strcspn(value, "\r\n");
	for (size_t i = 0; i < len; i++)
		if (value[i] < ' ' || value[i] > '~')
			return false;
	return snprintf(line, INSTANCE_LINE_BYTES, "%s: %.*s", name, (int)len, value) < INSTANCE_LINE_BYTES &&
	       value[len + strspn(value + len, "\r\n")] == '\0';
}

/* Writes the header that authorizes to a container's service; empty: no header. */
static enum cairn_status instance_authorize(char line[static INSTANCE_LINE_BYTES], struct cairn_diag *diag)
{
	char text[S3_TOKEN_TEXT_BYTES + 1] = "";
	const char *path = secure_getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
		   *token = secure_getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN");
	size_t n = 0;
	line[0] = '\0';
	if (path && *path) { /* read each time, because the file is replaced */
		CLEANUP(cairn_fd_closep) int fd = cairn_sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
		if (fd < 0 || cairn_fd_read_upto(fd, text, sizeof(text) - 1, &n) != CAIRN_OK)
			return cairn_fail(diag, CAIRN_E_IO, "store.credentials", CAIRN_NO_OFFSET,
					  "cannot read %s, which AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE names", path);
		text[n] = '\0';
		token = text;
	}
	bool fits = !token || !*token || instance_line(line, "Authorization", token);
	explicit_bzero(text, sizeof(text));
	return fits ? CAIRN_OK
		    : cairn_fail(diag, CAIRN_E_IO, "store.credentials", CAIRN_NO_OFFSET,
				 "the token of AWS_CONTAINER_AUTHORIZATION_TOKEN... cannot be sent in a header");
}

/* Asks for the machine's roles, takes the first, and builds the URL of its keys. */
static enum cairn_status instance_find_role(const struct s3_instance *instance, struct s3_http *http,
					    struct cairn_buf *answer, char line[static INSTANCE_LINE_BYTES],
					    char url[static INSTANCE_PAGE_BYTES], struct cairn_diag *diag)
{
	(void)snprintf(url, INSTANCE_PAGE_BYTES, "%s/latest/api/token", instance->url);
	enum cairn_status status =
		instance_ask(http, "PUT", url, "X-aws-ec2-metadata-token-ttl-seconds: 60", answer, diag);
	if (status == CAIRN_OK && !instance_line(line, "X-aws-ec2-metadata-token", (const char *)answer->bytes))
		status =
			cairn_fail(diag, CAIRN_E_IO, "store.credentials", CAIRN_NO_OFFSET, "%s answered no token", url);
	(void)snprintf(url, INSTANCE_PAGE_BYTES, "%s" INSTANCE_ROLES, instance->url);
	if (status == CAIRN_OK)
		status = instance_ask(http, "GET", url, line, answer, diag);
	if (status != CAIRN_OK)
		return status;
	const char *role = (const char *)answer->bytes;
	size_t len = strcspn(role, "\r\n");
	static const char LEGAL[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+=,.@_-";
	if (len == 0 || len > INSTANCE_ROLE_BYTES_MAX || strspn(role, LEGAL) < len)
		return cairn_fail(diag, CAIRN_E_IO, "store.credentials", CAIRN_NO_OFFSET, "%s names no role", url);
	(void)snprintf(url, INSTANCE_PAGE_BYTES, "%s" INSTANCE_ROLES "%.*s", instance->url, (int)len, role);
	return CAIRN_OK;
}

static bool instance_take_text(char *out, size_t out_len, const char *text)
{
	size_t len = text ? strlen(text) : 0;
	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	if (len >= out_len)
		return false;
	memcpy(out, text ? text : "", len + 1);
	return true;
}

static bool instance_take_end(int64_t *out, const char *text)
{
	struct tm tm = {.tm_year = 0};
	*out = 0;
	if (!text)
		return true;
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	*out = end ? (int64_t)timegm(&tm) : 0;
	return end && *out > 0;
}

static bool instance_take(struct s3_credentials *out, const struct cairn_buf *answer)
{
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	if (cairn_json_parse_some(&json, (const char *)answer->bytes, answer->len - 1, 64) != CAIRN_OK)
		return false;
	const char *code = cairn_json_text_of(json, "Code"); /* only a machine's service has it */
	return (!code || strcmp(code, "Success") == 0) &&
	       instance_take_text(out->id, sizeof(out->id), cairn_json_text_of(json, "AccessKeyId")) &&
	       instance_take_text(out->secret, sizeof(out->secret), cairn_json_text_of(json, "SecretAccessKey")) &&
	       instance_take_text(out->token, sizeof(out->token), cairn_json_text_of(json, "Token")) &&
	       instance_take_end(&out->ends_unix_s, cairn_json_text_of(json, "Expiration")) && out->id[0] &&
	       out->secret[0];
}

static void instance_forget(struct cairn_buf *answer)
{
	if (answer->bytes)
		explicit_bzero(answer->bytes, answer->len);
	cairn_buf_fini(answer);
}

enum cairn_status s3_instance_read(const struct s3_instance *instance, struct s3_credentials *out,
				   struct cairn_diag *diag)
{
	char line[INSTANCE_LINE_BYTES] = "", url[INSTANCE_PAGE_BYTES];
	CLEANUP(instance_free_http) struct s3_http *http = s3_http_new("");
	CLEANUP(instance_forget) struct cairn_buf answer = cairn_buf_init(INSTANCE_ANSWER_BYTES_MAX);
	*out = (struct s3_credentials){.id = ""};
	(void)snprintf(url, sizeof(url), "%s", instance->url);
	if (!http)
		return CAIRN_E_NOMEM;
	enum cairn_status status = instance->is_machine ? instance_find_role(instance, http, &answer, line, url, diag)
							: instance_authorize(line, diag);
	if (status == CAIRN_OK)
		status = instance_ask(http, "GET", url, line, &answer, diag);
	explicit_bzero(line, sizeof(line));
	if (status != CAIRN_OK || instance_take(out, &answer))
		return status;
	explicit_bzero(out, sizeof(*out));
	return cairn_fail(diag, CAIRN_E_IO, "store.credentials", CAIRN_NO_OFFSET,
			  "%s answered no access key (AccessKeyId, SecretAccessKey, Token, Expiration)", url);
}
