/* The cost of reading bytes from a socket and storing them, in several ways, without looking at them. That is the part
 * of an upload besides hashing and unpacking. A child sends over loopback, as fast as the bytes are taken.
 *     bench_receive FOLDER MIB ROUNDS
 * Each round runs each way once, and starts with another one. Prints a line for each way: its name, and seconds of
 * processor time per GiB, outside of the kernel and within. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIECE_BYTES = 512 * 1024, LIBRARY_BYTES = 18 * 1024, SENT_BYTES = 1 << 20, ALIGNMENT = 4096 };

struct way {
	const char *name;
	size_t recv_bytes;  /* most bytes of one call */
	int receive_buffer; /* SO_RCVBUF; 0: the default */
	bool store, direct, worker, splice, read_back;
};

static const struct way WAYS[] = {
	{.name = "thrown away, 18 KiB at once", .recv_bytes = LIBRARY_BYTES},
	{.name = "thrown away, 512 KiB at once", .recv_bytes = PIECE_BYTES},
	{.name = "written, 18 KiB received at once", .recv_bytes = LIBRARY_BYTES, .store = true},
	{.name = "written, 512 KiB received at once", .recv_bytes = PIECE_BYTES, .store = true},
	{.name = "written, socket buffer of 8 MiB",
	 .recv_bytes = PIECE_BYTES,
	 .store = true,
	 .receive_buffer = 8 << 20},
	{.name = "O_DIRECT", .recv_bytes = LIBRARY_BYTES, .store = true, .direct = true},
	{.name = "O_DIRECT by a worker", .recv_bytes = LIBRARY_BYTES, .store = true, .direct = true, .worker = true},
	{.name = "splice", .store = true, .splice = true},
	{.name = "splice, and read again", .store = true, .splice = true, .read_back = true},
};

static void must(bool right, const char *what)
{
	if (right)
		return;
	perror(what);
	exit(EXIT_FAILURE);
}

/* --- a worker that writes, two pieces --------------------------------------------------------------------------- */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	const uint8_t *piece; /* the piece that the worker writes; NULL: none */
	size_t len;
	int fd;
	bool over;
} worker = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *worker_run(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&worker.lock);
	for (;;) {
		while (!worker.piece && !worker.over)
			pthread_cond_wait(&worker.changed, &worker.lock);
		if (!worker.piece)
			break;
		pthread_mutex_unlock(&worker.lock);
		must(write(worker.fd, worker.piece, worker.len) == (ssize_t)worker.len, "write");
		pthread_mutex_lock(&worker.lock);
		worker.piece = NULL;
		pthread_cond_broadcast(&worker.changed);
	}
	pthread_mutex_unlock(&worker.lock);
	return NULL;
}

static void worker_write(int fd, const uint8_t *piece, size_t len)
{
	pthread_mutex_lock(&worker.lock);
	while (worker.piece)
		pthread_cond_wait(&worker.changed, &worker.lock);
	worker.piece = piece;
	worker.len = len;
	worker.fd = fd;
	worker.over = len == 0;
	if (len == 0)
		worker.piece = NULL;
	pthread_cond_broadcast(&worker.changed);
	pthread_mutex_unlock(&worker.lock);
}

static void take_by_copy(const struct way *way, int from, int to, size_t left)
{
	static uint8_t *pieces[2];
	pthread_t thread;
	for (int i = 0; i < 2; i++)
		if (!pieces[i])
			must(posix_memalign((void **)&pieces[i], ALIGNMENT, PIECE_BYTES) == 0, "memory");
	worker.over = false;
	if (way->worker)
		must(pthread_create(&thread, NULL, worker_run, NULL) == 0, "thread");
	for (int i = 0; left > 0; i ^= 1) {
		size_t have = 0, want = left < PIECE_BYTES ? left : PIECE_BYTES;
		while (have < want) {
			size_t max = want - have < way->recv_bytes ? want - have : way->recv_bytes;
			ssize_t n = recv(from, pieces[i] + have, max, 0);
			must(n > 0, "recv");
			have += (size_t)n;
		}
		left -= have;
		if (way->worker)
			worker_write(to, pieces[i], have);
		else if (way->store)
			must(write(to, pieces[i], have) == (ssize_t)have, "write");
	}
	if (!way->worker)
		return;
	worker_write(to, NULL, 0);
	must(pthread_join(thread, NULL) == 0, "join");
}

