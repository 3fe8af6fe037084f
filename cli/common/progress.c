#include "cli/common/progress.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/sys.h"
#include "base/visible.h"
#include "cli/common/report.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	PROGRESS_CELLS = 30, /* width of the bar, if the line has room */
	PROGRESS_CELLS_MIN = 10,
	PROGRESS_NAME_COLUMNS_MIN = 8, /* a name of which fewer characters fit is left out */
	PROGRESS_EVERY_MS = 100,
	PROGRESS_MARK_MS = 3000,
	PROGRESS_RATE_FROM_MS = 500, /* no rate is shown before this time */
	PROGRESS_COLUMNS_DEFAULT = 80,
	PROGRESS_LINE_BYTES = 1024,
	PROGRESS_NAME_BYTES_MAX = 4096,
};

static const char *progress_last_words = "cairn: interrupted\n";

/* Clears the bar before the program dies. SA_RESETHAND: the signal then ends the program as usual. */
static void progress_on_interrupt(int number)
{
	static const char CLEAR[] = "\r\033[K";
	if (isatty(STDERR_FILENO))
		(void)!cairn_sys_write(STDERR_FILENO, CLEAR, sizeof(CLEAR) - 1);
	(void)!cairn_sys_write(STDERR_FILENO, progress_last_words, strlen(progress_last_words));
	(void)raise(number);
}

static void progress_catch_interrupt(void)
{
	const struct sigaction ours = {.sa_handler = progress_on_interrupt, .sa_flags = (int)SA_RESETHAND};
	struct sigaction now;
	if (sigaction(SIGINT, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
		(void)sigaction(SIGINT, &ours, NULL);
}

void progress_say_if_interrupted(const char *line)
{
	progress_last_words = line;
	progress_catch_interrupt();
}

void progress_init(struct progress *p, bool wanted, uint64_t total_bytes, const char *verb)
{
	*p = (struct progress){.shown = wanted && isatty(STDERR_FILENO),
			       .total_bytes = total_bytes,
			       .verb = verb,
			       .last_ms = INT64_MIN};
	if (p->shown)
		progress_catch_interrupt();
}

/* Appends ", 3 s left", ", 2 min left" or ", 1 h 5 min left". */
static void progress_add_left(struct cairn_buf *line, uint64_t left_s)
{
	if (left_s < 90)
		cairn_buf_printf(line, ", %" PRIu64 " s left", left_s);
	else if (left_s < UINT64_C(90) * 60)
		cairn_buf_printf(line, ", %" PRIu64 " min left", (left_s + 30) / 60);
	else
		cairn_buf_printf(line, ", %" PRIu64 " h %" PRIu64 " min left", left_s / 3600, left_s % 3600 / 60);
}

static void progress_add_rate(struct cairn_buf *line, const struct progress *p, int64_t now_ms, uint64_t done_bytes)
{
	int64_t took_ms = now_ms - p->marks[0].at_ms;
	if (p->marks[0].at_ms == 0 || took_ms < PROGRESS_RATE_FROM_MS || done_bytes <= p->marks[0].bytes)
		return;
	char size[REPORT_SIZE_BYTES];
	double rate = (double)(done_bytes - p->marks[0].bytes) * 1000.0 / (double)took_ms; /* in bytes a second */
	cairn_buf_printf(line, ", %s/s", report_size(size, (uint64_t)rate));
	if (p->total_bytes > done_bytes && rate >= 1)
		progress_add_left(line, (uint64_t)((double)(p->total_bytes - done_bytes) / rate));
}

/* Appends as much of the name as fits, harmless to a terminal. */
static void progress_add_name(struct cairn_buf *line, const char *name, size_t columns)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf shown = cairn_buf_init(UINT64_C(8) * PROGRESS_NAME_BYTES_MAX);
	size_t end = 0, used = 0;
	cairn_visible_text(&shown, name);
	if (shown.status != CAIRN_OK)
		return;
	/* Counts one column a character; the terminal cuts lines with wide characters. */
	while (end < shown.len && used < columns) {
		end++;
		while (end < shown.len && (shown.bytes[end] & 0xC0U) == 0x80U)
			end++;
		used++;
	}
	cairn_buf_printf(line, ", ");
	cairn_buf_add(line, shown.bytes, end);
}

size_t progress_line(const struct progress *p, int64_t now_ms, uint64_t done_bytes, uint64_t moved_bytes,
		     size_t columns, char *out, size_t out_bytes)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf text = cairn_buf_init(PROGRESS_LINE_BYTES);
	CLEANUP(cairn_buf_fini) struct cairn_buf line = cairn_buf_init(PROGRESS_LINE_BYTES);
	char done_size[REPORT_SIZE_BYTES], total_size[REPORT_SIZE_BYTES], moved_size[REPORT_SIZE_BYTES];
	/* a file may have grown while it was read */
	uint64_t total = done_bytes > p->total_bytes ? done_bytes : p->total_bytes;
	cairn_buf_printf(&text, "%s", report_size(done_size, done_bytes));
	if (p->total_bytes > 0)
		cairn_buf_printf(&text, " of %s", report_size(total_size, total));
	if (p->verb)
		cairn_buf_printf(&text, ", %s %s", report_size(moved_size, moved_bytes), p->verb);
	progress_add_rate(&text, p, now_ms, done_bytes);
	size_t cells = p->total_bytes > 0 ? PROGRESS_CELLS : 0, bar = p->total_bytes > 0 ? 3 : 0;
	if (cells > 0 && text.len + bar + cells > columns)
		cells = text.len + bar + PROGRESS_CELLS_MIN > columns ? PROGRESS_CELLS_MIN : columns - text.len - bar;
	if (cells > 0) {
		int full = (int)((double)done_bytes / (double)total * (double)cells);
		cairn_buf_printf(&line, "[%.*s%*s] ", full, "##############################", (int)cells - full, "");
	}
	cairn_buf_add(&line, text.bytes, text.len);
	/* Cut the line, which is all ASCII so far: a longer line would wrap, and its second part stay. */
	if (line.len > columns)
		line.len = columns;
	if (p->name && line.len + 2 + PROGRESS_NAME_COLUMNS_MIN <= columns)
		progress_add_name(&line, p->name, columns - line.len - 2);
	size_t len = line.status != CAIRN_OK ? 0 : line.len < out_bytes ? line.len : out_bytes - 1;
	if (len > 0)
		memcpy(out, line.bytes, len);
	out[len] = '\0';
	return len;
}

