#include "server/log/log_writer.h"

#include "base/fd.h"
#include "base/sys.h"
#include "server/log/log_ring.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	WRITER_EVERY_MS = 100,
	WRITER_HELD_UP_MS = 1, /* how long to wait while a reserved line is not filled in, and others wait behind it */
	WRITER_MANY_CELLS = 256,        /* more waiting cells, about 64 KiB, are written at once */
	WRITER_BATCH_BYTES = 64 * 1024, /* most bytes in one write */
	WRITER_LOOK_MS = 1,             /* how often a thread that waits for the writer polls */
};

/* The writer of the process. */
static struct log_writer {
	struct log_ring ring;
	alignas(64) atomic_bool running; /* the thread runs; false: callers write their lines themselves */
	atomic_bool idle;                /* the thread sleeps until there is a line */
	atomic_bool hurry;               /* write without waiting for more lines */
	atomic_bool stopping, ended;
	int wake;                              /* an eventfd */
	alignas(64) _Atomic uint64_t finished; /* the ring's cells before this position are written or given up */
	void (*report_dropped)(uint64_t lines);
	pthread_t thread;
	uint64_t n_reported; /* how many dropped lines were reported */
	size_t batch_bytes;  /* most bytes in one write; a longer line is written alone */
	bool torn;           /* a failed write left part of a line */
	uint8_t batch[1 + WRITER_BATCH_BYTES];
} writer;

static void writer_drop(struct log_writer *w, const uint8_t *lines, const uint8_t *end)
{
	uint64_t n = 0;
	for (; lines < end; lines++)
		n += *lines == '\n';
	atomic_fetch_add_explicit(&w->ring.dropped, n, memory_order_relaxed);
}

/* Writes lines, which start at bytes + begin. Lines that cannot be written are lost, but counted. */
static bool writer_write(struct log_writer *w, const uint8_t *bytes, size_t begin, size_t len)
{
	const uint8_t *p = bytes, *end = bytes + len;
	while (p < end) {
		ssize_t n = cairn_sys_write(STDERR_FILENO, p, (size_t)(end - p));
		if (n >= 0)
			p += n;
		else if (errno == EAGAIN)
			(void)cairn_sys_poll(&(struct pollfd){.fd = STDERR_FILENO, .events = POLLOUT}, 1, -1);
		else
			break;
	}
	if (p > bytes)
		w->torn = p[-1] != '\n';
	writer_drop(w, p > bytes + begin ? p : bytes + begin, end);
	return p == end;
}

/* Writes a batch of complete lines. @return false: there were none */
static bool writer_write_batch(struct log_writer *w, bool *well)
{
	size_t begin = 0, len;
	if (w->torn)
		w->batch[begin++] = '\n'; /* end the partial line before the next one */
	size_t have = begin;
	while ((len = log_ring_next(&w->ring)) > 0 && (have == begin || have + len <= w->batch_bytes)) {
		log_ring_take(&w->ring, w->batch + have, len);
		have += len;
	}
	if (have == begin)
		return false;
	*well = writer_write(w, w->batch, begin, have);
	atomic_store(&w->finished, atomic_load_explicit(&w->ring.taken, memory_order_relaxed));
	return true;
}

/* Reports newly dropped lines in the log. @return true: there were some */
static bool writer_report_dropped(struct log_writer *w)
{
	uint64_t dropped = atomic_load_explicit(&w->ring.dropped, memory_order_relaxed),
		 lines = dropped - w->n_reported;
	if (lines == 0)
		return false;
	w->n_reported = dropped;
	w->report_dropped(lines);
	return true;
}

/* Writes the lines that are there now. With later ones, the loop might never end. @return false: there were none */
static bool writer_write_all(struct log_writer *w)
{
	bool well, any = false;
	do {
		uint64_t until = atomic_load(&w->ring.reserved);
		well = false;
		while (atomic_load(&w->ring.taken) < until && writer_write_batch(w, &well))
			any = true;
	} while (well && writer_report_dropped(w));
	return any;
}

static void writer_sleep(struct log_writer *w, int timeout_ms)
{
	uint64_t n;
	if (cairn_sys_poll(&(struct pollfd){.fd = w->wake, .events = POLLIN}, 1, timeout_ms) > 0)
		(void)!cairn_sys_read(w->wake, &n, sizeof(n));
}

static void writer_wake(struct log_writer *w)
{
	const uint64_t one = 1;
	(void)!cairn_sys_write(w->wake, &one, sizeof(one));
}

static void writer_hurry(struct log_writer *w)
{
	if (!atomic_exchange(&w->hurry, true))
		writer_wake(w);
}

/* Waits for a line. A producer reserves cells first and reads idle afterwards. Here the order is the reverse, so at
 * least one of the two sees the other. */
