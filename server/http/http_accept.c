#include "server/http/http_accept.h"

#include "base/fd.h"
#include "base/sys.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ACCEPT_AGAIN_MS = 100 }; /* delay of a retry after descriptors or memory ran out */

unsigned http_accept_n_threads(unsigned connections_max, unsigned processors)
{
	unsigned least = (connections_max + HTTP_THREAD_CONNS - 1) / HTTP_THREAD_CONNS;
	unsigned useful = connections_max / HTTP_THREAD_CONNS_FEW;
	unsigned n = processors < useful ? processors : useful;
	n = n < least ? least : n;
	return n < 2 ? 2 : n;
}

unsigned http_accept_n_serving(unsigned n_threads, unsigned n_conns, unsigned processors)
{
	unsigned n = n_conns / HTTP_THREAD_CONNS_MANY;
	n = n < processors ? processors : n;
	n = n < 2 ? 2 : n;
	return n < n_threads ? n : n_threads;
}

/* Wakes the accepting thread if it waits for a slot. The accepting thread sets full, then searches for a slot. The
 * caller frees a slot, then reads full. So at least one of them sees what the other did. */
static void accept_wake(struct http_accept *a)
{
	const uint64_t one = 1;
	if (atomic_exchange(&a->full, false))
		(void)!cairn_sys_write(a->wake, &one, sizeof(one));
}

bool http_thread_take_slot(struct http_thread *thread)
{
	atomic_fetch_add(&thread->n_handed, 1);
	if (atomic_fetch_add(&thread->n_slots, 1) < HTTP_THREAD_CONNS)
		return true;
	http_thread_give_slot(thread);
	return false;
}

void http_thread_give_slot(struct http_thread *thread)
{
	atomic_fetch_sub(&thread->n_slots, 1);
	accept_wake(&thread->server->accept);
}

void http_thread_begins(struct http_thread *thread)
{
	atomic_fetch_add(&thread->n_open, 1);
}

void http_thread_closed(struct http_thread *thread)
{
	atomic_fetch_sub(&thread->n_open, 1);
	http_thread_give_slot(thread);
}

void http_threads_recount(struct http_server *server)
{
	for (unsigned i = 0; i < server->n_threads; i++) {
		struct http_thread *t = &server->threads[i];
		unsigned handed = atomic_load(&t->n_handed);
		int open = atomic_load(&t->n_open);
		/* No connection was on its way to the thread for a second, so both counts should be equal. A connection
		 * that opens or closes now makes the count wrong by one until the next second. */
		if (handed == t->n_handed_before && atomic_load(&t->n_slots) != open) {
			atomic_store(&t->n_slots, open);
			accept_wake(&server->accept);
		}
		t->n_handed_before = handed;
	}
}

/* Picks the serving thread with the fewest connections. It has room, because all threads together have room for all
 * allowed connections. @return NULL: the limit is reached */
static struct http_thread *accept_pick(struct http_server *server)
{
	int64_t n_conns = 0;
	struct http_thread *best = &server->threads[0];
	for (unsigned i = 0; i < server->n_threads; i++)
		n_conns += atomic_load(&server->threads[i].n_slots);
	n_conns = n_conns < 0 ? 0 : n_conns;
	if (n_conns >= server->options.connections_max)
		return NULL;
	unsigned n = http_accept_n_serving(server->n_threads, (unsigned)n_conns, server->processors);
	for (unsigned i = 1; i < n; i++) {
		struct http_thread *t = &server->threads[i];
		if (atomic_load(&t->n_slots) < atomic_load(&best->n_slots))
			best = t;
	}
	return best;
}

/* Accepts a connection. @return false: none, or accepting must pause for *wait_ms; -1: until poll reports something */
static bool accept_one(struct http_server *server, int *wait_ms)
{
	struct sockaddr_storage address;
	socklen_t len = sizeof(address);
	struct http_accept *a = &server->accept;
	atomic_store(&a->full, true);
	struct http_thread *thread = accept_pick(server);
	if (!thread)
		return false;
	atomic_store(&a->full, false);
	int fd = cairn_sys_accept4(a->listen_fd, (struct sockaddr *)&address, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			*wait_ms = ACCEPT_AGAIN_MS;
		return false;
	}
	if (atomic_load(&server->draining))
		(void)close(fd);
	else
		(void)a->hand_over(thread, fd, (struct sockaddr *)&address, len);
	return true;
}

static void *accept_run(void *arg)
{
	struct http_server *server = arg;
	struct http_accept *a = &server->accept;
	(void)pthread_setname_np(pthread_self(), "accept");
	while (!atomic_load(&a->stopping)) {
		int wait_ms = -1;
		uint64_t n;
		while (accept_one(server, &wait_ms))
			continue;
		bool rests = wait_ms >= 0 || atomic_load(&a->full);
		struct pollfd fds[] = {{.fd = a->wake, .events = POLLIN}, {.fd = a->listen_fd, .events = POLLIN}};
		(void)cairn_sys_poll(fds, rests ? 1 : 2, wait_ms);
		if (fds[0].revents)
			(void)!cairn_sys_read(a->wake, &n, sizeof(n));
	}
	return NULL;
}

bool http_accept_start(struct http_server *server, http_hand_over *hand_over)
{
	struct http_accept *a = &server->accept;
	a->hand_over = hand_over;
	a->listen_fd = server->options.listen_fd;
	a->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	a->running = a->wake >= 0 && pthread_create(&a->thread, NULL, accept_run, server) == 0;
	if (!a->running)
		cairn_fd_closep(&a->listen_fd);
	return a->running;
}

void http_accept_stop(struct http_server *server)
{
	const uint64_t one = 1;
	struct http_accept *a = &server->accept;
	if (!a->running)
		return;
	atomic_store(&a->stopping, true);
	(void)!cairn_sys_write(a->wake, &one, sizeof(one));
	pthread_join(a->thread, NULL);
	a->running = false;
	cairn_fd_closep(&a->listen_fd);
}
