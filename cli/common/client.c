#include "cli/common/client.h"

#include "base/json.h"
#include "base/sys.h"
#include "cli/common/cli.h"
#include "cli/common/client_work.h"
#include "hash/crypto.h"
#include "hash/hash.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	CLIENT_CONNECT_TIMEOUT_S = 30,
	CLIENT_STALL_TIMEOUT_S = 300, /* longest time without a byte in either direction */
	CLIENT_SMALL_TIMEOUT_S = 30,  /* the same, for requests that are answered at once */
	CLIENT_RETRY_FIRST_MS = 500,
	CLIENT_RETRY_MAX_MS = 60 * 1000,
	CLIENT_REPORT_FROM_MS = 2000, /* waits and failed tries that take at least this long are reported */
};

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
	explicit_bzero(line, strlen(line)); /* the text may contain the token */
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

static int client_on_progress(void *ctx, curl_off_t to_receive, curl_off_t received, curl_off_t to_send,
			      curl_off_t sent)
{
	struct client *c = ctx;
	(void)to_receive, (void)received, (void)to_send;
	if (c->watched)
		atomic_store_explicit(c->watched, (uint64_t)sent, memory_order_relaxed);
	return c->stop && atomic_load(c->stop);
}

static void client_set_progress(struct client *c)
{
	(void)curl_easy_setopt(c->curl, CURLOPT_XFERINFOFUNCTION, client_on_progress);
	(void)curl_easy_setopt(c->curl, CURLOPT_XFERINFODATA, c);
	(void)curl_easy_setopt(c->curl, CURLOPT_NOPROGRESS, c->watched || c->stop ? 0L : 1L);
}

void client_watch(struct client *c, _Atomic uint64_t *sent)
{
	c->watched = sent;
	client_set_progress(c);
}

void client_give_up_at_once(struct client *c, const atomic_bool *stop)
{
	c->retries = 0;
	c->stop = stop;
	client_set_progress(c);
}

void client_hurry(struct client *c)
{
	c->hurries = true;
	(void)curl_easy_setopt(c->curl, CURLOPT_LOW_SPEED_TIME, (long)CLIENT_SMALL_TIMEOUT_S);
}

static void client_set_options(struct client *c)
{
	CURL *h = c->curl;
	(void)curl_easy_setopt(h, CURLOPT_ERRORBUFFER, c->error);
	(void)curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
	if (getenv("SSL_CERT_FILE")) /* CA certificates from the variables of hf_xet and curl, which libcurl ignores */
		(void)curl_easy_setopt(h, CURLOPT_CAINFO, getenv("SSL_CERT_FILE"));
	(void)curl_easy_setopt(h, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	(void)curl_easy_setopt(h, CURLOPT_USERAGENT, "cairn/" CAIRN_VERSION);
	(void)curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT, (long)CLIENT_CONNECT_TIMEOUT_S);
	(void)curl_easy_setopt(h, CURLOPT_LOW_SPEED_LIMIT, 1L);
	(void)curl_easy_setopt(h, CURLOPT_LOW_SPEED_TIME, (long)CLIENT_STALL_TIMEOUT_S);
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
	c->verbose = options->verbose;
	c->has_key = options->token && strncmp(options->token, "hf_", 3) == 0;
	c->reached = &c->reached_here;
	if (!c->curl || !c->url || !client_set_headers(c, options->token))
		return CAIRN_E_NOMEM;
	for (size_t n = strlen(c->url); n > 0 && c->url[n - 1] == '/'; n--)
		c->url[n - 1] = '\0';
	client_set_options(c);
	*out = c;
	c = NULL;
	return CAIRN_OK;
}

bool client_has_key(const struct client *c)
{
	return c->has_key;
}

enum cairn_status client_new_like(struct client **out, const struct client *c)
{
	CLEANUP(client_freep) struct client *other = calloc(1, sizeof(*other));
	*out = NULL;
	if (!other)
		return CAIRN_E_NOMEM;
	other->curl = curl_easy_init();
	other->url = strdup(c->url);
	other->retries = c->retries;
	other->verbose = c->verbose;
	other->has_key = c->has_key;
	other->reached = c->reached;
	for (const struct curl_slist *h = c->headers; h; h = h->next) {
		struct curl_slist *longer = curl_slist_append(other->headers, h->data);
		if (!longer)
			return CAIRN_E_NOMEM;
		other->headers = longer;
	}
	if (!other->curl || !other->url)
		return CAIRN_E_NOMEM;
	client_set_options(other);
	*out = other;
	other = NULL;
	return CAIRN_OK;
}

