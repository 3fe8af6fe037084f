#include "server/config.h"

#include "base/sys.h"
#include "data_dir/data_dir.h"
#include "server/http/cors.h"
#include "server/http/http_library.h"
#include "server/http/proxies.h"
#include "server/log/log.h"
#include "server/settings.h"

#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

extern char **environ;

enum { CONFIG_WHY_BYTES = 512 };
static const char CONFIG_PREFIX[] = "CAIRN_";
static const char CONFIG_PRINT[] = "--print-settings", CONFIG_PRINT_FILE[] = "--print-settings-file",
		  CONFIG_LOOK[] = "--check";
enum { CONFIG_PREFIX_LEN = sizeof(CONFIG_PREFIX) - 1 };

/* Receives error messages while the daemon runs. NULL: they go to standard error. Used by one thread. */
static struct cairn_diag *config_diag;

/* Writes one line to standard error, escaping unprintable bytes of values. */
static void config_complain(const char *fmt, ...) CAIRN_PRINTF(1, 2);
static void config_complain(const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (config_diag)
		(void)cairn_fail(config_diag, CAIRN_E_USAGE, "settings", CAIRN_NO_OFFSET, "%s", line);
	else
		log_refusal(line);
}

/* --- defaults ----------------------------------------------------------------------------------------------------- */

static bool config_set_defaults(struct config *config)
{
	*config = (struct config){0};
	for (size_t i = 0; i < N_SETTINGS; i++) {
		char why[CONFIG_WHY_BYTES];
		const struct setting *s = &SETTINGS[i];
		if (s->start && !setting_apply(config, s, s->start, why, sizeof(why))) {
			config_complain("default of %s: %s", s->name, why);
			return false;
		}
	}
	return true;
}

/* --- the file ----------------------------------------------------------------------------------------------------- */

struct config_file {
	struct config *config;
	const char *path;
	FILE *stream;
	unsigned line;
	unsigned *lines; /* line number of each setting in the file; 0: not seen so far */
	bool failed;     /* an error was reported; the rest of the file is skipped */
};

static bool config_file_refuse(struct config_file *f, const char *why)
{
	config_complain("%s:%u: %s", f->path, f->line, why);
	f->failed = true;
	return false;
}

/* Will inih read the line as its author meant it? */
static bool config_file_accepts(struct config_file *f, const char *line)
{
	if (*line == '[')
		return config_file_refuse(f, "the file has no sections; remove the line");
	if (!strchr("#;\r\n", *line) && !strpbrk(line, "=:"))
		return config_file_refuse(f, "expected \"name = value\"");
	return true;
}

/* Passes one line at a time to inih, so that messages can name the line. Removes leading blanks, because inih takes an
 * indented line for a continuation. Refuses a line that is too long, because inih would split it. */
static char *config_file_line(char *out, int room, void *ctx)
{
	struct config_file *f = ctx;
	if (f->failed || !fgets(out, room, f->stream))
		return NULL;
	f->line++;
	size_t len = strlen(out);
	if (len > 0 && out[len - 1] != '\n' && !feof(f->stream)) {
		(void)config_file_refuse(f, "the line is too long; give such a value as an option or a variable");
		return NULL;
	}
	size_t blanks = strspn(out, " \t");
	memmove(out, out + blanks, len - blanks + 1);
	return config_file_accepts(f, out) ? out : NULL;
}

static int config_file_fail(struct config_file *f)
{
	f->failed = true;
	return 0;
}

static int config_file_no_setting(struct config_file *f, const char *name)
{
	const struct setting *near = setting_near(name, strlen(name));
	config_complain("%s:%u: %s: there is no such setting%s%s%s; see cairnd --help", f->path, f->line, name,
			near ? " (did you mean " : "", near ? near->name : "", near ? "?)" : "");
	return config_file_fail(f);
}