static void take_by_splice(int from, int to, size_t left)
{
	int pipes[2];
	must(pipe2(pipes, O_CLOEXEC) == 0, "pipe");
	(void)fcntl(pipes[1], F_SETPIPE_SZ, 1 << 20);
	while (left > 0) {
		ssize_t n = splice(from, NULL, pipes[1], NULL, left < PIECE_BYTES ? left : PIECE_BYTES, SPLICE_F_MOVE);
		must(n > 0, "splice");
		left -= (size_t)n;
		while (n > 0) {
			ssize_t m = splice(pipes[0], NULL, to, NULL, (size_t)n, SPLICE_F_MOVE);
			must(m > 0, "splice");
			n -= m;
		}
	}
	(void)close(pipes[0]);
	(void)close(pipes[1]);
}

static void read_again(int fd, size_t len)
{
	static uint8_t piece[PIECE_BYTES];
	for (size_t at = 0; at < len; at += PIECE_BYTES)
		must(pread(fd, piece, PIECE_BYTES, (off_t)at) > 0, "pread");
}

static void send_all(uint16_t port, size_t left)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
	uint8_t *bytes = calloc(1, SENT_BYTES);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	must(bytes && fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0, "connect");
	memset(bytes, 'x', SENT_BYTES);
	while (left > 0) {
		ssize_t n = send(fd, bytes, left < SENT_BYTES ? left : SENT_BYTES, 0);
		must(n > 0, "send");
		left -= (size_t)n;
	}
	free(bytes);
	(void)close(fd);
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* Starts a child that sends over its own connection. @return the receiving socket */
static int start_sender(const struct way *way, size_t len, pid_t *child)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t a_len = sizeof(a);
	int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(listening >= 0 && bind(listening, (struct sockaddr *)&a, a_len) == 0 && listen(listening, 1) == 0 &&
		     getsockname(listening, (struct sockaddr *)&a, &a_len) == 0,
	     "listen");
	if (way->receive_buffer)
		(void)setsockopt(listening, SOL_SOCKET, SO_RCVBUF, &way->receive_buffer, sizeof(way->receive_buffer));
	*child = fork();
	must(*child >= 0, "fork");
	if (*child == 0) {
		send_all(ntohs(a.sin_port), len);
		_exit(0);
	}
	int from = accept(listening, NULL, NULL);
	(void)close(listening);
	return from;
}

static void try_way(const struct way *way, const char *path, size_t len)
{
	pid_t child;
	int from = start_sender(way, len, &child);
	int to = open(path, O_RDWR | O_CREAT | O_TRUNC | (way->direct ? O_DIRECT : 0), 0600);
	must(from >= 0 && to >= 0, path);
	struct rusage before, after;
	must(getrusage(RUSAGE_SELF, &before) == 0, "getrusage");
	if (way->splice)
		take_by_splice(from, to, len);
	else
		take_by_copy(way, from, to, len);
	if (way->read_back)
		read_again(to, len);
	if (way->store)
		must(fdatasync(to) == 0, "fdatasync");
	must(getrusage(RUSAGE_SELF, &after) == 0, "getrusage");
	double gib = (double)len / (1 << 30), user = seconds(after.ru_utime) - seconds(before.ru_utime),
	       kernel = seconds(after.ru_stime) - seconds(before.ru_stime);
	printf("%-34s %.3f %.3f\n", way->name, user / gib, kernel / gib);
	(void)fflush(stdout);
	(void)close(to);
	(void)close(from);
	(void)unlink(path);
	(void)waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	enum { N = sizeof(WAYS) / sizeof(WAYS[0]) };
	char path[4096];
	if (argc != 4)
		return EXIT_FAILURE;
	(void)snprintf(path, sizeof(path), "%s/received", argv[1]);
	size_t len = (size_t)strtoul(argv[2], NULL, 10) << 20, rounds = strtoul(argv[3], NULL, 10);
	for (size_t round = 0; round < rounds; round++)
		for (size_t i = 0; i < N; i++)
			try_way(&WAYS[(round + i) % N], path, len);
	return EXIT_SUCCESS;
}