void client_exchange_fini(struct client_exchange *x)
{
	cairn_buf_fini(&x->error);
}

void client_set_method(CURL *h, enum client_method method, const uint8_t *body, size_t body_len)
{
	(void)curl_easy_setopt(h, CURLOPT_NOBODY, method == CLIENT_HEAD ? 1L : 0L);
	(void)curl_easy_setopt(h, CURLOPT_CUSTOMREQUEST, method == CLIENT_DELETE ? "DELETE" : NULL);
	if (method == CLIENT_GET || method == CLIENT_DELETE)
		(void)curl_easy_setopt(h, CURLOPT_HTTPGET, 1L);
	if (method != CLIENT_POST)
		return;
	(void)curl_easy_setopt(h, CURLOPT_POST, 1L);
	(void)curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body_len);
	(void)curl_easy_setopt(h, CURLOPT_POSTFIELDS, body_len > 0 ? (const char *)body : "");
}

/* Reports the server's error, with its own message if there is one, after the rule and the request's id. */
static void client_explain(const struct client_exchange *x, const char *what, struct cairn_diag *diag)
{
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	const struct cairn_json *error = NULL;
	struct curl_header *id = NULL;
	int64_t offset = -1;
	if (x->error.len > 0 && client_json(&json, &x->error) == CAIRN_OK)
		error = cairn_json_get(json, "error");
	const char *rule = cairn_json_text_of(error, "code");
	const char *message = cairn_json_text_of(error, "message");
	const char *expected = cairn_json_text_of(error, "expected");
	const char *actual = cairn_json_text_of(error, "actual");
	if (!message)
		message = cairn_json_string(error);
	/* read the id from the header, because the answer to a HEAD has no body */
	bool has_id = curl_easy_header(x->c->curl, "X-Request-Id", 0, CURLH_HEADER, -1, &id) == CURLHE_OK;
	bool has_offset = cairn_json_i64_of(error, "offset", &offset) && offset >= 0;
	(void)cairn_fail(diag, CAIRN_OK, "server.answer", has_offset ? (uint64_t)offset : CAIRN_NO_OFFSET,
			 "the server %s (%ld%s%.60s%s%.60s)%s%s", what, x->code, rule ? " " : "", rule ? rule : "",
			 has_id ? ", request " : "", has_id ? id->value : "", message ? ": " : "",
			 message ? message : "");
	cairn_diag_values(diag, expected ? expected : "", actual ? actual : "");
}

static enum cairn_status client_judge_code(const struct client_exchange *x, struct cairn_diag *diag)
{
	if (x->code / 100 == 2)
		return CAIRN_OK;
	if (x->code == 404 || x->code == 410) {
		client_explain(x, x->code == 404 ? "does not know it" : "does not have it any more", diag);
		return CAIRN_E_NOT_FOUND;
	}
	if (x->code == 401 || x->code == 403) {
		client_explain(x,
			       x->code == 403 ? "does not permit it with this token"
			       : x->c->has_key
				       ? "does not take this API key; it is wrong, or a token is wanted (cairn token)"
				       : "wants a valid token by --token, --token-file or CAIRN_TOKEN",
			       diag);
		return CAIRN_E_DENIED;
	}
	if (x->code == 429 || x->code / 100 == 5) {
		client_explain(x, x->code == 501 ? "does not offer it" : "cannot do it now", diag);
		return CAIRN_E_BUSY;
	}
	client_explain(x, "refuses it", diag);
	return CAIRN_E_FORMAT;
}

/* Returns advice for the message. */
static const char *client_advice(CURLcode rc)
{
	if (rc == CURLE_PEER_FAILED_VERIFICATION)
		return "; to trust its certificate, name the file with it in SSL_CERT_FILE";
	if (rc == CURLE_COULDNT_CONNECT || rc == CURLE_COULDNT_RESOLVE_HOST)
		return "; is it running, and is that its address (--server)?";
	if (rc == CURLE_SSL_CONNECT_ERROR || rc == CURLE_GOT_NOTHING)
		return "; does it speak https there, or http?";
	return "";
}