static int config_file_value(void *ctx, const char *section, const char *name, const char *value)
{
	struct config_file *f = ctx;
	char why[CONFIG_WHY_BYTES];
	(void)section; /* config_file_accepts() refuses sections */
	const struct setting *s = setting_find(name, strlen(name));
	if (!s)
		return config_file_no_setting(f, name);
	unsigned *line = &f->lines[s - SETTINGS];
	if (*line != 0) {
		config_complain("%s:%u: %s: line %u has it, too; remove one of them", f->path, f->line, name, *line);
		return config_file_fail(f);
	}
	*line = f->line;
	if (!setting_apply(f->config, s, value, why, sizeof(why))) {
		config_complain("%s:%u: %s: %s", f->path, f->line, name, why);
		return config_file_fail(f);
	}
	return 1;
}

/* Can the file be read again? A pipe may have lost its writer, and the reload would wait for one forever. */
static bool config_is_readable_again(const char *path, const char *source)
{
	struct stat st;
	if (cairn_sys_stat(path, &st) != 0 || S_ISREG(st.st_mode))
		return true; /* the attempt to open the file will report the reason */
	config_complain("%s: %s is not a file, so it is read at the start alone", source, path);
	return false;
}

static bool config_read_file(struct config *config, const char *path, const char *source)
{
	if (config_diag && !config_is_readable_again(path, source))
		return false;
	struct config_file f = {.config = config, .path = path, .stream = fopen(path, "re")};
	if (!f.stream) {
		config_complain("%s: cannot open %s: %s", source, path, strerror(errno));
		return false;
	}
	f.lines = calloc(N_SETTINGS, sizeof(*f.lines));
	if (!f.lines) {
		(void)fclose(f.stream);
		config_complain("%s: %s: no memory", source, path);
		return false;
	}
	int bad = ini_parse_stream(config_file_line, &f, config_file_value, &f);
	bool io = ferror(f.stream) != 0;
	(void)fclose(f.stream);
	free(f.lines);
	if (f.failed)
		return false;
	if (io) {
		config_complain("%s: cannot read %s: it is not a readable file", source, path);
		return false;
	}
	if (bad != 0) /* a value without a name, "= x"; or no memory */
		config_complain("%s:%d: expected \"name = value\"", path, bad);
	return bad == 0;
}

/* --- the environment ---------------------------------------------------------------------------------------------- */

/* Is this a variable of the command cairn? */
static bool config_is_foreign(const char *name, size_t len)
{
	return (len == 5 && memcmp(name, "TOKEN", 5) == 0) || (len == 6 && memcmp(name, "SERVER", 6) == 0) ||
	       (len == 6 && memcmp(name, "CONFIG", 6) == 0);
}

/* Warns of an unknown variable. It is no error: orchestrators set variables with this prefix for a service cairn. */
static void config_warn_unknown(const char *variable, size_t len)
{
	char name[128];
	(void)snprintf(name, sizeof(name), "%.*s", (int)(len < 100 ? len : 100), variable);
	LOG(LOG_WARNING, "config_unknown_variable", LOG_T("variable", name),
	    LOG_T("message", "no setting has this name; it is ignored (see cairnd --help)"));
}

static bool config_read_variable(struct config *config, const char *variable)
{
	const char *value = strchr(variable, '=');
	char name[SETTING_NAME_BYTES], why[CONFIG_WHY_BYTES];
	if (!value || value[1] == 0) /* an empty value counts as not set: compose files often set empty variables */
		return true;
	size_t whole = (size_t)(value++ - variable), len = whole - CONFIG_PREFIX_LEN;
	const char *upper = variable + CONFIG_PREFIX_LEN;
	if (config_is_foreign(upper, len))
		return true;
	const struct setting *s = NULL;
	if (len < sizeof(name)) {
		for (size_t i = 0; i < len; i++)
			name[i] = (char)(upper[i] >= 'A' && upper[i] <= 'Z' ? upper[i] - 'A' + 'a' : upper[i]);
		s = setting_find(name, len);
	}
	if (!s) {
		config_warn_unknown(variable, whole);
		return true;
	}
	if (setting_apply(config, s, value, why, sizeof(why)))
		return true;
	config_complain("%.*s: %s", (int)whole, variable, why);
	return false;
}

static bool config_read_environment(struct config *config)
{
	for (char **v = environ; v && *v; v++)
		if (strncmp(*v, CONFIG_PREFIX, CONFIG_PREFIX_LEN) == 0 && !config_read_variable(config, *v))
			return false;
	return true;
}

