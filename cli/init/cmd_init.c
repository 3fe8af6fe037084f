/* cairn init: prepares a server for other people, and prints what to type next. */
#include "base/sys.h"
#include "cli/common/cli.h"
#include "cli/common/options.h"
#include "cli/common/report.h"
#include "cli/init/init.h"
#include "hub/name.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char INIT_HELP[] = "Usage: cairn init USER [OPTION]...\n"
				"Prepare a server that others use: a key for tokens, a file of settings, a first\n"
				"user and an API key for this user. Then say what to type next. The daemon must\n"
				"not be running. Nothing that is there already is overwritten.\n"
				"\n"
				"Without --dir, this is for the service of the package cairnd, and for root:\n"
				"settings in /etc/cairn, data in /var/lib/cairn. New repositories are private\n"
				"unless an upload says otherwise (hub_private = *).\n"
				"\n"
				"      --dir DIR               put everything into DIR, which is made when\n"
				"                              missing: data, keys, and cairnd.conf, the settings\n"
				"      --url URL               the address that clients type (default:\n"
				"                              http://127.0.0.1:8080, for this machine only).\n"
				"                              An https address without a certificate is that of\n"
				"                              a proxy in front of 127.0.0.1:8080\n"
				"      --tls-certificate FILE  let the daemon serve HTTPS with this certificate\n"
				"      --tls-key FILE          the key of the certificate\n"
				"      --public                let new repositories be public\n"
				"      --json                  one JSON object, for programs\n"
				"  -h, --help                  this help\n"
				"\n"
				"Examples:\n"
				"  cairn init ann --dir ./store\n"
				"  cairn init ann --url https://hub.example.org\n"
				"  cairn init ann --url https://a.example:8443 --tls-certificate C --tls-key K\n"
				"\n"
				"Exit codes: 0 done, 64 usage, 73 there are settings already, a daemon runs, or\n"
				"a file cannot be made, 74 input/output error, 77 not root, or the daemon may not\n"
				"read a file of TLS.\n";

struct init_args {
	const char *dir, *url, *tls_certificate, *tls_key;
	bool is_public, json;
};

/* Makes a path absolute, because the daemon starts elsewhere. Keeps symbolic links: renewals change their targets. */
static enum cairn_status init_absolute(char out[static INIT_PATH_BYTES], const char *path, struct cairn_diag *diag)
{
	char here[PATH_MAX];
	int n;
	*out = '\0';
	if (!path)
		return CAIRN_OK;
	if (path[0] == '/')
		n = snprintf(out, INIT_PATH_BYTES, "%s", path);
	else if (getcwd(here, sizeof(here)))
		n = snprintf(out, INIT_PATH_BYTES, "%s/%s", here, strncmp(path, "./", 2) == 0 ? path + 2 : path);
	else
		return cairn_fail(diag, CAIRN_E_IO, "init.path", CAIRN_NO_OFFSET, "cannot tell where %.160s is: %s",
				  path, strerror(errno));
	while (n > 1 && n < INIT_PATH_BYTES && out[n - 1] == '/')
		out[--n] = '\0';
	return n > 0 && n < INIT_PATH_BYTES / 2 ? CAIRN_OK
						: cairn_fail(diag, CAIRN_E_USAGE, "init.path", CAIRN_NO_OFFSET,
							     "the path is too long: %.80s...", path);
}

static enum cairn_status init_place_service(struct init_place *place, struct cairn_diag *diag)
{
	const struct passwd *user = getpwnam(INIT_SERVICE_USER);
	if (!user)
		return cairn_fail(diag, CAIRN_E_USAGE, "init.service", CAIRN_NO_OFFSET,
				  "this system has no user %s: install the package cairnd, or name a folder of your "
				  "own with --dir DIR",
				  INIT_SERVICE_USER);
	if (geteuid() != 0)
		return cairn_fail(diag, CAIRN_E_DENIED, "init.root", CAIRN_NO_OFFSET,
				  "only root can prepare the service: use sudo, or name a folder of your own with "
				  "--dir DIR");
	*place = (struct init_place){
		.is_service = true,
		.uid = user->pw_uid,
		.gid = user->pw_gid,
		.settings = INIT_SERVICE_SETTINGS,
		.keys = "/etc/cairn/keys",
		.data_dir = INIT_SERVICE_DATA,
	};
	return CAIRN_OK;
}

