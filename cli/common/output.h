/* An output file of a command: OUT.part until it is complete and durable. */
#ifndef CAIRN_CLI_OUTPUT_H
#define CAIRN_CLI_OUTPUT_H

#include "base/status.h"

#include <sys/types.h>

struct output {
	int fd;
	char part[4200];
	const char *path;
};

/** @param path  kept by the caller until output_fini()
 * @return CAIRN_OK; "file.target": CAIRN_E_USAGE the path is too long, CAIRN_E_CONFLICT the path exists, or cannot be
 *         created */
CAIRN_MUST_USE enum cairn_status output_open(struct output *o, const char *path, mode_t mode, struct cairn_diag *diag);
/** Makes the file durable and gives it its name, unless the name is taken. @return CAIRN_OK; "file.write":
 * CAIRN_E_CONFLICT the name was taken in the meantime, CAIRN_E_FULL, CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status output_commit(struct output *o, struct cairn_diag *diag);
/** For CLEANUP(): removes a file that was not committed. */
void output_fini(struct output *o);

#endif
