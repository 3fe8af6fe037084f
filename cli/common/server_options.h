/* The options that select a server and a token. */
#ifndef CAIRN_CLI_SERVER_OPTIONS_H
#define CAIRN_CLI_SERVER_OPTIONS_H

#include "cli/common/client.h"
#include "cli/common/options.h"

struct server_options {
	const char *url, *token, *token_file, *retries; /* as given; NULL: absent */
	bool verbose;
};

/** These options in an option table. */
#define SERVER_OPTIONS(s)                                                                                              \
	{"server", NULL, &(s)->url}, {"token", NULL, &(s)->token}, {"token-file", NULL, &(s)->token_file},             \
		{"retries", NULL, &(s)->retries},                                                                      \
	{                                                                                                              \
		"verbose", &(s)->verbose, NULL                                                                         \
	}

/** These options in a help text. */
#define SERVER_OPTIONS_HELP                                                                                            \
	"      --server URL       server (default: $CAIRN_SERVER, else\n"                                              \
	"                         http://127.0.0.1:8080)\n"                                                            \
	"      --token-file FILE  file that holds the token\n"                                                         \
	"      --token TOKEN      the token itself; others may see it in the list of\n"                                \
	"                         processes (default: $CAIRN_TOKEN)\n"                                                 \
	"      --retries N        tries after the first when the server is busy or a\n"                                \
	"                         connection is lost (default 5, at most 20)\n"                                        \
	"  -v, --verbose          each request, on standard error\n"

/** Fills in missing options and opens the client. @return CAIRN_OK; errors of client_new() and of the token file */
CAIRN_MUST_USE enum cairn_status server_options_open(const struct server_options *s, struct client **out,
						     struct cairn_diag *diag);

#endif
