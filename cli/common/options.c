#include "cli/common/options.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTIONS_HELP = 1, OPTIONS_FIRST = 256 };

static int options_help(const struct cli_command *command)
{
	(void)fputs(command->help, stdout);
	return fflush(stdout) == 0 ? CLI_EXIT_OK : CLI_EXIT_IO;
}

static int options_take(const struct cli_command *command, const struct cli_option *option)
{
	if (option->flag)
		*option->flag = true;
	else if (*option->text)
		return cli_usage_error(command, "--%s is given twice", option->name);
	else
		*option->text = optarg;
	return CLI_RUN;
}

/* For programs: each option a line, with '=' when it takes a text. */
static int options_print(const struct cli_option *options, size_t n)
{
	(void)puts("-h\n--help");
	for (size_t i = 0; i < n; i++)
		(void)printf("%s--%s%s\n", strcmp(options[i].name, "output") == 0 ? "-o=\n" : "", options[i].name,
			     options[i].flag ? "" : "=");
	return fflush(stdout) == 0 ? CLI_EXIT_OK : CLI_EXIT_IO;
}

/* -o is --output in every command that has it. */
static int options_find_output(const struct cli_option *options, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(options[i].name, "output") == 0)
			return (int)i;
	return -1;
}

int cli_options_read(const struct cli_command *command, const struct cli_option *options, size_t n, int argc,
		     char **argv, int *first)
{
	struct option table[CLI_OPTIONS_MAX + 2] = {{"help", no_argument, NULL, OPTIONS_HELP}};
	assert(n <= CLI_OPTIONS_MAX);
	if (argc == 2 && strcmp(argv[1], "--print-options") == 0)
		return options_print(options, n);
	for (size_t i = 0; i < n; i++)
		table[i + 1] = (struct option){options[i].name, options[i].flag ? no_argument : required_argument, NULL,
					       OPTIONS_FIRST + (int)i};
	int output = options_find_output(options, n);
	opterr = 0; /* the messages are ours */
	optind = 1;
	for (;;) {
		int got = getopt_long(argc, argv, output < 0 ? ":h" : ":ho:", table, NULL);
		if (got < 0)
			break;
		if (got == OPTIONS_HELP || got == 'h')
			return options_help(command);
		if (got == ':')
			return cli_usage_error(command, "%s needs a value", argv[optind - 1]);
		if (got == '?')
			return cli_usage_error(command, "there is no option \"%s\", or it takes no value",
					       argv[optind - 1]);
		int code = options_take(command, &options[got == 'o' ? output : got - OPTIONS_FIRST]);
		if (code != CLI_RUN)
			return code;
	}
	*first = optind;
	return CLI_RUN;
}

bool cli_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	char *end = NULL;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && *out >= min && *out <= max;
}

bool cli_parse_seconds(const char *text, int64_t *out_s)
{
	static const struct {
		char unit;
		int64_t s;
	} units[] = {{'\0', 1}, {'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
	const int64_t max_s = INT64_C(100) * 366 * 86400;
	char *end = NULL;
	errno = 0;
	long long number = strtoll(text, &end, 10);
	if (end == text || errno != 0 || number < 1 || number > max_s || (*end && end[1]))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (*end == units[i].unit) {
			*out_s = number * units[i].s;
			return number <= max_s / units[i].s;
		}
	}
	return false;
}
