/* Blocks collections while a copy is made, so that no object which the index names is removed. Works across processes,
 * by a lock on DIR/hold that the kernel drops when its holder dies. */
#ifndef CAIRN_DATA_DIR_HOLD_H
#define CAIRN_DATA_DIR_HOLD_H

#include "base/status.h"

/** Blocks collections, after waiting for a running one. Several callers may. @param[out] fd  closing it releases the
 * lock
 * @return CAIRN_OK; CAIRN_E_IO the folder's path is too long, or the file cannot be locked (data_dir.path,
 *         data_dir.lock) */
CAIRN_MUST_USE enum cairn_status cairn_hold_take(const char *data_dir, int *fd, struct cairn_diag *diag);

/** Prevents holds during a collection. @param[out] fd  closing it releases the lock
 * @return CAIRN_OK; CAIRN_E_BUSY a hold exists (gc.held); CAIRN_E_IO as cairn_hold_take() */
CAIRN_MUST_USE enum cairn_status cairn_hold_exclude(const char *data_dir, int *fd, struct cairn_diag *diag);

/** Returns whether a collection is blocked or running. The check itself makes both wait or fail for a moment. Returns
 * false if the state cannot be read. */
bool cairn_hold_is_held(const char *data_dir);

#endif