static enum cairn_status init_place_of(const char *dir, struct init_place *place, struct cairn_diag *diag)
{
	if (!dir)
		return init_place_service(place, diag);
	*place = (struct init_place){.uid = geteuid(), .gid = getegid()};
	enum cairn_status status = init_absolute(place->data_dir, dir, diag);
	(void)snprintf(place->settings, sizeof(place->settings), "%s/cairnd.conf", place->data_dir);
	(void)snprintf(place->keys, sizeof(place->keys), "%s/keys", place->data_dir);
	return status;
}

static enum cairn_status init_wish_of(const struct init_args *args, const char *user, struct init_wish *wish,
				      struct cairn_diag *diag)
{
	const char *url = args->url ? args->url : "http://127.0.0.1:8080";
	wish->user = user;
	wish->repositories_are_public = args->is_public;
	enum cairn_status status = init_address_read(url, args->tls_certificate != NULL, &wish->address, diag);
	if (status == CAIRN_OK)
		status = init_absolute(wish->tls_certificate, args->tls_certificate, diag);
	if (status == CAIRN_OK)
		status = init_absolute(wish->tls_key, args->tls_key, diag);
	if (status == CAIRN_OK && !args->dir && wish->address.port < 1024)
		status = cairn_fail(diag, CAIRN_E_USAGE, "init.port", CAIRN_NO_OFFSET,
				    "the service may not open port %u: put a port from 1024 on into --url, as in "
				    "https://HOST:8443, or a proxy in front",
				    wish->address.port);
	return status;
}

static void init_show_made(const struct init_place *place, const struct init_wish *wish, const struct init_made *made)
{
	cli_line("%-9s %s", made->token_key ? "made" : "kept", place->keys);
	cli_line("%-9s user %s", made->user ? "made" : "kept", wish->user);
	cli_line("%-9s %s", "wrote", place->settings);
}

static void init_show_start(const struct init_place *place, const struct init_wish *wish)
{
	(void)puts("");
	cli_line("Start the daemon:");
	(void)puts("");
	if (place->is_service)
		cli_line("  runuser -u %s -- cairnd --check --config %s && systemctl enable --now cairnd",
			 INIT_SERVICE_USER, place->settings);
	else
		cli_line("  cairnd --config %s", place->settings);
	if (wish->address.behind_proxy || (!wish->address.https && !wish->address.loopback))
		(void)puts("");
	if (wish->address.behind_proxy)
		cli_line("Let the proxy for %s pass requests on to http://%s", wish->address.url, wish->address.listen);
	else if (!wish->address.https && !wish->address.loopback)
		cli_line("Keys and data cross the network unencrypted. An https address mends that: cairn init --help");
}

static void init_show_upload(const struct init_wish *wish, const struct init_made *made)
{
	(void)puts("");
	cli_line("On the machine of %s (the key is shown only once; keep it like a password):", wish->user);
	(void)puts("");
	cli_line("  export HF_ENDPOINT=%s", wish->address.url);
	cli_line("  export HF_TOKEN=%s", made->api_key);
	cli_line("  hf upload %s/first ./folder", wish->user);
	(void)puts("");
	if (wish->repositories_are_public)
		(void)puts("New repositories are public: whoever reaches the server can read them.\n"
			   "To make one private: hf upload --private, or the settings on its page.");
	else
		(void)puts("New repositories are private (hub_private = *).\n"
			   "To make one public: hf upload --no-private, or the settings on its page.");
}

static void init_show_more_users(const struct init_place *place, const struct init_wish *wish)
{
	(void)puts("");
	cli_line("Another user, once the daemon runs:");
	(void)puts("");
	cli_line("  export CAIRN_SERVER=%s", wish->address.url);
	cli_line("  export CAIRN_TOKEN=$(%scairn token --key %s --audience %s --issuer %s --scope admin)",
		 place->is_service ? "runuser -u " INIT_SERVICE_USER " -- " : "", place->keys, wish->address.url,
		 INIT_ISSUER);
	cli_line("  cairn user add ben --key");
}

