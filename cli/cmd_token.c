/* cairn token: makes keys, and tokens signed with them. */
#include "base/clock.h"
#include "cli/common/cli.h"
#include "cli/common/options.h"
#include "cli/common/report.h"
#include "token/token.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKEN_TTL_DEFAULT_S = 3600 };

static const char TOKEN_HELP[] = "Usage: cairn token --new-key PATH\n"
				 "       cairn token --key PATH [OPTION]...\n"
				 "Make a key for tokens, or print a token signed with a key. Give the server the\n"
				 "same key: cairnd --token-key PATH\n"
				 "\n"
				 "      --new-key PATH   write a new random HS256 secret to PATH, mode 0600; an\n"
				 "                       existing file is not overwritten\n"
				 "      --key PATH       key to sign with: such a secret, a PEM private key (RSA,\n"
				 "                       EC P-256, Ed25519), or a folder whose first key signs\n"
				 "      --scope LIST     read, write, admin, separated by commas (default: read)\n"
				 "      --repo REPO      [models|datasets|spaces/]namespace/name; not with admin\n"
				 "      --audience NAME  the service that the token is for, as its token_audience\n"
				 "                       says (default: CAIRN_TOKEN_AUDIENCE)\n"
				 "      --issuer NAME    who signs the token, as the service's token_issuer says\n"
				 "                       (default: CAIRN_TOKEN_ISSUER)\n"
				 "      --dedupe SCOPE   global, namespace or repository\n"
				 "      --ttl TIME       how long it is valid: 90s, 15m, 1h, 30d (default: 1h)\n"
				 "      --sub NAME       who uses the token, for the server's log\n"
				 "      --json           one JSON object with token and exp\n"
				 "  -h, --help           this help\n"
				 "\n"
				 "Examples:\n"
				 "  cairn token --new-key /etc/cairn/keys/1\n"
				 "  cairn token --key /etc/cairn/keys --scope write --repo ann/cats --ttl 30d\n"
				 "\n"
				 "Exit codes: 0 done, 64 usage or a key that cannot sign, 73 the key exists,\n"
				 "74 input/output error.\n";

struct token_args {
	const char *new_key, *key, *scope, *repo, *dedupe, *ttl, *sub, *audience, *issuer;
	bool json;
};

static bool token_dedupe(const char *name, struct cairn_token_claims *claims)
{
	static const char *const names[] = {"global", "namespace", "repository"};
	for (unsigned i = 0; name && i < 3; i++) {
		if (strcmp(names[i], name) == 0) {
			claims->has_dedupe = true;
			claims->dedupe = (enum cairn_dedupe_scope)i;
		}
	}
	return !name || claims->has_dedupe;
}

static bool token_copy(char *out, size_t size, const char *text)
{
	int n = snprintf(out, size, "%s", text ? text : "");
	return n >= 0 && (size_t)n < size;
}

static int token_claims(const struct cli_command *command, const struct token_args *args,
			struct cairn_token_claims *out)
{
	int64_t ttl_s = TOKEN_TTL_DEFAULT_S;
	if (!cli_parse_scopes(args->scope ? args->scope : "read", &out->scopes))
		return cli_usage_error(command, "--scope takes read, write, admin, not \"%s\"", args->scope);
	if (!token_dedupe(args->dedupe, out))
		return cli_usage_error(command, "--dedupe takes global, namespace or repository, not \"%s\"",
				       args->dedupe);
	if (args->ttl && !cli_parse_seconds(args->ttl, &ttl_s))
		return cli_usage_error(command, "--ttl takes a time like 90s, 15m, 1h or 30d, not \"%s\"", args->ttl);
	if (!token_copy(out->repo, sizeof(out->repo), args->repo) ||
	    !token_copy(out->subject, sizeof(out->subject), args->sub))
		return cli_usage_error(command, "--repo takes at most %zu bytes, --sub %zu", sizeof(out->repo) - 1,
				       sizeof(out->subject) - 1);
	if (args->repo && !args->repo[0])
		return cli_usage_error(command, "--repo is empty; name a repository, or leave it out for all of them");
	if ((out->scopes & CAIRN_TOKEN_ADMIN) && out->repo[0])
		return cli_usage_error(command, "--scope admin concerns all repositories; leave --repo out");
	out->expires_unix_s = cairn_clock_unix_s() + ttl_s;
	return CLI_RUN;
}

