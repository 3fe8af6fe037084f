#include "base/fd.h"
#include "base/nearest.h"
#include "cli/common/cli.h"
#include "cli/common/report.h"

#include <stdio.h>
#include <string.h>

static const struct cli_command *const COMMANDS[] = {
	&CLI_PUSH,   &CLI_PULL,   &CLI_IMPORT, &CLI_QUERY,     &CLI_HASH,    &CLI_INSPECT,
	&CLI_VERIFY, &CLI_INIT,   &CLI_TOKEN,  &CLI_KEY,       &CLI_USER,    &CLI_ORG,
	&CLI_QUOTA,  &CLI_RM,     &CLI_SHARE,  &CLI_LS,        &CLI_INFO,    &CLI_CLAIMS,
	&CLI_GC,     &CLI_STATS,  &CLI_USAGE,  &CLI_TELEMETRY, &CLI_FSCK,    &CLI_SCRUB,
	&CLI_REPAIR, &CLI_EXPORT, &CLI_BACKUP, &CLI_BACKUPS,   &CLI_RESTORE, &CLI_MIGRATE_STORE,
	&CLI_FOLD,   &CLI_PACK,   &CLI_MIRROR,
};
enum { N_COMMANDS = sizeof(COMMANDS) / sizeof(COMMANDS[0]) };

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

/* Returns the command nearest to an unknown name. @return NULL: none is near */
static const char *main_near(const char *name)
{
	struct cairn_nearest near = cairn_nearest_to(name, strlen(name));
	for (size_t i = 0; i < N_COMMANDS; i++)
		cairn_nearest_offer(&near, COMMANDS[i]->name);
	return near.best;
}

static int main_no_command(const char *name)
{
	const char *near = main_near(name);
	if (name[0] == '-')
		cli_error("before a command there is no option \"%s\"; those of a command come after its name; see: "
			  "cairn --help",
			  name);
	else if (near)
		cli_error("there is no command \"%s\"; did you mean %s? See: cairn --help", name, near);
	else
		cli_error("there is no command \"%s\"; see: cairn --help", name);
	return CLI_EXIT_USAGE;
}

/* Runs `cairn help` and `cairn help COMMAND`. */
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
		return CLI_EXIT_IO; /* there may be no way to print the reason */
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
