/* The data folder of a daemon, for commands that read it themselves. */
#ifndef CAIRN_CLI_DATA_DIR_H
#define CAIRN_CLI_DATA_DIR_H

#include "base/status.h"

/** Is this the data folder of a daemon? Asked first: opening would make a folder that is not there, and an index in one
 *  that is no store. @return CAIRN_OK; CAIRN_E_NOT_FOUND; CAIRN_E_USAGE the path is too long */
CAIRN_MUST_USE enum cairn_status data_dir_find(const char *data_dir, struct cairn_diag *diag);

#endif
