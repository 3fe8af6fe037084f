/* Reads the options of the subcommands with getopt_long. Each command has a table of long names. Some letters mean the
 * same in every command: -h, -o (--output), -q (--quiet), -v (--verbose), -j (--jobs). */
#ifndef CAIRN_CLI_OPTIONS_H
#define CAIRN_CLI_OPTIONS_H

#include "cli/common/cli.h"

#include <stddef.h>
#include <stdint.h>

/** An option: a switch if flag is set, else one that takes a text. */
struct cli_option {
	const char *name; /* without the dashes */
	bool *flag;
	const char **text; /* borrowed from argv */
};

enum { CLI_TEXTS_MAX = 32 };
/** The flag of an option with a text that may be given up to CLI_TEXTS_MAX times. The option's text is an array of
 * CLI_TEXTS_MAX + 1, zeroed; NULL follows the last one. */
extern bool cli_texts[1];

enum { CLI_OPTIONS_MAX = 16, CLI_RUN = -1 };

/** Reads the options of a command; --help always exists. Arguments may come before, between and after options; "--"
 * ends the options. --print-options alone prints the table, from which completions/generate.py makes the shells'
 * completions. @param[out] first  index in argv of the first argument; the other arguments follow it @return CLI_RUN:
 * continue; else end with this exit code, because the help, the table or an error was printed */
int cli_options_read(const struct cli_command *command, const struct cli_option *options, size_t n, int argc,
		     char **argv, int *first);

/** Reads a duration: "90", "90s", "15m", "1h", "30d". @return false: malformed, or not 1 s to 100 years */
bool cli_parse_seconds(const char *text, int64_t *out_s);

/** Reads a number of bytes, with or without K, M, G or T: "10G". @return false: malformed */
bool cli_parse_size(const char *text, uint64_t *out);

/** Reads scopes like "read,write", and adds those they imply. @param[out] out  of CAIRN_TOKEN_READ, _WRITE, _ADMIN */
bool cli_parse_scopes(const char *list, unsigned *out);

#endif
