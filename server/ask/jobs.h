/* The progress of long jobs: of this daemon, of others that share its index, and of commands on its data folder. */
#ifndef CAIRN_SERVER_ROUTE_JOBS_H
#define CAIRN_SERVER_ROUTE_JOBS_H

#include "cas/service/jobs.h"

struct app;

enum job_kind {
	JOB_COLLECTION,
	JOB_PACKING,
	JOB_SCRUB,
	JOB_BACKUP, /* run by the command cairn backup, which writes a note every two seconds */
	JOBS
};

/** The state of a job. Plain value. */
struct job {
	const char *name; /* such as "collection"; a literal, as the next two are */
	const char *step; /* the current step, for people: "looks at each xorb"; NULL: the job has only one step */
	const char *unit; /* of done and total: "bytes", "files", "xorbs"; NULL: no unit, total is where done ends */
	bool running;
	bool elsewhere;                     /* another daemon runs the job; the step of a collection is then unknown */
	char daemon[CAIRN_INDEX_WHO_BYTES]; /* the daemon that runs the job; empty: not shared, or unknown so far */
	int64_t started_unix_s;             /* 0: unknown */
	uint64_t done, total;               /* progress of the step. total 0: unknown; done is valid all the same */
};

/** Fills in the states of all jobs. Cheap. Any thread. */
void jobs_read(struct app *app, struct job out[static JOBS]);

#endif
