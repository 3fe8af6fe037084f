/* Showing the records of one file. */
#ifndef CAIRN_CLI_INSPECT_H
#define CAIRN_CLI_INSPECT_H

#include "cli/common/progress.h"
#include "cli/common/record.h"

/** What became of it. */
struct inspect_result {
	const char *note; /* what was not judged, and why; NULL: all was */
};

/** Does it begin as a shard does? */
bool inspect_is_shard(const uint8_t *bytes, size_t len);

/**
 * Show the records up to the first offence, then judge the whole as the server would.
 * @return CAIRN_OK; as cairn_verify_shard()
 */
CAIRN_MUST_USE enum cairn_status inspect_shard(struct report *r, const uint8_t *bytes, size_t len,
					       struct inspect_result *out, struct cairn_diag *diag);

/** Does it begin as a FOLD file does? */
bool inspect_is_fold(const uint8_t *bytes, size_t len);

/** Show index and chunks, each read and verified. @param bar  begun; how much was read
 *  @return CAIRN_OK; as cairn_fold_open(), cairn_fold_read() */
CAIRN_MUST_USE enum cairn_status inspect_fold(struct report *r, const uint8_t *bytes, size_t len, struct progress *bar,
					      struct cairn_diag *diag);

/**
 * @param expected  the hash it must have; NULL: any
 * @return CAIRN_OK; as cairn_xorb_verifier_end()
 */
CAIRN_MUST_USE enum cairn_status inspect_xorb(struct report *r, const uint8_t *bytes, size_t len,
					      const struct cairn_hash *expected, struct cairn_diag *diag);

/** Does it begin as a Read Shard does? */
bool inspect_is_readshard(const uint8_t *bytes, size_t len);

/** Header, objects and function, then judge the whole; contents are not read. @return as cairn_readshard_verify() */
CAIRN_MUST_USE enum cairn_status inspect_readshard(struct report *r, const uint8_t *bytes, size_t len,
						   struct cairn_diag *diag);

/** May it be an array, a fragment, or a folder of arrays of TileDB? Any folder may. */
bool inspect_is_tiledb(const char *path);

/**
 * Show the schema, each fragment that counts with its columns, R-tree, tiles and statistics, and verify it: an array's
 * folder, that of one fragment, or a folder with arrays in it.
 * @return CAIRN_OK; as cairn_tiledb_array_open(), cairn_tiledb_verify()
 */
CAIRN_MUST_USE enum cairn_status inspect_tiledb(struct report *r, const char *path, struct inspect_result *out,
						struct cairn_diag *diag);

/** Does it begin as the files of TileDB do that are not data? */
bool inspect_is_tiledb_file(const uint8_t *bytes, size_t len);

/**
 * A schema file, or the metadata of a fragment, which are shown with the fragment that they are in.
 * @return CAIRN_OK; as inspect_tiledb(); CAIRN_E_FORMAT with rule tiledb.alone: metadata that are in no array
 */
CAIRN_MUST_USE enum cairn_status inspect_tiledb_file(struct report *r, const char *path, const uint8_t *bytes,
						     size_t len, struct inspect_result *out, struct cairn_diag *diag);

#endif
