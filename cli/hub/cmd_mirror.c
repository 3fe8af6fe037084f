/* cairn mirror: asks about the hub that a server mirrors, and manages the repositories that came from it. */
#include "cli/common/admin.h"
#include "cli/common/cli.h"
#include "cli/hub/mirror_add.h"
#include "cli/hub/mirror_list.h"
#include "cli/hub/mirror_place.h"
#include "cli/hub/mirror_prune.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char MIRROR_HELP[] =
	"Usage: cairn mirror status [OPTION]...\n"
	"       cairn mirror add REPO[@REVISION] [OPTION]...\n"
	"       cairn mirror list [OPTION]...\n"
	"       cairn mirror show REPO [OPTION]...\n"
	"       cairn mirror refresh REPO [OPTION]...\n"
	"       cairn mirror prune REPO [OPTION]...\n"
	"       cairn mirror prune --to SIZE [OPTION]...\n"
	"       cairn mirror remove REPO|NAMESPACE [OPTION]...\n"
	"Work on what a server has of the hub that it mirrors (its setting mirror). Files\n"
	"are fetched from that hub when somebody asks for them. REPO is\n"
	"[TYPE/]NAMESPACE/NAME, and TYPE is models, datasets, spaces or kernels\n"
	"(default: models).\n"
	"\n"
	"  status   ask that hub now; report whether it answers, or else why not\n"
	"  add      fetch the files of REPO ahead, and wait until all are here. Fetches\n"
	"           for clients go first. If the command is interrupted, the server\n"
	"           continues, even after a restart. A later add replaces an earlier one\n"
	"  list     list mirrored repositories: files and bytes of branch main that are\n"
	"           here, and when that hub was last asked about it\n"
	"  show     list the files of branch main: here, being fetched (coming), here in\n"
	"           part, absent, or failed, with the reason and the next try\n"
	"  refresh  check now whether the branch main of REPO has changed there\n"
	"  prune    evict the files of REPO now, or of all repositories those that were\n"
	"           read least lately, until the rest has at most SIZE. They are still\n"
	"           listed, and fetched again when somebody asks for them. Files that are\n"
	"           kept stay, and those that a repository of the server has, too. A\n"
	"           collection frees their bytes\n"
	"  remove   remove REPO, or all repositories of NAMESPACE. Its name is then free\n"
	"           for an account. They are fetched again when somebody asks for them,\n"
	"           unless mirror_rules denies them; a collection frees their bytes\n"
	"\n"
	"Needs a token with the scope admin.\n"
	"\n"
	"      --every TIME       with add: look again after this time (1m to 365d), and\n"
	"                         fetch what is new\n"
	"      --include PATTERN  with add: only files whose path fits, such as *.json; *\n"
	"                         and ? stand for any characters. May be given several\n"
	"                         times\n"
	"      --keep             with add: never evict files of REPO\n"
	"      --no-wait          with add: do not wait for the files\n"
	"  -q, --quiet            with add: no progress bar\n"
	"      --to SIZE          with prune: bytes; K, M, G or T may follow, as in 500G\n"
	"      --limit N          list at most N repositories or files (default: all)\n" SERVER_OPTIONS_HELP
	"      --json             one JSON object, for programs\n"
	"  -h, --help             this help\n"
	"\n"
	"Examples:\n"
	"  cairn mirror status\n"
	"  cairn mirror add Qwen/Qwen3-8B --every 1h --include '*.safetensors' --keep\n"
	"  cairn mirror list\n"
	"  cairn mirror show Qwen/Qwen3-8B\n"
	"  cairn mirror refresh Qwen/Qwen3-8B\n"
	"  cairn mirror prune --to 500G\n"
	"  cairn mirror remove datasets/far/words\n"
	"\n"
	"Exit codes: 0 done, also if the hub does not answer to status, 64 usage, 65\n"
	"refused by the server, or files that cannot be fetched, 66 no such repository,\n"
	"69 server or hub unavailable, 77 not permitted.\n";

struct mirror_args {
	const struct cli_command *command;
	struct server_options server;
	bool is_json;
	const char *limit; /* the option --limit; NULL: absent */
	const char *to;    /* the option --to; NULL: absent */
	struct mirror_add_options add;
	const char *place; /* the argument; NULL: the verb takes none */
};

