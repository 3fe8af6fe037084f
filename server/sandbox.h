/* What the process gives up before it serves: files other than its own, system calls that it never makes, memory that
 * is written and then run. Whoever takes it over from inside is left with what the daemon itself may do. Linux only has
 * it all: Landlock (since 5.19 as it is needed here), seccomp, PR_SET_MDWE (6.3). */
#ifndef CAIRN_SERVER_SANDBOX_H
#define CAIRN_SERVER_SANDBOX_H

#include "server/sandbox_parts.h"

enum { SANDBOX_TEXT_BYTES = 160 };

/** What is on. Plain value. */
struct sandbox_report {
	bool files; /* Landlock: no file but those of the options, no new TCP connection but to the ports */
	bool calls; /* seccomp: a list of system calls, the rest is answered ENOSYS */
	bool code;  /* no memory is writable and executable, or becomes executable: by either of both */
	char text[SANDBOX_TEXT_BYTES];    /* "files calls code", for the log */
	char missing[SANDBOX_TEXT_BYTES]; /* what there is not, and why; empty: nothing is missing */
};

/**
 * Enter it, for good. Before any thread is started: threads inherit it, and those that run already do not get it.
 * Builds with a sanitizer keep what its reports need; builds that measure coverage may write in their own folder.
 * @return CAIRN_OK; CAIRN_E_IO with the rule "sandbox" and the part that is missing in diag: SANDBOX_ON alone
 */
CAIRN_MUST_USE enum cairn_status sandbox_enter(const struct sandbox_options *options, struct sandbox_report *report,
					       struct cairn_diag *diag);

#endif
