/* Prints lists that a server returns in pages: {"NAME":[ROW,...],"next":TEXT or null}. Prints each page as it arrives:
 * one line for each row, or one JSON object of the same form with all rows. */
#ifndef CAIRN_CLI_LISTING_H
#define CAIRN_CLI_LISTING_H

#include "cli/common/cli.h"
#include "cli/common/report.h"
#include "cli/common/server_options.h"

struct listing {
	const char *command;     /* names the command in errors */
	const char *path;        /* of the route, such as "/v1/files" */
	const char *name;        /* name of the array in the answer */
	const char *arg, *value; /* an extra query argument; value NULL: none */
	const char *limit;       /* limit of the number of rows, as given; NULL: all rows */
	bool is_lost;            /* list only lost files */
	bool is_json;
	/** Prints the other members of the first page, as a line or as members. NULL: prints nothing @return false: a
	 * member is missing */
	bool (*begin)(struct report *r, const struct cairn_json *page);
	/** Prints a row: a line, or an object in the report. @return false: a member is missing */
	bool (*print)(struct report *r, const struct cairn_json *row);
};

/** Requests and prints all pages. @return an exit code; everything was printed */
int listing_run(const struct cli_command *command, const struct server_options *server, const struct listing *listing);

#endif