static enum cairn_status client_judge_curl(const struct client_exchange *x, CURLcode rc, struct cairn_diag *diag)
{
	if (rc == CURLE_OUT_OF_MEMORY || x->answer->status == CAIRN_E_NOMEM)
		return CAIRN_E_NOMEM;
	if (x->answer->status == CAIRN_E_LIMIT)
		return cairn_fail(diag, CAIRN_E_LIMIT, "server.answer", CAIRN_NO_OFFSET,
				  "the server's answer is longer than %zu bytes", x->answer->max);
	/* A server may answer before it has the whole body; accept that answer. */
	if (rc != CURLE_WRITE_ERROR && x->code >= 400)
		return client_judge_code(x, diag);
	return cairn_fail(diag, CAIRN_E_BUSY, "server.connection", CAIRN_NO_OFFSET, "cannot reach %.80s: %s%s",
			  x->c->url, x->c->error[0] ? x->c->error : curl_easy_strerror(rc), client_advice(rc));
}

enum cairn_status client_judge(const struct client_exchange *x, CURLcode rc, struct cairn_diag *diag)
{
	return rc == CURLE_OK ? client_judge_code(x, diag) : client_judge_curl(x, rc, diag);
}

bool client_may_help(const struct client_exchange *x, CURLcode rc, enum cairn_status status)
{
	bool absent = rc == CURLE_COULDNT_CONNECT || rc == CURLE_COULDNT_RESOLVE_HOST;
	bool lost = rc != CURLE_OK && (!absent || atomic_load(x->c->reached)) && rc != CURLE_PEER_FAILED_VERIFICATION &&
		    rc != CURLE_URL_MALFORMAT;
	return status == CAIRN_E_BUSY && (x->code >= 400 ? x->code != 501 : lost);
}

/* Prints an exchange for --verbose. Omits host and query, which may contain a password or a signature. */
static void client_print_exchange(const struct client_exchange *x, CURLcode rc)
{
	CURL *h = x->c->curl;
	char *url = NULL, *method = NULL;
	curl_off_t sent = 0, received = 0, took_us = 0;
	if (curl_easy_getinfo(h, CURLINFO_EFFECTIVE_URL, &url) != CURLE_OK || !url)
		return;
	(void)curl_easy_getinfo(h, CURLINFO_EFFECTIVE_METHOD, &method);
	(void)curl_easy_getinfo(h, CURLINFO_SIZE_UPLOAD_T, &sent);
	(void)curl_easy_getinfo(h, CURLINFO_SIZE_DOWNLOAD_T, &received);
	(void)curl_easy_getinfo(h, CURLINFO_TOTAL_TIME_T, &took_us);
	const char *host = strstr(url, "://"), *path = host ? strchr(host + 3, '/') : NULL;
	cli_note("%s %.*s: %ld%s%s, %" PRId64 " bytes sent, %" PRId64 " received, %" PRId64 " ms",
		 method ? method : "?", path ? (int)strcspn(path, "?") : 1, path ? path : "/", x->code,
		 rc == CURLE_OK ? "" : " ", rc == CURLE_OK ? "" : curl_easy_strerror(rc), (int64_t)sent,
		 (int64_t)received, (int64_t)took_us / 1000);
}

CURLcode client_perform(struct client_exchange *x)
{
	CURL *h = x->c->curl;
	x->c->error[0] = '\0';
	CURLcode rc = curl_easy_perform(h);
	(void)curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &x->code);
	if (x->code > 0)
		atomic_store(x->c->reached, true);
	if (x->c->verbose)
		client_print_exchange(x, rc);
	return rc;
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
	(void)curl_easy_setopt(h, CURLOPT_RANGE, x->range);
	(void)curl_easy_setopt(h, CURLOPT_HTTPHEADER, x->c->headers);
	(void)curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, client_take_body);
	(void)curl_easy_setopt(h, CURLOPT_WRITEDATA, x);
	CURLcode rc = client_perform(x);
	free(url);
	enum cairn_status status = client_judge(x, rc, diag);
	*again = client_may_help(x, rc, status);
	return status;
}

/* Explains a delay to a person at the terminal; the bar is drawn again afterwards. A try that timed out is always
 * reported, because nothing else explains the delay. */
