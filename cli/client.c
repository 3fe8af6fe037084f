#include "cli/client.h"

#include "base/json.h"
#include "hash/crypto.h"
#include "hash/hash.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	CLIENT_CONNECT_TIMEOUT_S = 30,
	CLIENT_STALL_TIMEOUT_S = 300, /* without a byte in either direction */
	CLIENT_RETRY_FIRST_MS = 500,
	CLIENT_RETRY_MAX_MS = 60 * 1000,
	CLIENT_ERROR_BYTES_MAX = 64 * 1024,
};

struct client {
	CURL *curl;
	struct curl_slist *headers;
	char *url; /* without a slash at its end */
	unsigned retries;
	uint64_t bytes_sent;
	char error[CURL_ERROR_SIZE];
};

/* One exchange. */
struct client_exchange {
	struct client *c;
	struct cairn_buf *answer; /* of the caller */
	struct cairn_buf error;   /* what came with a status that is not 2xx */
	long code;
};

/* --- opening ------------------------------------------------------------------------------------------------------ */

static void client_free(struct client *c)
{
	if (!c)
		return;
	curl_slist_free_all(c->headers);
	curl_easy_cleanup(c->curl);
	free(c->url);
	free(c);
}

void client_freep(struct client **c)
{
	client_free(*c);
	*c = NULL;
}

static bool client_add_header(struct client *c, const char *name, const char *value)
{
	char *line = NULL;
	if (asprintf(&line, "%s: %s", name, value) < 0)
		return false;
	struct curl_slist *longer = curl_slist_append(c->headers, line);
	explicit_bzero(line, strlen(line)); /* it may hold the token */
	free(line);
	if (longer)
		c->headers = longer;
	return longer != NULL;
}

static bool client_set_headers(struct client *c, const char *token)
{
	uint8_t id[16];
	char session[2 * sizeof(id) + 1];
	if (cairn_random(id, sizeof(id)) != CAIRN_OK)
		return false;
	cairn_hex_text(session, id, sizeof(id));
	char *bearer = NULL;
	if (token && asprintf(&bearer, "Bearer %s", token) < 0)
		return false;
	bool ok = client_add_header(c, "X-Xet-Session-Id", session) &&
		  client_add_header(c, "Content-Type", "application/octet-stream") &&
		  client_add_header(c, "Expect", "") && (!bearer || client_add_header(c, "Authorization", bearer));
	if (bearer)
		explicit_bzero(bearer, strlen(bearer));
	free(bearer);
	return ok;
}

static size_t client_take_body(char *bytes, size_t size, size_t n, void *ctx)
{
	struct client_exchange *x = ctx;
	if (x->code == 0)
		(void)curl_easy_getinfo(x->c->curl, CURLINFO_RESPONSE_CODE, &x->code);
	struct cairn_buf *to = x->code / 100 == 2 ? x->answer : &x->error;
	cairn_buf_add(to, bytes, size * n);
	return to->status == CAIRN_OK ? size * n : 0;
}

static void client_set_options(struct client *c)
{
	CURL *h = c->curl;
	(void)curl_easy_setopt(h, CURLOPT_ERRORBUFFER, c->error);
	(void)curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(h, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	(void)curl_easy_setopt(h, CURLOPT_USERAGENT, "cairn/" CAIRN_VERSION);
	(void)curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT, (long)CLIENT_CONNECT_TIMEOUT_S);
	(void)curl_easy_setopt(h, CURLOPT_LOW_SPEED_LIMIT, 1L);
	(void)curl_easy_setopt(h, CURLOPT_LOW_SPEED_TIME, (long)CLIENT_STALL_TIMEOUT_S);
	(void)curl_easy_setopt(h, CURLOPT_HTTPHEADER, c->headers);
	(void)curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, client_take_body);
}

enum cairn_status client_new(struct client **out, const struct client_options *options, struct cairn_diag *diag)
{
	*out = NULL;
	if (strncmp(options->url, "http://", 7) != 0 && strncmp(options->url, "https://", 8) != 0)
		return cairn_fail(diag, CAIRN_E_USAGE, "server.url", CAIRN_NO_OFFSET,
				  "the server must be given as http://HOST:PORT or https://HOST:PORT");
	CLEANUP(client_freep) struct client *c = calloc(1, sizeof(*c));
	if (!c || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return CAIRN_E_NOMEM;
	c->curl = curl_easy_init();
	c->url = strdup(options->url);
	c->retries = options->retries;
	if (!c->curl || !c->url || !client_set_headers(c, options->token))
		return CAIRN_E_NOMEM;
	for (size_t n = strlen(c->url); n > 0 && c->url[n - 1] == '/'; n--)
		c->url[n - 1] = '\0';
	client_set_options(c);
	*out = c;
	c = NULL;
	return CAIRN_OK;
}

/* --- one exchange ------------------------------------------------------------------------------------------------- */

static void client_exchange_fini(struct client_exchange *x)
{
	cairn_buf_fini(&x->error);
}

static void client_set_method(CURL *h, enum client_method method, const uint8_t *body, size_t body_len)
{
	(void)curl_easy_setopt(h, CURLOPT_NOBODY, method == CLIENT_HEAD ? 1L : 0L);
	if (method == CLIENT_GET)
		(void)curl_easy_setopt(h, CURLOPT_HTTPGET, 1L);
	if (method != CLIENT_POST)
		return;
	(void)curl_easy_setopt(h, CURLOPT_POST, 1L);
	(void)curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body_len);
	(void)curl_easy_setopt(h, CURLOPT_POSTFIELDS, body_len > 0 ? (const char *)body : "");
}

