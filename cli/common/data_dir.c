#include "cli/common/data_dir.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum cairn_status data_dir_find(const char *data_dir, struct cairn_diag *diag)
{
	struct stat st;
	char path[4200];
	int n = snprintf(path, sizeof(path), "%s/index.sqlite", data_dir);
	if (n < 0 || (size_t)n >= sizeof(path))
		return cairn_fail(diag, CAIRN_E_USAGE, "data_dir.path", CAIRN_NO_OFFSET, "the path is too long");
	if (stat(data_dir, &st) < 0)
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "data_dir.missing", CAIRN_NO_OFFSET, "%s", strerror(errno));
	if (stat(path, &st) < 0)
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "data_dir.missing", CAIRN_NO_OFFSET,
				  "is not the data folder of a daemon: it has no index.sqlite");
	return CAIRN_OK;
}
