/* The sandbox. Before the process serves, it gives up files other than its own, system calls that it never makes, and
 * memory that is written and then run. So an attacker inside the process can do only what the daemon may do. Needs
 * Linux: Landlock (5.19), seccomp, PR_SET_MDWE (6.3). */
#ifndef CAIRN_SERVER_SANDBOX_H
#define CAIRN_SERVER_SANDBOX_H

#include "server/sandbox/sandbox_parts.h"

enum { SANDBOX_TEXT_BYTES = 160 };

/** The parts that are on. Plain value. */
struct sandbox_report {
	bool files; /* Landlock: only files of the options, and only TCP connections to the ports */
	bool calls; /* seccomp: only listed system calls; all others fail with ENOSYS */
	bool code;  /* no memory is both writable and executable, or becomes executable (PR_SET_MDWE or seccomp) */
	char text[SANDBOX_TEXT_BYTES];    /* "files calls code", for the log */
	char missing[SANDBOX_TEXT_BYTES]; /* the missing parts, and why; empty: none */
};

/** Enters the sandbox permanently. Call before any thread starts: threads inherit it, and threads that already run do
 * not get it. Builds with a sanitizer keep the calls that its reports need; builds for coverage may write in their
 * folder. @return CAIRN_OK; with SANDBOX_ON also CAIRN_E_IO: diag has the rule "sandbox" and the missing part */
CAIRN_MUST_USE enum cairn_status sandbox_enter(const struct sandbox_options *options, struct sandbox_report *report,
					       struct cairn_diag *diag);

#endif