static size_t progress_columns(void)
{
	struct winsize size = {0};
	bool has_width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
	/* leave the last column free, because some terminals wrap after it */
	return (has_width ? size.ws_col : PROGRESS_COLUMNS_DEFAULT) - 1U;
}

static void progress_mark(struct progress *p, int64_t now_ms, uint64_t done_bytes)
{
	bool first = p->marks[0].at_ms == 0;
	if (!first && now_ms - p->marks[1].at_ms < PROGRESS_MARK_MS)
		return;
	p->marks[0] = p->marks[1];
	p->marks[1].at_ms = now_ms;
	p->marks[1].bytes = done_bytes;
	if (first)
		p->marks[0] = p->marks[1];
}

void progress_draw(struct progress *p, uint64_t done_bytes, uint64_t moved_bytes)
{
	int64_t now_ms = p->shown ? cairn_clock_mono_ms() : 0;
	if (!p->shown || (p->last_ms != INT64_MIN && now_ms - p->last_ms < PROGRESS_EVERY_MS))
		return;
	char line[PROGRESS_LINE_BYTES];
	p->last_ms = now_ms;
	progress_mark(p, now_ms, done_bytes);
	(void)progress_line(p, now_ms, done_bytes, moved_bytes, progress_columns(), line, sizeof(line));
	(void)fprintf(stderr, "\r\033[K%s", line);
	(void)fflush(stderr);
}

void progress_clear(struct progress *p)
{
	if (p->shown && p->last_ms != INT64_MIN)
		(void)fputs("\r\033[K", stderr);
	p->last_ms = INT64_MIN;
}
