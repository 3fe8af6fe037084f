/* Reading a file once, cut into chunks as the stock clients cut it, through a window of fixed size. */
#ifndef CAIRN_CLI_SCAN_H
#define CAIRN_CLI_SCAN_H

#include "hash/crypto.h"
#include "hash/hash.h"

#include <stddef.h>
#include <stdint.h>

/** Longer files are refused: the tables of a file's chunks take up to 100 bytes a chunk of about 64 KiB. */
#define SCAN_FILE_BYTES_MAX (UINT64_C(1) << 40)

struct scan_result {
	struct cairn_hash file; /* file hash */
	uint8_t sha256[CAIRN_SHA256_BYTES];
	uint64_t bytes;
	uint64_t n_chunks;
};

/** Called for each chunk in order. raw is valid during the call. @return CAIRN_OK, or what ends the scan */
typedef enum cairn_status scan_visit(void *ctx, const struct cairn_hash *hash, const uint8_t *raw, size_t len,
				     struct cairn_diag *diag);

/**
 * @param visit  may be NULL
 * @return CAIRN_OK; what visit answered
 *         CAIRN_E_NOT_FOUND  cannot be opened, or is a folder
 *         CAIRN_E_IO, CAIRN_E_NOMEM; CAIRN_E_LIMIT over SCAN_FILE_BYTES_MAX
 */
CAIRN_MUST_USE enum cairn_status scan_file(const char *path, scan_visit *visit, void *ctx, struct scan_result *out,
					   struct cairn_diag *diag);

/** Likewise, of an open file, which is closed in any case. @return as scan_file(), but never CAIRN_E_NOT_FOUND */
CAIRN_MUST_USE enum cairn_status scan_fd(int fd, scan_visit *visit, void *ctx, struct scan_result *out,
					 struct cairn_diag *diag);

#endif
