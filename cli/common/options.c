#include "cli/common/options.h"

#include "base/decimal.h"
#include "base/nearest.h"
#include "token/token.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

enum { OPTIONS_HELP = 1, OPTIONS_FIRST = 256 };

bool cli_texts[1];

static bool options_is_switch(const struct cli_option *option)
{
	return option->flag && option->flag != cli_texts;
}

/* Adds a text to those of an option that may be repeated. */
static int options_add(const struct cli_command *command, const struct cli_option *option)
{
	size_t n = 0;
	while (option->text[n])
		n++;
	if (n == CLI_TEXTS_MAX)
		return cli_usage_error(command, "--%s is given more than %d times", option->name, CLI_TEXTS_MAX);
	option->text[n] = optarg;
	return CLI_RUN;
}

static int options_help(const struct cli_command *command)
{
	(void)fputs(command->help, stdout);
	return fflush(stdout) == 0 ? CLI_EXIT_OK : CLI_EXIT_IO;
}

static int options_take(const struct cli_command *command, const struct cli_option *option)
{
	if (option->flag == cli_texts)
		return options_add(command, option);
	if (option->flag)
		*option->flag = true;
	else if (*option->text)
		return cli_usage_error(command, "--%s is given twice", option->name);
	else
		*option->text = optarg;
	return CLI_RUN;
}

/* Letters that mean the same in every command that has the option. */
static const struct {
	const char *name;
	char letter;
} OPTIONS_LETTERS[] = {{"output", 'o'}, {"quiet", 'q'}, {"verbose", 'v'}, {"jobs", 'j'}};
enum { OPTIONS_LETTERS_N = sizeof(OPTIONS_LETTERS) / sizeof(OPTIONS_LETTERS[0]) };

/* Returns the letter of an option; '\0': none. */
static char options_letter(const struct cli_option *option)
{
	for (size_t i = 0; i < OPTIONS_LETTERS_N; i++)
		if (strcmp(option->name, OPTIONS_LETTERS[i].name) == 0)
			return OPTIONS_LETTERS[i].letter;
	return '\0';
}

/* Prints one option a line for programs, with '=' if it takes a text. */
static int options_print(const struct cli_option *options, size_t n)
{
	(void)puts("-h\n--help");
	for (size_t i = 0; i < n; i++) {
		const char *value = options_is_switch(&options[i]) ? "" : "=";
		char letter = options_letter(&options[i]);
		if (letter)
			(void)printf("-%c%s\n", letter, value);
		(void)printf("--%s%s\n", options[i].name, value);
	}
	return fflush(stdout) == 0 ? CLI_EXIT_OK : CLI_EXIT_IO;
}

/* Builds the string of letters for getopt(). */
static void options_letters(char out[static 2 + 2 * OPTIONS_LETTERS_N + 1], const struct cli_option *options, size_t n)
{
	size_t len = 0;
	out[len++] = ':';
	out[len++] = 'h';
	for (size_t i = 0; i < n && len < 2 + 2 * OPTIONS_LETTERS_N; i++) {
		char letter = options_letter(&options[i]);
		if (letter)
			out[len++] = letter;
		if (letter && !options_is_switch(&options[i]))
			out[len++] = ':';
	}
	out[len] = '\0';
}

/* Finds an option. @param got  its letter, or its number in the table */
static const struct cli_option *options_find(const struct cli_option *options, size_t n, int got)
{
	for (size_t i = 0; got < OPTIONS_FIRST && i < n; i++)
		if (options_letter(&options[i]) == got)
			return &options[i];
	return &options[got - OPTIONS_FIRST];
}