/* --- the command line --------------------------------------------------------------------------------------------- */

/* A parsed option. */
struct config_option {
	char name[SETTING_NAME_BYTES]; /* in the form of the file */
	const struct setting *setting; /* NULL: no setting has this name */
	const char *value;             /* NULL: a flag without a value, or --config without its value */
};

static void config_no_option(const char *arg, const char *name, size_t len)
{
	const struct setting *near = setting_near(name, len);
	char option[SETTING_NAME_BYTES] = "";
	if (near)
		setting_option_name(option, near);
	config_complain("%s: there is no such option%s%s%s; see cairnd --help", arg, near ? " (did you mean --" : "",
			option, near ? "?)" : "");
}

/* Parses --name value, --name=value, --flag, --no-flag. Advances *i to the last argument used. @return false: an error
 * was reported */
static bool config_take_option(struct config_option *out, int *i, int argc, char **argv)
{
	const char *arg = argv[*i];
	size_t len = strncmp(arg, "--", 2) == 0 ? strcspn(arg + 2, "=") : 0;
	*out = (struct config_option){0};
	if (len == 0 || len >= sizeof(out->name)) {
		config_complain("%s: not an option; see cairnd --help", arg);
		return false;
	}
	for (size_t k = 0; k < len; k++)
		out->name[k] = arg[2 + k] == '-' ? '_' : arg[2 + k];
	out->setting = setting_find(out->name, len);
	out->value = arg[2 + len] == '=' ? arg + 2 + len + 1 : NULL;
	if (!out->setting && strncmp(out->name, "no_", 3) == 0 && !out->value) {
		out->setting = setting_find(out->name + 3, len - 3);
		out->value = "no";
		if (!out->setting || out->setting->kind != SETTING_FLAG)
			out->setting = NULL;
	}
	if (!out->setting && strcmp(out->name, "config") != 0) {
		config_no_option(arg, out->name, len);
		return false;
	}
	if (!out->value && out->setting && out->setting->kind == SETTING_FLAG)
		out->value = "yes";
	if (!out->value && ++*i < argc)
		out->value = argv[*i];
	if (!out->value)
		config_complain("%s needs a value; see cairnd --help", arg);
	return out->value != NULL;
}

/* Applies all options except --config. If path is given, reads only --config. */
static bool config_read_options(struct config *config, const char **path, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct config_option option;
		char why[CONFIG_WHY_BYTES];
		const char *arg = argv[i];
		if (strcmp(arg, CONFIG_PRINT) == 0 || strcmp(arg, CONFIG_PRINT_FILE) == 0 ||
		    strcmp(arg, CONFIG_LOOK) == 0)
			continue;
		if (!config_take_option(&option, &i, argc, argv))
			return false;
		if (path && !option.setting)
			*path = option.value;
		if (path || !option.setting || setting_apply(config, option.setting, option.value, why, sizeof(why)))
			continue;
		config_complain("%.*s: %s", (int)strcspn(arg, "="), arg, why);
		return false;
	}
	return true;
}

/* Writes a text to standard output. @return CONFIG_EXIT_OK: all of it was written */
static enum config_result config_say(const struct cairn_buf *text)
{
	if (text->status == CAIRN_OK && fwrite(text->bytes, 1, text->len, stdout) == text->len && fflush(stdout) == 0)
		return CONFIG_EXIT_OK;
	config_complain("cannot write to standard output: %s", strerror(errno));
	return CONFIG_EXIT_FAILED;
}

/* Answers --help and the other options that only print. @return CONFIG_RUN: none of these was given */
static enum config_result config_answer(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		CLEANUP(cairn_buf_fini) struct cairn_buf text = cairn_buf_init(CONFIG_TEXT_BYTES_MAX);
		if (strcmp(argv[i], "--help") == 0)
			settings_help(&text);
		else if (strcmp(argv[i], "--version") == 0)
			cairn_buf_printf(&text, "cairnd %s\nlibmicrohttpd %s; tried with %s\n", CAIRN_VERSION,
					 http_library_version(), HTTP_LIBRARY_TESTED);
		else if (strcmp(argv[i], "--print-settings-table") == 0)
			settings_table(&text);
		else
			continue;
		return config_say(&text);
	}
	return CONFIG_RUN;
}

