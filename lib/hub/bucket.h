/* What is in a bucket. The repository was found with the access that a call needs. */
#ifndef CAIRN_HUB_BUCKET_H
#define CAIRN_HUB_BUCKET_H

#include "cas/file_reader.h"
#include "hub/operation.h"
#include "hub/repo.h"

/**
 * Do what can be done of the operations, all in one transaction; those that were not done have a fault. Waits for the
 * index's writer.
 * @param asker  may read the sources of copies; a source that the asker may not read counts as missing
 * @param[out] n_failed  how many have a fault
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND the bucket is not there any more (repo.unknown); CAIRN_E_DENIED (quota.repo,
 *         quota.account); as a write
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_change_bucket(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
							 const struct cairn_index_repo *repo,
							 struct cairn_hub_operations *operations, uint32_t *n_failed,
							 struct cairn_diag *diag);

enum { CAIRN_HUB_ENTRIES_MAX = 1000 }; /* of one page of a listing */

/** A file, or a folder: what paths have before a slash. */
struct cairn_hub_entry {
	const char *path;
	const struct cairn_index_object *object; /* NULL: a folder */
};

/**
 * List what begins with a prefix, in the order of the paths' bytes, a page at a time.
 * @param prefix     letters, not folders: "log" is the start of "logs/1" and of "log.txt"; "" for all
 * @param recursive  false: of what is behind the prefix, and a slash after that, only the first name is told
 * @param from       "" , then next as it was left
 * @param[out] next  CAIRN_INDEX_PATH_MAX + 1 bytes: where the next page begins; "" when there is none
 * @return CAIRN_OK; as index and store
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_list_bucket(struct cairn_cas *cas, const struct cairn_index_repo *repo,
						       const char *prefix, bool recursive, const char *from,
						       void (*visit)(void *ctx, const struct cairn_hub_entry *entry),
						       void *ctx, char next[static CAIRN_INDEX_PATH_MAX + 1]);

/** The object of a path. @return CAIRN_OK; CAIRN_E_NOT_FOUND (entry.unknown); as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_find_object(struct cairn_cas *cas, const struct cairn_index_repo *repo,
						       const char *path, struct cairn_index_object *out,
						       struct cairn_diag *diag);

/** Open the file of an object that is not empty, to read it or a range of it. For workers.
 *  @return as cairn_file_reader_open(), and CAIRN_E_NOT_FOUND it was deleted since (entry.unknown) */
CAIRN_MUST_USE enum cairn_status cairn_hub_open_object(struct cairn_cas *cas, const struct cairn_index_repo *repo,
						       const struct cairn_index_object *object,
						       const struct cairn_byte_range *range,
						       struct cairn_file_extent *extent, struct cairn_file_reader **out,
						       struct cairn_diag *diag);

#endif
