#include "cas/cas.h"
#include "server/config.h"
#include "server/http/http_library.h"
#include "server/settings.h"
#include "support/output.h"
#include "support/run.h"
#include "support/vectors.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char config_path[64]; /* path of the file that config_write() made */

static void config_write(const char *text)
{
	int fd = mkstemp(config_path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	ck_assert_int_eq(close(fd), 0);
}

static void config_setup(void)
{
	memcpy(config_path, "/tmp/test_config_XXXXXX", sizeof("/tmp/test_config_XXXXXX"));
}

static void config_teardown(void)
{
	(void)unlink(config_path);
}

/* Loads the settings from "cairnd" and the arguments, which end with NULL. */
static enum config_result config_run(struct config *out, char *const *args, struct output *said)
{
	char *argv[24] = {(char[]){"cairnd"}};
	int argc = 1;
	for (; args[argc - 1]; argc++)
		argv[argc] = args[argc - 1];
	output_begin(said);
	enum config_result result = config_load(out, argc, argv);
	output_end(said);
	return result;
}
#define ARGS(...) ((char *[]){__VA_ARGS__, NULL})
#define NO_ARGS   ((char *[]){NULL})

static void config_must_run(struct config *out, char *const *args)
{
	struct output said;
	ck_assert_msg(config_run(out, args, &said) == CONFIG_RUN, "%s", said.err);
	ck_assert_str_eq(said.err, "");
	ck_assert_str_eq(said.out, "");
}

/* Checks that loading is refused with exactly this line. */
static void config_must_fail(char *const *args, const char *line)
{
	struct output said;
	struct config config;
	ck_assert_int_eq(config_run(&config, args, &said), CONFIG_EXIT_USAGE);
	ck_assert_str_eq(said.err, line);
	ck_assert_str_eq(said.out, "");
	ck_assert_ptr_null(config.data_dir);
}

static void config_file_must_fail(const char *text, const char *after_path)
{
	char line[256];
	config_write(text);
	(void)snprintf(line, sizeof(line), "cairnd: %s%s\n", config_path, after_path);
	config_must_fail(ARGS((char[]){"--config"}, config_path), line);
	config_teardown();
	config_setup();
}

/* --- defaults and precedence -------------------------------------------------------------------------------------- */

START_TEST(defaults)
{
	struct config c;
	config_must_run(&c, NO_ARGS);
	ck_assert_str_eq(c.data_dir, "./cairn-data");
	ck_assert_str_eq(c.listen, "127.0.0.1:8080");
	ck_assert_ptr_null(c.public_url);
	ck_assert_ptr_null(c.token_key);
	ck_assert_ptr_null(c.secret_file);
	ck_assert_ptr_null(c.test_clock);
	ck_assert(!c.insecure_no_auth && !c.strict && c.access_log);
	ck_assert_int_eq(c.dedupe_scope, CAIRN_DEDUPE_GLOBAL);
	ck_assert_int_eq(c.xorbs, CONFIG_XORBS_STORE);
	ck_assert_int_eq(c.log_level, LOG_INFO);
	ck_assert_uint_eq(c.connections_max, 1008);
	ck_assert_uint_eq(c.connections_per_address_max, 256);
	ck_assert_uint_eq(c.idle_timeout_s, 90);
	ck_assert_uint_eq(c.head_timeout_s, 15);
	ck_assert_uint_eq(c.request_timeout_s, 900);
	ck_assert_uint_eq(c.head_bytes_max, 32768);
	ck_assert_uint_eq(c.workers, 0);
	ck_assert_uint_eq(c.worker_queue_max, 1024);
	ck_assert_uint_eq(c.drain_s, 30);
	config_fini(&c);
}
END_TEST

/* The defaults that the library documents are also the daemon's. */
START_TEST(defaults_are_the_library_s)
{
	struct config c;
	const struct cairn_cas_options *o = &CAIRN_CAS_DEFAULTS;
	config_must_run(&c, NO_ARGS);
	ck_assert_uint_eq(c.shard_bytes_max, o->shard_bytes_max);
	ck_assert_uint_eq(c.xorb_bytes_max, o->xorb_bytes_max);
	ck_assert_uint_eq(c.xorb_chunks_max, o->xorb_chunks_max);
	ck_assert_uint_eq(c.files_max, o->files_max);
	ck_assert_uint_eq(c.terms_max, o->terms_max);
	ck_assert_uint_eq(c.xorbs_max, o->xorbs_max);
	ck_assert_uint_eq(c.term_chunks_max, o->term_chunks_max);
	ck_assert_uint_eq(c.list_chunks_max, o->list_chunks_max);
	ck_assert_uint_eq(c.edit_chunks_max, o->edit_chunks_max);
	ck_assert_uint_eq(c.spool_bytes_max, o->spool_bytes_max);
	ck_assert_uint_eq(c.reserve_bytes, o->reserve_bytes);
	ck_assert_uint_eq(c.answer_bytes_max, o->answer_bytes_max);
	ck_assert_uint_eq(c.cache_bytes_max, o->cache_bytes_max);
	ck_assert_uint_eq(c.epoch_s, o->epoch_s);
	config_fini(&c);
}
END_TEST

START_TEST(options_win_over_variables_over_file)
{
	struct config c;
	config_write("# a comment\n"
		     "; another\n"
		     "\n"
		     "workers = 1\n"
		     "  drain = 11s\n" /* indented, but a setting of its own */
		     "idle_timeout=3m ; to the end\n"
		     "strict = yes\n"
		     "data_dir = a folder with blanks\n");
	setenv("CAIRN_WORKERS", "2", 1);
	setenv("CAIRN_DRAIN", "12", 1);
	config_must_run(&c, ARGS((char[]){"--config"}, config_path, (char[]){"--workers"}, (char[]){"3"}));
	ck_assert_uint_eq(c.workers, 3);
	ck_assert_uint_eq(c.drain_s, 12);
	ck_assert_uint_eq(c.idle_timeout_s, 180);
	ck_assert(c.strict);
	ck_assert_str_eq(c.data_dir, "a folder with blanks");
	config_fini(&c);
	config_must_run(&c, ARGS((char[]){"--no-strict"}));
	ck_assert_uint_eq(c.workers, 2);
	ck_assert(!c.strict);
	config_fini(&c);
}
END_TEST

START_TEST(file_of_the_environment)
{
	struct config c;
	config_write("workers = 7\n");
	setenv("CAIRN_CONFIG", config_path, 1);
	config_must_run(&c, NO_ARGS);
	ck_assert_uint_eq(c.workers, 7);
	config_fini(&c);
	setenv("CAIRN_CONFIG", "/nonexistent/file", 1);
	/* the option wins; the variable's file is not opened */
	config_must_run(&c, ARGS((char[]){"--config"}, config_path));
	ck_assert_uint_eq(c.workers, 7);
	config_fini(&c);
	config_must_fail(NO_ARGS, "cairnd: CAIRN_CONFIG: cannot open /nonexistent/file: No such file or directory\n");
}
END_TEST

START_TEST(empty_variables_count_as_not_set)
{
	struct config c;
	setenv("CAIRN_WORKERS", "", 1);
	setenv("CAIRN_TOKEN_KEY", "", 1);
	setenv("CAIRN_CONFIG", "", 1);
	config_must_run(&c, NO_ARGS);
	ck_assert_ptr_null(c.token_key);
	config_fini(&c);
}
END_TEST

START_TEST(unknown_variables_are_logged)
{
	struct config c;
	struct output said;
	setenv("CAIRN_PORT_8080_TCP", "tcp://10.0.0.1:8080", 1);
	setenv("CAIRN_TOKEN", "secret", 1); /* a variable of the command cairn */
	setenv("CAIRN_SERVER", "http://127.0.0.1:8080", 1);
	ck_assert_int_eq(config_run(&c, NO_ARGS, &said), CONFIG_RUN);
	ck_assert_ptr_nonnull(strstr(said.err, "\"variable\":\"CAIRN_PORT_8080_TCP\""));
	ck_assert_ptr_null(strstr(said.err, "CAIRN_TOKEN"));
	ck_assert_ptr_null(strstr(said.err, "tcp://"));
	ck_assert_ptr_eq(strchr(said.err, '\n'), said.err + strlen(said.err) - 1);
	config_fini(&c);
}
END_TEST

START_TEST(spellings_of_options)
{
	struct config c;
	config_must_run(&c,
			ARGS((char[]){"--data-dir=/a=b"}, (char[]){"--listen"}, (char[]){"--odd"}, (char[]){"--strict"},
			     (char[]){"--no-access-log"}, (char[]){"--insecure-no-auth=on"}, (char[]){"--workers=4"},
			     (char[]){"--workers=5"}, (char[]){"--public-url=https://x.example/base//"}));
	ck_assert_str_eq(c.data_dir, "/a=b");
	ck_assert_str_eq(c.listen, "--odd");
	ck_assert(c.strict && !c.access_log && c.insecure_no_auth);
	ck_assert_uint_eq(c.workers, 5);
	ck_assert_str_eq(c.public_url, "https://x.example/base");
	config_fini(&c);
}
END_TEST

/* 15 bytes; 17 of them are 255 */
#define LONG_NAME_15 "a-name-15-bytes"
#define LONG_NAME_60 LONG_NAME_15 LONG_NAME_15 LONG_NAME_15 LONG_NAME_15
#define LONG_NAME    LONG_NAME_60 LONG_NAME_60 LONG_NAME_60 LONG_NAME_60 LONG_NAME_15

static const struct {
	const char *args[3];
	const char *line;
} BAD_OPTIONS[] = {
	{{"serve"}, "cairnd: serve: not an option; see cairnd --help\n"},
	{{"-d"}, "cairnd: -d: not an option; see cairnd --help\n"},
	{{"--"}, "cairnd: --: not an option; see cairnd --help\n"},
	{{"--=x"}, "cairnd: --=x: not an option; see cairnd --help\n"},
	{{"--port", "1"}, "cairnd: --port: there is no such option; see cairnd --help\n"},
	{{"--work", "1"}, "cairnd: --work: there is no such option; see cairnd --help\n"},
	{{"--no-workers"}, "cairnd: --no-workers: there is no such option; see cairnd --help\n"},
	{{"--no-strict=yes"}, "cairnd: --no-strict=yes: there is no such option; see cairnd --help\n"},
	{{"--lisen", "1"}, "cairnd: --lisen: there is no such option (did you mean --listen?); see cairnd --help\n"},
	{{"--data_dri=x"},
	 "cairnd: --data_dri=x: there is no such option (did you mean --data-dir?); see cairnd --help\n"},
	{{"--workers"}, "cairnd: --workers needs a value; see cairnd --help\n"},
	{{"--config"}, "cairnd: --config needs a value; see cairnd --help\n"},
	{{"--strict=maybe"}, "cairnd: --strict: \"maybe\" is neither; use yes or no\n"},
	{{"--config", "/nonexistent/file"},
	 "cairnd: --config: cannot open /nonexistent/file: No such file or directory\n"},
	{{"--config", "/"}, "cairnd: --config: cannot read /: it is not a readable file\n"},
	{{"--data-dir="},
	 "cairnd: --data-dir: the value is empty; give one, or leave the setting out for ./cairn-data\n"},
	{{"--xorbs", "away"}, "cairnd: --xorbs: \"away\" is not known; use store or external\n"},
	{{"--xorbs", "store|external"}, "cairnd: --xorbs: \"store|external\" is not known; use store or external\n"},
	{{"--xorbs="}, "cairnd: --xorbs: \"\" is not known; use store or external\n"},
	{{"--log-level", "loud"}, "cairnd: --log-level: \"loud\" is not known; use error, warning, info or debug\n"},
	{{"--workers", "-1"}, "cairnd: --workers: \"-1\" is not a whole number; use 0 to 256\n"},
	{{"--workers", "2K"}, "cairnd: --workers: \"2K\" is not a whole number; use 0 to 256\n"},
	{{"--workers", "1\n2"}, "cairnd: --workers: \"1\\x0a2\" is not a whole number; use 0 to 256\n"},
	{{"--cache-bytes-max", "1.5G"},
	 "cairnd: --cache-bytes-max: \"1.5G\" is not a size (digits, then K, M or G or nothing); use 0 to 64G\n"},
	{{"--cache-bytes-max", "M"},
	 "cairnd: --cache-bytes-max: \"M\" is not a size (digits, then K, M or G or nothing); use 0 to 64G\n"},
	{{"--cache-bytes-max", "1MB"},
	 "cairnd: --cache-bytes-max: \"1MB\" is not a size (digits, then K, M or G or nothing); use 0 to 64G\n"},
	{{"--cache-bytes-max", "18446744073709551616"},
	 "cairnd: --cache-bytes-max: \"18446744073709551616\" is out of range; use 0 to 64G\n"},
	{{"--cache-bytes-max", "17179869184G"}, /* more than 2^64 - 1 */
	 "cairnd: --cache-bytes-max: \"17179869184G\" is out of range; use 0 to 64G\n"},
	{{"--drain", "1w"}, "cairnd: --drain: \"1w\" is not a time (digits, then s, m, h or d); use 0 to 1h\n"},
	{{"--drain", "1M"}, "cairnd: --drain: \"1M\" is not a time (digits, then s, m, h or d); use 0 to 1h\n"},
	{{"--drain", ""}, "cairnd: --drain: \"\" is not a time (digits, then s, m, h or d); use 0 to 1h\n"},
	{{"--spool-bytes-max", "1M"},
	 "cairnd: spool_bytes_max is smaller than the largest upload; raise it, or lower "
	 "shard_bytes_max and xorb_bytes_max to it\n"},
	{{"--token-audience", LONG_NAME "x"}, "cairnd: token_audience: the name has 256 bytes; use at most 255\n"},
	{{"--token-issuer", LONG_NAME "x"}, "cairnd: token_issuer: the name has 256 bytes; use at most 255\n"},
	{{"--epoch", "10d"},
	 "cairnd: gc_grace is shorter than two epochs, the life of an answer; raise it, or lower epoch\n"},
	{{"--gc-grace", "1209599"},
	 "cairnd: gc_grace is shorter than two epochs, the life of an answer; raise it, or lower epoch\n"},
	{{"--public-url", "x.example"},
	 "cairnd: public_url: \"x.example\" is not a base address; use http://HOST[:PORT][/PATH] or https://\n"},
	{{"--public-url", "https://"},
	 "cairnd: public_url: \"https://\" is not a base address; use http://HOST[:PORT][/PATH] or https://\n"},
	{{"--public-url", "https:///path"},
	 "cairnd: public_url: \"https:///path\" is not a base address; use http://HOST[:PORT][/PATH] or https://\n"},
	{{"--public-url", "https://x/?a"},
	 "cairnd: public_url: \"https://x/?a\" is not a base address; use http://HOST[:PORT][/PATH] or https://\n"},
};

START_TEST(bad_options)
{
	char args[2][320];
	char *list[3] = {0};
	for (int k = 0; k < 2 && BAD_OPTIONS[_i].args[k]; k++) {
		(void)snprintf(args[k], sizeof(args[k]), "%s", BAD_OPTIONS[_i].args[k]);
		list[k] = args[k];
	}
	config_must_fail(list, BAD_OPTIONS[_i].line);
}
END_TEST

/* The printed settings are a file that has the same effect. */
START_TEST(settings_are_printed_as_a_file)
{
	static const char *const LINES[] = {"listen = 1.2.3.4:5\n", "xorbs = external\n", "sandbox = auto\n",
					    "strict = yes\n",       "drain = 90s\n",      "shard_bytes_max = 8M\n"};
	struct output said, again;
	struct config c;
	ck_assert_int_eq(config_run(&c,
				    ARGS((char[]){"--listen=1.2.3.4:5"}, (char[]){"--xorbs=external"},
					 (char[]){"--print-settings"}, (char[]){"--strict"}, (char[]){"--drain=90"},
					 (char[]){"--shard-bytes-max=8192K"}),
				    &said),
			 CONFIG_EXIT_OK);
	for (size_t i = 0; i < sizeof(LINES) / sizeof(LINES[0]); i++)
		ck_assert_msg(strstr(said.out, LINES[i]) != NULL, "%s: %s", LINES[i], said.out);
	ck_assert_ptr_null(strstr(said.out, "token_key"));
	ck_assert_ptr_null(c.listen);
	config_write(said.out);
	ck_assert_int_eq(config_run(&c, ARGS((char[]){"--config"}, config_path, (char[]){"--print-settings"}), &again),
			 CONFIG_EXIT_OK);
	ck_assert_str_eq(again.out, said.out);
}
END_TEST

/* In the file of all settings, only those that differ from the defaults are active. All others are commented out. */
START_TEST(settings_file_tells_of_all)
{
	struct output said, again;
	struct config c;
	ck_assert_int_eq(config_run(&c,
				    ARGS((char[]){"--data-dir=/d"}, (char[]){"--print-settings-file"},
					 (char[]){"--drain=30"}, (char[]){"--token-key=/k"}),
				    &said),
			 CONFIG_EXIT_OK);
	for (size_t i = 0; i < N_SETTINGS; i++) {
		const struct setting *s = &SETTINGS[i];
		char line[256];
		(void)snprintf(line, sizeof(line), "\n#%s =%s%s\n", s->name, s->start ? " " : "",
			       s->start ? s->start : "");
		if (strcmp(s->name, "data_dir") == 0)
			(void)snprintf(line, sizeof(line), "\ndata_dir = /d\n");
		if (strcmp(s->name, "token_key") == 0)
			(void)snprintf(line, sizeof(line), "\ntoken_key = /k\n");
		ck_assert_msg((strstr(said.out, line) != NULL) == (s->help != NULL), "%s: %s", line, said.out);
	}
	config_write(said.out);
	ck_assert_int_eq(config_run(&c, ARGS((char[]){"--config"}, config_path, (char[]){"--print-settings"}), &again),
			 CONFIG_EXIT_OK);
	ck_assert_int_eq(
		config_run(&c,
			   ARGS((char[]){"--data-dir=/d"}, (char[]){"--print-settings"}, (char[]){"--token-key=/k"}),
			   &said),
		CONFIG_EXIT_OK);
	ck_assert_str_eq(again.out, said.out);
	/* without the comment marks every line is read, and the effect is the same */
	ck_assert_int_eq(config_run(&c, ARGS((char[]){"--print-settings-file"}), &said), CONFIG_EXIT_OK);
	for (char *p = said.out; (p = strstr(p, "\n#")); p++)
		p[1] = p[2] == ' ' ? '#' : ' ';
	config_setup();
	config_write(said.out);
	ck_assert_int_eq(config_run(&c, ARGS((char[]){"--config"}, config_path, (char[]){"--print-settings"}), &again),
			 CONFIG_EXIT_OK);
	ck_assert_int_eq(config_run(&c, ARGS((char[]){"--print-settings"}), &said), CONFIG_EXIT_OK);
	ck_assert_str_eq(again.out, said.out);
}
END_TEST

START_TEST(long_values_stay_one_line)
{
	struct output said;
	struct config c;
	char arg[3000] = "--workers=";
	memset(arg + 10, 'x', sizeof(arg) - 11);
	arg[sizeof(arg) - 1] = 0;
	ck_assert_int_eq(config_run(&c, ARGS(arg), &said), CONFIG_EXIT_USAGE);
	ck_assert_ptr_eq(strchr(said.err, '\n'), said.err + strlen(said.err) - 1);
}
END_TEST

START_TEST(bad_variables)
{
	setenv("CAIRN_WORKERS", "many", 1);
	config_must_fail(NO_ARGS, "cairnd: CAIRN_WORKERS: \"many\" is not a whole number; use 0 to 256\n");
	unsetenv("CAIRN_WORKERS");
	setenv("CAIRN_DEDUPE_SCOPE", "all", 1);
	config_must_fail(NO_ARGS,
			 "cairnd: CAIRN_DEDUPE_SCOPE: \"all\" is not known; use global, namespace or repository\n");
}
END_TEST

START_TEST(bad_files)
{
	config_file_must_fail("workers = 1\n\nport = 80\n", ":3: port: there is no such setting; see cairnd --help");
	config_file_must_fail("[server]\nworkers = 1\n", ":1: the file has no sections; remove the line");
	config_file_must_fail("# x\n\n\nworkers = x\n", ":4: workers: \"x\" is not a whole number; use 0 to 256");
	config_file_must_fail("workers = 1\nstrict\nworkers = x\n", ":2: expected \"name = value\"");
	config_file_must_fail("= x\n", ":1: : there is no such setting; see cairnd --help");
	config_file_must_fail("data_dir =\n",
			      ":1: data_dir: the value is empty; give one, or leave the setting out for ./cairn-data");
	config_file_must_fail("config = x\n", ":1: config: there is no such setting; see cairnd --help");
	config_file_must_fail("workers = 1\nlisten = a:1\nworkers = 1\n",
			      ":3: workers: line 1 has it, too; remove one of them");
	config_file_must_fail("data-dir = x\n",
			      ":1: data-dir: there is no such setting (did you mean data_dir?); see cairnd --help");
	config_file_must_fail("\nlisen = x\n",
			      ":2: lisen: there is no such setting (did you mean listen?); see cairnd --help");
}
END_TEST

START_TEST(file_lines_are_bounded)
{
	struct config c;
	char text[512] = "data_dir = ";
	size_t fits = 198; /* longest line, without its end */
	memset(text + 11, 'd', fits - 11);
	memcpy(text + fits, "\n", 2);
	config_write(text);
	config_must_run(&c, ARGS((char[]){"--config"}, config_path));
	ck_assert_uint_eq(strlen(c.data_dir), fits - 11);
	config_fini(&c);
	config_teardown();
	config_setup();
	memcpy(text + fits, "d\n", 3);
	config_file_must_fail(text, ":1: the line is too long; give such a value as an option or a variable");
}
END_TEST

START_TEST(empty_file_value_unsets)
{
	struct config c;
	config_write("token_key =\n");
	config_must_run(&c, ARGS((char[]){"--config"}, config_path));
	ck_assert_ptr_null(c.token_key);
	config_fini(&c);
}
END_TEST

/* Each number accepts its minimum and its maximum, and no value beyond them. */
START_TEST(limits_of_each_number)
{
	const struct setting *s = &SETTINGS[_i];
	struct config c = {0};
	char text[32], why[256];
	if (s->kind == SETTING_TEXT || s->kind == SETTING_FLAG || s->kind == SETTING_CHOICE ||
	    s->kind == SETTING_SCHEDULE)
		return;
	void *slot = (char *)&c + s->offset;
	const uint64_t *value = slot;
	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)s->min);
	ck_assert_msg(setting_apply(&c, s, text, why, sizeof(why)), "%s: %s", s->name, why);
	ck_assert_uint_eq(*value, s->min);
	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)s->max);
	ck_assert_msg(setting_apply(&c, s, text, why, sizeof(why)), "%s: %s", s->name, why);
	ck_assert_uint_eq(*value, s->max);
	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)s->max + 1);
	ck_assert_msg(!setting_apply(&c, s, text, why, sizeof(why)), "%s: %s", s->name, text);
	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)s->min - 1);
	if (s->min > 0)
		ck_assert_msg(!setting_apply(&c, s, text, why, sizeof(why)), "%s: %s", s->name, text);
	ck_assert_uint_eq(*value, s->max);
}
END_TEST

