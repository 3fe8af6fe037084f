/* Tracks connections: counts them per address, and enforces a deadline for each phase. The HTTP library only has an
 * idle timeout, which a client evades by sending slowly. Pure except for shutdown() of a socket. */
#ifndef CAIRN_SERVER_HTTP_CONN_H
#define CAIRN_SERVER_HTTP_CONN_H

#include "server/http/http_head.h"

#include <stdatomic.h>
#include <sys/socket.h>

enum { HTTP_CONN_KEY_BYTES = 16, HTTP_ADDRESS_BYTES = 46 };

enum http_conn_phase {
	HTTP_CONN_IDLE,   /* between requests, or in the request line */
	HTTP_CONN_HEAD,   /* after the request line; headers are coming */
	HTTP_CONN_BODY,   /* the body is coming */
	HTTP_CONN_BUSY,   /* the server is working; no deadline */
	HTTP_CONN_REPLY,  /* the reply is going out */
	HTTP_CONN_LINGER, /* refused in mid-body; the rest of the body is read and dropped */
	HTTP_CONN_CUT,    /* the sweeper has ended the connection */
};

struct http_request;

/** Owned by its table. The members that the sweeper reads do not change while the connection is in the table, except
 * `state`, and `request_id`, which is written before the phase HTTP_CONN_BODY is entered. */
struct http_conn {
	struct http_conn *next, **prev; /* other connections of the same address; guarded by the table's lock */
	_Atomic uint64_t state;         /* deadline in ms << 3 | phase: in one word, so that both change at once */
	atomic_bool timed_out; /* why the connection was cut. true: its deadline passed; false: the client had left */
	uint64_t left_in;      /* the state when the last sweep found the client gone; only for the sweeper */
	unsigned char key[HTTP_CONN_KEY_BYTES]; /* the address for limits: IPv4, or the /64 of IPv6 */
	int fd;
	bool over_limit;  /* requests are answered with 429 */
	bool has_address; /* false: no network address, so the connection is not counted */
	char address[HTTP_ADDRESS_BYTES];
	/* Only for the request's thread: the request under way, and the previous one's memory, owned, for reuse. */
	struct http_request *request;
	void *spare;
	char request_id[HTTP_ID_BYTES_MAX + 1]; /* of the request whose body is coming */
};

struct http_conns;

/** Writes an address for people. @param address  IPv4 as ::ffff:a.b.c.d */
void http_conn_address(char text[static HTTP_ADDRESS_BYTES], const uint8_t address[static 16]);

/** Makes the key of an address for limits. @param address  IPv4 as ::ffff:a.b.c.d */
void http_conn_key(unsigned char key[static HTTP_CONN_KEY_BYTES], const uint8_t address[static 16]);

/**
 * Makes a table of connections.
 * @param per_address_max  0: no limit
 * @param encrypted        the connections use TLS, so no timeout reply is written directly to a socket, past the HTTP
 *                         library
 * @return NULL without memory */
struct http_conns *http_conns_new(unsigned per_address_max, bool encrypted);
/** Frees the table. Every connection must have been removed. NULL is harmless. */
void http_conns_free(struct http_conns *conns);

/**
 * Registers an accepted socket. Sets over_limit if its address has more than per_address_max connections. Shuts the
 * socket at once if the address has twice as many, so that refused connections do not fill the server.
 * @param address      NULL or another family than IPv4 and IPv6: not counted
 * @param deadline_ms  for the first head, on cairn_clock_mono_ms()
 * @return NULL without memory */
struct http_conn *http_conns_add(struct http_conns *conns, int fd, const struct sockaddr *address, int64_t deadline_ms);

/** Removes a connection. Call before its socket is closed. */
void http_conns_remove(struct http_conns *conns, struct http_conn *conn);

unsigned http_conns_count(const struct http_conns *conns);

/** Returns how many connections exceeded per_address_max. */
uint64_t http_conns_refused(const struct http_conns *conns);

/** Enters a phase. @param deadline_ms  0: none. @return false: the sweeper has already cut the connection */
bool http_conn_enter(struct http_conn *conn, enum http_conn_phase phase, int64_t deadline_ms);

enum http_conn_phase http_conn_phase(const struct http_conn *conn);
int64_t http_conn_deadline_ms(const struct http_conn *conn);

/** Shuts sockets whose deadline has passed (after a 408 if a body was coming), and sockets whose client left two sweeps
 * ago without a complete request. Never blocks. Not for two threads at once. @return the number of sockets shut */
unsigned http_conns_sweep(struct http_conns *conns, int64_t now_ms);

#endif
