/* Tests whether each of the server's threads still answers. Uses socket pairs, since the sandbox forbids connecting.
 * Independent of the HTTP library. */
#include "base/sys.h"
#include "server/http/http_server.h"

#include "base/fd.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char ASK_REQUEST[] = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
static const char ASK_ANSWER[] = "HTTP/1.1 ";
enum { ASK_ANSWER_LEN = sizeof(ASK_ANSWER) - 1 };

static bool ask_set_timeouts(int fd, unsigned timeout_ms)
{
	const struct timeval t = {.tv_sec = timeout_ms / 1000, .tv_usec = (suseconds_t)(timeout_ms % 1000) * 1000};
	return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)) == 0 &&
	       setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t)) == 0;
}

static size_t ask_plainly(int fd, char *reply, size_t reply_max)
{
	if (cairn_sys_send(fd, ASK_REQUEST, sizeof(ASK_REQUEST) - 1, MSG_NOSIGNAL) != (ssize_t)sizeof(ASK_REQUEST) - 1)
		return 0;
	ssize_t n = cairn_sys_recv(fd, reply, reply_max, MSG_WAITALL);
	return n > 0 ? (size_t)n : 0;
}

static bool ask_thread(struct http_thread *thread, unsigned timeout_ms)
{
	const struct http_server_options *o = &thread->server->options;
	const struct sockaddr nobody = {.sa_family = AF_UNIX};
	char reply[ASK_ANSWER_LEN];
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return false;
	CLEANUP(cairn_fd_closep) int ours = pair[0];
	if (!ask_set_timeouts(ours, timeout_ms)) {
		(void)close(pair[1]);
		return false;
	}
	if (!http_server_hand_over(thread, pair[1], &nobody, sizeof(nobody.sa_family)))
		return true; /* all slots are taken by connections, so the thread counts as answering */
	size_t n = o->tls_ask ? o->tls_ask(ours, ASK_REQUEST, sizeof(ASK_REQUEST) - 1, reply, sizeof(reply))
			      : ask_plainly(ours, reply, sizeof(reply));
	return n == ASK_ANSWER_LEN && memcmp(reply, ASK_ANSWER, ASK_ANSWER_LEN) == 0;
}

bool http_server_answers(struct http_server *server, unsigned timeout_ms)
{
	if (atomic_load(&server->draining))
		return false;
	for (unsigned i = 0; i < server->n_threads; i++)
		if (!ask_thread(&server->threads[i], timeout_ms))
			return false;
	return true;
}
