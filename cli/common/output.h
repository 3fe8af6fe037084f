/* An output file of a command. It is called OUT.part until it is complete and durable. */
#ifndef CAIRN_CLI_OUTPUT_H
#define CAIRN_CLI_OUTPUT_H

#include "base/status.h"

#include <sys/types.h>

struct output {
	int fd;
	char part[4200];
	const char *path;
};

/** Creates the file. @param path  must stay valid until output_fini() @return CAIRN_OK; "file.target": CAIRN_E_USAGE:
 * the path is too long; CAIRN_E_CONFLICT: the path exists, or cannot be created */
CAIRN_MUST_USE enum cairn_status output_open(struct output *o, const char *path, mode_t mode, struct cairn_diag *diag);
/** Makes the file durable and gives it its name, unless the name is taken. @return CAIRN_OK; "file.write":
 * CAIRN_E_CONFLICT: the name was taken meanwhile; CAIRN_E_FULL; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status output_commit(struct output *o, struct cairn_diag *diag);
/** Removes the file if it was not committed. For CLEANUP(). */
void output_fini(struct output *o);

#endif
