#include "cas/check/check_run.h"

#include <stdarg.h>
#include <stdio.h>

void check_report(struct check_run *run, enum cairn_check_kind kind, const struct cairn_hash *hash, bool repaired,
		  const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	run->report->n_problems++;
	run->report->n_repaired += repaired;
	struct cairn_check_problem problem = {.kind = kind, .hash = *hash, .text = text, .repaired = repaired};
	if (run->options->problem)
		run->options->problem(run->options->ctx, &problem);
}

enum cairn_status check_step(struct check_run *run)
{
	const struct cairn_check_options *o = run->options;
	return !o->progress || o->progress(o->ctx, run->report) ? CAIRN_OK : CAIRN_E_BUSY;
}
