#include "server/http/http_conn.h"

#include "base/sys.h"
#include "server/http/http_error.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { CONN_BUCKETS = 1024, CONN_PHASE_BITS = 3 };

/* An address and the number of its connections, kept so that a flood from one address does not slow down accepting. */
struct http_conn_address {
	struct http_conn_address *next; /* next address of its bucket */
	struct http_conn *first;
	unsigned n;
	unsigned char key[HTTP_CONN_KEY_BYTES];
};

struct http_conns {
	pthread_mutex_t lock; /* guards the buckets; no listed socket is closed while a thread holds it */
	struct http_conn_address *buckets[CONN_BUCKETS];
	atomic_uint n;
	_Atomic uint64_t n_refused;
	unsigned per_address_max;
	bool encrypted;
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

struct http_conns *http_conns_new(unsigned per_address_max, bool encrypted)
{
	struct http_conns *conns = calloc(1, sizeof(*conns));
	if (!conns)
		return NULL;
	pthread_mutex_init(&conns->lock, NULL);
	conns->per_address_max = per_address_max;
	conns->encrypted = encrypted;
	return conns;
}

void http_conns_free(struct http_conns *conns)
{
	if (!conns)
		return;
	pthread_mutex_destroy(&conns->lock);
	free(conns);
}

static const uint8_t CONN_MAPPED[12] = {[10] = 0xff, [11] = 0xff};

static bool conn_is_v4(const uint8_t address[static 16])
{
	return memcmp(address, CONN_MAPPED, sizeof(CONN_MAPPED)) == 0;
}

void http_conn_address(char text[static HTTP_ADDRESS_BYTES], const uint8_t address[static 16])
{
	bool v4 = conn_is_v4(address);
	(void)inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? address + sizeof(CONN_MAPPED) : address, text,
			HTTP_ADDRESS_BYTES);
}

/* Networks give each customer an IPv6 /64 or more, so a limit per single IPv6 address would be useless. */
void http_conn_key(unsigned char key[static HTTP_CONN_KEY_BYTES], const uint8_t address[static 16])
{
	memset(key, 0, HTTP_CONN_KEY_BYTES);
	if (conn_is_v4(address)) {
		memcpy(key, address + sizeof(CONN_MAPPED), 4);
		return;
	}
	memcpy(key, address, 8);
	key[15] = 6; /* makes the key differ from every IPv4 key */
}

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
		http_conn_key(conn->key, v6.sin6_addr.s6_addr);
		http_conn_address(conn->address, v6.sin6_addr.s6_addr);
		return true;
	}
	return false;
}

static unsigned conn_bucket(const unsigned char *key)
{
	uint32_t h = 2166136261u;
	for (size_t i = 0; i < HTTP_CONN_KEY_BYTES; i++)
		h = (h ^ key[i]) * 16777619u;
	return (h ^ h >> 16) % CONN_BUCKETS;
}

/* Returns the link to the address of a key, or to the end of its bucket. */
static struct http_conn_address **conn_find_address(struct http_conns *conns, const unsigned char *key)
{
	struct http_conn_address **link = &conns->buckets[conn_bucket(key)];
	while (*link && memcmp((*link)->key, key, HTTP_CONN_KEY_BYTES) != 0)
		link = &(*link)->next;
	return link;
}

/* Counts a connection for its address. @return the connections of the address now; 0 without memory */
static unsigned conn_list(struct http_conns *conns, struct http_conn *conn)
{
	struct http_conn_address **link = conn_find_address(conns, conn->key);
	if (!*link) {
		*link = calloc(1, sizeof(**link));
		if (!*link)
			return 0;
		memcpy((*link)->key, conn->key, HTTP_CONN_KEY_BYTES);
	}
	conn->next = (*link)->first;
	conn->prev = &(*link)->first;
	if (conn->next)
		conn->next->prev = &conn->next;
	(*link)->first = conn;
	return ++(*link)->n;
}

static void conn_unlist(struct http_conns *conns, struct http_conn *conn)
{
	struct http_conn_address **link = conn_find_address(conns, conn->key), *address = *link;
	assert(address);
	*conn->prev = conn->next;
	if (conn->next)
		conn->next->prev = conn->prev;
	if (--address->n > 0)
		return;
	*link = address->next;
	free(address);
}