static void writer_wait_for_a_line(struct log_writer *w)
{
	atomic_store(&w->idle, true);
	if (atomic_load(&w->ring.reserved) == atomic_load(&w->ring.taken) && !atomic_load(&w->hurry))
		writer_sleep(w, -1);
	atomic_store(&w->idle, false);
}

/* Waits for a line, then for more lines or a timeout, so that lines are written together. While lines come, the thread
 * polls, so that no producer has to wake it. */
static void writer_wait(struct log_writer *w, bool they_come)
{
	bool held_up = atomic_load(&w->ring.reserved) != atomic_load(&w->ring.taken) && log_ring_next(&w->ring) == 0;
	if (!they_come)
		writer_wait_for_a_line(w);
	if (!atomic_load(&w->hurry))
		writer_sleep(w, held_up ? WRITER_HELD_UP_MS : WRITER_EVERY_MS);
}

static void *writer_run(void *arg)
{
	struct log_writer *w = arg;
	(void)pthread_setname_np(pthread_self(), "log");
	for (;;) {
		(void)atomic_exchange(&w->hurry, false); /* later urgent lines set it again */
		bool last = atomic_load(&w->stopping);
		bool they_come = writer_write_all(w);
		if (last)
			break;
		writer_wait(w, they_come);
	}
	atomic_store(&w->ended, true);
	return NULL;
}

/* Returns how many bytes one write may have. A pipe may have other writers: writes of up to PIPE_BUF are atomic. */
static size_t writer_batch_bytes(void)
{
	struct stat s;
	return cairn_sys_fstat(STDERR_FILENO, &s) == 0 && S_ISFIFO(s.st_mode) ? PIPE_BUF : WRITER_BATCH_BYTES;
}

enum cairn_status log_writer_start(void (*report_dropped)(uint64_t lines))
{
	struct log_writer *w = &writer;
	w->wake = eventfd(0, EFD_CLOEXEC);
	if (w->wake < 0)
		return CAIRN_E_NOMEM;
	w->report_dropped = report_dropped;
	w->batch_bytes = writer_batch_bytes();
	atomic_store(&w->stopping, false);
	atomic_store(&w->ended, false);
	if (pthread_create(&w->thread, NULL, writer_run, w) != 0) {
		cairn_fd_closep(&w->wake);
		return CAIRN_E_NOMEM;
	}
	atomic_store(&w->running, true);
	return CAIRN_OK;
}

void log_writer_flush(unsigned timeout_ms)
{
	struct log_writer *w = &writer;
	uint64_t until = atomic_load(&w->ring.reserved);
	if (!atomic_load(&w->running))
		return;
	writer_hurry(w);
	for (unsigned ms = 0; ms < timeout_ms && atomic_load(&w->finished) < until; ms += WRITER_LOOK_MS)
		(void)cairn_sys_poll(NULL, 0, WRITER_LOOK_MS);
}

void log_writer_stop(unsigned timeout_ms)
{
	struct log_writer *w = &writer;
	if (!atomic_load(&w->running))
		return;
	atomic_store(&w->stopping, true);
	writer_hurry(w);
	for (unsigned ms = 0; ms < timeout_ms && !atomic_load(&w->ended); ms += WRITER_LOOK_MS)
		(void)cairn_sys_poll(NULL, 0, WRITER_LOOK_MS);
	atomic_store(&w->running, false);
	if (!atomic_load(&w->ended)) {
		(void)pthread_detach(w->thread);
		return;
	}
	(void)pthread_join(w->thread, NULL);
	cairn_fd_closep(&w->wake);
}

void log_writer_put(const void *line, size_t len, bool hurry)
{
	struct log_writer *w = &writer;
	if (!atomic_load_explicit(&w->running, memory_order_acquire)) {
		enum cairn_status written = cairn_fd_write_all(STDERR_FILENO, line, len);
		(void)written; /* if this write fails, the failure cannot be reported anywhere */
		atomic_fetch_add_explicit(&w->ring.lines, 1, memory_order_relaxed);
		return;
	}
	size_t waiting = log_ring_put(&w->ring, line, len);
	if (hurry || (waiting >= WRITER_MANY_CELLS && !atomic_load_explicit(&w->hurry, memory_order_relaxed)))
		writer_hurry(w);
	else if (atomic_load(&w->idle) && atomic_exchange(&w->idle, false))
		writer_wake(w);
}

void log_writer_counts(uint64_t *lines, uint64_t *dropped)
{
	/* loads dropped first, so that it never exceeds lines */
	*dropped = atomic_load_explicit(&writer.ring.dropped, memory_order_acquire);
	*lines = atomic_load_explicit(&writer.ring.lines, memory_order_relaxed);
}
