/* cairnd --check: tests whether the daemon would start. Its check of tokens is part of the start, too. */
#ifndef CAIRN_SERVER_CHECK_H
#define CAIRN_SERVER_CHECK_H

#include "server/config.h"
#include "server/http/listen.h"

/** Checks that these settings permit serving at an address. Tokens are needed unless only this machine can connect.
 *  @return CAIRN_OK; CAIRN_E_USAGE: rule auth.needed */
CAIRN_MUST_USE enum cairn_status check_tokens(const struct config *config, const struct listen_address *bound,
					      struct cairn_diag *diag);

enum check_result {
	CHECK_GOOD,
	CHECK_WRONG_SETTINGS, /* the settings must change */
	CHECK_CANNOT_START,   /* a file, folder or user that the settings name is not usable */
	CHECK_FAILED,         /* standard output cannot be written */
};

/** Checks everything that a start checks, and changes nothing: user, address, keys, certificate, data folder. It can
 * run while a daemon uses the folder. Prints each finding on standard output and each refusal on standard error, one
 * line each. If root is to become another user, the process becomes that user. @return the worst result */
enum check_result check_run(const struct config *config);

#endif
