/* A folder's files as JSON: {"version":1,"files":[{"path","hash","size","sha256","mode"}]}. */
#ifndef CAIRN_CLI_MANIFEST_H
#define CAIRN_CLI_MANIFEST_H

#include "base/json.h"
#include "hash/crypto.h"
#include "hash/hash.h"

enum {
	MANIFEST_FILES_MAX = 1000000,
	MANIFEST_PATH_BYTES_MAX = 4096,
	MANIFEST_NAME_BYTES_MAX = 255,           /* longest name between two slashes */
	MANIFEST_BYTES_MAX = 1024 * 1024 * 1024, /* longest manifest, as JSON */
	MANIFEST_VALUES_MAX = 16 * 1000 * 1000,  /* limit of JSON values, which also counts commas in paths */
};

struct manifest_file {
	char *path; /* owned; relative, without empty parts, "." or ".." */
	struct cairn_hash hash;
	uint64_t size_bytes;
	uint8_t sha256[CAIRN_SHA256_BYTES];
	unsigned mode; /* only permissions: 0 to 0777 */
};

/** Sorted by path as bytes, without duplicates. Owns its arrays. */
struct manifest {
	struct manifest_file *files;
	size_t n, cap;
};
void manifest_fini(struct manifest *m);

/** Appends a file, and copies the path. @return CAIRN_OK; CAIRN_E_NOMEM; CAIRN_E_LIMIT over MANIFEST_FILES_MAX */
CAIRN_MUST_USE enum cairn_status manifest_add(struct manifest *m, const struct manifest_file *file,
					      struct cairn_diag *diag);

/** May a path stand in a manifest? Its names must not lead out of the folder. */
bool manifest_path_is_safe(const char *path);

/** Can a path be written to a manifest? It must be safe, and UTF-8. */
bool manifest_path_is_writable(const char *path);

/** Sorts the files by path. */
void manifest_sort(struct manifest *m);

/** Appends the manifest as JSON, with a newline after each file. out keeps the errors. */
void manifest_write(struct cairn_buf *out, const struct manifest *m);

/** Reads a manifest. @return CAIRN_OK; CAIRN_E_FORMAT: not a valid manifest; CAIRN_E_LIMIT; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status manifest_read(struct manifest *out, const uint8_t *json, size_t len,
					       struct cairn_diag *diag);

#endif