/* Returns the option or else the variable that the daemon reads; empty ones count as absent. */
static const char *token_binding_name(const char *option, const char *variable)
{
	const char *name = option ? option : getenv(variable);
	return name && *name ? name : NULL;
}

static int token_binding(const struct cli_command *command, const struct token_args *args,
			 struct cairn_token_binding *out)
{
	*out = (struct cairn_token_binding){token_binding_name(args->audience, "CAIRN_TOKEN_AUDIENCE"),
					    token_binding_name(args->issuer, "CAIRN_TOKEN_ISSUER")};
	if ((out->audience && strlen(out->audience) > CAIRN_TOKEN_BINDING_BYTES_MAX) ||
	    (out->issuer && strlen(out->issuer) > CAIRN_TOKEN_BINDING_BYTES_MAX))
		return cli_usage_error(command, "--audience and --issuer take at most %d bytes each",
				       CAIRN_TOKEN_BINDING_BYTES_MAX);
	return CLI_RUN;
}

static int token_print(const struct token_args *args, const char *token, const struct cairn_token_claims *claims)
{
	struct report r;
	report_init(&r, args->json);
	if (args->json) {
		cairn_json_open_object(&r.json, NULL);
		cairn_json_put_text(&r.json, "token", token);
		cairn_json_put_u64(&r.json, "exp", (uint64_t)claims->expires_unix_s);
		cairn_json_close(&r.json);
	} else {
		(void)puts(token);
	}
	return report_end(&r, CLI_EXIT_OK);
}

static int token_run(const struct cli_command *command, int argc, char **argv)
{
	struct token_args args = {0};
	int first = 0;
	const struct cli_option options[] = {
		{"new-key", NULL, &args.new_key}, {"key", NULL, &args.key},           {"scope", NULL, &args.scope},
		{"repo", NULL, &args.repo},       {"dedupe", NULL, &args.dedupe},     {"ttl", NULL, &args.ttl},
		{"sub", NULL, &args.sub},         {"audience", NULL, &args.audience}, {"issuer", NULL, &args.issuer},
		{"json", &args.json, NULL},
	};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	if (first != argc || !args.new_key == !args.key)
		return cli_usage_error(command, "give --new-key PATH or --key PATH, and no arguments");
	struct cairn_diag diag = {0};
	if (args.new_key) {
		enum cairn_status made = cairn_token_key_make(args.new_key, &diag);
		return made == CAIRN_OK ? CLI_EXIT_OK : cli_fail(args.new_key, made, &diag);
	}
	struct cairn_token_claims claims = {0};
	struct cairn_token_binding binding;
	end = token_claims(command, &args, &claims);
	if (end == CLI_RUN)
		end = token_binding(command, &args, &binding);
	if (end != CLI_RUN)
		return end;
	CLEANUP(cairn_token_keys_freep) struct cairn_token_keys *keys = NULL;
	char *token = NULL;
	enum cairn_status status = cairn_token_keys_load(&keys, args.key, &diag);
	if (status == CAIRN_OK)
		status = cairn_token_mint(keys, &binding, &claims, cairn_clock_unix_s(), &token, &diag);
	int code = status == CAIRN_OK ? token_print(&args, token, &claims) : cli_fail(args.key, status, &diag);
	free(token);
	return code;
}

const struct cli_command CLI_TOKEN = {"token", "make keys, and tokens signed with them", TOKEN_HELP, token_run};
