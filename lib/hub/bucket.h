/* Reads and changes the files of a bucket. Callers have found the repository with the access that a call needs. */
#ifndef CAIRN_HUB_BUCKET_H
#define CAIRN_HUB_BUCKET_H

#include "cas/serve/file_reader.h"
#include "hub/operation.h"
#include "hub/repo.h"

/** Applies all operations that can be applied, in one transaction, and sets the fault of each other operation. Waits
 * for the index's writer.
 * @param asker  for the sources of copies: a source that the asker may not read counts as missing
 * @param[out] n_failed  number of operations with a fault
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND deleted (repo.unknown); CAIRN_E_DENIED (quota.repo, quota.account); as a write */
CAIRN_MUST_USE enum cairn_status cairn_hub_change_bucket(const struct cairn_hub *hub,
							 const struct cairn_hub_asker *asker,
							 const struct cairn_index_repo *repo,
							 struct cairn_hub_operations *operations, uint32_t *n_failed,
							 struct cairn_diag *diag);

enum { CAIRN_HUB_ENTRIES_MAX = 1000 }; /* entries of one page of a listing */

/** A file or a folder. A bucket has no rows of folders: a folder is the part of a path before a slash. */
struct cairn_hub_entry {
	const char *path;
	const struct cairn_index_object *object; /* NULL: a folder */
	int64_t uploaded_unix_ms; /* of a folder: time of its first file, because finding the newest would read all */
};

/** Lists the paths that begin with a prefix, in the order of their bytes, a page at a time.
 * @param prefix     letters, not folders: "log" matches "logs/1" and "log.txt"; "" matches all
 * @param recursive  false: visit only the first name after the prefix (and its slash), a folder once
 * @param from       "" for the first page, then next of the page before
 * @param[out] next  CAIRN_INDEX_PATH_MAX + 1 bytes: where the next page begins; "" after the last page
 * @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_list_bucket(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
						       const char *prefix, bool recursive, const char *from,
						       void (*visit)(void *ctx, const struct cairn_hub_entry *entry),
						       void *ctx, char next[static CAIRN_INDEX_PATH_MAX + 1]);

/** Finds the file at a path. @return CAIRN_OK; CAIRN_E_NOT_FOUND (entry.unknown); as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_find_object(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
						       const char *path, struct cairn_index_object *out,
						       struct cairn_diag *diag);

/** Opens a file that is not empty, to read all of it or a range. For workers.
 * @return as cairn_file_reader_open(), and CAIRN_E_NOT_FOUND the file was deleted meanwhile (entry.unknown) */
CAIRN_MUST_USE enum cairn_status cairn_hub_open_object(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
						       const struct cairn_index_object *object,
						       const struct cairn_byte_range *range,
						       struct cairn_file_extent *extent, struct cairn_file_reader **out,
						       struct cairn_diag *diag);

#endif
