/* A running HTTP service with small routes for the tests, and a client that writes raw bytes. Every call ends the
 * running Check test if it fails or takes longer than 10 s, so callers need not check results. */
#ifndef CAIRN_TESTS_SUPPORT_HTTP_FIXTURE_H
#define CAIRN_TESTS_SUPPORT_HTTP_FIXTURE_H

#include "server/http/http.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { FIXTURE_HEADERS = 20, FIXTURE_BODY_MAX = 1000, FIXTURE_BIG_MAX = 8 << 20, FIXTURE_HEAD_MAX = 4096 };

/** A copy of the last arguments of ended(). */
struct fixture_end {
	unsigned n; /* number of requests that have ended */
	unsigned code;
	uint64_t request_bytes, reply_bytes;
	char method[16], target[128], route[32], address[64], session_id[80], user_agent[64], request_id[80];
};

/** Returns options for a start, with generous limits. */
struct http_server_options fixture_options(void);

/** Starts the service on a free port of 127.0.0.1, with workers for the routes that wait. */
void fixture_start(const struct http_server_options *options);
struct http_server *fixture_server(void);

/** Stops the workers, then the service. Checks that each state was released exactly once. */
void fixture_stop(void);

/** Releases one waiting job, or the next job that will wait. */
void fixture_release(void);
/** Waits until a job of a waiting route is running. */
void fixture_await_job(void);
/** Waits until n requests have ended in all. */
struct fixture_end fixture_await_end(unsigned n);
/** Waits until the routes have got n pieces of bodies in all. */
void fixture_await_pieces(unsigned n);
/** Waits until the service has called tick(). */
void fixture_await_tick(void);
/** Return the states of routes that are not freed; how many reply bytes and readers were released; how many body bytes
 * the routes got. */
unsigned fixture_states(void);
unsigned fixture_released(void);
uint64_t fixture_body_bytes(void);
/** Returns the result of http_client_gone() in the last job of /wait. */
bool fixture_said_gone(void);
/** Waits until the feeder of a /stream has learned that its client is gone. */
void fixture_await_stream_gone(void);

/** Lets a stream's feeder go on after its third frame, until no client takes the frames. */
void fixture_feed_until_gone(void);

int client_connect(void);
void client_send(int fd, const char *text);
void client_send_bytes(int fd, const char *bytes, size_t len);
/** Writes up to n bytes of 'x', as many as the socket takes. @return the number of bytes */
size_t client_send_fill(int fd, size_t n);

struct client_reply {
	unsigned code;
	char head[4096]; /* status line and headers */
	size_t len;      /* length of the complete body, with its chunks joined */
	char body[65536];
};

/** Reads one reply. @param method  a reply to "HEAD" has no body */
void client_read(int fd, struct client_reply *reply, const char *method);
/** Connects, sends a request, reads the reply, and closes. */
void client_ask(struct client_reply *reply, const char *method, const char *text);
/** Returns the value of a header, valid until the next call; NULL: absent. */
const char *client_header(const struct client_reply *reply, const char *name);
/** Reads until a text has arrived. Later bytes stay unread. */
void client_read_until(int fd, const char *text);
/** Waits for the end of the connection. @return the number of bytes that came before it */
size_t client_await_close(int fd);
/** Closes the connection with a reset. The peer notices that at its next write, if not before. */
void client_reset(int fd);
/** Is the connection open, with nothing left to read? */
bool client_is_open(int fd);

#endif
