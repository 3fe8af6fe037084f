/* Who takes connections, and which thread serves each. Few connections share few threads: a thread that wakes then
 * finds more than one thing to do, and sleeps less often. The more there are, the more threads serve them, up to all.
 * Knows no HTTP library. */
#ifndef CAIRN_SERVER_HTTP_ACCEPT_H
#define CAIRN_SERVER_HTTP_ACCEPT_H

#include "server/http/http_request.h"

#include <sys/socket.h>

enum {
	HTTP_THREAD_CONNS = 112,     /* most that one thread serves (http_library.c) */
	HTTP_THREAD_CONNS_FEW = 8,   /* that each has when all are open, where there are many processors */
	HTTP_THREAD_CONNS_MANY = 32, /* that it has before one more thread than there are processors gets some */
	HTTP_THREAD_CONNS_SPARE = 8, /* more that the library would take: it learns of an end before the thread */
};

/** How many threads a server of so many connections has: one for each HTTP_THREAD_CONNS, at least two, and one for each
 *  processor where that leaves none below HTTP_THREAD_CONNS_FEW. */
unsigned http_accept_n_threads(unsigned connections_max, unsigned processors);

/** How many of n_threads serve, when there are n_conns connections. */
unsigned http_accept_n_serving(unsigned n_threads, unsigned n_conns, unsigned processors);

/** Take connections from the listening socket, which is taken over, until http_accept_stop(): on a thread of its own.
 *  @param hand_over  gives a connected socket, which is taken over, to a thread
 *  @return false: there is no thread, and the socket is closed */
bool http_accept_start(struct http_server *server, http_hand_over *hand_over);

/** End that thread, and close the socket. Harmless when it was not started. */
void http_accept_stop(struct http_server *server);

/** A thread has room for one connection more, which it takes. @return false: it has none */
bool http_thread_take_slot(struct http_thread *thread);

/** A connection that was to come does not. */
void http_thread_give_slot(struct http_thread *thread);

/** On a thread: the library begins with a connection that was handed to it, or has closed it. */
void http_thread_begins(struct http_thread *thread);
void http_thread_closed(struct http_thread *thread);

/** Once a second: a connection that was lost on its way to its thread, for want of memory, gives its slot back. */
void http_threads_settle(struct http_server *server);

#endif
