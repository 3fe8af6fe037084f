#include "server/http/http_server.h"

#include "base/cond.h"
#include "base/fd.h"
#include "base/processors.h"
#include "base/sys.h"
#include "server/http/http_accept.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum {
	HTTP_BODY_RATE_MIN = 1024, /* bytes a second that a body must average, once idle_timeout_s has passed */
	HTTP_BODY_RATE_LONG =
		64 * 1024,          /* the same, once request_timeout_s has passed: long bodies go on while they move */
	HTTP_REPLY_RATE_MIN = 8192, /* bytes a second that a client must read, once request_timeout_s has passed */
	HTTP_HEAD_BYTES_MIN = 1024,
	HTTP_HEAD_BYTES_MAX = 1 << 20,
	HTTP_TICK_MS = 1000,
	HTTP_NUMBERS = 4096, /* request numbers that a thread reserves at a time */
};

static int64_t http_clock_us(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t http_now_us(void)
{
	return http_clock_us(CLOCK_MONOTONIC);
}

int64_t http_now_ms(void)
{
	return http_clock_us(CLOCK_MONOTONIC_COARSE) / 1000;
}

bool http_options_are_valid(const struct http_server_options *o)
{
	return o->listen_fd >= 0 && o->routes && o->authorise && o->connections_max >= 2 && o->idle_timeout_s > 0 &&
	       o->head_timeout_s > 0 && o->request_timeout_s > 0 && o->head_bytes_max >= HTTP_HEAD_BYTES_MIN &&
	       o->head_bytes_max <= HTTP_HEAD_BYTES_MAX &&
	       (o->rate_burst_s > 0 || (o->rate_per_address == 0 && o->rate_per_token == 0));
}

int64_t http_first_head_deadline_ms(const struct http_server *server, int64_t now_ms)
{
	return now_ms + (int64_t)server->options.head_timeout_s * 1000;
}

/* Returns the deadline of a head after its request line. The request line may have arrived slowly, too, so a new
 * connection keeps its first deadline. */
int64_t http_head_deadline_ms(const struct http_request *req, int64_t now_ms)
{
	int64_t deadline_ms = now_ms + (int64_t)req->server->options.head_timeout_s * 1000;
	int64_t earlier_ms = http_conn_deadline_ms(req->peer);
	return earlier_ms < deadline_ms ? earlier_ms : deadline_ms;
}

/* Returns the deadline of a head after idling. It limits slow heads; the library's timeout ends silent connections. */
int64_t http_idle_deadline_ms(const struct http_server *server, int64_t now_ms)
{
	return now_ms + ((int64_t)server->options.idle_timeout_s + server->options.head_timeout_s) * 1000;
}

int64_t http_body_deadline_ms(const struct http_request *req)
{
	const struct http_server_options *o = &req->server->options;
	int64_t whole_ms = (int64_t)o->request_timeout_s * 1000;
	int64_t rate_ms = (int64_t)o->idle_timeout_s * 1000 + (int64_t)(req->received / HTTP_BODY_RATE_MIN * 1000);
	int64_t long_ms = (int64_t)(req->received / HTTP_BODY_RATE_LONG * 1000);
	if (rate_ms > whole_ms)
		rate_ms = long_ms > whole_ms ? long_ms : whole_ms;
	return req->body_started_ms + rate_ms;
}

int64_t http_reply_deadline_ms(const struct http_request *req, int64_t now_ms)
{
	if (req->is_stream)
		return 0;
	return now_ms + (int64_t)req->server->options.request_timeout_s * 1000 +
	       (int64_t)(req->reply_bytes / HTTP_REPLY_RATE_MIN * 1000);
}

void http_thread_begin_request(struct http_thread *thread)
{
	atomic_fetch_add(&thread->n_requests, 1);
}

uint32_t http_thread_number(struct http_thread *thread)
{
	if (thread->id_next == thread->id_end) {
		thread->id_next = atomic_fetch_add(&thread->server->id_next, HTTP_NUMBERS);
		thread->id_end = thread->id_next + HTTP_NUMBERS;
	}
	return thread->id_next++;
}

static unsigned http_server_requests(const struct http_server *server)
{
	unsigned n = 0;
	for (unsigned i = 0; i < server->n_threads; i++)
		n += atomic_load(&server->threads[i].n_requests);
	return n;
}

void http_thread_end_request(struct http_thread *thread)
{
	struct http_server *server = thread->server;
	atomic_fetch_sub(&thread->n_requests, 1);
	if (!atomic_load(&server->draining))
		return;
	pthread_mutex_lock(&server->lock);
	pthread_cond_broadcast(&server->wake);
	pthread_mutex_unlock(&server->lock);
}

void http_report_end(const struct http_request *req, int64_t now_us)
{
	const struct http_server_options *o = &req->server->options;
	bool timed_out = req->stage == HTTP_STAGE_BODY && http_conn_phase(req->peer) == HTTP_CONN_CUT &&
			 atomic_load(&req->peer->timed_out);
	bool replied = req->stage == HTTP_STAGE_REPLIED || req->stage == HTTP_STAGE_LINGER;
	struct http_summary summary = {
		.method = req->method[0] ? req->method : "-",
		.target = req->target_log,
		.route = req->match.route ? req->match.route->name : "none",
		.code = replied     ? req->code
			: timed_out ? 408
				    : 0,
		.request_bytes = req->received,
		.reply_bytes = replied ? req->reply_bytes : 0,
		.duration_us = (uint64_t)(now_us - req->started_us),
		.queued = req->queued,
		.queued_us = req->queued_us,
		.address = http_client_address(req),
		.session_id = req->session_id[0] ? req->session_id : NULL,
		.user_agent = req->user_agent[0] ? req->user_agent : NULL,
	};
	if (o->ended)
		o->ended(o->app, req, &summary);
}

static void *http_tick(void *arg)
{
	struct http_server *server = arg;
	(void)pthread_setname_np(pthread_self(), "sweeper");
	pthread_mutex_lock(&server->lock);
	while (!server->stopping) {
		const struct timespec until = cairn_cond_in_ms(HTTP_TICK_MS);
		while (!server->stopping && cairn_cond_wait_until(&server->wake, &server->lock, &until))
			continue; /* woken before a second has passed */
		if (server->stopping)
			break;
		pthread_mutex_unlock(&server->lock);
		(void)http_conns_sweep(server->conns, http_now_ms());
		http_waits_sweep(&server->waits);
		http_threads_recount(server);
		if (server->options.tick)
			server->options.tick(server->options.app);
		pthread_mutex_lock(&server->lock);
	}
	pthread_mutex_unlock(&server->lock);
	return NULL;
}

void http_server_free(struct http_server *server)
{
	http_conns_free(server->conns);
	rate_free(server->address_rate);
	rate_free(server->token_rate);
	cairn_fd_closep(&server->accept.wake);
	free(server->threads);
	free(server->public_url);
	http_waits_fini(&server->waits);
	pthread_cond_destroy(&server->wake);
	pthread_mutex_destroy(&server->lock);
	free(server);
}

/* Makes a rate limiter. @param per_s  0: no limit */
static bool http_server_rate(struct rate **out, const struct http_server_options *options, uint64_t per_s)
{
	return per_s == 0 || rate_new(out, per_s, options->rate_burst_s) == CAIRN_OK;
}

static bool http_server_make_threads(struct http_server *server)
{
	server->processors = cairn_n_processors();
	server->n_threads = http_accept_n_threads(server->options.connections_max, server->processors);
	server->threads = calloc(server->n_threads, sizeof(*server->threads));
	for (unsigned i = 0; server->threads && i < server->n_threads; i++)
		server->threads[i].server = server;
	return server->threads != NULL;
}

struct http_server *http_server_new(const struct http_server_options *options)
{
	struct http_server *server = calloc(1, sizeof(*server));
	if (!server)
		return NULL;
	server->options = *options;
	server->accept.listen_fd = server->accept.wake = -1;
	pthread_mutex_init(&server->lock, NULL);
	cairn_cond_init(&server->wake);
	http_waits_init(&server->waits, options->connections_max - options->connections_max / 4);
	if (cairn_sys_getrandom(&server->id_prefix, sizeof(server->id_prefix), 0) != sizeof(server->id_prefix))
		server->id_prefix = (uint32_t)http_now_us();
	server->conns = http_conns_new(options->connections_per_address_max, options->tls_retrieve != NULL);
	bool limited = http_server_rate(&server->address_rate, options, options->rate_per_address) &&
		       http_server_rate(&server->token_rate, options, options->rate_per_token);
	if (options->public_url) {
		server->public_url = strdup(options->public_url);
		size_t len = server->public_url ? strlen(server->public_url) : 0;
		while (len > 0 && server->public_url[len - 1] == '/')
			server->public_url[--len] = '\0';
	}
	if (!server->conns || !limited || !http_server_make_threads(server) ||
	    (options->public_url && !server->public_url)) {
		http_server_free(server);
		return NULL;
	}
	return server;
}

bool http_server_start_ticker(struct http_server *server)
{
	return pthread_create(&server->ticker, NULL, http_tick, server) == 0;
}

void http_server_stop_ticker(struct http_server *server)
{
	pthread_mutex_lock(&server->lock);
	server->stopping = true;
	pthread_cond_broadcast(&server->wake);
	pthread_mutex_unlock(&server->lock);
	pthread_join(server->ticker, NULL);
}

void http_server_wait(struct http_server *server, unsigned timeout_ms)
{
	const struct timespec until = cairn_cond_in_ms(timeout_ms);
	pthread_mutex_lock(&server->lock);
	while (http_server_requests(server) > 0 && cairn_cond_wait_until(&server->wake, &server->lock, &until))
		continue;
	pthread_mutex_unlock(&server->lock);
}

void http_server_stats(const struct http_server *server, struct http_server_stats *out)
{
	out->connections = http_conns_count(server->conns);
	out->requests = http_server_requests(server);
	out->waiting = http_waits_count(&server->waits);
	out->connections_refused = http_conns_refused(server->conns);
	out->over_address_rate = server->address_rate ? rate_refused(server->address_rate) : 0;
	out->over_token_rate = server->token_rate ? rate_refused(server->token_rate) : 0;
}
