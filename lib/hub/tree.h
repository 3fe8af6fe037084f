/* Reads the files and folders of a git-like repository at a commit. */
#ifndef CAIRN_HUB_TREE_H
#define CAIRN_HUB_TREE_H

#include "cas/serve/file_reader.h"
#include "hub/pattern.h"
#include "hub/revision.h"

enum { CAIRN_HUB_TREE_PAGE_MAX = 1000 };

/** A page of a listing. */
struct cairn_hub_tree_page {
	const char *folder; /* "": the top folder */
	bool recursive;
	const char *after; /* "" for the first page, then next of the page before */
	uint32_t limit;    /* 1 to CAIRN_HUB_TREE_PAGE_MAX */
};

/** Visits a page of entries: by folders, then by names, in the order of their bytes. visit() must not call the index,
 * of which it occupies a reader.
 * @param[out] next  the path after which the next page begins; "" after the last page
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND there is no such folder (entry.unknown); as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_list_tree(const struct cairn_hub *hub,
						     const struct cairn_index_commit *commit,
						     const struct cairn_hub_tree_page *page,
						     void (*visit)(void *ctx, const struct cairn_index_entry *entry),
						     void *ctx, char next[static CAIRN_INDEX_PATH_MAX + 1],
						     struct cairn_diag *diag);

/** Visits all entries of a commit, a page at a time. Each page occupies a reader of the index.
 * @param take  must not call the index; returns false to stop
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND the commit has no entries, or is gone; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_list_all(const struct cairn_hub *hub,
						    const struct cairn_index_commit *commit,
						    bool (*take)(void *ctx, const struct cairn_index_entry *entry),
						    void *ctx, struct cairn_diag *diag);

/** Finds a file or folder by its path. @return CAIRN_OK; CAIRN_E_NOT_FOUND (entry.unknown); as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_find_entry(const struct cairn_hub *hub,
						      const struct cairn_index_commit *commit, const char *path,
						      struct cairn_index_entry *out, struct cairn_diag *diag);

/** Checks that no proof contradicts the SHA-256 of an entry. @return CAIRN_OK; CAIRN_E_CONFLICT (claim.false) */
CAIRN_MUST_USE enum cairn_status cairn_hub_believe_entry(const struct cairn_index_entry *entry,
							 struct cairn_diag *diag);

/** Opens a file that has bytes in the store, to read it or a range of it; for workers, as cairn_hub_open_object().
 * @return as cairn_file_reader_open() and cairn_hub_believe_entry(), and CAIRN_E_NOT_FOUND its bytes were deleted
 *         (entry.unknown), or were not fetched from the mirrored hub yet (mirror.absent) */
CAIRN_MUST_USE enum cairn_status cairn_hub_open_entry(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
						      const struct cairn_index_entry *entry,
						      const struct cairn_byte_range *range,
						      struct cairn_file_extent *extent, struct cairn_file_reader **out,
						      struct cairn_diag *diag);

/** Reads the bytes of a CAIRN_INDEX_INLINE file, and compares them with its id in git.
 * @param entry  only content, oid and size_bytes are read
 * @param[out] out  owned by the caller, also with 0 bytes; NULL unless CAIRN_OK
 * @return CAIRN_OK; CAIRN_E_DAMAGED the index has other bytes (content.damaged), which a notice reports;
 *         CAIRN_E_NOT_FOUND; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_read_inline(const struct cairn_hub *hub,
						       const struct cairn_index_entry *entry, uint8_t **out,
						       size_t *len, struct cairn_diag *diag);

/** Reads the first bytes of a file, as many as the buffer may hold; for workers. The file is from a commit of the
 * repository. @param[out] out  empty before; after a failure it may have some bytes
 * @return as cairn_hub_read_inline() and cairn_hub_open_entry() */
CAIRN_MUST_USE enum cairn_status cairn_hub_read_start(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
						      const struct cairn_index_entry *entry, struct cairn_buf *out,
						      struct cairn_diag *diag);

/** Reads the lines of a .gitattributes or .gitignore at a commit, with the steps of one request. Reads none if the file
 * does not exist, or its bytes are in the store.
 * @param[out] text  the memory that out borrows, owned by the caller; NULL: no such file
 * @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_read_patterns(const struct cairn_hub *hub,
							 const struct cairn_index_commit *commit, const char *path,
							 uint8_t **text, struct cairn_hub_patterns *out);

/** Finds the last commit that changed an entry. @return CAIRN_OK; CAIRN_E_NOT_FOUND; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_last_commit(const struct cairn_hub *hub,
						       const struct cairn_index_entry *entry,
						       struct cairn_index_commit *out);

/** Writes "folder/name", or "name" in the top folder. @param[out] out  CAIRN_INDEX_PATH_MAX + 1 bytes */
void cairn_hub_entry_path(char out[static CAIRN_INDEX_PATH_MAX + 1], const struct cairn_index_entry *entry);

/** Returns the text of cairn_hub_entry_path(), allocated. @return NULL without memory */
char *cairn_hub_entry_path_new(const struct cairn_index_entry *entry);

#endif
