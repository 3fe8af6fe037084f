/* Reads a file once, cut into chunks as the stock clients do, through the window of a cutter. */
#ifndef CAIRN_CLI_SCAN_H
#define CAIRN_CLI_SCAN_H

#include "dedupe/cutter.h"

/** Longer files are refused: the tables of a file's chunks take up to 100 bytes a chunk of about 64 KiB. */
#define SCAN_FILE_BYTES_MAX (UINT64_C(1) << 40)

/** Reads a file. @param visit  called for each chunk; may be NULL @return CAIRN_OK; the status of visit();
 * CAIRN_E_NOT_FOUND: it cannot be opened, or is a folder; CAIRN_E_IO; CAIRN_E_NOMEM; CAIRN_E_LIMIT: longer than
 * SCAN_FILE_BYTES_MAX */
CAIRN_MUST_USE enum cairn_status scan_file(const char *path, cairn_cutter_visit *visit, void *ctx,
					   struct cairn_cutter_file *out, struct cairn_diag *diag);

/** Does what scan_file() does, for a file that is open already. @param fd  closed, even after a failure @return as
 * scan_file(), but never CAIRN_E_NOT_FOUND */
CAIRN_MUST_USE enum cairn_status scan_fd(int fd, cairn_cutter_visit *visit, void *ctx, struct cairn_cutter_file *out,
					 struct cairn_diag *diag);

#endif
