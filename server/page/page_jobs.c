#include "server/page/page_jobs.h"

#include "cas/keep/proof.h"
#include "server/ask/html.h"
#include "server/ask/jobs.h"
#include "server/ask/packing.h"
#include "server/page/show.h"

#include <string.h>

enum { JOBS_PERCENT = 100 };

static void jobs_begin(struct cairn_buf *b, const char *name)
{
	html(b, "<tr><th scope=\"row\">%s</th><td>", name);
}

static void jobs_end(struct cairn_buf *b, int64_t ended_unix_s, int64_t now_unix_s)
{
	html(b, "</td><td class=\"num\">");
	if (ended_unix_s != 0)
		show_age(b, ended_unix_s, now_unix_s);
	else
		html(b, "–");
	html(b, "</td></tr>\n");
}

static const char *jobs_show(char out[static SHOW_BYTES], const struct job *job, uint64_t n)
{
	return strcmp(job->unit, "bytes") == 0 ? show_size(out, n) : show_count(out, n);
}

/* Appends "12,000 of 40,000 files". Without a unit the number is a position, shown as a percentage. */
static void jobs_put_done(struct cairn_buf *b, const struct job *job)
{
	char done[SHOW_BYTES], total[SHOW_BYTES];
	const char *noun = job->unit && strcmp(job->unit, "bytes") != 0 ? job->unit : "";
	if (job->unit && job->total > 0)
		html(b, ": %s of %s%s%s", jobs_show(done, job, job->done), jobs_show(total, job, job->total),
		     *noun ? " " : "", noun);
	else if (job->unit && job->done > 0)
		html(b, ": %s%s%s so far", jobs_show(done, job, job->done), *noun ? " " : "", noun);
}

/* Appends the progress of a running job. @param verb such as "read", for bytes */
static void jobs_put_running(struct cairn_buf *b, const struct job *job, const char *verb, int64_t now_unix_s)
{
	html(b, "<p class=\"now\"><strong>Under way</strong>");
	if (job->daemon[0])
		html(b, " at <code>%s</code>", job->daemon);
	else if (job->elsewhere)
		html(b, " at another daemon");
	if (job->started_unix_s != 0) {
		html(b, ", begun ");
		show_age(b, job->started_unix_s, now_unix_s);
	}
	if (job->step)
		html(b, ". It %s", job->step);
	jobs_put_done(b, job);
	if (verb)
		html(b, " %s", verb);
	if (job->total == 0) {
		html(b, "</p>");
		return;
	}
	unsigned percent = (unsigned)((double)job->done / (double)job->total * JOBS_PERCENT);
	html(b, " (%u %%)<progress max=\"%d\" value=\"%u\" aria-label=\"%s\">%u %%</progress></p>", percent,
	     JOBS_PERCENT, percent, job->name, percent);
}

static void jobs_put_collection(struct cairn_buf *b, const struct page_figures *f, struct app *app,
				const struct job *job)
{
	const struct app_garbage *g = &app->garbage;
	const struct schedule schedule = atomic_load(&app->live.gc_schedule);
	int64_t ran = atomic_load(&g->ran_unix_s);
	char text[SCHEDULE_TEXT_BYTES], freed[SHOW_BYTES];
	jobs_begin(b, "Collection");
	if (job->running)
		jobs_put_running(b, job, NULL, f->now_unix_s);
	html(b, "%s; schedule <code>%s</code>",
	     ran == 0                  ? "None has ended so far"
	     : atomic_load(&g->failed) ? "The last one failed"
				       : "The last one ended well",
	     schedule_text(text, &schedule));
	if (ran != 0)
		html(b, "; %s freed since the start", show_size(freed, atomic_load(&g->freed_bytes)));
	jobs_end(b, ran, f->now_unix_s);
}

static void jobs_put_scrub(struct cairn_buf *b, const struct page_figures *f, const struct job *job)
{
	static const char *const STATES[] = {[SCRUB_OFF] = "Off",
					     [SCRUB_WAITING] = "Waits for the next pass",
					     [SCRUB_RUNNING] = "Under way",
					     [SCRUB_PAUSED] = "Paused until it is told to start"};
	const struct scrub_pass *now = &f->scrub.kept.now, *last = &f->scrub.kept.last;
	char read[SHOW_BYTES], total[SHOW_BYTES], count[SHOW_BYTES];
	jobs_begin(b, "Scrub");
	if (job->running)
		jobs_put_running(b, job, job->total > 0 ? "read" : NULL, f->now_unix_s);
	else
		html(b, "%s", STATES[f->scrub.state]);
	if (!job->running && now->started_unix_s != 0)
		html(b, ": %s of %s read", show_size(read, (uint64_t)now->bytes),
		     show_size(total, (uint64_t)now->total_bytes));
	if (last->started_unix_s != 0)
		html(b, "%sThe last pass looked at %s xorbs, and found %lu copies damaged and %lu xorbs lost",
		     job->running ? "" : ". ", show_count(count, (uint64_t)last->xorbs), (unsigned long)last->damaged,
		     (unsigned long)last->lost);
	jobs_end(b, last->ended_unix_s, f->now_unix_s);
}

