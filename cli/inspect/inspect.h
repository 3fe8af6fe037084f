/* Shows the records of one file. */
#ifndef CAIRN_CLI_INSPECT_H
#define CAIRN_CLI_INSPECT_H

#include "cli/common/progress.h"
#include "cli/common/record.h"

/** The result of an inspection. */
struct inspect_result {
	const char *note; /* which part was not checked, and why; NULL: all was checked */
};

/** Do the bytes begin like a shard? */
bool inspect_is_shard(const uint8_t *bytes, size_t len);

/** Shows the records up to the first error, then verifies as the server would. @return as cairn_verify_shard() */
CAIRN_MUST_USE enum cairn_status inspect_shard(struct report *r, const uint8_t *bytes, size_t len,
					       struct inspect_result *out, struct cairn_diag *diag);

/** Do the bytes begin like a FOLD file? */
bool inspect_is_fold(const uint8_t *bytes, size_t len);

/** Shows the index, and reads and verifies each chunk. @param bar  begun; shows the bytes read
 * @return CAIRN_OK; as cairn_fold_open(), cairn_fold_read() */
CAIRN_MUST_USE enum cairn_status inspect_fold(struct report *r, const uint8_t *bytes, size_t len, struct progress *bar,
					      struct cairn_diag *diag);

/** Shows the chunks of a xorb, and verifies it. @param expected  the required hash; NULL: any @return CAIRN_OK; as
 * cairn_xorb_verifier_end() */
CAIRN_MUST_USE enum cairn_status inspect_xorb(struct report *r, const uint8_t *bytes, size_t len,
					      const struct cairn_hash *expected, struct cairn_diag *diag);

/** Do the bytes begin like a Read Shard? */
bool inspect_is_readshard(const uint8_t *bytes, size_t len);

/** Shows header, objects and function, and verifies all but the contents. @return as cairn_readshard_verify() */
CAIRN_MUST_USE enum cairn_status inspect_readshard(struct report *r, const uint8_t *bytes, size_t len,
						   struct cairn_diag *diag);

/** May a path be an array, a fragment, or a folder of arrays of TileDB? Any folder may. */
bool inspect_is_tiledb(const char *path);

/** Shows and verifies an array, one fragment, or a folder of arrays: the schema, and each valid fragment with its
 * columns, R-tree, tiles and statistics. @return CAIRN_OK; as cairn_tiledb_array_open(), cairn_tiledb_verify() */
CAIRN_MUST_USE enum cairn_status inspect_tiledb(struct report *r, const char *path, struct inspect_result *out,
						struct cairn_diag *diag);

/** Do the bytes begin like a schema or metadata file of TileDB? */
bool inspect_is_tiledb_file(const uint8_t *bytes, size_t len);

/** Shows a schema file, or the metadata of a fragment together with the fragment. @return CAIRN_OK; as
 * inspect_tiledb(); CAIRN_E_FORMAT with rule tiledb.alone: the metadata is outside an array */
CAIRN_MUST_USE enum cairn_status inspect_tiledb_file(struct report *r, const char *path, const uint8_t *bytes,
						     size_t len, struct inspect_result *out, struct cairn_diag *diag);

#endif
