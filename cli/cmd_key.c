/* cairn key: makes, lists and revokes API keys, with which clients get tokens. */
#include "base/clock.h"
#include "cas/service/keys.h"
#include "cli/common/admin.h"
#include "cli/common/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char KEY_HELP[] = "Usage: cairn key add NAME [OPTION]...\n"
			       "       cairn key list [OPTION]...\n"
			       "       cairn key revoke ID [OPTION]...\n"
			       "Make, list and revoke the API keys of a server. Clients that talk to it as to a\n"
			       "hub get their tokens with such a key. add prints the key, this once and never\n"
			       "again. list shows each key's number, date, state (valid, revoked or expired),\n"
			       "expiry, last use (to about an hour), scope, repository, name and account. Needs\n"
			       "a token with the scope admin.\n"
			       "\n"
			       "      --account NAME     of add: the user or organisation whose key it is\n"
			       "                         (default: the operator's)\n"
			       "      --repo REPO        of add: [models|datasets|spaces/]namespace/name that\n"
			       "                         the key is for (default: any)\n"
			       "      --scope LIST       of add: read, write, admin, separated by commas\n"
			       "                         (default: read)\n" SERVER_OPTIONS_HELP
			       "      --expires TIME     of add: how long it is valid, like 12h or 90d (default:\n"
			       "                         until it is revoked)\n"
			       "      --json             one JSON object, for programs\n"
			       "  -h, --help             this help\n"
			       "\n"
			       "Examples:\n"
			       "  cairn key add laptop --account ann --scope write --expires 90d\n"
			       "  cairn key list\n"
			       "  cairn key revoke 3\n"
			       "\n"
			       "Exit codes: 0 done, 64 usage, 65 refused by the server, 66 no such key,\n"
			       "69 server unavailable, 77 not permitted.\n";

struct key_args {
	struct server_options server;
	const char *account, *repo, *scope, *expires;
	int64_t expires_s; /* lifetime of a new key; 0: absent */
	bool json;
};

static bool key_show_added(const struct cairn_json *json)
{
	const char *key = cairn_json_text_of(json, "key");
	if (key)
		(void)puts(key);
	return key != NULL;
}

static bool key_show_one(const struct cairn_json *json)
{
	uint64_t id, created, expires, used;
	bool revoked = false;
	char when[ADMIN_TIME_BYTES], until[ADMIN_TIME_BYTES], last[ADMIN_TIME_BYTES];
	const char *name = cairn_json_text_of(json, "name"), *repo = cairn_json_text_of(json, "repo"),
		   *scope = cairn_json_text_of(json, "scope"), *account = cairn_json_text_of(json, "account");
	if (!admin_number(json, "id", &id) || !admin_number(json, "created", &created) ||
	    !admin_number(json, "expires", &expires) || !admin_number(json, "used", &used) || !name || !repo ||
	    !scope || !account || !cairn_json_bool_of(json, "revoked", &revoked))
		return false;
	const char *state = revoked                                                    ? "revoked"
			    : expires != 0 && (int64_t)expires <= cairn_clock_unix_s() ? "expired"
										       : "valid";
	(void)printf("%" PRIu64 " %s %-8s %s %s ", id, admin_time(when, (int64_t)created), state,
		     expires ? admin_time(until, (int64_t)expires) : "-", used ? admin_time(last, (int64_t)used) : "-");
	admin_print_text(scope);
	(void)fputs(" ", stdout);
	admin_print_text(repo);
	(void)fputs(" ", stdout);
	admin_print_text(name);
	(void)fputs(" ", stdout);
	admin_print_text(account);
	(void)fputs("\n", stdout);
	return true;
}

static bool key_show_list(const struct cairn_json *json)
{
	const struct cairn_json *keys = cairn_json_get(json, "keys");
	if (!cairn_json_is_array(keys))
		return false;
	for (size_t i = 0; i < cairn_json_count(keys); i++)
		if (!key_show_one(cairn_json_at(keys, i)))
			return false;
	return true;
}

static bool key_show_revoked(const struct cairn_json *json)
{
	bool revoked = false;
	if (!cairn_json_bool_of(json, "revoked", &revoked))
		return false;
	(void)puts(revoked ? "revoked" : "was revoked already");
	return true;
}

