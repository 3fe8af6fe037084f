/* Accepts connections and assigns each to a thread. Few connections share few threads: each wake-up then finds more
 * work, and threads sleep less often. More connections get more threads, up to all. Independent of the HTTP library. */
#ifndef CAIRN_SERVER_HTTP_ACCEPT_H
#define CAIRN_SERVER_HTTP_ACCEPT_H

#include "server/http/http_request.h"

#include <sys/socket.h>

enum {
	HTTP_THREAD_CONNS = 112,     /* most connections of one thread (http_library.c) */
	HTTP_THREAD_CONNS_FEW = 8,   /* fewest connections per thread if there are more threads than needed */
	HTTP_THREAD_CONNS_MANY = 32, /* connections per thread before there are more serving threads than processors */
	HTTP_THREAD_CONNS_SPARE = 8, /* extra room in the library, which learns later that a connection has ended */
};

/** Returns the number of threads for so many connections: two, or one for each HTTP_THREAD_CONNS. If there are more
 * processors, it is up to one for each processor, as long as each thread still has HTTP_THREAD_CONNS_FEW. */
unsigned http_accept_n_threads(unsigned connections_max, unsigned processors);

/** Returns how many of n_threads serve n_conns connections. */
unsigned http_accept_n_serving(unsigned n_threads, unsigned n_conns, unsigned processors);

/** Starts a thread that accepts connections until http_accept_stop(). Takes the socket over. @param hand_over  takes a
 * connected socket over @return false: the thread could not start, and the socket is closed */
bool http_accept_start(struct http_server *server, http_hand_over *hand_over);

/** Ends that thread, and closes the socket. Harmless if it was not started. */
void http_accept_stop(struct http_server *server);

/** Reserves a slot for a connection. @return false: the thread has no free slot */
bool http_thread_take_slot(struct http_thread *thread);

/** Frees the reserved slot of a connection that did not come. */
void http_thread_give_slot(struct http_thread *thread);

/** Record that the library has begun to serve a connection, and that it has closed one. Call on the connection's
 * thread. */
void http_thread_begins(struct http_thread *thread);
void http_thread_closed(struct http_thread *thread);

/** Frees the slots of connections that were lost on the way to their thread, for lack of memory. Call once a second. */
void http_threads_recount(struct http_server *server);

#endif