/* What the server says is wrong, in its own words if it has some. */
static void client_explain(const struct client_exchange *x, const char *what, struct cairn_diag *diag)
{
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	const char *message = NULL;
	if (x->error.len > 0 && cairn_json_parse(&json, (const char *)x->error.bytes, x->error.len) == CAIRN_OK) {
		const struct cairn_json *error = cairn_json_get(json, "error");
		message = cairn_json_string(cairn_json_get(error, "message"));
		if (!message)
			message = cairn_json_string(error);
	}
	(void)cairn_fail(diag, CAIRN_OK, "server.answer", CAIRN_NO_OFFSET, "the server %s (%ld)%s%s", what, x->code,
			 message ? ": " : "", message ? message : "");
}

static enum cairn_status client_judge_code(const struct client_exchange *x, struct cairn_diag *diag)
{
	if (x->code / 100 == 2)
		return CAIRN_OK;
	if (x->code == 404) {
		client_explain(x, "does not know it", diag);
		return CAIRN_E_NOT_FOUND;
	}
	if (x->code == 401 || x->code == 403) {
		client_explain(x, x->code == 401 ? "wants a valid token" : "does not permit it with this token", diag);
		return CAIRN_E_DENIED;
	}
	if (x->code == 429 || x->code / 100 == 5) {
		client_explain(x, x->code == 501 ? "does not offer it" : "cannot do it now", diag);
		return CAIRN_E_BUSY;
	}
	client_explain(x, "refuses it", diag);
	return CAIRN_E_FORMAT;
}

static enum cairn_status client_judge_curl(const struct client_exchange *x, CURLcode rc, struct cairn_diag *diag)
{
	if (rc == CURLE_OUT_OF_MEMORY || x->answer->status == CAIRN_E_NOMEM)
		return CAIRN_E_NOMEM;
	if (x->answer->status == CAIRN_E_LIMIT)
		return cairn_fail(diag, CAIRN_E_LIMIT, "server.answer", CAIRN_NO_OFFSET,
				  "the server's answer is longer than %zu bytes", x->answer->max);
	/* An answer that came before the whole body was sent is an answer. */
	if (rc != CURLE_WRITE_ERROR && x->code >= 400)
		return client_judge_code(x, diag);
	return cairn_fail(diag, CAIRN_E_BUSY, "server.connection", CAIRN_NO_OFFSET, "cannot reach %s: %s", x->c->url,
			  x->c->error[0] ? x->c->error : curl_easy_strerror(rc));
}

static enum cairn_status client_once(struct client_exchange *x, enum client_method method, const char *path,
				     const uint8_t *body, size_t body_len, bool *again, struct cairn_diag *diag)
{
	CURL *h = x->c->curl;
	char *url = NULL;
	if (asprintf(&url, "%s%s", x->c->url, path) < 0)
		return CAIRN_E_NOMEM;
	client_set_method(h, method, body, body_len);
	(void)curl_easy_setopt(h, CURLOPT_URL, url);
	(void)curl_easy_setopt(h, CURLOPT_WRITEDATA, x);
	x->c->error[0] = '\0';
	CURLcode rc = curl_easy_perform(h);
	(void)curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &x->code);
	free(url);
	enum cairn_status status = rc == CURLE_OK ? client_judge_code(x, diag) : client_judge_curl(x, rc, diag);
	/* A server that is not there, or a name without an address, will hardly be there in a second. */
	bool lost = rc != CURLE_OK && rc != CURLE_COULDNT_CONNECT && rc != CURLE_COULDNT_RESOLVE_HOST &&
		    rc != CURLE_PEER_FAILED_VERIFICATION && rc != CURLE_URL_MALFORMAT;
	*again = status == CAIRN_E_BUSY && (x->code >= 400 ? x->code != 501 : lost);
	return status;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static void client_wait(struct client *c, unsigned try)
{
	curl_off_t retry_after_s = 0;
	(void)curl_easy_getinfo(c->curl, CURLINFO_RETRY_AFTER, &retry_after_s);
	int64_t ms = retry_after_s > 0 ? (int64_t)retry_after_s * 1000
				       : INT64_C(1) * CLIENT_RETRY_FIRST_MS << (try < 16 ? try : 16);
	if (ms > CLIENT_RETRY_MAX_MS || retry_after_s > CLIENT_RETRY_MAX_MS / 1000)
		ms = CLIENT_RETRY_MAX_MS;
	struct timespec left = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		continue;
}

enum cairn_status client_request(struct client *c, enum client_method method, const char *path, const uint8_t *body,
				 size_t body_len, struct cairn_buf *answer, struct cairn_diag *diag)
{
	for (unsigned try = 0;; try++) {
		CLEANUP(client_exchange_fini)
		struct client_exchange x = {.c = c, .answer = answer, .error = cairn_buf_init(CLIENT_ERROR_BYTES_MAX)};
		struct cairn_diag why = {0};
		bool again = false;
		answer->len = 0;
		enum cairn_status status = client_once(&x, method, path, body, body_len, &again, &why);
		if (status == CAIRN_OK)
			c->bytes_sent += body_len;
		if (!again || try == c->retries) {
			if (status != CAIRN_OK && diag && !diag->rule)
				*diag = why;
			return status;
		}
		client_wait(c, try);
	}
}

uint64_t client_bytes_sent(const struct client *c)
{
	return c->bytes_sent;
}
