/* Applies the operations of a commit to the entries of its line. The engines look entries up and write them. */
#ifndef CAIRN_INDEX_HUB_EDIT_H
#define CAIRN_INDEX_HUB_EDIT_H

#include "index/hub/history.h"

/** The entry of a path. */
struct cairn_edit_entry {
	bool found;
	int64_t since, content; /* since: the commit of the row, which may record a deletion; content 0: a folder */
	int64_t size_bytes;
	struct cairn_git_oid oid;
};

/** The new content of a file. */
struct cairn_edit_content {
	int64_t id, size_bytes;
	struct cairn_git_oid oid;
};

/** Receives each entry of a scan; must change nothing. Any status but CAIRN_OK ends the scan, which returns it. */
typedef enum cairn_status cairn_edit_visit(void *ctx, const char *folder, const char *name, bool is_folder,
					   const struct cairn_git_oid *oid);

/** Functions of an engine. Each @return CAIRN_OK; a status of the engine's own calls; a status named below */
struct cairn_edit_engine {
	enum cairn_status (*find)(void *ctx, const char *folder, const char *name, struct cairn_edit_entry *out);
	/** Replaces the entry of a path. @param after  `since` is ignored; not found: removes the entry */
	enum cairn_status (*write)(void *ctx, const char *folder, const char *name,
				   const struct cairn_edit_entry *before, const struct cairn_edit_entry *after);
	/** Visits the entries of a folder after a name, and of further folders in order, up to the end of the last one.
	 * @param[in,out] n_rows  increased by the rows that were read */
	enum cairn_status (*scan)(void *ctx, const char *folder, const char *name, const char *last_folder,
				  cairn_edit_visit *visit, void *visit_ctx, uint64_t *n_rows);
	/** Announces the folders that are scanned next, in this order and each by a call of its own. NULL: the engine
	 * needs no announcement */
	enum cairn_status (*will_scan)(void *ctx, char *const *folders, size_t n);
	/** Finds or makes the content of a put. Sets no oid. @return also CAIRN_E_NOT_FOUND: no file was uploaded */
	enum cairn_status (*content)(void *ctx, const struct cairn_index_operation *operation,
				     struct cairn_edit_content *out);
	/** Gives a content the bytes of `same`, an equal content. Its own bytes may have been deleted for good, or may
	 * be damaged, or belong to an unproved or false claim; then the latest claim counts. */
	enum cairn_status (*revive)(void *ctx, int64_t content, int64_t same);
};

/** A folder that is being deleted, and the entry after which the next piece begins. */
struct cairn_edit_drop {
	bool goes_on;
	bool is_below; /* the entry is in a subfolder */
	char folder[CAIRN_INDEX_PATH_MAX + 2], name[CAIRN_INDEX_PATH_MAX + 1];
};

/** Changes entries of a line for a commit that is made afterwards. */
struct cairn_edit {
	const struct cairn_edit_engine *engine;
	void *ctx; /* passed to the engine's functions */
	struct cairn_diag *diag;
	bool few;            /* it may change and read at most CAIRN_INDEX_STRANGER_ROWS_MAX rows */
	bool ends_if_large;  /* fail with `is_large` rather than change more than CAIRN_INDEX_OPERATIONS_AT_ONCE rows of
				deleted folders, or read many times as many */
	bool is_large;       /* result: the commit would be too large */
	uint32_t piece_rows; /* most rows of a deleted folder in one call; 0: all */
	bool again;          /* the head may have all changes already, such as deletions of missing paths */
	int64_t commit;      /* id of the commit to be made */
	int64_t n_files, bytes; /* growth by this commit; may be negative */
	int64_t row_bytes;      /* what its new rows count for a quota */
	bool puts;              /* an operation puts a file that is new or has new content */
	uint32_t n_changed;     /* files changed */
	uint32_t n_folder_rows; /* folders made or deleted */
	uint64_t n_scanned;     /* rows read */
	uint64_t n_written;     /* rows written */
	struct cairn_edit_drop drop;
	char **folders; /* owned: folders with a changed entry; may repeat */
	size_t n_folders, folders_cap;
	bool is_sorted;  /* the folders are in the order in which they get their ids */
	size_t n_rooted; /* folders that have their new ids */
};

void cairn_edit_fini(struct cairn_edit *edit);
/** May these operations write more rows than one transaction should? Pure. Does not count rows of deleted folders. */
bool cairn_edit_is_large(const struct cairn_index_operation *operations, uint32_t n);
/** Applies one operation, or a piece of it. If `drop.goes_on` is set afterwards, call it again with the same operation.
 * @return CAIRN_OK; CAIRN_E_LIMIT with `is_large`; as cairn_index_add_commit(); as the engine's functions */
CAIRN_MUST_USE enum cairn_status cairn_edit_some(struct cairn_edit *edit,
						 const struct cairn_index_operation *operation);
/** Applies all operations. @return as cairn_edit_some() */
CAIRN_MUST_USE enum cairn_status cairn_edit_all(struct cairn_edit *edit, const struct cairn_index_operation *operations,
						uint32_t n);
/** Computes the new ids of the changed folders and of those above them; removes empty folders. @param[out] root  id of
 * the top folder @return as cairn_edit_some() */
CAIRN_MUST_USE enum cairn_status cairn_edit_root(struct cairn_edit *edit, struct cairn_git_oid *root);
/** Does a part of cairn_edit_root(). Call it again until it is done, and apply no further operation meanwhile.
 * @param n_rows_max  ends after the folder in which it has read so many rows  @param[out] root  set when done */
CAIRN_MUST_USE enum cairn_status cairn_edit_root_some(struct cairn_edit *edit, uint64_t n_rows_max,
						      struct cairn_git_oid *root, bool *done);

#endif
