/* Runs the work of a request, on a worker or at once. Work that uses the disk or the index's writer, or takes long,
 * runs on a worker, and the request's thread replies: route_job_new(), route_job_start(). Work that only reads the
 * index or the store runs at once, unless one of them is remote: route_ask(). */
#ifndef CAIRN_SERVER_ROUTE_JOB_H
#define CAIRN_SERVER_ROUTE_JOB_H

#include "cas/body.h"
#include "server/app.h"

/** First member of a route's state, which the request owns (http_set_state()). The worker has the state alone while the
 *  request waits. */
struct route_job {
	struct cairn_work work;
	struct app *app;
	struct cairn_workers *workers; /* the app's workers, or its long_workers */
	struct http_request *req;
	void (*run)(struct route_job *job);                             /* the work; called on a worker */
	void (*reply)(struct http_request *req, struct route_job *job); /* replies; called after run() */
	struct cairn_body *body; /* the body, in memory while run() reads it (cas/body.h); NULL: run() needs none */
	enum cairn_status body_status; /* why the body could not be read; then run() was not called */
	bool for_reply;                /* run() changes nothing, so it may be skipped when the client has gone */
	bool not_run;  /* run() was skipped, because the client has gone or the workers' queue was full */
	bool too_late; /* run() was skipped, because no worker was free in time: route_check_wait() */
};

/** Makes a zeroed state, which begins with a job, for the request. @return NULL: no memory; an error was replied */
void *route_job_new(struct http_request *req, size_t bytes, void (*run)(struct route_job *job),
		    void (*reply)(struct http_request *req, struct route_job *job));

/** Runs a job that reads from cas, and replies. Calls run() and reply() here. If the index or the store is on another
 * machine, calls run() on a worker and then reply(), so that no thread that serves many requests waits. @param job
 * begins a state of so many bytes; the route has set run, reply and its own members. It may be on the stack: a request
 * that has to wait gets a copy, which route->free releases */
void route_ask(struct http_request *req, struct route_job *job, size_t bytes);

/** Does what route_ask() does, for a state of route_job_new() and a request that only reads. Call last in done(). */
void route_job_ask(struct http_request *req);

/** Returns the repository on whose behalf files are read; NULL: any file may be read. Callable on the worker: the
 * waiting request does not change. */
const char *route_job_viewer(const struct route_job *job);

/** Has the client gone, so that work that only serves the reply may stop? Call on the worker. */
bool route_job_is_idle(const struct route_job *job);

/** Hands the job to a worker. Call last in done(). If no worker takes it now, a 503 is replied. */
void route_job_start(struct http_request *req);

/** Makes the request wait: the first of two steps that route_job_start() combines. Afterwards any thread hands the
 * request's job over, or calls http_resume(). @return false: the request does not wait; an error was replied */
bool route_job_wait(struct http_request *req);
void route_job_hand_over(struct route_job *job);

#endif
