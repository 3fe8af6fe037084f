/* cairn pack: makes and lists packs, the cold tier of a store, and reads their files (Read Shard). */
#include "cli/archive/pack.h"
#include "cli/common/cli.h"

#include <string.h>

static const char PACK_HELP[] = "Usage: cairn pack create NAME.shard [--older-than TIME] [OPTION]...\n"
				"       cairn pack list [FILE] [OPTION]...\n"
				"       cairn pack get FILE HASH [-o OUT] [OPTION]...\n"
				"       cairn pack verify FILE... [OPTION]...\n"
				"       cairn pack delete FILE HASH... [OPTION]...\n"
				"Packs hold many xorbs in one file, a Read Shard of Software Heritage. create\n"
				"lets a server move xorbs into a new pack in the folder packs of its data, while\n"
				"it runs; list without a file shows the packs of a server. Both need a token\n"
				"with the scope admin. The others work on files: list shows key, length and\n"
				"offset of each object, get writes one to standard output, verify checks the\n"
				"file and each xorb in it, delete leaves a tombstone and zeroes the bytes; it\n"
				"is refused while a daemon serves from the file.\n"
				"\n"
				"      --older-than TIME  of create: only xorbs that arrived longer ago (90s,\n"
				"                         15m, 1h, 30d); default: all\n"
				"  -o, --output OUT       of get: write to this file\n"
				"      --raw              keys are plain hexadecimal, as swh-shard shows them,\n"
				"                         not xorb hashes as Cairn shows them\n"
				"      --sha256           of verify: keys are the SHA-256 of the contents\n"
				"      --skip-data        of verify: do not read the contents\n"
				"  -q, --quiet            no progress bar\n" SERVER_OPTIONS_HELP
				"      --json             one JSON object, for programs\n"
				"  -h, --help             this help\n"
				"\n"
				"Examples:\n"
				"  cairn pack create old.shard --older-than 90d\n"
				"  cairn pack get old.shard HASH -o xorb\n"
				"  cairn pack verify old.shard\n"
				"\n"
				"Exit codes: 0 done, 64 usage, 65 not valid, or refused by the server, 66 no\n"
				"such file or object, 69 server unavailable or collecting, 73 the name is taken\n"
				"or the file in use, 74 input/output error, 77 not permitted.\n";

/* Runs the verb. @return an exit code; CLI_RUN: no verb of this name takes so many arguments */
static int pack_do(const struct cli_command *command, const struct pack_args *args, int argc, char **argv)
{
	const char *verb = argc > 0 ? argv[0] : "";
	if (strcmp(verb, "create") == 0 && argc == 2)
		return pack_create(command, args, argv[1]);
	if (strcmp(verb, "list") == 0 && argc <= 2)
		return argc == 1 ? pack_list_server(args) : pack_list_file(args, argv[1]);
	if (strcmp(verb, "get") == 0 && argc == 3)
		return pack_get(command, args, argv[1], argv[2]);
	if (strcmp(verb, "verify") == 0 && argc >= 2)
		return pack_verify(args, argv + 1, argc - 1);
	if (strcmp(verb, "delete") == 0 && argc >= 3)
		return pack_delete(command, args, argv[1], argv + 2, argc - 2);
	return CLI_RUN;
}

static int pack_run(const struct cli_command *command, int argc, char **argv)
{
	struct pack_args args = {0};
	int first = 0;
	const struct cli_option options[] = {SERVER_OPTIONS(&args.server),   {"older-than", NULL, &args.older_than},
					     {"output", NULL, &args.output}, {"raw", &args.raw, NULL},
					     {"sha256", &args.sha256, NULL}, {"skip-data", &args.skip_data, NULL},
					     {"quiet", &args.quiet, NULL},   {"json", &args.json, NULL}};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	int code = pack_do(command, &args, argc - first, argv + first);
	return code == CLI_RUN
		       ? cli_usage_error(command, "say create NAME, list [FILE], get FILE HASH, verify FILE... or "
						  "delete FILE HASH...")
		       : code;
}

const struct cli_command CLI_PACK = {"pack", "move old xorbs into one file; read and check such files", PACK_HELP,
				     pack_run};
