/* Lists that a server gives a page at a time: {"NAME":[ROW,...],"next":TEXT or null}. Printed as they come, a line a
 * row, or one JSON object of the same kind with all of them. */
#ifndef CAIRN_CLI_LISTING_H
#define CAIRN_CLI_LISTING_H

#include "cli/common/cli.h"
#include "cli/common/report.h"
#include "cli/common/server_options.h"

/** What is listed, and how. */
struct listing {
	const char *command;     /* for errors */
	const char *path;        /* of the server: "/v1/files" */
	const char *name;        /* of the array in the answer */
	const char *arg, *value; /* one more of the query; value NULL: none */
	const char *limit;       /* at most so many rows, as it was given; NULL: all */
	bool is_lost;            /* ask for lost files only */
	bool is_json;
	/** Print a row: as a line, or as an object into the report. @return false: it lacks something */
	bool (*print)(struct report *r, const struct cairn_json *row);
};

/** Ask for all pages. @return an exit code; everything was printed */
int listing_run(const struct cli_command *command, const struct server_options *server, const struct listing *listing);

#endif
