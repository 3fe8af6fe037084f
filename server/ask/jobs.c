#include "server/ask/jobs.h"

#include "cas/keep/garbage.h"
#include "cas/service/jobs.h"
#include "server/app.h"
#include "server/ask/packing.h"

#include <string.h>

/* Finds the daemon that runs a job. May name it for a second after the job's end. @param here  this daemon runs it */
static void jobs_place(struct app *app, enum cairn_index_job which, bool here, struct job *job)
{
	struct cairn_index_job_state state;
	if (!cairn_cas_is_shared(app->cas))
		return;
	job->elsewhere = job->running && !here;
	if (here)
		memcpy(job->daemon, app->who, sizeof(job->daemon));
	cairn_cas_job(app->cas, which, &state);
	if (here || !state.taken || strcmp(state.who, app->who) == 0)
		return;
	job->elsewhere = true;
	memcpy(job->daemon, state.who, sizeof(job->daemon));
	if (!job->running)
		job->started_unix_s = state.since_unix_s;
	job->running = true;
}

static struct job jobs_collection(struct app *app)
{
	static const struct {
		const char *does, *unit;
	} STEPS[CAIRN_GC_STEPS] = {
		[CAIRN_GC_REPOS] = {"forgets what deleted repositories had", NULL},
		[CAIRN_GC_FILES] = {"reads what each file needs", "files"},
		[CAIRN_GC_XORBS] = {"compares the index with itself", NULL},
		[CAIRN_GC_RETIRE] = {"looks at each xorb", NULL},
		[CAIRN_GC_REMOVE] = {"removes what nothing has needed for long", "xorbs"},
	};
	struct cairn_gc_progress p;
	cairn_cas_gc_progress(app->cas, &p);
	if (p.step == CAIRN_GC_IDLE)
		return (struct job){.name = "collection"};
	return (struct job){.name = "collection",
			    .step = STEPS[p.step].does,
			    .unit = STEPS[p.step].unit,
			    .running = true,
			    .started_unix_s = p.started_unix_s,
			    .done = p.done,
			    .total = p.total};
}

static struct job jobs_packing(void)
{
	struct packs_state p;
	packs_state(&p);
	if (!p.running)
		return (struct job){.name = "packing"};
	const struct cairn_pack_report *r = &p.report;
	if (r->durable) /* once the pack is durable, each packed object is still removed from the object folder */
		return (struct job){.name = "packing",
				    .step = "removes what is in the pack",
				    .unit = "xorbs",
				    .running = true,
				    .done = r->n_moved,
				    .total = r->n_packed};
	return (struct job){.name = "packing",
			    .step = "copies xorbs into the pack",
			    .unit = "bytes",
			    .running = true,
			    .done = r->bytes_packed,
			    .total = r->total_bytes};
}

static struct job jobs_scrub(struct app *app)
{
	struct scrub_status s;
	scrub_status(app, &s);
	const struct scrub_pass *now = &s.kept.now;
	if (s.state != SCRUB_RUNNING || now->started_unix_s == 0)
		return (struct job){.name = "scrub"};
	uint64_t total = (uint64_t)now->total_bytes, done = (uint64_t)now->bytes;
	return (struct job){.name = "scrub",
			    .unit = "bytes",
			    .running = true,
			    .started_unix_s = now->started_unix_s,
			    /* newly stored data is read, too */
			    .done = total > 0 && done > total ? total : done,
			    .total = total};
}

static struct job jobs_backup(struct app *app)
{
	const struct app_backup *b = &app->backup;
	if (!atomic_load(&b->running))
		return (struct job){.name = "backup"};
	return (struct job){.name = "backup",
			    .unit = "bytes",
			    .running = true,
			    .started_unix_s = atomic_load(&b->started_unix_s),
			    .done = (uint64_t)atomic_load(&b->done_bytes),
			    .total = (uint64_t)atomic_load(&b->total_bytes)};
}

void jobs_read(struct app *app, struct job out[static JOBS])
{
	out[JOB_COLLECTION] = jobs_collection(app);
	jobs_place(app, CAIRN_INDEX_COLLECT, out[JOB_COLLECTION].running, &out[JOB_COLLECTION]);
	out[JOB_PACKING] = jobs_packing();
	out[JOB_SCRUB] = jobs_scrub(app);
	if (out[JOB_SCRUB].running)
		jobs_place(app, CAIRN_INDEX_SCRUB, atomic_load(&app->scrub.holds), &out[JOB_SCRUB]);
	out[JOB_BACKUP] = jobs_backup(app);
}
