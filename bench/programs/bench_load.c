/* Puts load on a server: each of N connections sends a request, waits for the whole reply, and sends the next. The
 * program serves all connections on one thread, with epoll.
 *
 *     bench_load [-c CONNECTIONS] [-s SECONDS] [-o] [-w WARM_MS] [-e STATUS] ADDRESS PORT[,PORT...] TARGETS
 *
 * If there are several ports, the connections are spread over them.
 *
 * TARGETS is a file with one request in each line: "METHOD<tab>PATH<tab>HEADER<tab>BODY-FILE[<tab>STATUS]". "-" stands
 * for no header, or no body. Each request is sent once, unless SECONDS end first. With -s and without -o, the requests
 * are sent again and again until SECONDS are over, and each connection starts at another line.
 *
 * A reply is wrong if its status is not the one in its line, or STATUS. The program prints one line of JSON. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STUCK_NS UINT64_C(60000000000)

enum {
	HEAD_BYTES = 1024,
	REPLY_HEAD_BYTES = 16384,
	DISCARD_BYTES = 1 << 20,
	EVENTS = 256,
	CONNECTIONS_MAX = 4096,
	PORTS_MAX = 16
};

struct target {
	char head[HEAD_BYTES];
	size_t head_len, body_len;
	const uint8_t *body;
	unsigned expect;
};

struct conn {
	int fd;
	bool open, busy, head_seen;
	const struct target *target;
	size_t next; /* index of the next target, if targets are repeated */
	size_t sent, have;
	uint64_t left, body_bytes; /* body bytes of the reply: still to come, and read */
	uint64_t began_ns;
	unsigned status;
	bool close_after;
	char reply[REPLY_HEAD_BYTES];
};

struct load {
	unsigned n_conns, expect;
	double seconds;
	bool again; /* repeat the targets until the time is over */
	uint64_t warm_ns;
	struct in_addr address;
	uint16_t ports[PORTS_MAX];
	unsigned n_ports;
	struct target *targets;
	size_t n_targets, targets_cap, n_given;
	struct conn *conns;
	int epoll;
	uint64_t from_ns, until_ns, last_ns;
	/* the last two count the body bytes of complete requests */
	uint64_t n_done, n_wrong, n_broken, n_received, n_sent;
	unsigned wrong_status;
	uint32_t *samples_us;
	size_t n_samples, samples_cap;
};

static void load_die(const char *what)
{
	(void)fprintf(stderr, "bench_load: %s: %s\n", what, errno ? strerror(errno) : "wrong");
	exit(EXIT_FAILURE);
}

static uint64_t load_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void load_map(struct target *t, const char *path)
{
	struct stat s;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &s) != 0)
		load_die(path);
	t->body_len = (size_t)s.st_size;
	t->body = mmap(NULL, t->body_len, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (t->body == MAP_FAILED)
		load_die(path);
	close(fd);
}

static void load_add_target(struct load *l, char *line, const char *host)
{
	char *save = NULL, *method = strtok_r(line, "\t\n", &save), *path = strtok_r(NULL, "\t\n", &save);
	char *header = strtok_r(NULL, "\t\n", &save), *body = strtok_r(NULL, "\t\n", &save);
	char *expect = strtok_r(NULL, "\t\n", &save);
	if (!method || !path || !header || !body)
		load_die("a target needs four columns");
	if (l->n_targets == l->targets_cap) {
		l->targets_cap = l->targets_cap ? l->targets_cap * 2 : 64;
		l->targets = realloc(l->targets, l->targets_cap * sizeof(*l->targets));
		if (!l->targets)
			load_die("targets");
	}
	struct target *t = &l->targets[l->n_targets++];
	*t = (struct target){.expect = expect ? (unsigned)strtoul(expect, NULL, 10) : l->expect};
	char more[HEAD_BYTES] = "", length[64] = "";
	if (strcmp(header, "-") != 0 && (size_t)snprintf(more, sizeof(more), "%s\r\n", header) >= sizeof(more))
		load_die("a header is too long");
	if (strcmp(body, "-") != 0) {
		load_map(t, body);
		(void)snprintf(length, sizeof(length), "Content-Length: %zu\r\n", t->body_len);
	}
	int n = snprintf(t->head, sizeof(t->head), "%s %s HTTP/1.1\r\nHost: %s\r\nAccept: */*\r\n%s%s\r\n", method,
			 path, host, more, length);
	if (n < 0 || (size_t)n >= sizeof(t->head))
		load_die("a target is too long");
	t->head_len = (size_t)n;
}

static void load_targets(struct load *l, const char *file, const char *host)
{
	FILE *f = fopen(file, "re");
	char *line = NULL;
	size_t cap = 0;
	if (!f)
		load_die(file);
	while (getline(&line, &cap, f) > 0)
		load_add_target(l, line, host);
	free(line);
	(void)fclose(f);
	if (l->n_targets == 0)
		load_die("no targets");
}

static void conn_watch(struct load *l, struct conn *c, int op, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = c};
	if (epoll_ctl(l->epoll, op, c->fd, &e) != 0)
		load_die("epoll_ctl");
}

