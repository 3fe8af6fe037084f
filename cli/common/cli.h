/* What the subcommands share: exit codes, errors, the table of commands. */
#ifndef CAIRN_CLI_CLI_H
#define CAIRN_CLI_CLI_H

#include "base/status.h"

#include <stdio.h>

/** Exit codes (sysexits.h); the man page and --help list them. */
enum cli_exit {
	CLI_EXIT_OK = 0,
	CLI_EXIT_USAGE = 64,       /* the command line */
	CLI_EXIT_DATA = 65,        /* the bytes are not what they should be, or the server refused them */
	CLI_EXIT_NO_INPUT = 66,    /* a file cannot be opened, or the server does not know the hash */
	CLI_EXIT_UNAVAILABLE = 69, /* the server cannot be reached, or is not able to answer */
	CLI_EXIT_INTERNAL = 70,    /* memory, or a fault of this program */
	CLI_EXIT_CANT_CREATE = 73, /* an output file */
	CLI_EXIT_IO = 74,          /* reading or writing failed half way */
	CLI_EXIT_DENIED = 77,      /* token missing, wrong, expired or too narrow */
};

struct cli_command {
	const char *name;
	const char *summary; /* one line for `cairn --help` */
	const char *help;    /* whole text of `cairn NAME --help`, within 80 columns */
	/* argv[0] is the subcommand's name. @return an exit code */
	int (*run)(const struct cli_command *command, int argc, char **argv);
};

extern const struct cli_command CLI_HASH, CLI_INSPECT, CLI_VERIFY, CLI_PUSH, CLI_PULL, CLI_QUERY, CLI_TOKEN, CLI_KEY,
	CLI_USER, CLI_ORG, CLI_QUOTA, CLI_CLAIMS, CLI_RM, CLI_SHARE, CLI_GC, CLI_STATS, CLI_TELEMETRY, CLI_FSCK,
	CLI_EXPORT, CLI_BACKUP, CLI_RESTORE, CLI_IMPORT, CLI_FOLD, CLI_PACK, CLI_LS, CLI_SCRUB, CLI_REPAIR, CLI_USAGE,
	CLI_INFO, CLI_BACKUPS, CLI_MIGRATE_STORE, CLI_INIT;

/** Write text as cairn_visible_text() shows it: what came from a file or a server must not steer a terminal. */
void cli_put_text(FILE *to, const char *text);

/** Write a line to standard output through cli_put_text(); the newline is added. */
void cli_line(const char *fmt, ...) CAIRN_PRINTF(1, 2);

/** Write "cairn: ..." to standard error, through cli_put_text(). */
void cli_error(const char *fmt, ...) CAIRN_PRINTF(1, 2);

/** Likewise, of something that is no failure, in one write: threads may call it at once. */
void cli_note(const char *fmt, ...) CAIRN_PRINTF(1, 2);

/** As cli_error(), and tell where the help is. @return CLI_EXIT_USAGE */
int cli_usage_error(const struct cli_command *command, const char *fmt, ...) CAIRN_PRINTF(2, 3);

/** Write "cairn: subject: why" with rule, offset and values, as far as diag has them. @return the exit code for status
 */
int cli_fail(const char *subject, enum cairn_status status, const struct cairn_diag *diag);

/** A temporary file that must not be there could not be made (errno). @return CAIRN_E_CONFLICT "file.target" */
enum cairn_status cli_part_taken(const char *part, struct cairn_diag *diag);

enum { CLI_SUBJECT_BYTES_MAX = 4096 };
/** What the program said of its failure, last. Plain value. */
struct cli_told {
	bool told;                /* else it has not said any */
	bool json_begun;          /* standard output has got JSON before it */
	enum cairn_status status; /* CAIRN_OK: only the text is known */
	struct cairn_diag diag;
	char subject[CLI_SUBJECT_BYTES_MAX]; /* cut; empty: none */
};
/** Of the main thread. */
const struct cli_told *cli_last_told(void);

/** Standard output has got the beginning of a JSON value: whoever does so also says in it what fails from then on. */
void cli_json_begun(void);

/** Is this command line one that wants JSON? Looks for --json before "--". */
bool cli_wants_json(int argc, char **argv);

/** The exit code for a status. */
int cli_exit_of(enum cairn_status status);

#endif
