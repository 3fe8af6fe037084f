/* A wide-area line between two ports of this machine, for kernels without netem: a delay, a rate that all connections
 * share, and a window for each connection.
 *
 *     bench_line TARGET_PORT RTT_MS MBIT WINDOW_KIB HANDSHAKES
 *
 * Each direction takes half of RTT_MS. A window, as of TCP, limits how much is under way to the client: it begins with
 * ten segments, grows by all bytes that arrive (slow start) up to WINDOW_KIB, and begins anew after a second of
 * silence. The first bytes of a connection wait HANDSHAKES round trips: 2 are TCP's and those of TLS 1.3. No packet is
 * lost; a small window stands for a line that loses some.
 *
 * The program prints its port, and on SIGUSR1 the bytes that went down since the last time. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	PIECE_BYTES = 32768,
	PIECES_AT_ONCE = 8,
	CONNECTIONS = 4096,
	BACKLOG = 512,
	WINDOW_FIRST_BYTES = 14600,
	QUEUE_BYTES = 4 << 20, /* room of one direction of a connection, in addition to its window */
	BUSY_NAP_NS = 400000,
	IDLE_NAP_NS = 2000000,
};

static const double LINE_QUEUE_S = 0.02; /* seconds' worth of bytes that wait for the rate; the sender keeps more */

struct piece {
	struct piece *next;
	double arrives_s;
	size_t len, n_sent;
	uint8_t bytes[PIECE_BYTES];
};

struct ack {
	struct ack *next;
	double arrives_s;
	size_t len;
};

/* Either direction of a connection. */
struct way {
	int from, to;
	bool down, ended, passed_on;
	struct piece *first, *last;
	size_t n_queued;
};

struct conn {
	double born_s, last_sent_s;
	struct way up, down;
	struct ack *first_ack, *last_ack;
	size_t in_flight, window;
};

static struct {
	double rate, one_way_s, up_free_s, down_free_s;
	size_t window_max;
	unsigned handshakes;
	uint16_t target;
	struct conn *conns[CONNECTIONS];
	size_t n_conns;
	struct piece *spare;
	uint64_t n_down;
} line;

static volatile sig_atomic_t must_tell;

static void line_on_signal(int sig)
{
	(void)sig;
	must_tell = 1;
}

