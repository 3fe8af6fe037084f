/* Reads the options of the subcommands by getopt_long: one table a command, with long names. Some letters mean the
 * same in every command: -h, -o (--output), -q (--quiet), -v (--verbose), -j (--jobs). */
#ifndef CAIRN_CLI_OPTIONS_H
#define CAIRN_CLI_OPTIONS_H

#include "cli/common/cli.h"

#include <stddef.h>
#include <stdint.h>

/** An option: a switch if flag is set, else an option with a text. */
struct cli_option {
	const char *name; /* without the dashes */
	bool *flag;
	const char **text; /* borrowed from argv */
};

enum { CLI_OPTIONS_MAX = 16, CLI_RUN = -1 };

/** Reads the options of a command; --help always exists. Arguments may come before, between and after options; "--"
 * ends the options. --print-options alone prints the table, from which completions/generate.py makes the shells'
 * completions.
 * @param[out] first  index in argv of the first argument; all arguments follow it
 * @return CLI_RUN: continue; else end with this exit code (help or the table was printed, or an error) */
int cli_options_read(const struct cli_command *command, const struct cli_option *options, size_t n, int argc,
		     char **argv, int *first);

/** Reads a duration: "90", "90s", "15m", "1h", "30d". @return false: malformed, or not 1 s to 100 years */
bool cli_parse_seconds(const char *text, int64_t *out_s);

/** Reads scopes such as "read,write", with those that each implies. @param[out] out  of CAIRN_TOKEN_READ, _WRITE,
 * _ADMIN */
bool cli_parse_scopes(const char *list, unsigned *out);

#endif
