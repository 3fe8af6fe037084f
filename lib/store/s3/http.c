/* The only includer of libcurl in the library; the signatures are ours (sigv4.h). */
#include "store/s3/http.h"

#include "base/clock.h"
#include "base/fd.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HTTP_BLOCK_BYTES = 512 * 1024 };

struct s3_http {
	pthread_mutex_t lock; /* guards the fields below */
	CURL *idle[S3_HTTP_IDLE_MAX];
	size_t n_idle;
	bool silent;
	int64_t heard_ms; /* when the server last sent anything */
	int64_t probe_ms; /* when a silent server may be tried again */
	const char *ca;   /* borrowed */
};

/* A request and its answer. */
struct http_run {
	struct s3_http *http;
	struct s3_http_call *call;
	CURL *curl;
	uint64_t sent; /* bytes of the body */
	bool body_failed;
	int64_t moved_ms; /* when a byte last moved in either direction */
	curl_off_t n_moved, n_received;
};

struct s3_http *s3_http_new(const char *ca)
{
	struct s3_http *h = calloc(1, sizeof(*h));
	if (!h || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		free(h);
		return NULL;
	}
	pthread_mutex_init(&h->lock, NULL);
	h->ca = ca;
	return h;
}

void s3_http_free(struct s3_http *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->n_idle; i++)
		curl_easy_cleanup(h->idle[i]);
	pthread_mutex_destroy(&h->lock);
	free(h);
	curl_global_cleanup();
}

/* --- the server's state ------------------------------------------------------------------------------------------- */

/* @return false: the server is silent, and another thread is trying it */
static bool http_may_try(struct s3_http *h)
{
	int64_t now_ms = cairn_clock_mono_ms();
	pthread_mutex_lock(&h->lock);
	bool may = !h->silent || now_ms >= h->probe_ms;
	if (h->silent && may)
		h->probe_ms = now_ms + S3_HTTP_PROBE_MS;
	pthread_mutex_unlock(&h->lock);
	return may;
}

static void http_heard(struct s3_http *h)
{
	pthread_mutex_lock(&h->lock);
	h->silent = false;
	h->heard_ms = cairn_clock_mono_ms();
	pthread_mutex_unlock(&h->lock);
}

/* Counts the server as silent only if no answer arrives: a single slow answer does not count. */
static void http_unheard(struct s3_http *h)
{
	int64_t now_ms = cairn_clock_mono_ms();
	pthread_mutex_lock(&h->lock);
	if (now_ms - h->heard_ms >= S3_HTTP_CONNECT_MS) {
		h->silent = true;
		h->probe_ms = now_ms + S3_HTTP_PROBE_MS;
	}
	pthread_mutex_unlock(&h->lock);
}

static CURL *http_take(struct s3_http *h)
{
	CURL *curl = NULL;
	pthread_mutex_lock(&h->lock);
	if (h->n_idle > 0)
		curl = h->idle[--h->n_idle];
	pthread_mutex_unlock(&h->lock);
	return curl ? curl : curl_easy_init();
}

static void http_give(struct s3_http *h, CURL *curl)
{
	pthread_mutex_lock(&h->lock);
	bool kept = h->n_idle < S3_HTTP_IDLE_MAX;
	if (kept)
		h->idle[h->n_idle++] = curl;
	pthread_mutex_unlock(&h->lock);
	if (!kept)
		curl_easy_cleanup(curl);
}

/* --- what libcurl calls ------------------------------------------------------------------------------------------- */

static size_t http_read_body(char *out, size_t size, size_t n, void *ctx)
{
	struct http_run *run = ctx;
	const struct s3_http_call *call = run->call;
	uint64_t left = call->body_bytes - run->sent;
	size_t len = size * n < left ? size * n : (size_t)left;
	if (call->body)
		memcpy(out, call->body + run->sent, len);
	else if (cairn_fd_read_at(call->body_fd, run->sent, out, len) != CAIRN_OK)
		run->body_failed = true;
	run->sent += len;
	return run->body_failed ? CURL_READFUNC_ABORT : len;
}

/* Rewinds the body, to send it again on a new connection. */
static int http_seek_body(void *ctx, curl_off_t offset, int origin)
{
	struct http_run *run = ctx;
	if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > run->call->body_bytes)
		return CURL_SEEKFUNC_CANTSEEK;
	run->sent = (uint64_t)offset;
	return CURL_SEEKFUNC_OK;
}

static size_t http_take_answer(char *bytes, size_t size, size_t n, void *ctx)
{
	struct http_run *run = ctx;
	struct s3_http_call *call = run->call;
	size_t len = size * n;
	long code = 0;
	(void)curl_easy_getinfo(run->curl, CURLINFO_RESPONSE_CODE, &code);
	if (code != 206) {
		cairn_buf_add(call->answer, bytes, len);
		return call->answer->status == CAIRN_OK ? len : 0;
	}
	if (len > call->into_bytes - call->n_into)
		return 0;
	memcpy(call->into + call->n_into, bytes, len);
	call->n_into += len;
	return len;
}

/* Called about once a second, also if nothing moves. */
static int http_watch(void *ctx, curl_off_t down_all, curl_off_t down, curl_off_t up_all, curl_off_t up)
{
	struct http_run *run = ctx;
	int64_t now_ms = cairn_clock_mono_ms();
	(void)down_all, (void)up_all;
	if (down + up - run->n_moved >= (run->n_moved == 0 ? 1 : S3_HTTP_MOVES_BYTES)) {
		run->n_moved = down + up;
		run->moved_ms = now_ms;
	}
	if (down != run->n_received) {
		run->n_received = down;
		http_heard(run->http);
	}
	return now_ms - run->moved_ms > S3_HTTP_SILENCE_MS;
}

