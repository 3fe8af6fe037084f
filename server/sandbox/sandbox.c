#include "server/sandbox/sandbox.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

/* PR_SET_MDWE is in linux/prctl.h since 6.3. */
#ifndef PR_SET_MDWE
#define PR_SET_MDWE              65
#define PR_MDWE_REFUSE_EXEC_GAIN 1ul
#endif

static void sandbox_append(char out[static SANDBOX_TEXT_BYTES], const char *fmt, ...) CAIRN_PRINTF(2, 3);
static void sandbox_append(char out[static SANDBOX_TEXT_BYTES], const char *fmt, ...)
{
	size_t at = strlen(out);
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(out + at, SANDBOX_TEXT_BYTES - at, fmt, ap);
	va_end(ap);
}

/* Notes whether a part of the sandbox is on. @param error  0: it is */
static bool sandbox_note(struct sandbox_report *report, const char *part, const char *mechanism, int error)
{
	if (error == 0)
		sandbox_append(report->text, "%s%s", report->text[0] ? " " : "", part);
	else
		sandbox_append(report->missing, "%s%s (%s): %s", report->missing[0] ? "; " : "", part, mechanism,
			       strerror(error));
	return error == 0;
}

enum cairn_status sandbox_enter(const struct sandbox_options *options, struct sandbox_report *report,
				struct cairn_diag *diag)
{
	*report = (struct sandbox_report){.text = ""};
	if (options->mode == SANDBOX_OFF) {
		sandbox_append(report->text, "off");
		return CAIRN_OK;
	}
	/* Without root, a process may enter a sandbox only if it gives up gaining privileges from programs it runs. */
	int error = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? 0 : errno;
	report->files = sandbox_note(report, "files", "Landlock", error ? error : sandbox_files(options));
	int no_mdwe = prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) == 0 ? 0 : errno;
	report->calls = sandbox_note(report, "calls", "seccomp", error ? error : sandbox_calls(options));
	report->code = sandbox_note(report, "code", "PR_SET_MDWE", report->calls ? 0 : no_mdwe);
	if (report->text[0] == 0)
		sandbox_append(report->text, "none");
	if (options->mode == SANDBOX_ON && report->missing[0])
		return cairn_fail(diag, CAIRN_E_IO, "sandbox", CAIRN_NO_OFFSET,
				  "sandbox = on, but this kernel does not support: %s; sandbox = auto runs without",
				  report->missing);
	return CAIRN_OK;
}