static bool config_check_cors(const char *origins)
{
	struct cors cors;
	struct cairn_diag diag = {0};
	bool ok = cors_init(&cors, origins, &diag) == CAIRN_OK;
	if (!ok)
		config_complain("cors_origins: %s", diag.text[0] ? diag.text : "there is not enough memory");
	cors_fini(&cors);
	return ok;
}

static bool config_check_proxies(const char *list)
{
	struct proxies proxies;
	struct cairn_diag diag = {0};
	if (proxies_init(&proxies, list, &diag) == CAIRN_OK)
		return true;
	config_complain("hub_trusted_proxies: %s", diag.text);
	return false;
}

/* Checks a name that tokens carry in a claim. */
static bool config_check_claim(const char *setting, const char *name)
{
	size_t len = name ? strlen(name) : 0;
	if (len <= CAIRN_TOKEN_BINDING_BYTES_MAX)
		return true;
	config_complain("%s: the name has %zu bytes; use at most %d", setting, len, CAIRN_TOKEN_BINDING_BYTES_MAX);
	return false;
}

/* Checks the URL of the index. A password in it would get into messages and the log of changed settings. */
static bool config_check_index(const struct config *config)
{
	struct cairn_index_reach reach;
	struct cairn_diag diag = {0};
	if (!config->index)
		return true;
	if (strncmp(config->index, "postgres://", 11) != 0 && strncmp(config->index, "postgresql://", 13) != 0)
		config_complain("index is not a URL of PostgreSQL; use postgres://USER@HOST/DATABASE?schema=NAME");
	else if (cairn_data_dir_index_reach(config->index, &reach, &diag) != CAIRN_OK)
		config_complain("index: %s", diag.text[0] ? diag.text : "there is not enough memory");
	else
		return true;
	return false;
}

struct cairn_mirror_options config_mirror_options(const struct config *config)
{
	return (struct cairn_mirror_options){.upstream = config->mirror,
					     .ca = config->mirror_ca,
					     .proxy = config->mirror_proxy,
					     .hosts = config->mirror_hosts,
					     .pin = config->mirror_pin,
					     .is_offline = config->mirror_offline,
					     .refresh_s = config->mirror_refresh_s,
					     .rate_max = config->mirror_rate_max,
					     .rules = config->mirror_rules,
					     .data_dir = config->data_dir,
					     .spool_bytes_max = config->mirror_spool_max};
}

/* Returns the setting that a rule is about. */
static const char *config_mirror_setting(const char *rule)
{
	if (strcmp(rule, "mirror.proxy") == 0)
		return "mirror_proxy";
	if (strcmp(rule, "mirror.pin") == 0)
		return "mirror_pin";
	return strcmp(rule, "mirror.hosts") == 0 ? "mirror_hosts" : "mirror";
}

static bool config_check_mirror(const struct config *config)
{
	const struct cairn_mirror_options options = config_mirror_options(config);
	struct cairn_diag diag = {0};
	uint16_t port;
	if (!config->mirror) {
		bool alone = config->mirror_ca || config->mirror_hosts || config->mirror_offline ||
			     config->mirror_pin || config->mirror_proxy || config->mirror_rules;
		if (alone)
			config_complain("mirror_ca, mirror_hosts, mirror_offline, mirror_pin, mirror_proxy and "
					"mirror_rules go with mirror; give it, too, or leave them out");
		return !alone;
	}
	if (!config->hub)
		config_complain("mirror takes a hub; leave out hub = no, or mirror");
	else if (cairn_mirror_port(&options, &port, &diag) != CAIRN_OK)
		config_complain("%s: %s", config_mirror_setting(diag.rule), diag.text);
	else
		return true;
	return false;
}