START_TEST(units)
{
	struct config c;
	config_must_run(&c,
			ARGS((char[]){"--spool-bytes-max=2G"}, (char[]){"--reserve-bytes=3m"},
			     (char[]){"--head-bytes-max=8K"}, (char[]){"--epoch=2d"}, (char[]){"--idle-timeout=1h"},
			     (char[]){"--request-timeout=5m"}, (char[]){"--drain=7s"}, (char[]){"--head-timeout=8"}));
	ck_assert_uint_eq(c.spool_bytes_max, UINT64_C(2) << 30);
	ck_assert_uint_eq(c.reserve_bytes, 3 << 20);
	ck_assert_uint_eq(c.head_bytes_max, 8192);
	ck_assert_uint_eq(c.epoch_s, 172800);
	ck_assert_uint_eq(c.idle_timeout_s, 3600);
	ck_assert_uint_eq(c.request_timeout_s, 300);
	ck_assert_uint_eq(c.drain_s, 7);
	ck_assert_uint_eq(c.head_timeout_s, 8);
	config_fini(&c);
}
END_TEST

/* --- help and documents ------------------------------------------------------------------------------------------- */

START_TEST(help_is_complete_and_narrow)
{
	struct config c;
	struct output said;
	ck_assert_int_eq(config_run(&c, ARGS((char[]){"--help"}), &said), CONFIG_EXIT_OK);
	ck_assert_str_eq(said.err, "");
	for (size_t i = 0; i < N_SETTINGS; i++) {
		char option[SETTING_NAME_BYTES], line[SETTING_NAME_BYTES + 8];
		setting_option_name(option, &SETTINGS[i]);
		(void)snprintf(line, sizeof(line), "\n  --%s", option);
		ck_assert_msg(!strstr(said.out, line) == !SETTINGS[i].help, "%s", option);
	}
	for (const char *p = said.out; *p; p += strcspn(p, "\n") + 1)
		ck_assert_msg(strcspn(p, "\n") <= 80, "wider than 80 columns: %.100s", p);
}
END_TEST

