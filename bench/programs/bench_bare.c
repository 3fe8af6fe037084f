/* The simplest daemon on libmicrohttpd, as a reference for cairnd: every request, with any body, gets one of some
 * fixed, prepared replies. Several replies in turn use as much memory for their bytes as the daemon does.
 *
 *     bench_bare STATUS BYTES REPLIES [THREADS]
 *
 * The library is set up as in server/http/http_mhd.c. With THREADS the connections go to that many threads in turn,
 * as in cairnd. Without THREADS the library's own pool of nine threads takes them. One of these threads may get most
 * of the connections. In some runs this was 1.5 times as fast as an even spread, where the load ran on the same two
 * processors.
 *
 * The program prints its port. It serves until its standard input ends. */
#include <arpa/inet.h>
#include <microhttpd.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECTIONS = 1008, POOL = 9, THREADS_MAX = 64, MEMORY_BYTES = 32768 + 4096, IDLE_S = 90, BACKLOG = 1024 };

static struct MHD_Response **replies;
static unsigned status, n_replies;
static atomic_uint n_requests;

static enum MHD_Result bare_on_request(void *cls, struct MHD_Connection *conn, const char *url, const char *method,
				       const char *version, const char *bytes, size_t *n, void **ctx)
{
	static char seen;
	(void)cls, (void)url, (void)method, (void)version, (void)bytes;
	if (!*ctx) {
		*ctx = &seen; /* a reply in the library's first call would close the connection */
		return MHD_YES;
	}
	if (*n > 0) {
		*n = 0; /* discards a piece of a body */
		return MHD_YES;
	}
	unsigned i = atomic_fetch_add_explicit(&n_requests, 1, memory_order_relaxed) % n_replies;
	return MHD_queue_response(conn, status, replies[i]);
}

static int bare_listen(uint16_t *port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) != 0 || listen(fd, BACKLOG) != 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) != 0)
		return -1;
	*port = ntohs(a.sin_port);
	return fd;
}

static bool bare_make_replies(size_t len)
{
	replies = calloc(n_replies, sizeof(struct MHD_Response *));
	for (unsigned i = 0; replies && i < n_replies; i++) {
		char *body = malloc(len + 1);
		if (!body)
			return false;
		memset(body, 'x', len);
		replies[i] = MHD_create_response_from_buffer(len, body, MHD_RESPMEM_MUST_FREE);
		if (!replies[i])
			return false;
	}
	return replies != NULL;
}

/* Starts a daemon. It is one thread that gets its connections from us; if listen_fd is listening, it is a pool. */
static struct MHD_Daemon *bare_start(int listen_fd)
{
	const struct MHD_OptionItem pool[] = {
		{MHD_OPTION_LISTEN_SOCKET, listen_fd, NULL},
		{MHD_OPTION_THREAD_POOL_SIZE, POOL, NULL},
		{MHD_OPTION_END, 0, NULL},
	};
	bool handed = listen_fd < 0;
	return MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | (handed ? MHD_USE_NO_LISTEN_SOCKET : 0) |
					MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC | MHD_USE_ERROR_LOG,
				0, NULL, NULL, bare_on_request, NULL, MHD_OPTION_CONNECTION_LIMIT,
				(unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_BYTES,
				MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S, MHD_OPTION_STRICT_FOR_CLIENT, 1,
				MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_ARRAY, handed ? pool + 2 : pool,
				MHD_OPTION_END);
}

/* Serves until standard input ends. @param accepts  this function accepts the connections; otherwise a pool does */
static void bare_serve(int listen_fd, bool accepts, struct MHD_Daemon **daemons, unsigned n)
{
	struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = listen_fd, .events = POLLIN}};
	for (unsigned i = 0; poll(fds, accepts ? 2 : 1, -1) > 0 && !fds[0].revents; i++) {
		struct sockaddr_in a;
		socklen_t len = sizeof(a);
		int fd = accept4(listen_fd, (struct sockaddr *)&a, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0)
			(void)MHD_add_connection(daemons[i % n], fd, (struct sockaddr *)&a, len);
	}
}

int main(int argc, char **argv)
{
	if (argc != 4 && argc != 5)
		return EXIT_FAILURE;
	status = (unsigned)strtoul(argv[1], NULL, 10);
	n_replies = (unsigned)strtoul(argv[3], NULL, 10);
	bool pool = argc == 4;
	unsigned n = pool ? 1 : (unsigned)strtoul(argv[4], NULL, 10);
	struct MHD_Daemon *daemons[THREADS_MAX] = {NULL};
	uint16_t port = 0;
	int fd = bare_listen(&port);
	if (fd < 0 || n == 0 || n > THREADS_MAX || n_replies == 0 || !bare_make_replies(strtoull(argv[2], NULL, 10)))
		return EXIT_FAILURE;
	(void)signal(SIGPIPE, SIG_IGN);
	for (unsigned i = 0; i < n; i++)
		if (!(daemons[i] = bare_start(pool ? fd : -1)))
			return EXIT_FAILURE;
	printf("bench_bare listening on http://127.0.0.1:%u\n", port);
	(void)fflush(stdout);
	bare_serve(fd, !pool, daemons, n);
	for (unsigned i = 0; i < n; i++)
		MHD_stop_daemon(daemons[i]);
	for (unsigned i = 0; i < n_replies; i++)
		MHD_destroy_response(replies[i]);
	free(replies);
	return EXIT_SUCCESS;
}
