/* A running HTTP service with small routes that do what the tests want, and a client that writes raw bytes. Every call
 * ends the running Check test when something takes longer than 10 s or fails, so results need no checking. */
#ifndef CAIRN_TESTS_SUPPORT_HTTP_FIXTURE_H
#define CAIRN_TESTS_SUPPORT_HTTP_FIXTURE_H

#include "server/http/http.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { FIXTURE_HEADERS = 20, FIXTURE_BODY_MAX = 1000, FIXTURE_BIG_MAX = 8 << 20, FIXTURE_HEAD_MAX = 4096 };

/** What ended() was told last, copied. */
struct fixture_end {
	unsigned n; /* how many requests have ended */
	unsigned code;
	uint64_t request_bytes, reply_bytes;
	char method[16], target[128], route[32], address[64], session_id[80], user_agent[64], request_id[80];
};

/** Options to change before a start; defaults: generous limits. */
struct http_server_options fixture_options(void);

/** Start the service on a free port of 127.0.0.1, with workers for the routes that wait. */
void fixture_start(const struct http_server_options *options);
struct http_server *fixture_server(void);

/** Finish the workers, then stop the service; checks that each state was released exactly once. */
void fixture_stop(void);

/** Let one waiting job, or the next to come, go on. */
void fixture_release(void);
/** Wait until a job of a route that waits is running. */
void fixture_await_job(void);
/** Wait until n requests have ended in all. */
struct fixture_end fixture_await_end(unsigned n);
/** Wait until the routes have been given n pieces of bodies in all. */
void fixture_await_pieces(unsigned n);
/** Wait until the service has called tick(). */
void fixture_await_tick(void);
/** States of routes that are alive; releases of reply bytes and readers so far; body bytes the routes were given. */
unsigned fixture_states(void);
unsigned fixture_released(void);
uint64_t fixture_body_bytes(void);
/** What http_client_gone() said in the last job of /wait. */
bool fixture_said_gone(void);
/** Wait until the feeder of a /stream was told that its client has gone. */
void fixture_await_stream_gone(void);

/** From its third frame on a stream's feeder goes on until nobody takes them, and not just to the third. */
void fixture_feed_until_gone(void);

/* --- client --- */

int client_connect(void);
void client_send(int fd, const char *text);
/** Write as much as is taken of n bytes of 'x'. @return how many */
size_t client_send_fill(int fd, size_t n);

struct client_reply {
	unsigned code;
	char head[4096]; /* status line and headers */
	size_t len;      /* of the body, which is complete, chunks joined */
	char body[65536];
};

/** Read one reply. @param method  "HEAD" has no body */
void client_read(int fd, struct client_reply *reply, const char *method);
/** Connect, send, read, close. */
void client_ask(struct client_reply *reply, const char *method, const char *text);
/** Value of a header, NULL: absent. Valid until the next call. */
const char *client_header(const struct client_reply *reply, const char *name);
/** Read until a text has come; what follows stays unread. */
void client_read_until(int fd, const char *text);
/** Wait for the end of the connection. @return bytes that came before it */
size_t client_await_close(int fd);
/** Close with a reset, which the peer sees at its next write at the latest. */
void client_reset(int fd);
/** Is nothing more there, and the connection open? */
bool client_is_open(int fd);

#endif