static void conn_open(struct load *l, struct conn *c)
{
	int one = 1;
	uint16_t port = l->ports[(size_t)(c - l->conns) % l->n_ports];
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = l->address, .sin_port = htons(port)};
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&a, sizeof(a)) != 0)
		load_die("connect");
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (fcntl(c->fd, F_SETFL, O_NONBLOCK) != 0)
		load_die("fcntl");
	c->open = true;
	conn_watch(l, c, EPOLL_CTL_ADD, EPOLLIN);
}

static void conn_close(struct conn *c)
{
	close(c->fd);
	c->open = false;
}

/* Sends the rest of head and body. Bytes that do not fit now are sent when the socket takes more. */
static void conn_send(struct load *l, struct conn *c)
{
	const struct target *t = c->target;
	while (c->sent < t->head_len + t->body_len) {
		bool in_head = c->sent < t->head_len;
		const void *from = in_head ? (const void *)(t->head + c->sent) : t->body + (c->sent - t->head_len);
		size_t len = in_head ? t->head_len - c->sent : t->body_len - (c->sent - t->head_len);
		ssize_t n = send(c->fd, from, len, MSG_NOSIGNAL | (in_head && t->body_len ? MSG_MORE : 0));
		if (n < 0 && errno == EAGAIN) {
			conn_watch(l, c, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
			return;
		}
		if (n < 0)
			break; /* the reply, or its absence, will show the failure */
		c->sent += (size_t)n;
	}
	if (t->body_len)
		conn_watch(l, c, EPOLL_CTL_MOD, EPOLLIN);
}

static bool conn_begin(struct load *l, struct conn *c)
{
	uint64_t now_ns = load_now_ns();
	c->busy = false;
	if ((l->seconds > 0 && now_ns >= l->until_ns) || (!l->again && l->n_given >= l->n_targets))
		return false;
	if (!c->open)
		conn_open(l, c);
	c->target = &l->targets[l->again ? c->next++ % l->n_targets : l->n_given];
	l->n_given++;
	c->busy = true;
	c->head_seen = c->close_after = false;
	c->sent = c->have = 0;
	c->body_bytes = 0;
	c->began_ns = now_ns;
	conn_send(l, c);
	return true;
}

static void load_sample(struct load *l, uint64_t ns)
{
	if (l->n_samples == l->samples_cap) {
		l->samples_cap = l->samples_cap ? l->samples_cap * 2 : 1 << 16;
		l->samples_us = realloc(l->samples_us, l->samples_cap * sizeof(*l->samples_us));
		if (!l->samples_us)
			load_die("samples");
	}
	l->samples_us[l->n_samples++] = (uint32_t)(ns / 1000);
}

static void conn_end(struct load *l, struct conn *c)
{
	l->last_ns = load_now_ns();
	if (c->began_ns >= l->from_ns && (!l->again || l->last_ns <= l->until_ns)) {
		l->n_done++;
		l->n_received += c->body_bytes;
		l->n_sent += c->target->body_len;
		load_sample(l, l->last_ns - c->began_ns);
		if (c->status != c->target->expect) {
			l->n_wrong++;
			l->wrong_status = c->status;
		}
	}
	if (c->close_after)
		conn_close(c);
}

/* Reads the complete head of a reply. @return how many of the bytes read belong to the body */
static size_t conn_head(struct conn *c, const char *end)
{
	size_t head_len = (size_t)(end - c->reply) + 4;
	c->reply[head_len - 1] = '\0';
	const char *length = strcasestr(c->reply, "\r\nContent-Length:");
	c->status = (unsigned)strtoul(c->reply + 9, NULL, 10);
	bool bodiless = c->status == 304 || strncmp(c->target->head, "HEAD ", 5) == 0;
	c->left = length && !bodiless ? strtoull(length + 17, NULL, 10) : 0;
	c->close_after = strcasestr(c->reply, "\r\nConnection: close") != NULL;
	c->head_seen = true;
	return c->have - head_len;
}

/* Reads from a connection. @return false: there is nothing more now, or it is closed */
static bool conn_read(struct load *l, struct conn *c)
{
	ssize_t n;
	if (c->head_seen) {
		size_t want = c->left < DISCARD_BYTES ? (size_t)c->left : DISCARD_BYTES;
		n = recv(c->fd, NULL, want, MSG_TRUNC); /* discards the bytes in the kernel */
	} else {
		n = recv(c->fd, c->reply + c->have, sizeof(c->reply) - 1 - c->have, 0);
	}
	if (n < 0 && errno == EAGAIN)
		return false;
	if (n <= 0) {
		if (c->busy) {
			l->n_broken++;
			conn_close(c);
			conn_begin(l, c);
		} else {
			conn_close(c);
		}
		return false;
	}
	size_t body = (size_t)n;
	if (!c->head_seen) {
		c->have += body;
		c->reply[c->have] = '\0';
		const char *end = strstr(c->reply, "\r\n\r\n");
		if (!end)
			return true;
		body = conn_head(c, end);
	}
	c->body_bytes += body;
	c->left -= body < c->left ? body : c->left;
	if (c->left > 0)
		return true;
	conn_end(l, c);
	conn_begin(l, c);
	return false;
}

static void conn_event(struct load *l, struct conn *c, uint32_t events)
{
	if (events & EPOLLOUT && c->busy)
		conn_send(l, c);
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		while (c->open && conn_read(l, c))
			continue;
}

static bool load_is_busy(const struct load *l)
{
	for (unsigned i = 0; i < l->n_conns; i++)
		if (l->conns[i].busy)
			return true;
	return false;
}

static void load_run(struct load *l)
{
	struct epoll_event events[EVENTS];
	for (unsigned i = 0; i < l->n_conns; i++) {
		l->conns[i].next = l->n_targets * i / l->n_conns;
		conn_open(l, &l->conns[i]);
	}
	l->from_ns = load_now_ns() + l->warm_ns;
	l->until_ns = l->from_ns + (uint64_t)(l->seconds * 1e9);
	for (unsigned i = 0; i < l->n_conns; i++)
		conn_begin(l, &l->conns[i]);
	while (load_is_busy(l)) {
		int n = epoll_wait(l->epoll, events, EVENTS, 5000);
		if (l->seconds > 0 && load_now_ns() > l->until_ns + STUCK_NS)
			break; /* connections that no longer move count as broken */
		for (int i = 0; i < n; i++)
			conn_event(l, events[i].data.ptr, events[i].events);
	}
	for (unsigned i = 0; i < l->n_conns; i++)
		l->n_broken += l->conns[i].busy;
}

static int load_compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* Returns a quantile of the sorted samples. @param permille  share of the samples that are not longer */
static uint32_t load_quantile(const struct load *l, unsigned permille)
{
	return l->n_samples ? l->samples_us[(l->n_samples - 1) * permille / 1000] : 0;
}

static void load_report(struct load *l)
{
	double took_s = l->again ? l->seconds : (double)(l->last_ns - l->from_ns) / 1e9;
	if (l->n_samples > 0)
		qsort(l->samples_us, l->n_samples, sizeof(*l->samples_us), load_compare);
	printf("{\"requests\":%" PRIu64 ",\"seconds\":%.4f,\"p50_us\":%" PRIu32 ",\"p99_us\":%" PRIu32
	       ",\"p999_us\":%" PRIu32,
	       l->n_done, took_s, load_quantile(l, 500), load_quantile(l, 990), load_quantile(l, 999));
	printf(",\"received_bytes\":%" PRIu64 ",\"sent_bytes\":%" PRIu64 ",\"wrong\":%" PRIu64
	       ",\"wrong_status\":%u,\"broken\":%" PRIu64 "}\n",
	       l->n_received, l->n_sent, l->n_wrong, l->wrong_status, l->n_broken);
}

static void load_fini(struct load *l)
{
	for (size_t i = 0; i < l->n_targets; i++)
		if (l->targets[i].body_len)
			(void)munmap((void *)(uintptr_t)l->targets[i].body, l->targets[i].body_len);
	for (unsigned i = 0; i < l->n_conns; i++)
		if (l->conns[i].open)
			conn_close(&l->conns[i]);
	close(l->epoll);
	free(l->targets);
	free(l->conns);
	free(l->samples_us);
}

static void load_ports(struct load *l, const char *list)
{
	for (char *end; l->n_ports < PORTS_MAX; list = end + 1) {
		l->ports[l->n_ports++] = (uint16_t)strtoul(list, &end, 10);
		if (*end != ',')
			return;
	}
	load_die("too many ports");
}

int main(int argc, char **argv)
{
	struct load l = {.n_conns = 16, .expect = 200};
	bool once = false;
	for (int option; (option = getopt(argc, argv, "c:s:ow:e:")) != -1;) {
		if (option == 'c')
			l.n_conns = (unsigned)strtoul(optarg, NULL, 10);
		else if (option == 's')
			l.seconds = strtod(optarg, NULL);
		else if (option == 'o')
			once = true;
		else if (option == 'w')
			l.warm_ns = strtoull(optarg, NULL, 10) * 1000000u;
		else if (option == 'e')
			l.expect = (unsigned)strtoul(optarg, NULL, 10);
		else
			return EXIT_FAILURE;
	}
	char host[64];
	if (argc - optind != 3 || l.n_conns < 1 || l.n_conns > CONNECTIONS_MAX)
		load_die("usage: bench_load [-c N] [-s S] [-o] [-w MS] [-e STATUS] ADDRESS PORT[,PORT...] TARGETS");
	load_ports(&l, argv[optind + 1]);
	if (inet_pton(AF_INET, argv[optind], &l.address) != 1)
		load_die(argv[optind]);
	(void)snprintf(host, sizeof(host), "%s:%u", argv[optind], l.ports[0]);
	load_targets(&l, argv[optind + 2], host);
	l.conns = calloc(l.n_conns, sizeof(*l.conns));
	l.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!l.conns || l.epoll < 0)
		load_die("start");
	l.again = l.seconds > 0 && !once;
	load_run(&l);
	load_report(&l);
	load_fini(&l);
	return EXIT_SUCCESS;
}
