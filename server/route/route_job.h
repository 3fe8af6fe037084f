/* A request whose answer takes the disk, the index's writer or a while: made on a worker, given on the request's
 * thread. */
#ifndef CAIRN_SERVER_ROUTE_JOB_H
#define CAIRN_SERVER_ROUTE_JOB_H

#include "server/app.h"

/** First member of a route's state, which the request owns (http_set_state()). The worker has the state alone while the
 *  request waits. */
struct route_job {
	struct cairn_work work;
	struct app *app;
	struct cairn_workers *workers; /* the app's; or its long_workers */
	struct http_request *req;
	void (*run)(struct route_job *job);                             /* on a worker */
	void (*reply)(struct http_request *req, struct route_job *job); /* when that is done */
	bool refused; /* the workers' queue was full: run() was not called */
};

/**
 * Make a zeroed state of so many bytes that begins with a job, and give it to the request.
 * @return NULL without memory: that was replied
 */
void *route_job_new(struct http_request *req, size_t bytes, void (*run)(struct route_job *job),
		    void (*reply)(struct http_request *req, struct route_job *job));

/** The repository on whose behalf files are read; NULL: all may be. On the worker, too: the request waits unchanged. */
const char *route_job_viewer(const struct route_job *job);

/** Hand the job over; last of all in done(). When it cannot be taken now, a 503 is replied. */
void route_job_start(struct http_request *req);

#endif
