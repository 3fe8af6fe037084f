/* A record for each connection: how many an address has, and until when the client must have done what it is at. Pure
 * except for shutdown() of a socket. The HTTP library only knows "no byte for this long", which a slow drip evades. */
#ifndef CAIRN_SERVER_HTTP_CONN_H
#define CAIRN_SERVER_HTTP_CONN_H

#include "server/http/http_head.h"

#include <stdatomic.h>
#include <sys/socket.h>

enum { HTTP_CONN_KEY_BYTES = 16 };

enum http_conn_phase {
	HTTP_CONN_IDLE,   /* between requests, or a head has not got past its first line */
	HTTP_CONN_HEAD,   /* request line is here, headers are coming */
	HTTP_CONN_BODY,   /* body is coming */
	HTTP_CONN_BUSY,   /* the server is at work; no deadline */
	HTTP_CONN_REPLY,  /* reply is going out */
	HTTP_CONN_LINGER, /* refused in the middle of the body; what still comes of that is swallowed */
	HTTP_CONN_CUT,    /* the sweeper ended it; for good */
};

struct http_request;

/** Owned by its table. The fields but state are written before the connection can be swept and never again, except for
 *  request_id, which is written before the phase BODY is entered. */
struct http_conn {
	struct http_conn *next, **prev;         /* of its address; under the table's lock */
	_Atomic uint64_t state;                 /* deadline in ms << 3 | phase: one word, so that both change at once */
	atomic_bool timed_out;                  /* why it was cut, once it is: too late; else the client had left */
	uint64_t left_in;                       /* state in which the last sweep found the client gone; the sweeper's */
	unsigned char key[HTTP_CONN_KEY_BYTES]; /* what counts as one address: IPv4, or the /64 of IPv6 */
	int fd;
	bool over_limit;  /* requests are answered 429 */
	bool has_address; /* else it is of no network, and not counted */
	char address[46];
	/* The request thread's: the request under way, and, owned, the memory of the one before, for the next. */
	struct http_request *request;
	void *spare;
	char request_id[HTTP_ID_BYTES_MAX + 1]; /* of the body that is coming */
};

struct http_conns;

/**
 * @param per_address_max  0: no limit
 * @param encrypted  nothing can be said on a socket past the library
 * @return NULL without memory
 */
struct http_conns *http_conns_new(unsigned per_address_max, bool encrypted);
/** Every connection must have been removed. NULL is harmless. */
void http_conns_free(struct http_conns *conns);

/**
 * Register an accepted socket. Its address over per_address_max: over_limit is set; with twice as many, it is shut at
 * once, so that connections which are only to be refused don't fill the server.
 * @param address      NULL or another family than IPv4 and IPv6: not counted
 * @param deadline_ms  of the first head, on cairn_clock_mono_ms()
 * @return NULL without memory
 */
struct http_conn *http_conns_add(struct http_conns *conns, int fd, const struct sockaddr *address, int64_t deadline_ms);

/** Forget a connection; before its socket is closed. */
void http_conns_remove(struct http_conns *conns, struct http_conn *conn);

unsigned http_conns_count(const struct http_conns *conns);

/** How many connections came in over per_address_max. */
uint64_t http_conns_refused(const struct http_conns *conns);

/** Enter a phase. @param deadline_ms  0: none. @return false: the sweeper was first, the connection is lost */
bool http_conn_enter(struct http_conn *conn, enum http_conn_phase phase, int64_t deadline_ms);

enum http_conn_phase http_conn_phase(const struct http_conn *conn);
int64_t http_conn_deadline_ms(const struct http_conn *conn);

/** Shut the sockets whose deadline has passed (one whose body was coming is sent a 408 first), and those whose client
 * left two sweeps ago with no complete request under way. Never blocks. From one thread at a time. @return how many */
unsigned http_conns_sweep(struct http_conns *conns, int64_t now_ms);

#endif
