#include "server/ask/packing.h"

#include "server/app.h"
#include "server/log/log.h"

#include <pthread.h>
#include <string.h>

/* The one packing of this process: the running one, or the last. It outlives the request that began it. */
static struct packs_job {
	struct cairn_work work;
	struct app *app;
	pthread_mutex_t lock; /* guards the members below */
	uint64_t id;          /* 0: no packing so far */
	bool running;
	int64_t older_than_s;
	char name[CAIRN_STORE_PACK_NAME_MAX + 1];
	struct cairn_pack_report report;
	enum cairn_status status;
	struct cairn_diag diag;
} packs_job = {.lock = PTHREAD_MUTEX_INITIALIZER};

void packs_state(struct packs_state *out)
{
	struct packs_job *job = &packs_job;
	*out = (struct packs_state){0};
	pthread_mutex_lock(&job->lock);
	out->id = job->id;
	out->running = job->running;
	memcpy(out->name, job->name, sizeof(job->name));
	out->report = job->report;
	out->status = job->status;
	out->diag = job->diag;
	pthread_mutex_unlock(&job->lock);
}

static bool packs_progress(void *ctx, const struct cairn_pack_report *so_far)
{
	struct packs_job *job = ctx;
	pthread_mutex_lock(&job->lock);
	job->report = *so_far;
	pthread_mutex_unlock(&job->lock);
	return !atomic_load(&job->app->stopping);
}

static void packs_work(struct cairn_work *work)
{
	struct packs_job *job = (struct packs_job *)work;
	struct cairn_pack_report report;
	pthread_mutex_lock(&job->lock); /* the thread that submitted the job may still be filling it in */
	pthread_mutex_unlock(&job->lock);
	struct cairn_diag diag = {0};
	const struct cairn_pack_options options = {
		.name = job->name, .older_than_s = job->older_than_s, .progress = packs_progress, .ctx = job};
	enum cairn_status status = cairn_cas_pack(job->app->cas, &options, &report, &diag);
	LOG(LOG_INFO, "pack", LOG_T("name", job->name), LOG_T("status", cairn_status_name(status)),
	    LOG_N("packed", report.n_packed), LOG_N("moved", report.n_moved), LOG_N("bytes", report.bytes_packed));
	pthread_mutex_lock(&job->lock);
	job->report = report;
	job->status = status;
	job->diag = diag;
	job->running = false;
	pthread_mutex_unlock(&job->lock);
}

enum cairn_status packs_begin(struct app *app, const char *name, int64_t older_than_s, uint64_t *id)
{
	struct packs_job *job = &packs_job;
	pthread_mutex_lock(&job->lock);
	enum cairn_status status = CAIRN_E_CONFLICT;
	if (!job->running) {
		job->work.run = packs_work;
		job->work.lane = CAIRN_LANE_HEAVY;
		status = cairn_workers_submit(app->long_workers, &job->work);
	}
	if (status == CAIRN_OK) {
		job->app = app;
		job->running = true;
		job->older_than_s = older_than_s;
		memcpy(job->name, name, strlen(name) + 1);
		job->report = (struct cairn_pack_report){0};
		*id = ++job->id;
	}
	pthread_mutex_unlock(&job->lock);
	return status;
}