static void mirror_show_down(const struct cairn_json *json)
{
	const char *rule = cairn_json_text_of(json, "rule"), *message = cairn_json_text_of(json, "message");
	cli_line("why         %s [%s]", message ? message : "the server has no memory", rule ? rule : "no_memory");
}

static bool mirror_show_status(const struct cairn_json *json)
{
	const char *state = cairn_json_text_of(json, "state"), *upstream = cairn_json_text_of(json, "upstream");
	char when[ADMIN_TIME_BYTES];
	uint64_t asked, took_ms, code;
	if (state && strcmp(state, "off") == 0) {
		cli_line("off         the server mirrors no hub; its setting mirror names one");
		return true;
	}
	if (!state || !upstream || !admin_number(json, "asked", &asked) || !admin_number(json, "took_ms", &took_ms) ||
	    !admin_number(json, "answer", &code))
		return false;
	cli_line("%-11s %s", state, upstream);
	cli_line("asked       %s, %s in %" PRIu64 " ms", admin_time(when, (int64_t)asked),
		 code ? "answered" : "no answer", took_ms);
	if (strcmp(state, "up") != 0)
		mirror_show_down(json);
	return true;
}

static int mirror_ask(const struct mirror_args *args, enum client_method method, const char *path,
		      bool (*show)(const struct cairn_json *json))
{
	const struct admin_call call = {.server = &args->server,
					.subject = args->place ? args->place : "mirror",
					.method = method,
					.path = path,
					.takes_long = true,
					.json = args->is_json,
					.show = show};
	return admin_ask(&call);
}

static int mirror_status(const struct mirror_args *args)
{
	return mirror_ask(args, CLIENT_GET, "/v1/mirror", mirror_show_status);
}

static int mirror_run_list(const struct mirror_args *args)
{
	return mirror_list(args->command, &args->server, args->limit, args->is_json);
}

static int mirror_run_show(const struct mirror_args *args)
{
	char path[MIRROR_PATH_BYTES];
	if (!mirror_place_path(path, args->place, ""))
		return cli_usage_error(args->command, MIRROR_PLACE_EXPECTED, args->place);
	return mirror_show(args->command, &args->server, path, args->limit, args->is_json);
}

static int mirror_run_add(const struct mirror_args *args)
{
	return mirror_add(args->command, &args->server, args->place, &args->add, args->is_json);
}

static bool mirror_show_main(const struct cairn_json *json)
{
	const char *type = cairn_json_text_of(json, "type"), *name = cairn_json_text_of(json, "name");
	const char *main = cairn_json_text_of(json, "main");
	if (!type || !name || !main)
		return false;
	cli_line("%s/%s: main is %s", type, name, main);
	return true;
}

static int mirror_refresh(const struct mirror_args *args)
{
	char path[MIRROR_PATH_BYTES];
	if (!mirror_place_path(path, args->place, "/refresh"))
		return cli_usage_error(args->command, MIRROR_PLACE_EXPECTED, args->place);
	return mirror_ask(args, CLIENT_POST, path, mirror_show_main);
}

static int mirror_run_prune(const struct mirror_args *args)
{
	char path[MIRROR_PATH_BYTES];
	uint64_t to_bytes = UINT64_MAX;
	if ((args->place != NULL) == (args->to != NULL))
		return cli_usage_error(args->command, "say prune REPO, or prune --to SIZE");
	if (args->place && !mirror_place_path(path, args->place, "/prune"))
		return cli_usage_error(args->command, MIRROR_PLACE_EXPECTED, args->place);
	if (args->to && !cli_parse_size(args->to, &to_bytes))
		return cli_usage_error(args->command,
				       "--to is a number of bytes, which K, M, G or T may follow; not \"%s\"",
				       args->to);
	if (args->to)
		(void)snprintf(path, sizeof(path), "/v1/mirror/prune?to=%" PRIu64, to_bytes);
	return mirror_prune(&args->server, args->place ? args->place : "mirror", path, to_bytes, args->is_json);
}

static void mirror_say_removed(uint64_t n)
{
	cli_line("removed %" PRIu64 " %s", n, n == 1 ? "repository" : "repositories");
}

static bool mirror_show_removed(const struct cairn_json *json)
{
	uint64_t n;
	if (!admin_number(json, "removed", &n))
		return false;
	mirror_say_removed(n);
	return true;
}

