#include "mirror/net/net.h"
#include "mirror/net/rate.h"

#include "base/clock.h"
#include "base/decimal.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	NET_TURN_MS = 1000, /* the longest sleep of the thread; a new call wakes it */
	NET_MESSAGE_BYTES = CURL_ERROR_SIZE,
	NET_TOKEN_HEADER_BYTES = 4096 + 64,
	NET_BUFFER_BYTES = 256 << 10, /* receive buffer of a call with take() */
};

/* A call from mirror_net_ask() to its done(). */
struct net_transfer {
	struct mirror_net *net;
	struct mirror_call *call;
	struct net_transfer *next;
	CURL *curl;
	struct curl_slist *headers; /* owned; with the token */
	char url[MIRROR_URL_BYTES + MIRROR_ADDRESS_BYTES];
	size_t header_bytes;
	bool headers_too_long, body_began;
	bool head_ended; /* the empty line has come; libcurl takes a head that was cut off for a whole one */
	bool inward;     /* an address was refused, since its class is too dangerous */
	bool is_held;    /* paused until the rate allows more bytes */
	int64_t began_ms;
	char message[NET_MESSAGE_BYTES]; /* of libcurl, about a failure */
};

struct mirror_net {
	struct mirror_net_options options;
	CURLM *multi;                 /* for the thread alone, except curl_multi_wakeup() */
	struct net_transfer *running; /* for the thread alone; the newest first */
	struct mirror_rate rate;      /* for the thread alone */
	pthread_t thread;
	pthread_mutex_t lock; /* guards the rest */
	struct net_transfer *asked;
	unsigned n_calls; /* in both lists */
	bool stopping;
	/* Not under the lock. */
	atomic_bool is_down;
	_Atomic uint64_t body_bytes;
};

void mirror_net_stats(const struct mirror_net *net, bool *up, uint64_t *body_bytes)
{
	*up = !atomic_load(&net->is_down);
	*body_bytes = atomic_load(&net->body_bytes);
}

void mirror_call_fini(struct mirror_call *call)
{
	cairn_buf_fini(&call->body);
}

/* --- what libcurl calls ------------------------------------------------------------------------------------------- */

/* Returns the most dangerous class of addresses to which a transfer may connect. */
static enum mirror_reach net_reach(const struct net_transfer *t)
{
	return t->call->hop ? t->call->hop->reach : t->net->options.upstream->reach;
}

/* Makes a socket, unless the address is of a more dangerous class than the transfer allows. A proxy may be anywhere. */
static curl_socket_t net_open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct net_transfer *t = ctx;
	(void)purpose;
	if (!t->net->options.proxy && mirror_reach_of(&address->addr) > net_reach(t)) {
		t->inward = true;
		return CURL_SOCKET_BAD;
	}
	return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static size_t net_take_header(char *bytes, size_t size, size_t n, void *ctx)
{
	struct net_transfer *t = ctx;
	size_t len = size * n;
	if (len >= 5 && memcmp(bytes, "HTTP/", 5) == 0)
		t->head_ended = false; /* a status line; the head before it was that of an interim answer */
	else if (len > 0 && (bytes[0] == '\r' || bytes[0] == '\n'))
		t->head_ended = true;
	t->header_bytes += len;
	t->headers_too_long = t->header_bytes > MIRROR_HEADERS_BYTES_MAX;
	return t->headers_too_long ? 0 : len;
}

static void net_keep_header(CURL *curl, const char *name, char *out, size_t size)
{
	struct curl_header *header;
	out[0] = '\0';
	if (curl_easy_header(curl, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK && strlen(header->value) < size)
		memcpy(out, header->value, strlen(header->value) + 1);
}

static void net_keep_code(const struct net_transfer *t)
{
	long code = 0;
	(void)curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &code);
	t->call->code = (unsigned)code;
	net_keep_header(t->curl, "Content-Range", t->call->content_range, sizeof(t->call->content_range));
	net_keep_header(t->curl, "X-Xet-Hash", t->call->xet_hash, sizeof(t->call->xet_hash));
}