/* Reports an argument that getopt_long() refused. @param arg  the current argument */
static int options_refuse(const struct cli_command *command, const struct cli_option *options, size_t n,
			  const char *arg)
{
	if (optopt > ' ' && optopt < 127) /* in a group of letters, optind is still at the argument */
		return cli_usage_error(command, "there is no option \"-%c\"", optopt);
	int len = (int)strcspn(arg, "=");
	if (optopt != 0) /* an option of the table, named by its number */
		return cli_usage_error(command, "%.*s takes no value", len, arg);
	const char *name = arg + strspn(arg, "-");
	struct cairn_nearest near = cairn_nearest_to(name, strcspn(name, "="));
	cairn_nearest_offer(&near, "help");
	for (size_t i = 0; i < n; i++)
		cairn_nearest_offer(&near, options[i].name);
	if (near.best)
		return cli_usage_error(command, "there is no option \"%.*s\" (did you mean --%s?)", len, arg,
				       near.best);
	return cli_usage_error(command, "there is no option \"%.*s\"", len, arg);
}

int cli_options_read(const struct cli_command *command, const struct cli_option *options, size_t n, int argc,
		     char **argv, int *first)
{
	struct option table[CLI_OPTIONS_MAX + 2] = {{"help", no_argument, NULL, OPTIONS_HELP}};
	assert(n <= CLI_OPTIONS_MAX);
	if (argc == 2 && strcmp(argv[1], "--print-options") == 0)
		return options_print(options, n);
	for (size_t i = 0; i < n; i++)
		table[i + 1] = (struct option){options[i].name,
					       options_is_switch(&options[i]) ? no_argument : required_argument, NULL,
					       OPTIONS_FIRST + (int)i};
	char letters[2 + 2 * OPTIONS_LETTERS_N + 1];
	options_letters(letters, options, n);
	opterr = 0; /* getopt prints no messages of its own */
	optind = 1;
	for (;;) {
		int got = getopt_long(argc, argv, letters, table, NULL);
		if (got < 0)
			break;
		if (got == OPTIONS_HELP || got == 'h')
			return options_help(command);
		if (got == ':')
			return cli_usage_error(command, "%s needs a value", argv[optind - 1]);
		if (got == '?')
			return options_refuse(command, options, n, argv[optind - 1]);
		int code = options_take(command, options_find(options, n, got));
		if (code != CLI_RUN)
			return code;
	}
	*first = optind;
	return CLI_RUN;
}

bool cli_parse_seconds(const char *text, int64_t *out_s)
{
	static const struct {
		char unit;
		uint64_t s;
	} units[] = {{'\0', 1}, {'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
	const uint64_t max_s = UINT64_C(100) * 366 * 86400;
	uint64_t number;
	if (!cairn_decimal_read(&text, &number) || number < 1 || (*text && text[1]))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (*text == units[i].unit && number <= max_s / units[i].s) {
			*out_s = (int64_t)(number * units[i].s);
			return true;
		}
	}
	return false;
}

/* Parses a size. It is at most 2^63 - 1, the maximum of JSON readers. */
bool cli_parse_size(const char *text, uint64_t *out)
{
	static const char UNITS[] = "KMGT";
	uint64_t n;
	if (!cairn_decimal_read(&text, &n))
		return false;
	const char *unit = *text ? strchr(UNITS, *text) : NULL;
	unsigned shift = unit ? 10 * (unsigned)(unit - UNITS + 1) : 0;
	if ((*text && (!unit || text[1])) || n > (uint64_t)INT64_MAX >> shift)
		return false;
	*out = n << shift;
	return true;
}

bool cli_parse_scopes(const char *list, unsigned *out)
{
	static const struct {
		const char *name;
		unsigned bits;
	} scopes[] = {{"read", CAIRN_TOKEN_READ},
		      {"write", CAIRN_TOKEN_WRITE | CAIRN_TOKEN_READ},
		      {"admin", CAIRN_TOKEN_ADMIN | CAIRN_TOKEN_WRITE | CAIRN_TOKEN_READ}};
	*out = 0;
	for (;;) {
		size_t len = strcspn(list, ","), i = 0;
		while (i < 3 && (strlen(scopes[i].name) != len || strncmp(scopes[i].name, list, len) != 0))
			i++;
		if (i == 3)
			return false;
		*out |= scopes[i].bits;
		if (!list[len])
			return true;
		list += len + 1;
	}
}