/* Repeats the request while further repositories remain. @param[out] n  how many were removed */
static enum cairn_status mirror_remove_all(struct client *client, const char *path, uint64_t *n,
					   struct cairn_diag *diag)
{
	bool more = true;
	while (more) {
		CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
		uint64_t removed = 0;
		enum cairn_status status = admin_fetch(client, CLIENT_DELETE, path, NULL, &json, diag);
		if (status != CAIRN_OK)
			return status;
		if (!admin_number(json, "removed", &removed) || !cairn_json_bool_of(json, "more", &more) ||
		    (more && removed == 0))
			return admin_odd_answer(diag);
		*n += removed;
	}
	return CAIRN_OK;
}

static int mirror_remove_namespace(const struct mirror_args *args)
{
	CLEANUP(client_freep) struct client *client = NULL;
	char path[MIRROR_PATH_BYTES];
	struct cairn_diag diag = {0};
	uint64_t n = 0;
	if (!mirror_place_namespace(path, args->place))
		return cli_usage_error(args->command, MIRROR_PLACE_EXPECTED, args->place);
	enum cairn_status status = server_options_open(&args->server, &client, &diag);
	if (status == CAIRN_OK)
		status = mirror_remove_all(client, path, &n, &diag);
	if (status != CAIRN_OK)
		return cli_fail(args->place, status, &diag);
	if (args->is_json)
		(void)printf("{\"removed\":%" PRIu64 "}\n", n);
	else
		mirror_say_removed(n);
	return CLI_EXIT_OK;
}

static int mirror_remove(const struct mirror_args *args)
{
	char path[MIRROR_PATH_BYTES];
	if (!strchr(args->place, '/'))
		return mirror_remove_namespace(args);
	if (!mirror_place_path(path, args->place, ""))
		return cli_usage_error(args->command, MIRROR_PLACE_EXPECTED, args->place);
	return mirror_ask(args, CLIENT_DELETE, path, mirror_show_removed);
}

static const struct mirror_verb {
	const char *name;
	int n_min, n_max; /* number of arguments */
	bool lists;
	int (*run)(const struct mirror_args *args);
} VERBS[] = {
	{"status", 0, 0, false, mirror_status},   {"add", 1, 1, false, mirror_run_add},
	{"list", 0, 0, true, mirror_run_list},    {"show", 1, 1, true, mirror_run_show},
	{"refresh", 1, 1, false, mirror_refresh}, {"prune", 0, 1, false, mirror_run_prune},
	{"remove", 1, 1, false, mirror_remove},
};

/* Finds a verb. @return NULL: there is no such verb, or it takes another number of arguments */
static const struct mirror_verb *mirror_find_verb(int n, char **argv)
{
	for (size_t i = 0; i < sizeof(VERBS) / sizeof(VERBS[0]); i++)
		if (n > VERBS[i].n_min && n <= 1 + VERBS[i].n_max && strcmp(argv[0], VERBS[i].name) == 0)
			return &VERBS[i];
	return NULL;
}

static int mirror_run(const struct cli_command *command, int argc, char **argv)
{
	struct mirror_args args = {.command = command};
	int first = 0;
	const struct cli_option options[] = {SERVER_OPTIONS(&args.server),
					     {"every", NULL, &args.add.every},
					     {"include", cli_texts, args.add.include},
					     {"keep", &args.add.keeps, NULL},
					     {"no-wait", &args.add.no_wait, NULL},
					     {"quiet", &args.add.is_quiet, NULL},
					     {"to", NULL, &args.to},
					     {"limit", NULL, &args.limit},
					     {"json", &args.is_json, NULL}};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	const struct mirror_verb *verb = mirror_find_verb(argc - first, argv + first);
	if (!verb)
		return cli_usage_error(
			command,
			"say status, list, add REPO, show REPO, refresh REPO, prune REPO, or remove REPO or NAMESPACE");
	if (verb->run != mirror_run_add && mirror_add_is_said(&args.add))
		return cli_usage_error(command, "--every, --include, --keep, --no-wait and --quiet go with add");
	if (args.limit && !verb->lists)
		return cli_usage_error(command, "--limit goes with list and show");
	if (args.to && verb->run != mirror_run_prune)
		return cli_usage_error(command, "--to goes with prune");
	if (argc - first > 1)
		args.place = argv[first + 1];
	return verb->run(&args);
}

const struct cli_command CLI_MIRROR = {"mirror", "check, list and remove repositories of a mirrored hub", MIRROR_HELP,
				       mirror_run};