static size_t net_take_body(char *bytes, size_t size, size_t n, void *ctx)
{
	struct net_transfer *t = ctx;
	if (t->call->take && !t->body_began)
		net_keep_code(t);
	t->body_began = true;
	t->is_held = t->call->take && mirror_rate_wait_ms(&t->net->rate, cairn_clock_mono_ms()) > 0;
	if (t->is_held)
		return CURL_WRITEFUNC_PAUSE; /* libcurl keeps these bytes, and reads no more */
	mirror_rate_take(&t->net->rate, size * n);
	bool is_taken = t->call->take && t->call->code == 206;
	if (!is_taken || !t->call->take_counts)
		atomic_fetch_add(&t->net->body_bytes, size * n);
	if (is_taken)
		return t->call->take(t->call, (const uint8_t *)bytes, size * n) ? size * n : 0;
	cairn_buf_add(&t->call->body, bytes, size * n);
	return t->call->body.status == CAIRN_OK ? size * n : 0;
}

/* --- a transfer --------------------------------------------------------------------------------------------------- */

static void net_set_limits(struct net_transfer *t)
{
	CURL *curl = t->curl;
	const struct mirror_call *call = t->call;
	char range[48];
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)call->deadline_ms);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
			 call->deadline_ms > 0 ? (long)call->deadline_ms : 1000L * (long)call->silence_s);
	if (call->silence_s > 0) {
		curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, (long)MIRROR_TRICKLE_BYTES);
		curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)call->silence_s);
	}
	if (call->range_end > 0) {
		(void)snprintf(range, sizeof(range), "%" PRIu64 "-%" PRIu64, call->range_first, call->range_end - 1);
		curl_easy_setopt(curl, CURLOPT_RANGE, range);
		curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, (long)NET_BUFFER_BYTES);
	}
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, net_take_header);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, t);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, net_take_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, t);
	curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, net_open_socket);
	curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, t);
}

/* Returns the token to send: the hop's own, or, to the upstream itself, the call's. NULL: none. libcurl does not send
 * it to a proxy. */
static const char *net_token(const struct mirror_call *call)
{
	if (call->hop && call->hop_token)
		return call->hop_token;
	bool is_own = !call->hop || call->hop->is_own;
	return is_own && call->token && call->token[0] ? call->token : NULL;
}

/* @return false: no memory */
static bool net_set_token(struct net_transfer *t)
{
	const char *token = net_token(t->call);
	char header[NET_TOKEN_HEADER_BYTES];
	if (!token)
		return true;
	int n = snprintf(header, sizeof(header), "Authorization: Bearer %s", token);
	if (n > 0 && (size_t)n < sizeof(header))
		t->headers = curl_slist_append(NULL, header);
	explicit_bzero(header, sizeof(header));
	curl_easy_setopt(t->curl, CURLOPT_HTTPHEADER, t->headers);
	return t->headers != NULL;
}

/* Sets options of a transfer. It follows no redirect, and ignores proxies of the environment. The configured proxy gets
 * a tunnel, so that TLS protects the bytes there, too. libcurl verifies the certificate and its name by default. No
 * compression is asked for, so that no answer unpacks to more than was sent. */
static void net_set_up(struct net_transfer *t)
{
	CURL *curl = t->curl;
	curl_easy_setopt(curl, CURLOPT_URL, t->url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_PROXY, t->net->options.proxy ? t->net->options.proxy : "");
	curl_easy_setopt(curl, CURLOPT_NOPROXY, "");
	curl_easy_setopt(curl, CURLOPT_HTTPPROXYTUNNEL, t->net->options.proxy ? 1L : 0L);
	curl_easy_setopt(curl, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (t->net->options.ca) { /* only these authorities */
		curl_easy_setopt(curl, CURLOPT_CAINFO, t->net->options.ca);
		curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
	}
	if (t->net->options.pin && (!t->call->hop || t->call->hop->is_own))
		curl_easy_setopt(curl, CURLOPT_PINNEDPUBLICKEY, t->net->options.pin);
	curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L); /* at the end, do not wait for silent name servers */
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "cairnd");
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, t->message);
	curl_easy_setopt(curl, CURLOPT_PRIVATE, t);
	net_set_limits(t);
}

static void net_transfer_free(struct net_transfer *t)
{
	if (t->curl)
		curl_easy_cleanup(t->curl);
	if (t->headers) {
		explicit_bzero(t->headers->data, strlen(t->headers->data));
		curl_slist_free_all(t->headers);
	}
	free(t);
}

