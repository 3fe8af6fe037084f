/* What this daemon does for long, what others do for all that share its index, and what is done to its data folder: how
 * far each is, for whoever shows it. */
#ifndef CAIRN_SERVER_ROUTE_JOBS_H
#define CAIRN_SERVER_ROUTE_JOBS_H

#include "cas/jobs.h"

struct app;

enum job_kind {
	JOB_COLLECTION,
	JOB_PACKING,
	JOB_SCRUB,
	JOB_BACKUP, /* of the command cairn backup, which leaves word of it every two seconds */
	JOBS
};

/** How one stands. Plain value. */
struct job {
	const char *name; /* "collection"; a literal, as the next two are */
	const char *step; /* what it is at, for people: "looks at each xorb"; NULL: it does one thing */
	const char *
		unit; /* of done and total: "bytes", "files", "xorbs"; NULL: done has no unit, total is where it ends */
	bool running;
	bool elsewhere;                     /* another daemon does it: of a collection that one alone knows the step */
	char daemon[CAIRN_INDEX_WHO_BYTES]; /* that does it, where several share an index; empty: they do not, or it
					     * is not known so far */
	int64_t started_unix_s;             /* 0: not known */
	uint64_t done, total;               /* of the step. total 0: not known, done tells what was done all the same */
};

/** Look at all of them. Costs next to nothing. Any thread. */
void jobs_look(struct app *app, struct job out[static JOBS]);

#endif