/* Checks that the settings fit each other. */
static bool config_check(struct config *config)
{
	if (config->spool_bytes_max < config->shard_bytes_max || config->spool_bytes_max < config->xorb_bytes_max) {
		config_complain(
			"spool_bytes_max is smaller than the largest upload; raise it, or lower shard_bytes_max "
			"and xorb_bytes_max to it");
		return false;
	}
	if (config->gc_grace_s < 2 * config->epoch_s) {
		config_complain("gc_grace is shorter than two epochs, the life of an answer; raise it, or lower epoch");
		return false;
	}
	if (!config_check_cors(config->cors_origins) || !config_check_claim("token_audience", config->token_audience) ||
	    !config_check_claim("token_issuer", config->token_issuer))
		return false;
	if (!config->tls_certificate != !config->tls_key) {
		config_complain("tls_certificate and tls_key go together; give both, or neither for HTTP");
		return false;
	}
	if (config->hub_user_header && !config->hub_trusted_proxies) {
		config_complain("hub_user_header is believed only from hub_trusted_proxies; give these, too");
		return false;
	}
	if (!config_check_proxies(config->hub_trusted_proxies))
		return false;
	if (!config_check_index(config) || !config_check_mirror(config))
		return false;
	if (config->fetch_from_store && (config->prove_reads || strncmp(config->store, "s3:", 3) != 0)) {
		config_complain("fetch_from_store needs an S3 store and prove_reads = no, because this daemon cannot "
				"verify what clients fetch there");
		return false;
	}
	if (!config->public_url)
		return true;
	const char *rest = strncmp(config->public_url, "http://", 7) == 0    ? config->public_url + 7
			   : strncmp(config->public_url, "https://", 8) == 0 ? config->public_url + 8
									     : "";
	if (!*rest || *rest == '/' || strpbrk(rest, "?# \"\\")) {
		config_complain("public_url: \"%s\" is not a base address; use http://HOST[:PORT][/PATH] or https://",
				config->public_url);
		return false;
	}
	for (size_t len = strlen(config->public_url); config->public_url[len - 1] == '/'; len--)
		config->public_url[len - 1] = 0;
	return true;
}

static bool config_has_argument(int argc, char **argv, const char *wanted)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], wanted) == 0)
			return true;
	return false;
}

/* Answers --print-settings and --print-settings-file. @return CONFIG_RUN: neither was given */
static enum config_result config_print(const struct config *config, int argc, char **argv)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf text = cairn_buf_init(CONFIG_TEXT_BYTES_MAX);
	struct config defaults = {0};
	if (config_has_argument(argc, argv, CONFIG_PRINT_FILE) && config_set_defaults(&defaults))
		settings_file(&text, config, &defaults);
	else if (config_has_argument(argc, argv, CONFIG_PRINT))
		for (size_t k = 0; k < N_SETTINGS; k++)
			setting_print(&text, config, &SETTINGS[k]);
	config_fini(&defaults);
	return text.len > 0 ? config_say(&text) : CONFIG_RUN;
}

enum config_result config_load(struct config *out, int argc, char **argv)
{
	*out = (struct config){0};
	enum config_result result = config_answer(argc, argv);
	if (result != CONFIG_RUN)
		return result;
	const char *path = NULL, *source = "--config";
	bool ok = config_read_options(out, &path, argc, argv) && config_set_defaults(out);
	if (ok && !path) {
		path = getenv("CAIRN_CONFIG");
		source = "CAIRN_CONFIG";
	}
	if (ok && path && *path) {
		ok = config_read_file(out, path, source);
		out->file = strdup(path);
	}
	ok = ok && config_read_environment(out) && config_read_options(out, NULL, argc, argv) && config_check(out);
	result = ok ? config_print(out, argc, argv) : CONFIG_EXIT_USAGE;
	if (result == CONFIG_RUN)
		return config_has_argument(argc, argv, CONFIG_LOOK) ? CONFIG_CHECK : CONFIG_RUN;
	config_fini(out);
	return result;
}

enum cairn_status config_load_again(struct config *out, int argc, char **argv, struct cairn_diag *diag)
{
	config_diag = diag;
	enum config_result result = config_load(out, argc, argv);
	config_diag = NULL;
	return result == CONFIG_RUN ? CAIRN_OK : CAIRN_E_USAGE;
}

void config_fini(struct config *config)
{
	free(config->file);
	config->file = NULL;
	for (size_t i = 0; i < N_SETTINGS; i++)
		setting_clear(config, &SETTINGS[i]);
}