static void client_print_wait(const struct client *c, const struct cairn_diag *why, int64_t ms)
{
	bool looked_at = isatty(STDERR_FILENO);
	curl_off_t tried_us = 0;
	(void)curl_easy_getinfo(c->curl, CURLINFO_TOTAL_TIME_T, &tried_us);
	bool waited = c->hurries && tried_us / 1000 >= CLIENT_REPORT_FROM_MS;
	if (!waited && (ms < CLIENT_REPORT_FROM_MS || !looked_at))
		return;
	if (looked_at)
		(void)fputs("\r\033[K", stderr);
	cli_note("%s; trying again in %" PRId64 ".%" PRId64 " s", why->text, ms / 1000, ms % 1000 / 100);
}

void client_wait(struct client *c, unsigned try, const struct cairn_diag *why)
{
	curl_off_t retry_after_s = 0;
	(void)curl_easy_getinfo(c->curl, CURLINFO_RETRY_AFTER, &retry_after_s);
	int64_t ms = retry_after_s > 0 ? (int64_t)retry_after_s * 1000
				       : INT64_C(1) * CLIENT_RETRY_FIRST_MS << (try < 16 ? try : 16);
	if (ms > CLIENT_RETRY_MAX_MS || retry_after_s > CLIENT_RETRY_MAX_MS / 1000)
		ms = CLIENT_RETRY_MAX_MS;
	client_print_wait(c, why, ms);
	cairn_sys_sleep_ms(ms);
}

struct client_call {
	enum client_method method;
	const char *path, *range;
	const uint8_t *body;
	size_t body_len;
};

static enum cairn_status client_try(struct client *c, const struct client_call *call, struct cairn_buf *answer,
				    struct cairn_diag *diag)
{
	for (unsigned try = 0;; try++) {
		CLEANUP(client_exchange_fini)
		struct client_exchange x = {.c = c,
					    .answer = answer,
					    .error = cairn_buf_init(CLIENT_ERROR_BYTES_MAX),
					    .range = call->range};
		struct cairn_diag why = {0};
		bool again = false;
		answer->len = 0;
		enum cairn_status status =
			client_once(&x, call->method, call->path, call->body, call->body_len, &again, &why);
		if (status == CAIRN_OK)
			c->bytes_sent += call->body_len;
		if (!again || try == c->retries) {
			if (status != CAIRN_OK && diag && !diag->rule)
				*diag = why;
			return status;
		}
		client_wait(c, try, &why);
	}
}

enum cairn_status client_request(struct client *c, enum client_method method, const char *path, const uint8_t *body,
				 size_t body_len, struct cairn_buf *answer, struct cairn_diag *diag)
{
	const struct client_call call = {.method = method, .path = path, .body = body, .body_len = body_len};
	return client_try(c, &call, answer, diag);
}

enum cairn_status client_get_range(struct client *c, const char *path, uint64_t first, uint64_t last,
				   struct cairn_buf *answer, struct cairn_diag *diag)
{
	char range[CLIENT_RANGE_BYTES];
	(void)snprintf(range, sizeof(range), "%" PRIu64 "-%" PRIu64, first, last);
	const struct client_call call = {.method = CLIENT_GET, .path = path, .range = range};
	return client_try(c, &call, answer, diag);
}

enum cairn_status client_json(struct cairn_json **out, const struct cairn_buf *answer)
{
	return cairn_json_parse_some(out, (const char *)answer->bytes, answer->len, CLIENT_VALUES_MAX);
}

enum cairn_status client_head_bytes(struct client *c, const char *path, uint64_t *out, struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf none = cairn_buf_init(0);
	curl_off_t bytes = -1;
	enum cairn_status status = client_request(c, CLIENT_HEAD, path, NULL, 0, &none, diag);
	if (status != CAIRN_OK)
		return status;
	if (curl_easy_getinfo(c->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &bytes) != CURLE_OK || bytes < 0)
		return cairn_fail(diag, CAIRN_E_BUSY, "server.answer", CAIRN_NO_OFFSET,
				  "the server does not tell the length of %.100s", path);
	*out = (uint64_t)bytes;
	return CAIRN_OK;
}

uint64_t client_bytes_sent(const struct client *c)
{
	return c->bytes_sent;
}