static int key_add(const struct cli_command *command, const struct key_args *args, const char *name)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf body = cairn_buf_init(4096);
	char *scope = strdup(args->scope ? args->scope : "read");
	if (!scope)
		return cli_fail("key", CAIRN_E_NOMEM, &(struct cairn_diag){0});
	for (char *c = scope; *c; c++)
		*c = *c == ',' ? ' ' : *c;
	struct cairn_json_out w = cairn_json_out_init(&body);
	cairn_json_open_object(&w, NULL);
	cairn_json_put_text(&w, "name", name);
	if (args->account)
		cairn_json_put_text(&w, "account", args->account);
	if (args->repo)
		cairn_json_put_text(&w, "repo", args->repo);
	cairn_json_put_text(&w, "scope", scope);
	if (args->expires)
		cairn_json_put_u64(&w, "expires_s", (uint64_t)args->expires_s);
	cairn_json_close(&w);
	free(scope);
	const char *text = admin_path(&body);
	if (!text)
		return cli_usage_error(command, "name, --account, --repo and --scope are too long");
	const struct admin_call call = {.server = &args->server,
					.subject = "key",
					.method = CLIENT_POST,
					.path = "/v1/keys",
					.body = text,
					.json = args->json,
					.show = key_show_added};
	return admin_ask(&call);
}

static int key_list(const struct key_args *args)
{
	const struct admin_call call = {.server = &args->server,
					.subject = "key",
					.method = CLIENT_GET,
					.path = "/v1/keys",
					.json = args->json,
					.show = key_show_list};
	return admin_ask(&call);
}

static int key_revoke(const struct cli_command *command, const struct key_args *args, const char *id)
{
	char path[64];
	if (strspn(id, "0123456789") != strlen(id) || strlen(id) > 18 || id[0] == '0' || !*id)
		return cli_usage_error(command, "a key is named by its number, as cairn key list tells it, not \"%s\"",
				       id);
	(void)snprintf(path, sizeof(path), "/v1/keys/%s", id);
	const struct admin_call call = {.server = &args->server,
					.subject = id,
					.method = CLIENT_DELETE,
					.path = path,
					.json = args->json,
					.show = key_show_revoked};
	return admin_ask(&call);
}

static int key_run(const struct cli_command *command, int argc, char **argv)
{
	struct key_args args = {0};
	int first = 0;
	const struct cli_option options[] = {SERVER_OPTIONS(&args.server),     {"account", NULL, &args.account},
					     {"repo", NULL, &args.repo},       {"scope", NULL, &args.scope},
					     {"expires", NULL, &args.expires}, {"json", &args.json, NULL}};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	const char *verb = first < argc ? argv[first] : "";
	int n = argc - first - 1;
	bool add = strcmp(verb, "add") == 0;
	if ((args.account || args.repo || args.scope || args.expires) && !add)
		return cli_usage_error(command, "--account, --repo, --scope and --expires go with add");
	if (args.expires && !cli_parse_seconds(args.expires, &args.expires_s))
		return cli_usage_error(command, "--expires is a time like 12h or 90d, not \"%s\"", args.expires);
	if (args.account && !args.account[0])
		return cli_usage_error(command, "--account is empty; name one, or leave it out for the operator's");
	if (args.repo && !args.repo[0])
		return cli_usage_error(command, "--repo is empty; name a repository, or leave it out for any");
	unsigned scopes;
	if (args.scope && !cli_parse_scopes(args.scope, &scopes))
		return cli_usage_error(command, "--scope takes read, write, admin, not \"%s\"", args.scope);
	if (add && n == 1 && (!argv[first + 1][0] || strlen(argv[first + 1]) > CAIRN_KEY_NAME_MAX))
		return cli_usage_error(command, "the name of a key has 1 to %d bytes", CAIRN_KEY_NAME_MAX);
	if (add && n == 1)
		return key_add(command, &args, argv[first + 1]);
	if (strcmp(verb, "list") == 0 && n == 0)
		return key_list(&args);
	if (strcmp(verb, "revoke") == 0 && n == 1)
		return key_revoke(command, &args, argv[first + 1]);
	return cli_usage_error(command, "say add NAME, list, or revoke ID");
}

const struct cli_command CLI_KEY = {"key", "make, list and revoke API keys of a server", KEY_HELP, key_run};
