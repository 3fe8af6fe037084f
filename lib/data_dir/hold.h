/* Blocks garbage collection while a backup or a move reads the index and the store, so that no object the index names
 * is removed. Works across processes, by a lock on DIR/hold that the kernel drops when its holder dies. */
#ifndef CAIRN_DATA_DIR_HOLD_H
#define CAIRN_DATA_DIR_HOLD_H

#include "base/status.h"

/** Blocks collections, after waiting for a running one. Several callers may hold this at once. @param[out] fd  closing
 * it releases the lock
 * @return CAIRN_OK; CAIRN_E_IO the path is too long, or the file cannot be locked (data_dir.path, data_dir.lock) */
CAIRN_MUST_USE enum cairn_status cairn_hold_take(const char *data_dir, int *fd, struct cairn_diag *diag);

/** Excludes holds during a collection. @param[out] fd  closing it releases the lock
 * @return CAIRN_OK; CAIRN_E_BUSY a hold exists (gc.held); CAIRN_E_IO as cairn_hold_take() */
CAIRN_MUST_USE enum cairn_status cairn_hold_exclude(const char *data_dir, int *fd, struct cairn_diag *diag);

/** Is a collection blocked or running? The test briefly blocks both. Returns false if the state cannot be read. */
bool cairn_hold_is_held(const char *data_dir);

#endif
