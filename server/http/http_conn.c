#include "server/http/http_conn.h"

#include "server/http/http_error.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { CONN_BUCKETS = 1024, CONN_PHASE_BITS = 3 };

struct http_conns {
	pthread_mutex_t lock; /* over the buckets; while it is held no listed socket is closed */
	struct http_conn *buckets[CONN_BUCKETS];
	atomic_uint n;
	unsigned per_address_max;
};

static uint64_t conn_state(enum http_conn_phase phase, int64_t deadline_ms)
{
	return (uint64_t)deadline_ms << CONN_PHASE_BITS | (uint64_t)phase;
}

static enum http_conn_phase conn_state_phase(uint64_t state)
{
	return (enum http_conn_phase)(state & ((1u << CONN_PHASE_BITS) - 1));
}

static int64_t conn_state_deadline(uint64_t state)
{
	return (int64_t)(state >> CONN_PHASE_BITS);
}

struct http_conns *http_conns_new(unsigned per_address_max)
{
	struct http_conns *conns = calloc(1, sizeof(*conns));
	if (!conns)
		return NULL;
	pthread_mutex_init(&conns->lock, NULL);
	conns->per_address_max = per_address_max;
	return conns;
}

void http_conns_free(struct http_conns *conns)
{
	if (!conns)
		return;
	pthread_mutex_destroy(&conns->lock);
	free(conns);
}

/* A network gives each customer an IPv6 /64 or more, so an address alone would limit nobody. */
static bool conn_key(struct http_conn *conn, const struct sockaddr *address)
{
	struct sockaddr_in v4 = {0};
	struct sockaddr_in6 v6 = {0};
	if (address && address->sa_family == AF_INET) {
		memcpy(&v4, address, sizeof(v4));
		memcpy(conn->key, &v4.sin_addr, 4);
		return inet_ntop(AF_INET, &v4.sin_addr, conn->address, sizeof(conn->address));
	}
	if (address && address->sa_family == AF_INET6) {
		memcpy(&v6, address, sizeof(v6));
		if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
			memcpy(conn->key, v6.sin6_addr.s6_addr + 12, 4);
			return inet_ntop(AF_INET, conn->key, conn->address, sizeof(conn->address));
		}
		conn->key[15] = 6; /* never equal to an IPv4 key */
		memcpy(conn->key, v6.sin6_addr.s6_addr, 8);
		return inet_ntop(AF_INET6, &v6.sin6_addr, conn->address, sizeof(conn->address));
	}
	return false;
}

static unsigned conn_bucket(const unsigned char *key)
{
	uint32_t h = 2166136261u;
	for (size_t i = 0; i < 16; i++)
		h = (h ^ key[i]) * 16777619u;
	return (h ^ h >> 16) % CONN_BUCKETS;
}

struct http_conn *http_conns_add(struct http_conns *conns, int fd, const struct sockaddr *address, int64_t deadline_ms)
{
	struct http_conn *conn = calloc(1, sizeof(*conn));
	if (!conn)
		return NULL;
	conn->fd = fd;
	bool counted = conn_key(conn, address);
	if (!counted)
		memcpy(conn->address, "-", 2);
	atomic_init(&conn->state, conn_state(HTTP_CONN_IDLE, deadline_ms));
	struct http_conn **bucket = &conns->buckets[conn_bucket(conn->key)];
	uint64_t n = 1;
	pthread_mutex_lock(&conns->lock);
	for (const struct http_conn *c = *bucket; c; c = c->next)
		n += memcmp(c->key, conn->key, sizeof(conn->key)) == 0;
	conn->over_limit = counted && conns->per_address_max > 0 && n > conns->per_address_max;
	conn->next = *bucket;
	conn->prev = bucket;
	if (conn->next)
		conn->next->prev = &conn->next;
	*bucket = conn;
	pthread_mutex_unlock(&conns->lock);
	atomic_fetch_add(&conns->n, 1);
	if (conn->over_limit && n > 2 * (uint64_t)conns->per_address_max)
		shutdown(fd, SHUT_RDWR);
	return conn;
}

void http_conns_remove(struct http_conns *conns, struct http_conn *conn)
{
	pthread_mutex_lock(&conns->lock);
	*conn->prev = conn->next;
	if (conn->next)
		conn->next->prev = conn->prev;
	pthread_mutex_unlock(&conns->lock);
	atomic_fetch_sub(&conns->n, 1);
	free(conn);
}

unsigned http_conns_count(const struct http_conns *conns)
{
	return atomic_load(&conns->n);
}

bool http_conn_enter(struct http_conn *conn, enum http_conn_phase phase, int64_t deadline_ms)
{
	uint64_t old = atomic_load(&conn->state);
	do {
		if (conn_state_phase(old) == HTTP_CONN_CUT)
			return false;
	} while (!atomic_compare_exchange_weak(&conn->state, &old, conn_state(phase, deadline_ms)));
	return true;
}

enum http_conn_phase http_conn_phase(const struct http_conn *conn)
{
	return conn_state_phase(atomic_load(&conn->state));
}

int64_t http_conn_deadline_ms(const struct http_conn *conn)
{
	return conn_state_deadline(atomic_load(&conn->state));
}

/* Nobody else writes to the socket: whoever replies has to leave the phase BODY first, and that fails from now on. */
static void conn_say_timeout(const struct http_conn *conn)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf b = cairn_buf_init(HTTP_ERROR_BYTES_MAX);
	http_error_raw(&b, 408, "http.body_timeout",
		       "the body took too long to arrive; try again on a better connection", conn->request_id);
	if (b.status == CAIRN_OK)
		(void)send(conn->fd, b.bytes, b.len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Has the client closed, and is all it sent read? The library overlooks an end that comes together with the last bytes.
 * It may still hold bytes that complete the request, though: only what stays so until the next sweep is over. */
static bool conn_has_left(struct http_conn *conn, uint64_t state)
{
	char c;
	if (recv(conn->fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) != 0)
		return false;
	bool again = conn->left_in == state;
	conn->left_in = state;
	return again;
}

static bool conn_sweep_one(struct http_conn *conn, int64_t now_ms)
{
	uint64_t old = atomic_load(&conn->state);
	enum http_conn_phase phase = conn_state_phase(old);
	int64_t deadline_ms = conn_state_deadline(old);
	bool late = deadline_ms > 0 && now_ms > deadline_ms;
	bool listening = phase == HTTP_CONN_IDLE || phase == HTTP_CONN_HEAD || phase == HTTP_CONN_BODY;
	if (phase == HTTP_CONN_CUT || (!late && !(listening && conn_has_left(conn, old))))
		return false;
	atomic_store(&conn->timed_out, late);
	if (!atomic_compare_exchange_strong(&conn->state, &old, conn_state(HTTP_CONN_CUT, deadline_ms)))
		return false; /* it has just moved on */
	if (late && phase == HTTP_CONN_BODY)
		conn_say_timeout(conn);
	/* The library sees the end of the stream and closes; closing here would pull the descriptor from under it. */
	shutdown(conn->fd, SHUT_RDWR);
	return true;
}

unsigned http_conns_sweep(struct http_conns *conns, int64_t now_ms)
{
	unsigned n = 0;
	pthread_mutex_lock(&conns->lock);
	for (size_t i = 0; i < CONN_BUCKETS; i++) {
		for (struct http_conn *c = conns->buckets[i]; c; c = c->next)
			n += conn_sweep_one(c, now_ms);
	}
	pthread_mutex_unlock(&conns->lock);
	return n;
}
