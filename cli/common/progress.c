#include "cli/common/progress.h"

#include "base/clock.h"
#include "cli/common/report.h"

#include <stdio.h>
#include <unistd.h>

enum { PROGRESS_CELLS = 30, PROGRESS_EVERY_MS = 100 };

void progress_init(struct progress *p, bool wanted, uint64_t total_bytes, const char *verb)
{
	*p = (struct progress){.shown = wanted && isatty(STDERR_FILENO),
			       .total_bytes = total_bytes,
			       .verb = verb,
			       .last_ms = INT64_MIN};
}

void progress_draw(struct progress *p, uint64_t done_bytes, uint64_t moved_bytes)
{
	int64_t now_ms = p->shown ? cairn_clock_mono_ms() : 0;
	if (!p->shown || (p->last_ms != INT64_MIN && now_ms - p->last_ms < PROGRESS_EVERY_MS))
		return;
	p->last_ms = now_ms;
	char done_size[REPORT_SIZE_BYTES], total_size[REPORT_SIZE_BYTES], moved_size[REPORT_SIZE_BYTES];
	/* A file may grow while it is read. */
	uint64_t total = done_bytes > p->total_bytes ? done_bytes : p->total_bytes;
	int cells = total == 0 ? 0 : (int)((double)done_bytes / (double)total * PROGRESS_CELLS);
	(void)fprintf(stderr, "\r\033[K[%.*s%*s] %s of %s, %s %s", cells, "##############################",
		      PROGRESS_CELLS - cells, "", report_size(done_size, done_bytes), report_size(total_size, total),
		      report_size(moved_size, moved_bytes), p->verb);
	(void)fflush(stderr);
}

void progress_clear(struct progress *p)
{
	if (p->shown && p->last_ms != INT64_MIN)
		(void)fputs("\r\033[K", stderr);
	p->last_ms = INT64_MIN;
}
