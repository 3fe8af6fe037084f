/* cairnd --check: would it start? And what is asked of the settings by starting itself, too. */
#ifndef CAIRN_SERVER_CHECK_H
#define CAIRN_SERVER_CHECK_H

#include "server/config.h"
#include "server/http/listen.h"

/** May it be served at an address with these settings? Elsewhere than on this machine tokens are needed.
 *  @return CAIRN_OK; CAIRN_E_USAGE: rule auth.needed */
CAIRN_MUST_USE enum cairn_status check_tokens(const struct config *config, const struct listen_address *bound,
					      struct cairn_diag *diag);

enum check_result {
	CHECK_GOOD,
	CHECK_WRONG_SETTINGS, /* the settings must change */
	CHECK_CANNOT_START,   /* what they name is not as it must be */
	CHECK_FAILED,         /* standard output does not take what was found */
};

/**
 * Look at all that a start looks at, and change nothing: user, address, keys, certificate, data folder. Also beside the
 * daemon that has the folder. Each thing found is a line of standard output, each refusal one of standard error. Where
 * root is to become another user, the process becomes it.
 * @return the worst that was found
 */
enum check_result check_run(const struct config *config);

#endif