struct http_conn *http_conns_add(struct http_conns *conns, int fd, const struct sockaddr *address, int64_t deadline_ms)
{
	struct http_conn *conn = calloc(1, sizeof(*conn));
	if (!conn)
		return NULL;
	conn->fd = fd;
	bool counted = conn->has_address = conn_key(conn, address);
	if (!counted)
		memcpy(conn->address, "-", 2);
	atomic_init(&conn->state, conn_state(HTTP_CONN_IDLE, deadline_ms));
	pthread_mutex_lock(&conns->lock);
	unsigned n = conn_list(conns, conn);
	conn->over_limit = counted && conns->per_address_max > 0 && n > conns->per_address_max;
	pthread_mutex_unlock(&conns->lock);
	if (n == 0) {
		free(conn);
		return NULL;
	}
	atomic_fetch_add(&conns->n, 1);
	if (conn->over_limit)
		atomic_fetch_add(&conns->n_refused, 1);
	if (conn->over_limit && n > 2 * (uint64_t)conns->per_address_max)
		shutdown(fd, SHUT_RDWR);
	return conn;
}

void http_conns_remove(struct http_conns *conns, struct http_conn *conn)
{
	pthread_mutex_lock(&conns->lock);
	conn_unlist(conns, conn);
	pthread_mutex_unlock(&conns->lock);
	atomic_fetch_sub(&conns->n, 1);
	free(conn->spare);
	free(conn);
}

uint64_t http_conns_refused(const struct http_conns *conns)
{
	return atomic_load(&conns->n_refused);
}

unsigned http_conns_count(const struct http_conns *conns)
{
	return atomic_load(&conns->n);
}

bool http_conn_enter(struct http_conn *conn, enum http_conn_phase phase, int64_t deadline_ms)
{
	uint64_t old = atomic_load(&conn->state), wanted = conn_state(phase, deadline_ms);
	do {
		if (conn_state_phase(old) == HTTP_CONN_CUT)
			return false;
	} while (old != wanted && !atomic_compare_exchange_weak(&conn->state, &old, wanted));
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

/* Writes a 408 to a client whose body came too slowly. Nothing else writes to the socket: a reply must leave the phase
 * BODY first, and that fails from now on. */
static void conn_say_timeout(const struct http_conn *conn)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf b = cairn_buf_init(HTTP_ERROR_BYTES_MAX);
	http_error_raw(&b, 408, "http.body_timeout",
		       "the body took too long to arrive; try again on a better connection", conn->request_id);
	if (b.status == CAIRN_OK)
		(void)cairn_sys_send(conn->fd, b.bytes, b.len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Has the client closed, and are all its bytes read? The library misses an end that comes together with the last bytes.
 * The library may hold the request's last bytes, so the connection ends only if this lasts until the next sweep. */
static bool conn_has_left(struct http_conn *conn, uint64_t state)
{
	char c;
	if (cairn_sys_recv(conn->fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) != 0)
		return false;
	bool again = conn->left_in == state;
	conn->left_in = state;
	return again;
}

static bool conn_sweep_one(const struct http_conns *conns, struct http_conn *conn, int64_t now_ms)
{
	uint64_t old = atomic_load(&conn->state);
	enum http_conn_phase phase = conn_state_phase(old);
	int64_t deadline_ms = conn_state_deadline(old);
	bool late = deadline_ms > 0 && now_ms > deadline_ms;
	bool listening = phase == HTTP_CONN_IDLE || phase == HTTP_CONN_HEAD || phase == HTTP_CONN_BODY ||
			 phase == HTTP_CONN_LINGER;
	if (phase == HTTP_CONN_CUT || (!late && !(listening && conn_has_left(conn, old))))
		return false;
	atomic_store(&conn->timed_out, late);
	if (!atomic_compare_exchange_strong(&conn->state, &old, conn_state(HTTP_CONN_CUT, deadline_ms)))
		return false; /* the state has just changed; wait for the next sweep */
	if (late && phase == HTTP_CONN_BODY && !conns->encrypted)
		conn_say_timeout(conn);
	/* The library sees the end and closes the socket. Closing here would pull the descriptor from under it. */
	shutdown(conn->fd, SHUT_RDWR);
	return true;
}

unsigned http_conns_sweep(struct http_conns *conns, int64_t now_ms)
{
	unsigned n = 0;
	pthread_mutex_lock(&conns->lock);
	for (size_t i = 0; i < CONN_BUCKETS; i++)
		for (struct http_conn_address *a = conns->buckets[i]; a; a = a->next)
			for (struct http_conn *c = a->first; c; c = c->next)
				n += conn_sweep_one(conns, c, now_ms);
	pthread_mutex_unlock(&conns->lock);
	return n;
}
