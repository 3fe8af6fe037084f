/* Holding off collections: nothing that an index names is removed while somebody copies it. Across processes, by a lock
 * on DIR/hold that the kernel drops when its holder dies. */
#ifndef CAIRN_DATA_DIR_HOLD_H
#define CAIRN_DATA_DIR_HOLD_H

#include "base/status.h"

/** Hold off collections, waiting for one that runs. Several may. @param[out] fd  closing it lets go
 *  @return CAIRN_OK; CAIRN_E_IO the folder's path is too long, or the file cannot be locked (data_dir.path,
 *          data_dir.lock) */
CAIRN_MUST_USE enum cairn_status cairn_hold_take(const char *data_dir, int *fd, struct cairn_diag *diag);

/** Keep others from holding, for the time of a collection. @param[out] fd  likewise
 *  @return CAIRN_OK; CAIRN_E_BUSY somebody holds (gc.held); CAIRN_E_IO as cairn_hold_take() */
CAIRN_MUST_USE enum cairn_status cairn_hold_exclude(const char *data_dir, int *fd, struct cairn_diag *diag);

/** Is a collection held off, or under way? Asking keeps both waiting, or away, for the moment of the call. Where it
 *  cannot be found out: false. */
bool cairn_hold_is_held(const char *data_dir);

#endif
