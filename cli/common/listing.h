/* Prints lists that a server returns in pages: {"NAME":[ROW,...],"next":TEXT or null}. Prints each page as it arrives,
 * a line a row, or one JSON object of the same kind with all rows. */
#ifndef CAIRN_CLI_LISTING_H
#define CAIRN_CLI_LISTING_H

#include "cli/common/cli.h"
#include "cli/common/report.h"
#include "cli/common/server_options.h"

struct listing {
	const char *command;     /* for errors */
	const char *path;        /* of the server: "/v1/files" */
	const char *name;        /* name of the array in the answer */
	const char *arg, *value; /* an extra query argument; value NULL: none */
	const char *limit;       /* limit for the rows, as given; NULL: all */
	bool is_lost;            /* ask for lost files only */
	bool is_json;
	/** Prints a row as a line, or as an object into the report. @return false: a member is missing */
	bool (*print)(struct report *r, const struct cairn_json *row);
};

/** Requests and prints all pages. @return an exit code; everything was printed */
int listing_run(const struct cli_command *command, const struct server_options *server, const struct listing *listing);

#endif
