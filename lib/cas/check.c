#include "cas/check.h"

#include "base/clock.h"
#include "cas/check_run.h"
#include "index/operate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *cairn_check_kind_name(enum cairn_check_kind kind)
{
	switch (kind) {
	case CAIRN_CHECK_XORB_LIST:
		return "xorb.list";
	case CAIRN_CHECK_XORB_UNREAD:
		return "xorb.unread";
	case CAIRN_CHECK_XORB_MISSING:
		return "xorb.missing";
	case CAIRN_CHECK_XORB_DAMAGED:
		return "xorb.damaged";
	case CAIRN_CHECK_FILE_HASH:
		return "file.hash";
	case CAIRN_CHECK_FILE_LOST:
		return "file.lost";
	case CAIRN_CHECK_OBJECT_ALONE:
		return "object.alone";
	}
	return "unknown";
}

void check_report(struct check_run *run, enum cairn_check_kind kind, const struct cairn_hash *hash, bool repaired,
		  const char *fmt, ...)
{
	char text[256];
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

/* --- xorbs -------------------------------------------------------------------------------------------------------- */

static void check_note_xorb(void *ctx, const struct cairn_index_xorb *xorb)
{
	struct check_run *run = ctx;
	run->xorbs[run->n_page++] = *xorb;
}

static enum cairn_status check_xorbs(struct check_run *run)
{
	int64_t from_id = 0;
	do {
		run->n_page = 0;
		enum cairn_status status =
			cairn_index_each_xorb(run->cas->index, from_id, CHECK_PAGE, check_note_xorb, run, &from_id);
		for (uint32_t i = 0; i < run->n_page && status == CAIRN_OK; i++) {
			run->report->n_xorbs++;
			status = check_xorb(run, &run->xorbs[i].hash);
			if (status == CAIRN_OK)
				status = check_step(run);
		}
		if (status != CAIRN_OK)
			return status;
	} while (from_id != 0);
	return CAIRN_OK;
}

/* --- objects without a row ---------------------------------------------------------------------------------------- */

static enum cairn_status check_object(void *ctx, const struct cairn_hash *hash, uint64_t bytes)
{
	struct check_run *run = ctx;
	struct cairn_index_xorb row;
	(void)bytes;
	run->report->n_objects++;
	enum cairn_status status = cairn_index_xorb(run->cas->index, hash, &row);
	if (status == CAIRN_E_NOT_FOUND || (status == CAIRN_OK && row.stored_bytes == 0))
		status = check_lone_object(run, hash);
	return status == CAIRN_OK ? check_step(run) : status;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static void check_note_file(void *ctx, const struct cairn_index_file *file)
{
	struct check_run *run = ctx;
	run->files[run->n_page++] = file->hash;
}

static enum cairn_status check_files(struct check_run *run)
{
	int64_t from_id = 0;
	do {
		run->n_page = 0;
		enum cairn_status status = cairn_index_each_file(run->cas->index, from_id, CHECK_PAGE, false,
								 check_note_file, run, &from_id);
		for (uint32_t i = 0; i < run->n_page && status == CAIRN_OK; i++) {
			run->report->n_files++;
			status = check_file(run, &run->files[i]);
			if (status == CAIRN_OK)
				status = check_step(run);
		}
		if (status != CAIRN_OK)
			return status;
	} while (from_id != 0);
	return CAIRN_OK;
}

enum cairn_status cairn_cas_check(struct cairn_cas *cas, const struct cairn_check_options *options,
				  struct cairn_check_report *report)
{
	*report = (struct cairn_check_report){0};
	struct check_run *run = calloc(1, sizeof(*run));
	if (!run)
		return CAIRN_E_NOMEM;
	run->cas = cas;
	run->options = options;
	run->report = report;
	enum cairn_status status = check_xorbs(run);
	if (status == CAIRN_OK && !cas->options.xorbs_external)
		status = cairn_store_each(cas->store, check_object, run);
	if (status == CAIRN_OK)
		status = check_files(run);
	cairn_list_cache_fini(&run->lists);
	free(run);
	return status;
}