static void jobs_put_proof(struct cairn_buf *b, const struct page_figures *f, const struct app *app)
{
	uint64_t rate = atomic_load(&app->live.proof_rate);
	char count[SHOW_BYTES], size[SHOW_BYTES], speed[SHOW_BYTES];
	jobs_begin(b, "Proof");
	if (f->claims.n_due == 0)
		html(b, "Every claimed SHA-256 was compared with its bytes");
	else
		html(b, "%s SHA-256 of %s were not compared with their bytes so far",
		     show_count(count, f->claims.n_due), show_size(size, f->claims.due_bytes));
	if (rate == 0)
		html(b, "; off by settings");
	else
		html(b, "; at most %s a second are read for it", show_size(speed, rate));
	jobs_end(b, 0, f->now_unix_s);
}

static void jobs_put_packing(struct cairn_buf *b, const struct page_figures *f, const struct job *job)
{
	struct packs_state pack;
	packs_state(&pack);
	if (pack.id == 0)
		return;
	jobs_begin(b, "Packing");
	html_name(b, pack.name);
	html(b, ": ");
	if (job->running)
		jobs_put_running(b, job, NULL, f->now_unix_s);
	else
		html(b, "%s", pack.status == CAIRN_OK ? "done" : cairn_status_name(pack.status));
	jobs_end(b, 0, f->now_unix_s);
}

/* Appends the progress of a killed backup, from its note. */
static void jobs_put_broken_off(struct cairn_buf *b, const struct app_backup *backup, int64_t now_unix_s)
{
	char done[SHOW_BYTES], total[SHOW_BYTES];
	html(b, "<p class=\"now\">One broke off at %s of %s, ",
	     show_size(done, (uint64_t)atomic_load(&backup->done_bytes)),
	     show_size(total, (uint64_t)atomic_load(&backup->total_bytes)));
	show_age(b, atomic_load(&backup->seen_unix_s), now_unix_s);
	html(b, ": the same command goes on with it</p>");
}

static void jobs_put_backup(struct cairn_buf *b, const struct page_figures *f, const struct app *app,
			    const struct job *job)
{
	const struct app_backup *backup = &app->backup;
	int64_t ran = atomic_load(&backup->ran_unix_s), good = atomic_load(&backup->good_unix_s);
	char size[SHOW_BYTES], when[SHOW_BYTES];
	jobs_begin(b, "Backup");
	if (job->running)
		jobs_put_running(b, job, "written", f->now_unix_s);
	else if (atomic_load(&backup->seen_unix_s) > ran)
		jobs_put_broken_off(b, backup, f->now_unix_s);
	if (ran != 0)
		html(b, "%s", atomic_load(&backup->failed) ? "The last one failed" : "The last one ended well");
	else if (job->running)
		html(b, "None has ended so far");
	else
		html(b, "No backup is known: <code>cairn backup</code> makes one");
	if (good != 0)
		html(b, "; the last good one is of %s, %s", show_time(when, good),
		     show_size(size, (uint64_t)atomic_load(&backup->good_bytes)));
	jobs_end(b, ran, f->now_unix_s);
}

void page_put_jobs(struct cairn_buf *b, const struct page_figures *f, struct app *app)
{
	struct job jobs[JOBS];
	jobs_read(app, jobs);
	html(b,
	     "<section aria-labelledby=\"jobs\"><h2 id=\"jobs\">Jobs</h2>\n<table class=\"rows jobs\" id=\"job-rows\"><thead><tr><th "
	     "scope=\"col\">Job</th><th scope=\"col\">How it stands</th><th scope=\"col\" class=\"num\">Ended</th>"
	     "</tr></thead><tbody>\n");
	jobs_put_collection(b, f, app, &jobs[JOB_COLLECTION]);
	jobs_put_scrub(b, f, &jobs[JOB_SCRUB]);
	jobs_put_proof(b, f, app);
	jobs_put_packing(b, f, &jobs[JOB_PACKING]);
	jobs_put_backup(b, f, app, &jobs[JOB_BACKUP]);
	html(b, "</tbody></table></section>\n");
}
