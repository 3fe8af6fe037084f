/* Runs the work of a request, on a worker or at once. Work that uses the disk or the index's writer, or takes long,
 * runs on a worker; the request's thread replies: route_job_new(), route_job_start(). Work that only reads the index or
 * the store runs at once, unless these are remote: route_ask(). */
#ifndef CAIRN_SERVER_ROUTE_JOB_H
#define CAIRN_SERVER_ROUTE_JOB_H

#include "cas/body.h"
#include "server/app.h"

/** First member of a route's state, which the request owns (http_set_state()). The worker has the state alone while the
 *  request waits. */
struct route_job {
	struct cairn_work work;
	struct app *app;
	struct cairn_workers *workers; /* the app's; or its long_workers */
	struct http_request *req;
	void (*run)(struct route_job *job);                             /* on a worker */
	void (*reply)(struct http_request *req, struct route_job *job); /* after run() */
	struct cairn_body *body;       /* in memory while run() looks at it (cas/body.h); NULL: run() needs none */
	enum cairn_status body_status; /* why it could not be read, so that run() was not called */
	bool for_reply;                /* run() changes nothing: it may be skipped when the client has gone */
	bool not_run;                  /* skipped because the client has gone, or because the workers' queue was full */
	bool too_late;                 /* not run because no worker was free in time: route_check_wait() */
};

/** Makes a zeroed state, which begins with a job, for the request. @return NULL: no memory; an error was replied */
void *route_job_new(struct http_request *req, size_t bytes, void (*run)(struct route_job *job),
		    void (*reply)(struct http_request *req, struct route_job *job));

/** Reads from cas, and replies. Calls run() and reply() here. If the index or the store is on another machine, run() is
 * called on a worker and reply() after it, so that no thread that serves many requests waits for one.
 * @param job  begins a state of so many bytes, with run and reply set and the rest set up by the route. It may be on
 * the stack: if the request has to wait, it gets a copy, which route->free releases */
void route_ask(struct http_request *req, struct route_job *job, size_t bytes);

/** Does what route_ask() does, for a state of route_job_new() and a request that only reads. Call last in done(). */
void route_job_ask(struct http_request *req);

/** Returns the repository on whose behalf files are read; NULL: any file may be read. Callable on the worker: the
 * waiting request does not change. */
const char *route_job_viewer(const struct route_job *job);

/** Has the client gone, so that work only for the reply may stop? On the worker. */
bool route_job_is_idle(const struct route_job *job);

/** Hands the job to a worker. Call last in done(). If no worker takes it now, a 503 is replied. */
void route_job_start(struct http_request *req);

/** The two steps of route_job_start(), if something comes between them. The first makes the request wait. Then any
 * thread hands its job over, or calls http_resume(). @return false: the request does not wait; an error was replied */
bool route_job_wait(struct http_request *req);
void route_job_hand_over(struct route_job *job);

#endif
