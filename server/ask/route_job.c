#include "server/ask/route_job.h"

#include "server/ask/route_piece.h"

#include <stdlib.h>
#include <string.h>

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
	job->work.turn = http_turn(req);
	job->run = run;
	job->reply = reply;
	http_set_state(req, job);
	return job;
}

static void route_ask_later(struct http_request *req, const struct route_job *job, size_t bytes)
{
	struct route_job *later = route_job_new(req, bytes, job->run, job->reply);
	if (!later)
		return;
	memcpy(later + 1, job + 1, bytes - sizeof(*job));
	later->for_reply = true;
	route_job_start(req);
}

void route_ask(struct http_request *req, struct route_job *job, size_t bytes)
{
	job->app = app_of(req);
	job->req = req;
	if (cairn_cas_is_remote(job->app->cas)) {
		route_ask_later(req, job, bytes);
		return;
	}
	job->run(job);
	job->reply(req, job);
}

void route_job_ask(struct http_request *req)
{
	struct route_job *job = http_state(req);
	if (cairn_cas_is_remote(job->app->cas)) {
		job->for_reply = true;
		route_job_start(req);
		return;
	}
	job->run(job);
	job->reply(req, job);
}

const char *route_job_viewer(const struct route_job *job)
{
	return auth_cas_identity(http_identity(job->req)).viewer;
}

bool route_job_is_idle(const struct route_job *job)
{
	return atomic_load(&job->app->drained) || http_client_gone(job->req);
}

/* Runs the job. A body that was kept in a file is in memory only while a worker reads it. */
static void route_job_run(struct route_job *job)
{
	route_explain_busy(job->req);
	if (job->body)
		job->body_status = cairn_body_read(job->body);
	if (job->body_status == CAIRN_OK)
		job->run(job);
	if (job->body)
		cairn_body_drop(job->body);
}

/* Has the job waited too long for a worker? Work that changes something never has: it may wait for other long work. */
static bool route_job_is_too_late(const struct route_job *job)
{
	struct cairn_diag diag;
	bool counts = job->for_reply || job->workers == job->app->workers;
	return counts && route_check_wait(job->app, job->work.queued_us, &diag) != CAIRN_OK;
}

static void route_job_work(struct cairn_work *work)
{
	struct route_job *job = (struct route_job *)work;
	http_note_queued(job->req, work->queued_us);
	job->too_late = route_job_is_too_late(job);
	job->not_run = job->too_late || (job->for_reply && route_job_is_idle(job));
	if (!job->not_run)
		route_job_run(job);
	http_resume(job->req);
}

static void route_job_reply_too_late(struct http_request *req, const struct route_job *job)
{
	struct cairn_diag diag = {0};
	enum cairn_status status = route_check_wait(job->app, job->work.queued_us, &diag);
	http_reply_status(req, status, &diag);
}

static void route_job_resumed(struct http_request *req)
{
	struct route_job *job = http_state(req);
	if (job->too_late)
		route_job_reply_too_late(req, job);
	else if (job->not_run)
		http_reply_status(req, CAIRN_E_BUSY, NULL);
	else if (job->body_status != CAIRN_OK)
		http_reply_status(req, job->body_status, NULL);
	else
		job->reply(req, job);
}

bool route_job_wait(struct http_request *req)
{
	return http_suspend(req, route_job_resumed);
}

void route_job_start(struct http_request *req)
{
	if (route_job_wait(req))
		route_job_hand_over(http_state(req));
}

void route_job_hand_over(struct route_job *job)
{
	struct http_request *req = job->req;
	job->work.run = route_job_work;
	/* After the submission the request may be gone, because after a wait for PostgreSQL this is another thread. */
	if (cairn_workers_submit(job->workers, &job->work) == CAIRN_OK)
		return;
	job->not_run = true;
	http_resume(req);
}
