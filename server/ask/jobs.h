/* The progress of long jobs: of this daemon, of daemons that share its index, and on its data folder. */
#ifndef CAIRN_SERVER_ROUTE_JOBS_H
#define CAIRN_SERVER_ROUTE_JOBS_H

#include "cas/service/jobs.h"

struct app;

enum job_kind {
	JOB_COLLECTION,
	JOB_PACKING,
	JOB_SCRUB,
	JOB_BACKUP, /* of the command cairn backup, which writes a note every two seconds */
	JOBS
};

/** The state of a job. Plain value. */
struct job {
	const char *name; /* "collection"; a literal, as the next two are */
	const char *step; /* the current step, for people: "looks at each xorb"; NULL: the job has one step */
	const char *
		unit; /* of done and total: "bytes", "files", "xorbs"; NULL: done has no unit, total is where it ends */
	bool running;
	bool elsewhere;                     /* another daemon runs it; the step of a collection is then unknown */
	char daemon[CAIRN_INDEX_WHO_BYTES]; /* the daemon that runs it, where several share an index; empty: not shared,
					       or not known yet */
	int64_t started_unix_s;             /* 0: not known */
	uint64_t done, total;               /* of the step. total 0: not known; done is valid all the same */
};

/** Fills in all jobs. Cheap. Any thread. */
void jobs_read(struct app *app, struct job out[static JOBS]);

#endif
