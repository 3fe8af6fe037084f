/* A file that a command makes for who runs it: OUT.part until it is complete and durable. */
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
 *  @return CAIRN_OK; "file.target": CAIRN_E_USAGE for a path that is too long, CAIRN_E_CONFLICT when something is there
 *  already, or it cannot be made */
CAIRN_MUST_USE enum cairn_status output_open(struct output *o, const char *path, mode_t mode, struct cairn_diag *diag);
/** Make it durable and give it its name, if nothing has it. @return CAIRN_OK; "file.write": CAIRN_E_CONFLICT when
 *  something has it by now, CAIRN_E_FULL, CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status output_commit(struct output *o, struct cairn_diag *diag);
/** For CLEANUP(): nothing is left when it was not committed. */
void output_fini(struct output *o);

#endif