static double line_now_s(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *line_alloc(size_t n)
{
	void *p = calloc(1, n);
	if (!p) {
		perror("bench_line");
		exit(EXIT_FAILURE);
	}
	return p;
}

static struct piece *piece_take(void)
{
	struct piece *p = line.spare;
	if (!p)
		return line_alloc(sizeof(*p));
	line.spare = p->next;
	p->next = NULL;
	p->n_sent = 0;
	return p;
}

static void piece_give_back(struct piece *p)
{
	p->next = line.spare;
	line.spare = p;
}

/* Puts a piece onto the line, behind the earlier ones of its direction. */
static void way_put(struct conn *c, struct way *w, struct piece *p, double now_s)
{
	double *free_s = w->down ? &line.down_free_s : &line.up_free_s;
	double first_s = c->born_s + (double)line.handshakes * 2 * line.one_way_s + line.one_way_s;
	if (now_s > *free_s)
		*free_s = now_s;
	*free_s += (double)p->len / line.rate;
	p->arrives_s = *free_s + line.one_way_s;
	if (!w->down && p->arrives_s < first_s)
		p->arrives_s = first_s;
	if (w->last)
		w->last->next = p;
	else
		w->first = p;
	w->last = p;
	w->n_queued += p->len;
}

static void conn_count(struct conn *c, const struct way *w, size_t n, double now_s)
{
	if (!w->down)
		return;
	if (now_s - c->last_sent_s > 1.0)
		c->window = WINDOW_FIRST_BYTES;
	c->last_sent_s = now_s;
	c->in_flight += n;
	line.n_down += n;
}

/* Returns how many bytes fit into the window. */
static size_t way_room(const struct conn *c, const struct way *w)
{
	if (!w->down)
		return PIECE_BYTES;
	size_t room = c->window > c->in_flight ? c->window - c->in_flight : 0;
	return room < PIECE_BYTES ? room : PIECE_BYTES;
}

/* Reads bytes from the sender. @return true: the connection still works */
static bool way_read(struct conn *c, struct way *w, double now_s)
{
	for (int i = 0; i < PIECES_AT_ONCE && !w->ended; i++) {
		size_t room = way_room(c, w);
		double free_s = w->down ? line.down_free_s : line.up_free_s;
		if (room == 0 || free_s - now_s > LINE_QUEUE_S || w->n_queued > QUEUE_BYTES + line.window_max)
			return true;
		struct piece *p = piece_take();
		ssize_t n = recv(w->from, p->bytes, room, MSG_DONTWAIT);
		if (n <= 0) {
			piece_give_back(p);
			w->ended = n == 0;
			return n == 0 || errno == EAGAIN || errno == EINTR;
		}
		p->len = (size_t)n;
		way_put(c, w, p, now_s);
		conn_count(c, w, p->len, now_s);
	}
	return true;
}

static void conn_acknowledge(struct conn *c, size_t n, double now_s)
{
	struct ack *a = line_alloc(sizeof(*a));
	a->arrives_s = now_s + line.one_way_s;
	a->len = n;
	if (c->last_ack)
		c->last_ack->next = a;
	else
		c->first_ack = a;
	c->last_ack = a;
}

static void conn_take_acks(struct conn *c, double now_s)
{
	while (c->first_ack && c->first_ack->arrives_s <= now_s) {
		struct ack *a = c->first_ack;
		c->first_ack = a->next;
		if (!c->first_ack)
			c->last_ack = NULL;
		c->in_flight -= a->len;
		c->window = c->window + a->len < line.window_max ? c->window + a->len : line.window_max;
		free(a);
	}
}

static void way_drop_first(struct way *w)
{
	struct piece *p = w->first;
	w->first = p->next;
	if (!w->first)
		w->last = NULL;
	piece_give_back(p);
}

/* Passes on the bytes that have arrived. @return true: the connection still works */
static bool way_write(struct conn *c, struct way *w, double now_s)
{
	while (w->first && w->first->arrives_s <= now_s) {
		struct piece *p = w->first;
		ssize_t n = send(w->to, p->bytes + p->n_sent, p->len - p->n_sent, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		p->n_sent += (size_t)n;
		w->n_queued -= (size_t)n;
		if (w->down)
			conn_acknowledge(c, (size_t)n, now_s);
		if (p->n_sent < p->len)
			return true;
		way_drop_first(w);
	}
	if (w->ended && !w->first && !w->passed_on) {
		(void)shutdown(w->to, SHUT_WR);
		w->passed_on = true;
	}
	return true;
}

static void conn_free(struct conn *c)
{
	(void)close(c->up.from);
	(void)close(c->up.to);
	while (c->up.first)
		way_drop_first(&c->up);
	while (c->down.first)
		way_drop_first(&c->down);
	while (c->first_ack) {
		struct ack *a = c->first_ack;
		c->first_ack = a->next;
		free(a);
	}
	free(c);
}

/* Connects to the target. @return a socket; below 0: the target refuses, or there are too many connections */
static int line_connect(void)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(line.target), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = line.n_conns == CONNECTIONS ? -1 : socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		return fd;
	if (fd >= 0)
		(void)close(fd);
	return -1;
}

static void line_accept(int listener, double now_s)
{
	const int one = 1;
	int client = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (client < 0)
		return;
	int server = line_connect();
	if (server < 0) {
		(void)close(client);
		return;
	}
	(void)setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	(void)setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	struct conn *c = line_alloc(sizeof(*c));
	c->up = (struct way){.from = client, .to = server};
	c->down = (struct way){.from = server, .to = client, .down = true};
	c->born_s = c->last_sent_s = now_s;
	c->window = WINDOW_FIRST_BYTES;
	line.conns[line.n_conns++] = c;
}

static bool conn_move(struct conn *c, double now_s)
{
	conn_take_acks(c, now_s);
	bool works = way_read(c, &c->up, now_s) && way_read(c, &c->down, now_s) && way_write(c, &c->up, now_s) &&
		     way_write(c, &c->down, now_s);
	return works && !(c->up.passed_on && c->down.passed_on);
}

/* Serves all connections, beginning with another one each time, and removes those that have ended. */
static void line_move(size_t turn, double now_s)
{
	size_t n = line.n_conns, kept = 0;
	bool over[CONNECTIONS];
	for (size_t i = 0; i < n; i++) {
		size_t at = (i + turn) % n;
		over[at] = !conn_move(line.conns[at], now_s);
	}
	for (size_t i = 0; i < n; i++) {
		if (over[i])
			conn_free(line.conns[i]);
		else
			line.conns[kept++] = line.conns[i];
	}
	line.n_conns = kept;
}

static void line_tell(void)
{
	must_tell = 0;
	printf("%llu\n", (unsigned long long)line.n_down);
	(void)fflush(stdout);
	line.n_down = 0;
}

static int line_listen(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) != 0 || listen(fd, BACKLOG) != 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) != 0)
		return -1;
	printf("bench_line listening on http://127.0.0.1:%u\n", ntohs(a.sin_port));
	(void)fflush(stdout);
	return fd;
}

int main(int argc, char **argv)
{
	if (argc != 6)
		return fprintf(stderr, "bench_line TARGET_PORT RTT_MS MBIT WINDOW_KIB HANDSHAKES\n"), EXIT_FAILURE;
	line.target = (uint16_t)strtoul(argv[1], NULL, 10);
	line.one_way_s = strtod(argv[2], NULL) / 2000;
	line.rate = strtod(argv[3], NULL) * 1e6 / 8;
	line.window_max = strtoul(argv[4], NULL, 10) * 1024;
	line.handshakes = (unsigned)strtoul(argv[5], NULL, 10);
	(void)signal(SIGUSR1, line_on_signal);
	(void)signal(SIGPIPE, SIG_IGN);
	int listener = line_listen();
	if (listener < 0)
		return perror("bench_line"), EXIT_FAILURE;
	for (size_t turn = 0;; turn++) {
		double now_s = line_now_s();
		if (must_tell)
			line_tell();
		line_accept(listener, now_s);
		if (line.n_conns > 0)
			line_move(turn, now_s);
		const struct timespec nap = {0, line.n_conns > 0 ? BUSY_NAP_NS : IDLE_NAP_NS};
		(void)nanosleep(&nap, NULL);
	}
}
