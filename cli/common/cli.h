/* Shared by the subcommands: exit codes, errors, the table of commands. */
#ifndef CAIRN_CLI_CLI_H
#define CAIRN_CLI_CLI_H

#include "base/status.h"

#include <stdio.h>

/** Exit codes (sysexits.h); the man page and --help list them. */
enum cli_exit {
	CLI_EXIT_OK = 0,
	CLI_EXIT_USAGE = 64,       /* the command line is wrong */
	CLI_EXIT_DATA = 65,        /* bytes are wrong, or the server refused them */
	CLI_EXIT_NO_INPUT = 66,    /* a file cannot be opened, or the server does not know the hash */
	CLI_EXIT_UNAVAILABLE = 69, /* the server cannot be reached, or cannot answer */
	CLI_EXIT_INTERNAL = 70,    /* no memory, or a fault of this program */
	CLI_EXIT_CANT_CREATE = 73, /* an output file cannot be created */
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
	CLI_INFO, CLI_BACKUPS, CLI_MIGRATE_STORE, CLI_INIT, CLI_MIRROR;

/** Writes a text as cairn_visible_text() shows it: texts from a file or a server must not control a terminal. */
void cli_put_text(FILE *to, const char *text);

/** Writes a line to standard output through cli_put_text(), and adds the newline. */
void cli_line(const char *fmt, ...) CAIRN_PRINTF(1, 2);

/** Writes "cairn: ..." to standard error, through cli_put_text(). */
void cli_error(const char *fmt, ...) CAIRN_PRINTF(1, 2);

/** Writes "cairn: ..." to standard error, for a message that is not about a failure. The whole line is one write, so
 * several threads may call this at the same time. */
void cli_note(const char *fmt, ...) CAIRN_PRINTF(1, 2);

/** Writes "cairn: ..." to standard error, and a line that says how to see the command's help. @return CLI_EXIT_USAGE */
int cli_usage_error(const struct cli_command *command, const char *fmt, ...) CAIRN_PRINTF(2, 3);

/** Writes "cairn: subject: why" with the rule, offset and values that diag has. @return the exit code for status */
int cli_fail(const char *subject, enum cairn_status status, const struct cairn_diag *diag);

/** Reports that a new temporary file could not be created (errno). @return CAIRN_E_CONFLICT "file.target" */
enum cairn_status cli_part_taken(const char *part, struct cairn_diag *diag);

enum { CLI_SUBJECT_BYTES_MAX = 4096 };
/** The failure that the program reported last. Plain value. */
struct cli_failure {
	bool reported;            /* false: no failure was reported */
	bool json_begun;          /* JSON was written to standard output before the failure */
	enum cairn_status status; /* CAIRN_OK: only the text is set */
	struct cairn_diag diag;
	char subject[CLI_SUBJECT_BYTES_MAX]; /* the file or request that failed, perhaps cut; empty: none */
};
/** Returns the last failure of the main thread. */
const struct cli_failure *cli_last_failure(void);

/** Notes that a JSON value has begun on standard output; later failures go into that value. */
void cli_json_begun(void);

/** Does a command line ask for JSON: --json before "--"? */
bool cli_wants_json(int argc, char **argv);

/** Returns the exit code for a status. */
int cli_exit_of(enum cairn_status status);

#endif
