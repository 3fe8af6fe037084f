#include "cli/common/cli.h"

#include "base/visible.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void cli_put_text(FILE *to, const char *text)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf shown = cairn_buf_init(SIZE_MAX); /* at most 4 times the text */
	cairn_visible_text(&shown, text);
	if (shown.status == CAIRN_OK && shown.len > 0)
		(void)fwrite(shown.bytes, 1, shown.len, to);
}

static void cli_vput(FILE *to, const char *fmt, va_list ap) CAIRN_PRINTF(2, 0);
static void cli_vput(FILE *to, const char *fmt, va_list ap)
{
	char *text = NULL;
	bool made = vasprintf(&text, fmt, ap) >= 0;
	cli_put_text(to, made ? text : "out of memory");
	if (made)
		free(text);
}

enum { ERRORS_NOTE_BYTES_MAX = 8 * CLI_SUBJECT_BYTES_MAX };

static struct cli_failure errors_last; /* the last failure of the main thread, the only thread that reports failures */

static void errors_remember(const char *subject, enum cairn_status status, const struct cairn_diag *diag)
{
	errors_last.reported = true;
	errors_last.status = status;
	errors_last.diag = *diag;
	(void)snprintf(errors_last.subject, sizeof(errors_last.subject), "%s", subject);
}

static void errors_remember_text(enum cairn_status status, const char *fmt, va_list ap) CAIRN_PRINTF(2, 0);
static void errors_remember_text(enum cairn_status status, const char *fmt, va_list ap)
{
	struct cairn_diag diag = {0};
	(void)vsnprintf(diag.text, sizeof(diag.text), fmt, ap);
	errors_remember("", status, &diag);
}

void cli_json_begun(void)
{
	errors_last.json_begun = true;
}

bool cli_wants_json(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--json") == 0)
			return true;
	return false;
}

const struct cli_failure *cli_last_failure(void)
{
	return &errors_last;
}

void cli_line(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	cli_vput(stdout, fmt, ap);
	va_end(ap);
	(void)fputs("\n", stdout);
}

void cli_error(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	errors_remember_text(CAIRN_OK, fmt, ap);
	va_end(ap);
	va_start(ap, fmt);
	(void)fputs("cairn: ", stderr);
	cli_vput(stderr, fmt, ap);
	(void)fputs("\n", stderr);
	va_end(ap);
}

void cli_note(const char *fmt, ...)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf line = cairn_buf_init(ERRORS_NOTE_BYTES_MAX);
	char text[CLI_SUBJECT_BYTES_MAX];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	cairn_buf_printf(&line, "cairn: ");
	cairn_visible_text(&line, text);
	cairn_buf_printf(&line, "\n");
	if (line.status == CAIRN_OK)
		(void)fwrite(line.bytes, 1, line.len, stderr);
}

int cli_usage_error(const struct cli_command *command, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	errors_remember_text(CAIRN_E_USAGE, fmt, ap);
	va_end(ap);
	va_start(ap, fmt);
	(void)fprintf(stderr, "cairn %s: ", command->name);
	cli_vput(stderr, fmt, ap);
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
	errors_remember(subject, status, diag);
	(void)fputs("cairn: ", stderr);
	cli_put_text(stderr, subject);
	(void)fputs(": ", stderr);
	cli_put_text(stderr, diag->rule ? diag->text : cairn_status_name(status));
	if (diag->rule) {
		(void)fprintf(stderr, " [%s", diag->rule);
		if (diag->has_offset)
			(void)fprintf(stderr, ", offset %" PRIu64, diag->offset);
		if (diag->expected[0])
			(void)fputs(", expected ", stderr);
		cli_put_text(stderr, diag->expected);
		if (diag->actual[0])
			(void)fputs(", found ", stderr);
		cli_put_text(stderr, diag->actual);
		(void)fputs("]", stderr);
	}
	(void)fputs("\n", stderr);
	return cli_exit_of(status);
}

enum cairn_status cli_part_taken(const char *part, struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_CONFLICT, "file.target", CAIRN_NO_OFFSET, "cannot make %.180s: %s%s", part,
			  strerror(errno), errno == EEXIST ? "; remove it if nobody writes it" : "");
}
