#include "cli/common/cli.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void cli_error(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	(void)fputs("cairn: ", stderr);
	(void)vfprintf(stderr, fmt, ap);
	(void)fputs("\n", stderr);
	va_end(ap);
}

int cli_usage_error(const struct cli_command *command, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	(void)fprintf(stderr, "cairn %s: ", command->name);
	(void)vfprintf(stderr, fmt, ap);
	(void)fprintf(stderr, "; see: cairn %s --help\n", command->name);
	va_end(ap);
	return CLI_EXIT_USAGE;
}

int cli_exit_of(enum cairn_status status)
{
	switch (status) {
	case CAIRN_OK:
		return CLI_EXIT_OK;
	case CAIRN_E_NOMEM:
		return CLI_EXIT_INTERNAL;
	case CAIRN_E_IO:
	case CAIRN_E_DAMAGED:
		return CLI_EXIT_IO;
	case CAIRN_E_FORMAT:
	case CAIRN_E_LIMIT:
	case CAIRN_E_MISMATCH:
		return CLI_EXIT_DATA;
	case CAIRN_E_NOT_FOUND:
		return CLI_EXIT_NO_INPUT;
	case CAIRN_E_CONFLICT:
	case CAIRN_E_FULL:
		return CLI_EXIT_CANT_CREATE;
	case CAIRN_E_USAGE:
		return CLI_EXIT_USAGE;
	case CAIRN_E_BUSY:
		return CLI_EXIT_UNAVAILABLE;
	case CAIRN_E_DENIED:
		return CLI_EXIT_DENIED;
	}
	return CLI_EXIT_INTERNAL;
}

int cli_fail(const char *subject, enum cairn_status status, const struct cairn_diag *diag)
{
	(void)fprintf(stderr, "cairn: %s: %s", subject, diag->rule ? diag->text : cairn_status_name(status));
	if (diag->rule) {
		(void)fprintf(stderr, " [%s", diag->rule);
		if (diag->has_offset)
			(void)fprintf(stderr, ", offset %" PRIu64, diag->offset);
		if (diag->expected[0])
			(void)fprintf(stderr, ", expected %s", diag->expected);
		if (diag->actual[0])
			(void)fprintf(stderr, ", found %s", diag->actual);
		(void)fputs("]", stderr);
	}
	(void)fputs("\n", stderr);
	return cli_exit_of(status);
}
