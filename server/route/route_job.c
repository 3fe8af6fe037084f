#include "server/route/route_job.h"

#include <stdlib.h>

void *route_job_new(struct http_request *req, size_t bytes, void (*run)(struct route_job *job),
		    void (*reply)(struct http_request *req, struct route_job *job))
{
	struct route_job *job = calloc(1, bytes);
	if (!job) {
		http_reply_status(req, CAIRN_E_NOMEM, NULL);
		return NULL;
	}
	job->app = app_of(req);
	job->workers = job->app->workers;
	job->req = req;
	job->run = run;
	job->reply = reply;
	http_set_state(req, job);
	return job;
}

const char *route_job_viewer(const struct route_job *job)
{
	return auth_who(http_identity(job->req)).viewer;
}

static void route_job_work(struct cairn_work *work)
{
	struct route_job *job = (struct route_job *)work;
	job->run(job);
	http_resume(job->req);
}

static void route_job_resumed(struct http_request *req)
{
	struct route_job *job = http_state(req);
	if (job->refused)
		http_reply_status(req, CAIRN_E_BUSY, NULL);
	else
		job->reply(req, job);
}

void route_job_start(struct http_request *req)
{
	struct route_job *job = http_state(req);
	if (!http_suspend(req, route_job_resumed))
		return;
	job->work.run = route_job_work;
	job->refused = cairn_workers_submit(job->workers, &job->work) != CAIRN_OK;
	if (job->refused)
		http_resume(req);
}