static int init_show(const struct init_args *args, const struct init_place *place, const struct init_wish *wish,
		     const struct init_made *made)
{
	struct report r;
	report_init(&r, args->json);
	if (args->json) {
		cairn_json_open_object(&r.json, NULL);
		cairn_json_put_text(&r.json, "settings", place->settings);
		cairn_json_put_text(&r.json, "token_key", place->keys);
		cairn_json_put_text(&r.json, "data_dir", place->data_dir);
		cairn_json_put_text(&r.json, "url", wish->address.url);
		cairn_json_put_text(&r.json, "user", wish->user);
		cairn_json_put_text(&r.json, "key", made->api_key);
		cairn_json_close(&r.json);
	} else {
		init_show_made(place, wish, made);
		init_show_start(place, wish);
		init_show_upload(wish, made);
		init_show_more_users(place, wish);
	}
	return report_end(&r, CLI_EXIT_OK);
}

static int init_fail(const struct init_place *place, enum cairn_status status, const struct cairn_diag *diag)
{
	if (cairn_diag_has(diag, "data_dir.in_use")) {
		cli_error("%s: a daemon has it open; stop it first, or make users with cairn user add "
			  "[data_dir.in_use]",
			  place->data_dir);
		return CLI_EXIT_CANT_CREATE;
	}
	return cli_fail(place->settings[0] ? place->settings : "init", status, diag);
}

/* Creates the folder of the settings file, unless the package has created it. */
static enum cairn_status init_make_dir(const struct init_place *place, struct cairn_diag *diag)
{
	if (place->is_service || cairn_sys_mkdir(place->data_dir, 0700) == 0 || errno == EEXIST)
		return CAIRN_OK;
	return cairn_fail(diag, CAIRN_E_CONFLICT, "init.folder", CAIRN_NO_OFFSET, "cannot make the folder %.160s: %s",
			  place->data_dir, strerror(errno));
}

/* Makes everything. The settings come last, so that an interrupted command can be repeated. */
static enum cairn_status init_do(const struct init_place *place, const struct init_wish *wish, struct init_made *made,
				 struct cairn_diag *diag)
{
	enum cairn_status status = init_settings_check(place, wish, diag);
	if (status == CAIRN_OK)
		status = init_make_dir(place, diag);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(init_settings_fini) struct init_settings settings;
	status = init_settings_open(&settings, place, wish, diag);
	if (status == CAIRN_OK)
		status = init_make(place, wish, made, diag);
	return status == CAIRN_OK ? init_settings_commit(&settings, diag) : status;
}

static int init_run(const struct cli_command *command, int argc, char **argv)
{
	struct init_args args = {0};
	struct init_place place = {.uid = 0};
	struct init_wish wish = {.user = NULL};
	struct init_made made = {.user = false};
	struct cairn_diag diag = {0};
	int first = 0;
	const struct cli_option options[] = {
		{"dir", NULL, &args.dir},
		{"url", NULL, &args.url},
		{"tls-certificate", NULL, &args.tls_certificate},
		{"tls-key", NULL, &args.tls_key},
		{"public", &args.is_public, NULL},
		{"json", &args.json, NULL},
	};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	if (argc - first != 1)
		return cli_usage_error(command, "name one user, the first of this server");
	if (!cairn_hub_name_is_good(argv[first]) || cairn_hub_name_is_reserved(argv[first]))
		return cli_usage_error(command, "\"%s\" cannot be the name of a user", argv[first]);
	if (!args.tls_certificate != !args.tls_key)
		return cli_usage_error(command, "--tls-certificate and --tls-key go together");
	(void)umask(077); /* as in the daemon: files created here are private to the user */
	enum cairn_status status = init_wish_of(&args, argv[first], &wish, &diag);
	if (status == CAIRN_OK)
		status = init_place_of(args.dir, &place, &diag);
	if (status == CAIRN_OK)
		status = init_do(&place, &wish, &made, &diag);
	if (status != CAIRN_OK)
		return init_fail(&place, status, &diag);
	init_settings_warn(&place, &wish);
	return init_show(&args, &place, &wish, &made);
}

const struct cli_command CLI_INIT = {"init", "prepare a server that others use", INIT_HELP, init_run};