START_TEST(version)
{
	struct config c;
	struct output said;
	ck_assert_int_eq(config_run(&c, ARGS((char[]){"--version"}), &said), CONFIG_EXIT_OK);
	char wanted[200];
	(void)snprintf(wanted, sizeof(wanted), "cairnd %s\nlibmicrohttpd %s; tried with 0.9.75 and 1.0.1\n",
		       CAIRN_VERSION, http_library_version());
	ck_assert_str_eq(said.out, wanted);
}
END_TEST

/* docs/operations.md contains the table that --print-settings-table prints. */
START_TEST(documented_table)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes page = vec_read("../../docs/operations.md");
	struct config c;
	struct output said;
	ck_assert_int_eq(config_run(&c, ARGS((char[]){"--print-settings-table"}), &said), CONFIG_EXIT_OK);
	ck_assert_uint_gt(strlen(said.out), 1000);
	for (const char *p = said.out; *p; p += strcspn(p, "\n") + 1)
		ck_assert_msg(memmem(page.bytes, page.len, p, strcspn(p, "\n") + 1),
			      "docs/operations.md lacks this line of cairnd --print-settings-table: %.*s",
			      (int)strcspn(p, "\n"), p);
	ck_assert_msg(memmem(page.bytes, page.len, said.out, strlen(said.out)),
		      "docs/operations.md has another order or more settings than cairnd --print-settings-table");
}
END_TEST