/* Reads Retry-After. A date instead of a number counts as absent. */
static unsigned net_retry_after(CURL *curl)
{
	char text[MIRROR_VALUE_BYTES];
	uint64_t seconds;
	net_keep_header(curl, "Retry-After", text, sizeof(text));
	if (!cairn_decimal_parse(text, 0, UINT64_MAX, &seconds))
		return 0;
	return seconds < MIRROR_RETRY_S_MAX ? (unsigned)seconds : MIRROR_RETRY_S_MAX;
}

static enum cairn_status net_unreachable(const struct net_transfer *t, const char *why, struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_BUSY, "mirror.unreachable", CAIRN_NO_OFFSET, "cannot reach %.80s: %.120s",
			  t->net->options.upstream->url, t->message[0] ? t->message : why);
}

static enum cairn_status net_too_long(const struct net_transfer *t, bool headers, struct cairn_diag *diag)
{
	size_t max = headers ? MIRROR_HEADERS_BYTES_MAX : t->call->body_bytes_max;
	return cairn_fail(diag, CAIRN_E_LIMIT, "mirror.long", CAIRN_NO_OFFSET,
			  "%.80s sends more than the %zu bytes that the %s of such an answer may have",
			  t->net->options.upstream->url, max, headers ? "headers" : "body");
}

/* Did headers exceed libcurl's own limits, which are above MIRROR_HEADERS_BYTES_MAX? Before version 8.6 it reports that
 * as a lack of memory. */
static bool net_is_long_line(const struct net_transfer *t, CURLcode rc)
{
	enum { NET_TOO_LARGE = 100 }; /* CURLE_TOO_LARGE, which older headers do not have */
	return t->header_bytes > 0 && (rc == CURLE_OUT_OF_MEMORY || (int)rc == NET_TOO_LARGE);
}

static enum cairn_status net_silent(const struct net_transfer *t, struct cairn_diag *diag)
{
	const char *url = t->net->options.upstream->url;
	if (t->call->deadline_ms == 0)
		return cairn_fail(diag, CAIRN_E_BUSY, "mirror.silent", CAIRN_NO_OFFSET,
				  "%.80s has sent almost nothing for %u s", url, t->call->silence_s);
	return cairn_fail(diag, CAIRN_E_BUSY, "mirror.silent", CAIRN_NO_OFFSET,
			  "%.80s has not answered in full within %" PRId64 " ms", url, t->call->deadline_ms);
}

static bool net_is_distrust(CURLcode rc)
{
	return rc == CURLE_PEER_FAILED_VERIFICATION || rc == CURLE_SSL_CONNECT_ERROR || rc == CURLE_SSL_CACERT_BADFILE;
}

static enum cairn_status net_judge(const struct net_transfer *t, CURLcode rc, struct cairn_diag *diag)
{
	const char *url = t->net->options.upstream->url;
	if (rc == CURLE_OK && t->head_ended)
		return CAIRN_OK;
	if (t->call->body.status == CAIRN_E_NOMEM)
		return CAIRN_E_NOMEM;
	if (net_is_long_line(t, rc))
		return net_too_long(t, true, diag);
	if (rc == CURLE_OUT_OF_MEMORY)
		return CAIRN_E_NOMEM;
	if (rc == CURLE_OPERATION_TIMEDOUT)
		return net_silent(t, diag);
	if (rc == CURLE_WRITE_ERROR)
		return net_too_long(t, t->headers_too_long, diag);
	if (rc == CURLE_SSL_PINNEDPUBKEYNOTMATCH)
		return cairn_fail(diag, CAIRN_E_DENIED, "mirror.tls", CAIRN_NO_OFFSET,
				  "%.80s has a certificate with another key than mirror_pin says", url);
	if (net_is_distrust(rc))
		return cairn_fail(diag, CAIRN_E_DENIED, "mirror.tls", CAIRN_NO_OFFSET,
				  "%.80s is not trusted: %.100s; mirror_ca names a file of authorities", url,
				  t->message[0] ? t->message : curl_easy_strerror(rc));
	if (t->inward)
		return cairn_fail(diag, CAIRN_E_DENIED, "mirror.inward", CAIRN_NO_OFFSET,
				  "the name in %.80s leads to this machine or link, where no upstream is; look at the "
				  "name servers",
				  url);
	return net_unreachable(t, rc == CURLE_OK ? "it ended in the middle of an answer" : curl_easy_strerror(rc),
			       diag);
}

