/* The ways to an answer. One that takes the disk, the index's writer or a while is made on a worker and given on the
 * request's thread: route_job_new(), route_job_start(). One that only takes a look into the index or the store is made
 * on the spot, unless they are far away: route_ask(). */
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
	void (*reply)(struct http_request *req, struct route_job *job); /* when that is done */
	struct cairn_body *body;       /* in memory while run() looks at it (cas/body.h); NULL: run() needs none */
	enum cairn_status body_status; /* why it could not be read, so that run() was not called */
	bool for_reply; /* run() changes nothing: it need not be called when nobody waits for the reply any more */
	bool not_run;   /* for that reason, or because the workers' queue was full */
	bool too_late;  /* likewise, since a worker was free only after ROUTE_JOB_WAIT_US */
};

/**
 * Make a zeroed state of so many bytes that begins with a job, and give it to the request.
 * @return NULL without memory: that was replied
 */
void *route_job_new(struct http_request *req, size_t bytes, void (*run)(struct route_job *job),
		    void (*reply)(struct http_request *req, struct route_job *job));

/**
 * Ask for what cas knows, and reply. run() and reply() are called here, or, where the index or the store is on another
 * machine, on a worker and when that is done: no thread that serves many requests waits for one.
 * @param job  begins a state of so many bytes, with run and reply set and all else as the route wants it. It may be on
 *             the stack: where the request has to wait, it gets a copy, which route->free is handed
 */
void route_ask(struct http_request *req, struct route_job *job, size_t bytes);

/** The same for a state that route_job_new() made, for what of a route's requests only takes a look. Last of all in
 * done(). */
void route_job_look(struct http_request *req);

/** The repository on whose behalf files are read; NULL: all may be. On the worker, too: the request waits unchanged. */
const char *route_job_viewer(const struct route_job *job);

/** Has whoever asked gone, so that work that is for the reply alone may stop? On the worker. */
bool route_job_is_idle(const struct route_job *job);

/** Hand the job over; last of all in done(). When it cannot be taken now, a 503 is replied. */
void route_job_start(struct http_request *req);

/** The two steps of that, where something comes between them: have the request wait, and hand its job over, or
 * http_resume(), from whatever thread. @return false: it does not wait, and was replied */
bool route_job_wait(struct http_request *req);
void route_job_hand_over(struct route_job *job);

#endif
