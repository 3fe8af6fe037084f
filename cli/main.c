#include "base/fd.h"
#include "cli/common/cli.h"
#include "cli/common/report.h"

#include <stdio.h>
#include <string.h>

static const struct cli_command *const COMMANDS[] = {
	&CLI_PUSH,   &CLI_PULL,   &CLI_IMPORT,    &CLI_QUERY,   &CLI_HASH,          &CLI_INSPECT,
	&CLI_VERIFY, &CLI_TOKEN,  &CLI_KEY,       &CLI_USER,    &CLI_ORG,           &CLI_QUOTA,
	&CLI_RM,     &CLI_SHARE,  &CLI_LS,        &CLI_INFO,    &CLI_CLAIMS,        &CLI_GC,
	&CLI_STATS,  &CLI_USAGE,  &CLI_TELEMETRY, &CLI_FSCK,    &CLI_SCRUB,         &CLI_REPAIR,
	&CLI_EXPORT, &CLI_BACKUP, &CLI_BACKUPS,   &CLI_RESTORE, &CLI_MIGRATE_STORE, &CLI_FOLD,
	&CLI_PACK,
};
enum { N_COMMANDS = sizeof(COMMANDS) / sizeof(COMMANDS[0]) };
enum { NAME_LETTERS_MAX = 32, NAME_LETTERS_FEW = 4 };

static void main_help(FILE *out)
{
	(void)fputs("Usage: cairn COMMAND [OPTION]... [ARGUMENT]...\n"
		    "Client and tool of Cairn, a content-addressed store for the Xet protocol.\n"
		    "\n"
		    "Commands:\n",
		    out);
	for (size_t i = 0; i < N_COMMANDS; i++)
		(void)fprintf(out, "  %-13s %s\n", COMMANDS[i]->name, COMMANDS[i]->summary);
	(void)fputs("\n"
		    "  -h, --help     this help; `cairn help COMMAND` explains one command\n"
		    "      --version  version of the program\n"
		    "\n"
		    "Exit codes: 0 done, 64 usage, 65 bad data, 66 no such file or hash, 69 server\n"
		    "unavailable, 70 internal fault, 73 cannot create a file, 74 input/output\n"
		    "error, 77 not permitted. See cairn(1).\n",
		    out);
}

static const struct cli_command *main_find(const char *name)
{
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (strcmp(name, COMMANDS[i]->name) == 0)
			return COMMANDS[i];
	return NULL;
}

/* How many letters must be put in, left out or exchanged to make the one of the other (Levenshtein). */
static unsigned main_distance(const char *a, const char *b)
{
	unsigned row[NAME_LETTERS_MAX + 1], n = (unsigned)strlen(b);
	for (unsigned k = 0; k <= n; k++)
		row[k] = k;
	for (unsigned i = 1; a[i - 1]; i++) {
		unsigned before = row[0]; /* of the row above, to the left */
		row[0] = i;
		for (unsigned k = 1; k <= n; k++) {
			unsigned least = before + (a[i - 1] != b[k - 1]);
			least = row[k] + 1 < least ? row[k] + 1 : least;
			least = row[k - 1] + 1 < least ? row[k - 1] + 1 : least;
			before = row[k];
			row[k] = least;
		}
	}
	return row[n];
}

/* What a name that is none was meant to be: two letters apart, as "psuh" is, or one if it is short. NULL: nothing is
 * near */
static const struct cli_command *main_near(const char *name)
{
	const struct cli_command *best = NULL;
	size_t len = strlen(name);
	unsigned least = len < NAME_LETTERS_FEW ? 2 : 3;
	if (len > NAME_LETTERS_MAX)
		return NULL;
	for (size_t i = 0; i < N_COMMANDS; i++) {
		unsigned distance = main_distance(name, COMMANDS[i]->name);
		if (distance < least) {
			least = distance;
			best = COMMANDS[i];
		}
	}
	return best;
}

static int main_no_command(const char *name)
{
	const struct cli_command *near = main_near(name);
	if (near)
		cli_error("there is no command \"%s\"; did you mean %s? See: cairn --help", name, near->name);
	else
		cli_error("there is no command \"%s\"; see: cairn --help", name);
	return CLI_EXIT_USAGE;
}

/* `cairn help`, and `cairn help COMMAND`. */
static int main_show_help(int argc, char **argv)
{
	const struct cli_command *command = argc > 2 ? main_find(argv[2]) : NULL;
	if (argc > 3) {
		cli_error("help takes one command; see: cairn --help");
		return CLI_EXIT_USAGE;
	}
	if (argc > 2 && !command)
		return main_no_command(argv[2]);
	if (command)
		(void)fputs(command->help, stdout);
	else
		main_help(stdout);
	return fflush(stdout) == 0 ? CLI_EXIT_OK : CLI_EXIT_IO;
}

int main(int argc, char **argv)
{
	if (!cairn_fd_keep_standard())
		return CLI_EXIT_IO; /* and there may be nowhere to say why */
	if (argc < 2) {
		main_help(stderr);
		return CLI_EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
		return main_show_help(argc, argv);
	if (strcmp(argv[1], "--version") == 0) {
		(void)puts("cairn " CAIRN_VERSION);
		return fflush(stdout) == 0 ? CLI_EXIT_OK : CLI_EXIT_IO;
	}
	const struct cli_command *command = main_find(argv[1]);
	bool json = cli_wants_json(argc, argv);
	int code = command ? command->run(command, argc - 1, argv + 1) : main_no_command(argv[1]);
	if (json)
		report_failure(code);
	return code;
}