/* --- the thread --------------------------------------------------------------------------------------------------- */

static void net_remove(struct net_transfer **list, const struct net_transfer *t)
{
	while (*list != t)
		list = &(*list)->next;
	*list = t->next;
}

/* Gives a call back to its caller. */
static void net_give_back(struct net_transfer *t, enum cairn_status status)
{
	struct mirror_net *net = t->net;
	struct mirror_call *call = t->call;
	call->status = status;
	if (status == CAIRN_OK || !cairn_diag_has(&call->diag, "mirror.stopped"))
		atomic_store(&net->is_down, status == CAIRN_E_BUSY || status == CAIRN_E_DENIED);
	call->took_ms = cairn_clock_mono_ms() - t->began_ms;
	call->transfer = NULL;
	net_transfer_free(t);
	pthread_mutex_lock(&net->lock);
	net->n_calls--;
	pthread_mutex_unlock(&net->lock);
	call->done(call);
}

static void net_end(struct net_transfer *t, CURLcode rc)
{
	struct mirror_call *call = t->call;
	net_keep_code(t);
	net_keep_header(t->curl, "X-Error-Code", call->error_code, sizeof(call->error_code));
	net_keep_header(t->curl, "Location", call->location, sizeof(call->location));
	net_keep_header(t->curl, "Link", call->link, sizeof(call->link));
	call->retry_after_s = net_retry_after(t->curl);
	enum cairn_status status = net_judge(t, rc, &call->diag);
	net_remove(&t->net->running, t);
	curl_multi_remove_handle(t->net->multi, t->curl);
	net_give_back(t, status);
}

static void net_give_up(struct net_transfer *t)
{
	net_give_back(t, cairn_fail(&t->call->diag, CAIRN_E_BUSY, "mirror.stopped", CAIRN_NO_OFFSET,
				    "the daemon is stopping"));
}

/* Begins transfers for all new calls. @return false: net is stopping */
static bool net_take_asked(struct mirror_net *net)
{
	pthread_mutex_lock(&net->lock);
	struct net_transfer *asked = net->asked;
	bool stopping = net->stopping;
	net->asked = NULL;
	pthread_mutex_unlock(&net->lock);
	for (struct net_transfer *t = asked; t; t = asked) {
		asked = t->next;
		t->next = net->running;
		net->running = t;
		if (curl_multi_add_handle(net->multi, t->curl) != CURLM_OK) {
			net->running = t->next;
			net_give_back(t, CAIRN_E_NOMEM);
		}
	}
	return !stopping;
}

static void net_end_finished(struct mirror_net *net)
{
	const struct CURLMsg *message;
	struct net_transfer *t;
	int left;
	while ((message = curl_multi_info_read(net->multi, &left))) {
		CURLcode rc = message->data.result;
		if (curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&t) == CURLE_OK)
			net_end(t, rc);
	}
}

/* Returns the held transfer nearest to the end of the list, which has waited longest; NULL: none is held. */
static struct net_transfer *net_held(const struct mirror_net *net)
{
	struct net_transfer *oldest = NULL;
	for (struct net_transfer *t = net->running; t; t = t->next)
		oldest = t->is_held ? t : oldest;
	return oldest;
}

/* Resumes held transfers in turn, as far as the rate allows. @return milliseconds until the next one may resume */
static int net_go_on(struct mirror_net *net)
{
	struct net_transfer *t = NULL;
	int64_t wait_ms = 0;
	while ((t = net_held(net)) && (wait_ms = mirror_rate_wait_ms(&net->rate, cairn_clock_mono_ms())) == 0) {
		t->is_held = false;
		/* Moves to the other end of the list, so that the others resume before it does again. */
		net_remove(&net->running, t);
		t->next = net->running;
		net->running = t;
		CURLcode rc =
			curl_easy_pause(t->curl, CURLPAUSE_CONT); /* calls back with the bytes that libcurl has kept */
		if (rc != CURLE_OK)
			net_end(t, rc);
	}
	return t && wait_ms < NET_TURN_MS ? (int)wait_ms : NET_TURN_MS;
}

