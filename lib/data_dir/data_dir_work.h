/* Shared by data_dir.c, which opens a data folder, and data_dir_inspect.c, which inspects one without opening it. */
#ifndef CAIRN_DATA_DIR_DATA_DIR_WORK_H
#define CAIRN_DATA_DIR_DATA_DIR_WORK_H

#include "data_dir/data_dir.h"

enum { DATA_DIR_PATH_BYTES = 4200 };

/** Checks that a path fits. @param n  result of snprintf(), which had room for max @return CAIRN_OK; CAIRN_E_USAGE */
CAIRN_MUST_USE enum cairn_status data_dir_must_fit(int n, int max, struct cairn_diag *diag);

/** Returns DIR/name. @return as data_dir_must_fit() */
CAIRN_MUST_USE enum cairn_status data_dir_name(char out[static DATA_DIR_PATH_BYTES], const char *path, const char *name,
					       struct cairn_diag *diag);

/** Returns the URL of an engine whose files are in the folder. @return as data_dir_must_fit() */
CAIRN_MUST_USE enum cairn_status data_dir_url(char out[static CAIRN_DATA_DIR_URL_BYTES], const char *scheme,
					      const char *path, struct cairn_diag *diag);

/** Refuses a folder whose restore is incomplete. @return CAIRN_OK; CAIRN_E_CONFLICT it is incomplete
 * (data_dir.restoring); CAIRN_E_USAGE as data_dir_must_fit() */
CAIRN_MUST_USE enum cairn_status data_dir_refuse_half_restored(const char *path, struct cairn_diag *diag);

/** Checks whether index and objects could be opened to write. @param[out] out  the index's versions
 * @return as cairn_data_dir_inspect() */
CAIRN_MUST_USE enum cairn_status data_dir_inspect_inside(const char *path, const char *index,
							 struct cairn_data_dir_sight *out, struct cairn_diag *diag);

#endif