/* docs/man/cairnd.8 has a paragraph for each setting, in the order of the table. */
START_TEST(documented_in_the_man_page)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes page = vec_read("../../docs/man/cairnd.8");
	for (size_t i = 0; i < N_SETTINGS; i++) {
		const struct setting *s = &SETTINGS[i];
		char option[SETTING_NAME_BYTES], allowed[128], text[640];
		setting_option_name(option, s);
		setting_allowed(s, allowed, sizeof(allowed));
		(void)snprintf(text, sizeof(text), "\n.SETTING %s \"%s\" \"%s\"\n%s\n", option, allowed,
			       s->start ? s->start : "not set", s->help ? s->help : "");
		if (s->help)
			ck_assert_msg(memmem(page.bytes, page.len, text, strlen(text)), "docs/man/cairnd.8 lacks: %s",
				      text + 1);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config");
	TCase *t = tcase_create("config");
	tcase_add_checked_fixture(t, config_setup, config_teardown);
	tcase_add_test(t, defaults);
	tcase_add_test(t, defaults_are_the_library_s);
	tcase_add_test(t, options_win_over_variables_over_file);
	tcase_add_test(t, file_of_the_environment);
	tcase_add_test(t, empty_variables_count_as_not_set);
	tcase_add_test(t, unknown_variables_are_logged);
	tcase_add_test(t, spellings_of_options);
	tcase_add_loop_test(t, bad_options, 0, sizeof(BAD_OPTIONS) / sizeof(BAD_OPTIONS[0]));
	tcase_add_test(t, settings_are_printed_as_a_file);
	tcase_add_test(t, settings_file_tells_of_all);
	tcase_add_test(t, long_values_stay_one_line);
	tcase_add_test(t, bad_variables);
	tcase_add_test(t, bad_files);
	tcase_add_test(t, file_lines_are_bounded);
	tcase_add_test(t, empty_file_value_unsets);
	tcase_add_loop_test(t, limits_of_each_number, 0, (int)N_SETTINGS);
	tcase_add_test(t, units);
	tcase_add_test(t, help_is_complete_and_narrow);
	tcase_add_test(t, version);
	tcase_add_test(t, documented_table);
	tcase_add_test(t, documented_in_the_man_page);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