static void *net_loop(void *arg)
{
	struct mirror_net *net = arg;
	int n_running;
	(void)pthread_setname_np(pthread_self(), "mirror");
	while (net_take_asked(net)) {
		int wait_ms = net_go_on(net);
		(void)curl_multi_perform(net->multi, &n_running);
		net_end_finished(net);
		int tick_ms = net->options.tick(net->options.ctx);
		(void)curl_multi_poll(net->multi, NULL, 0, tick_ms < wait_ms ? tick_ms : wait_ms, NULL);
	}
	for (struct net_transfer *t = net->running; t; t = net->running) {
		net->running = t->next;
		curl_multi_remove_handle(net->multi, t->curl);
		net_give_up(t);
	}
	return NULL;
}

/* --- for other threads -------------------------------------------------------------------------------------------- */

enum cairn_status mirror_net_start(struct mirror_net **out, const struct mirror_net_options *options)
{
	*out = NULL;
	struct mirror_net *net = calloc(1, sizeof(*net));
	if (!net || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		free(net);
		return CAIRN_E_NOMEM;
	}
	net->options = *options;
	net->rate.bytes_s = options->rate_max;
	atomic_store(&net->is_down, options->is_offline);
	net->multi = curl_multi_init();
	pthread_mutex_init(&net->lock, NULL);
	if (!net->multi || pthread_create(&net->thread, NULL, net_loop, net) != 0) {
		mirror_net_free(net);
		return CAIRN_E_NOMEM;
	}
	*out = net;
	return CAIRN_OK;
}

enum cairn_status mirror_net_offline(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_BUSY, "mirror.offline", CAIRN_NO_OFFSET,
			  "this is not here, and this server does not ask the mirrored hub (mirror_offline)");
}

static enum cairn_status net_refuse(const struct mirror_net *net, struct cairn_diag *diag)
{
	if (net->stopping)
		return cairn_fail(diag, CAIRN_E_BUSY, "mirror.stopped", CAIRN_NO_OFFSET, "the daemon is stopping");
	if (net->options.is_offline)
		return mirror_net_offline(diag);
	return net->n_calls < MIRROR_CALLS_MAX
		       ? CAIRN_OK
		       : cairn_fail(diag, CAIRN_E_BUSY, "mirror.busy", CAIRN_NO_OFFSET,
				    "%u calls to the upstream are under way already", net->n_calls);
}

static struct net_transfer *net_transfer_new(struct mirror_net *net, struct mirror_call *call)
{
	struct net_transfer *t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->net = net;
	t->call = call;
	t->began_ms = cairn_clock_mono_ms();
	t->curl = curl_easy_init();
	int n = call->hop ? snprintf(t->url, sizeof(t->url), "%s", call->hop->url)
			  : snprintf(t->url, sizeof(t->url), "%s%s", net->options.upstream->url, call->path);
	if (t->curl && n > 0 && (size_t)n < sizeof(t->url))
		return t;
	net_transfer_free(t);
	return NULL;
}

enum cairn_status mirror_net_ask(struct mirror_net *net, struct mirror_call *call, struct cairn_diag *diag)
{
	struct net_transfer *t = net_transfer_new(net, call);
	if (!t)
		return CAIRN_E_NOMEM;
	call->body = cairn_buf_init(call->body_bytes_max);
	call->transfer = t;
	cairn_diag_clear(&call->diag);
	net_set_up(t);
	if (!net_set_token(t)) {
		net_transfer_free(t);
		return CAIRN_E_NOMEM;
	}
	pthread_mutex_lock(&net->lock);
	enum cairn_status status = net_refuse(net, diag);
	if (status == CAIRN_OK) {
		t->next = net->asked;
		net->asked = t;
		net->n_calls++;
		curl_multi_wakeup(net->multi);
	}
	pthread_mutex_unlock(&net->lock);
	if (status != CAIRN_OK)
		net_transfer_free(t);
	return status;
}

void mirror_net_stop(struct mirror_net *net)
{
	pthread_mutex_lock(&net->lock);
	net->stopping = true;
	curl_multi_wakeup(net->multi);
	pthread_mutex_unlock(&net->lock);
	pthread_join(net->thread, NULL);
}

void mirror_net_free(struct mirror_net *net)
{
	if (!net)
		return;
	if (net->multi)
		curl_multi_cleanup(net->multi);
	pthread_mutex_destroy(&net->lock);
	free(net);
	curl_global_cleanup();
}
