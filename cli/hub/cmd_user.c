/* cairn user: manages the users of a server. */
#include "cli/hub/accounts.h"

#include <string.h>

static const char USER_HELP[] = "Usage: cairn user add NAME [OPTION]...\n"
				"       cairn user list [OPTION]...\n"
				"       cairn user disable NAME [OPTION]...\n"
				"       cairn user enable NAME [OPTION]...\n"
				"Make, list, disable and enable the users of a server. A user's name is also\n"
				"the namespace of their repositories. While a user is disabled, their keys and\n"
				"the tokens made with them are refused. Needs a token with the scope admin.\n"
				"\n"
				"      --key              of add: also make a key that may read and write, and\n"
				"                         print it; it cannot be shown again\n"
				"      --fullname TEXT    of add: the name to show for the user\n"
				"      --email TEXT       of add: the address to write to\n" SERVER_OPTIONS_HELP
				"      --json             one JSON object, for programs\n"
				"  -h, --help             this help\n"
				"\n"
				"Examples:\n"
				"  cairn user add ann --fullname \"Ann B.\" --key\n"
				"  cairn user disable ann\n"
				"\n"
				"Exit codes: 0 done, 64 usage, 65 refused by the server, 66 no such user,\n"
				"69 server unavailable, 77 not permitted.\n";

static int user_add(const struct accounts_args *args, const char *name)
{
	struct accounts_args quiet = *args;
	quiet.quiet = args->key; /* with --key, print only the key, so that scripts can take the output */
	int end = accounts_add(&quiet, "user", name);
	return end == 0 && args->key ? accounts_add_key(args, name) : end;
}

static int user_run(const struct cli_command *command, int argc, char **argv)
{
	struct accounts_args args = {.command = command};
	int first = 0;
	const struct cli_option options[] = {
		SERVER_OPTIONS(&args.server), {"key", &args.key, NULL},   {"fullname", NULL, &args.fullname},
		{"email", NULL, &args.email}, {"json", &args.json, NULL},
	};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	const char *verb = first < argc ? argv[first] : "";
	int n = argc - first - 1;
	bool add = strcmp(verb, "add") == 0;
	if ((args.key || args.fullname || args.email) && !add)
		return cli_usage_error(command, "--key, --fullname and --email go with add");
	if (add && n == 1)
		return user_add(&args, argv[first + 1]);
	if (strcmp(verb, "list") == 0 && n == 0)
		return accounts_list(&args, "user");
	if (strcmp(verb, "disable") == 0 && n == 1)
		return accounts_disable(&args, argv[first + 1], true);
	if (strcmp(verb, "enable") == 0 && n == 1)
		return accounts_disable(&args, argv[first + 1], false);
	return cli_usage_error(command, "say add NAME, list, disable NAME, or enable NAME");
}

const struct cli_command CLI_USER = {"user", "make, list and disable users of a server", USER_HELP, user_run};