/* --- an exchange -------------------------------------------------------------------------------------------------- */

static void http_set_body(struct http_run *run)
{
	CURL *curl = run->curl;
	if (strcmp(run->call->method, "PUT") == 0) {
		curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
		curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)run->call->body_bytes);
		curl_easy_setopt(curl, CURLOPT_READFUNCTION, http_read_body);
		curl_easy_setopt(curl, CURLOPT_READDATA, run);
		curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, http_seek_body);
		curl_easy_setopt(curl, CURLOPT_SEEKDATA, run);
		curl_easy_setopt(curl, CURLOPT_UPLOAD_BUFFERSIZE, (long)HTTP_BLOCK_BYTES);
	} else if (strcmp(run->call->method, "GET") != 0) {
		curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, run->call->method);
	}
}

/* Sends only to this server: follows no redirection, and uses no proxy of the environment. */
static void http_set_up(struct http_run *run, struct curl_slist *headers)
{
	CURL *curl = run->curl;
	curl_easy_reset(curl);
	curl_easy_setopt(curl, CURLOPT_URL, run->call->url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	if (run->http->ca[0]) { /* only these authorities */
		curl_easy_setopt(curl, CURLOPT_CAINFO, run->http->ca);
		curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
	}
	curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)S3_HTTP_CONNECT_MS);
	curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, (long)HTTP_BLOCK_BYTES);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, http_take_answer);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, run);
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, http_watch);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, run);
	http_set_body(run);
}

static void http_free_headers(struct curl_slist **headers)
{
	curl_slist_free_all(*headers);
}

static bool http_add_header(struct curl_slist **headers, const char *line)
{
	struct curl_slist *more = curl_slist_append(*headers, line);
	if (more)
		*headers = more;
	return more != NULL;
}

/* "Expect:" removes that header, which would cost a round trip before each body. */
static bool http_make_headers(struct curl_slist **headers, const struct s3_http_call *call)
{
	bool made = http_add_header(headers, "Expect:");
	for (size_t i = 0; i < call->n_headers && made; i++)
		made = http_add_header(headers, call->headers[i]);
	return made;
}

static void http_take_header(struct http_run *run, const char *name, char *out, size_t out_len)
{
	struct curl_header *header;
	out[0] = '\0';
	if (curl_easy_header(run->curl, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK &&
	    strlen(header->value) < out_len)
		memcpy(out, header->value, strlen(header->value) + 1);
}

static void http_take_headers(struct http_run *run)
{
	struct s3_http_call *call = run->call;
	http_take_header(run, "ETag", call->etag, sizeof(call->etag));
	http_take_header(run, "Last-Modified", call->modified, sizeof(call->modified));
	http_take_header(run, "Content-Range", call->range, sizeof(call->range));
}

static CURLcode http_exchange(struct http_run *run, struct curl_slist *headers)
{
	long code = 0;
	run->sent = 0;
	run->n_moved = run->n_received = 0;
	run->moved_ms = cairn_clock_mono_ms();
	run->call->n_into = 0;
	if (run->call->answer)
		run->call->answer->len = 0;
	http_set_up(run, headers);
	CURLcode rc = curl_easy_perform(run->curl);
	(void)curl_easy_getinfo(run->curl, CURLINFO_RESPONSE_CODE, &code);
	run->call->code = (unsigned)code;
	http_take_headers(run);
	return rc;
}

static enum cairn_status http_judge(struct http_run *run, CURLcode rc, struct cairn_diag *diag)
{
	const struct s3_http_call *call = run->call;
	if (rc == CURLE_OK) {
		http_heard(run->http);
		return CAIRN_OK;
	}
	if (rc == CURLE_OUT_OF_MEMORY || (call->answer && call->answer->status == CAIRN_E_NOMEM))
		return CAIRN_E_NOMEM;
	if (run->body_failed)
		return CAIRN_E_IO;
	if (rc == CURLE_WRITE_ERROR)
		return CAIRN_E_LIMIT;
	http_unheard(run->http);
	return cairn_fail(diag, CAIRN_E_BUSY, "store.silent", CAIRN_NO_OFFSET, "the object store does not answer: %s",
			  rc == CURLE_ABORTED_BY_CALLBACK ? "it was silent for 3 s" : curl_easy_strerror(rc));
}

/* Returns whether a request failed at once, on a closed connection. A failure after a wait has another cause. */
static bool http_failed_at_once(CURLcode rc, int64_t began_ms)
{
	return (rc == CURLE_SEND_ERROR || rc == CURLE_RECV_ERROR || rc == CURLE_GOT_NOTHING ||
		rc == CURLE_COULDNT_CONNECT || rc == CURLE_PARTIAL_FILE) &&
	       cairn_clock_mono_ms() - began_ms < S3_HTTP_PROBE_MS;
}

enum cairn_status s3_http_send(struct s3_http *h, struct s3_http_call *call, struct cairn_diag *diag)
{
	CLEANUP(http_free_headers) struct curl_slist *headers = NULL;
	if (!http_may_try(h))
		return cairn_fail(diag, CAIRN_E_BUSY, "store.silent", CAIRN_NO_OFFSET,
				  "the object store does not answer since a moment ago");
	struct http_run run = {.http = h, .call = call, .curl = http_take(h)};
	if (!run.curl)
		return CAIRN_E_NOMEM;
	int64_t began_ms = cairn_clock_mono_ms();
	CURLcode rc = CURLE_OUT_OF_MEMORY;
	if (http_make_headers(&headers, call))
		rc = http_exchange(&run, headers);
	if (http_failed_at_once(rc, began_ms))
		rc = http_exchange(&run, headers);
	enum cairn_status status = http_judge(&run, rc, diag);
	http_give(h, run.curl);
	return status;
}
