/* cairn org: manages a server's organisations and their members. */
#include "cli/hub/accounts.h"

#include <string.h>

static const char ORG_HELP[] = "Usage: cairn org add NAME [OPTION]...\n"
			       "       cairn org list [OPTION]...\n"
			       "       cairn org member NAME USER read|write|admin|none [OPTION]...\n"
			       "       cairn org members NAME [OPTION]...\n"
			       "Make and list the organisations of a server, and say who belongs to them. An\n"
			       "organisation's name is the namespace of its repositories. A member's role is\n"
			       "read, write (which includes making new ones) or admin (everything); none ends\n"
			       "the membership. Needs a token with the scope admin.\n"
			       "\n"
			       "      --fullname TEXT    of add: the name to show for the organisation\n"
			       "      --email TEXT       of add: the address to write to\n" SERVER_OPTIONS_HELP
			       "      --json             one JSON object, for programs\n"
			       "  -h, --help             this help\n"
			       "\n"
			       "Examples:\n"
			       "  cairn org add team\n"
			       "  cairn org member team ann write\n"
			       "\n"
			       "Exit codes: 0 done, 64 usage, 65 refused by the server, 66 no such organisation\n"
			       "or user, 69 server unavailable, 77 not permitted.\n";

static int org_run(const struct cli_command *command, int argc, char **argv)
{
	struct accounts_args args = {.command = command};
	int first = 0;
	const struct cli_option options[] = {
		SERVER_OPTIONS(&args.server),
		{"fullname", NULL, &args.fullname},
		{"email", NULL, &args.email},
		{"json", &args.json, NULL},
	};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	const char *verb = first < argc ? argv[first] : "";
	int n = argc - first - 1;
	bool add = strcmp(verb, "add") == 0;
	if ((args.fullname || args.email) && !add)
		return cli_usage_error(command, "--fullname and --email go with add");
	if (add && n == 1)
		return accounts_add(&args, "organisation", argv[first + 1]);
	if (strcmp(verb, "list") == 0 && n == 0)
		return accounts_list(&args, "organisation");
	if (strcmp(verb, "member") == 0 && n == 3)
		return accounts_set_member(&args, argv[first + 1], argv[first + 2], argv[first + 3]);
	if (strcmp(verb, "members") == 0 && n == 1)
		return accounts_members(&args, argv[first + 1]);
	return cli_usage_error(command, "say add NAME, list, member NAME USER ROLE, or members NAME");
}

const struct cli_command CLI_ORG = {"org", "make organisations of a server, and set their members", ORG_HELP, org_run};
