/* The operations of a commit, each applied to the entries of its line: for the engines, which say what is there, and
 * write what is to be. */
#ifndef CAIRN_INDEX_EDIT_H
#define CAIRN_INDEX_EDIT_H

#include "index/history.h"

/** What a path is. */
struct cairn_edit_entry {
	bool found;
	int64_t since, content; /* content 0: a folder */
	int64_t size_bytes;
	struct cairn_git_oid oid;
};

/** What a file is to have. */
struct cairn_edit_content {
	int64_t id, size_bytes;
	struct cairn_git_oid oid;
};

/** Told of each entry of a scan: it changes nothing. Without CAIRN_OK the scan ends there, and answers the same. */
typedef enum cairn_status cairn_edit_visit(void *ctx, const char *folder, const char *name, bool is_folder,
					   const struct cairn_git_oid *oid);

/** What an engine does. Each @return CAIRN_OK, or as its own calls where no other is named */
struct cairn_edit_engine {
	enum cairn_status (*find)(void *ctx, const char *folder, const char *name, struct cairn_edit_entry *out);
	/** Say what a path is from now on. @param after  not found: nothing. Its `since` is not set */
	enum cairn_status (*write)(void *ctx, const char *folder, const char *name,
				   const struct cairn_edit_entry *before, const struct cairn_edit_entry *after);
	/** Visit what is in a folder, or in several in their order, up to the end of the last one.
	 * @param[in,out] n_rows  so many more were read */
	enum cairn_status (*scan)(void *ctx, const char *folder, const char *last_folder, cairn_edit_visit *visit,
				  void *visit_ctx, uint64_t *n_rows);
	/** These folders are scanned next, each alone and in this order. NULL: it does not matter */
	enum cairn_status (*will_scan)(void *ctx, char *const *folders, size_t n);
	/** The content of a put, made when there is none; its oid is not set. @return also CAIRN_E_NOT_FOUND: no such
	 * file was uploaded */
	enum cairn_status (*content)(void *ctx, const struct cairn_index_operation *operation,
				     struct cairn_edit_content *out);
	/** A content may lack its bytes, which were deleted for good: those of the same one are here. Or it has some
	 * that nobody has compared with it, or that are false: the last word counts. Or the bytes of an inline one were
	 * damaged, so that it was not found by them. */
	enum cairn_status (*revive)(void *ctx, int64_t content, int64_t same);
};

/** Entries of a line since a commit that is not there yet. */
struct cairn_edit {
	const struct cairn_edit_engine *engine;
	void *ctx; /* its */
	struct cairn_diag *diag;
	int64_t n_files, bytes; /* by how much there are more */
	uint32_t n_changed;     /* files */
	uint32_t n_folder_rows; /* made or deleted */
	uint64_t n_scanned;     /* rows */
	char **folders;         /* owned: in which something changed, some of them more than once */
	size_t n_folders, folders_cap;
};

void cairn_edit_fini(struct cairn_edit *edit);
/** One operation. @return CAIRN_OK; what cairn_index_add_commit() says of operations; as the engine's calls */
CAIRN_MUST_USE enum cairn_status cairn_edit_one(struct cairn_edit *edit, const struct cairn_index_operation *operation);
/** Give the folders that changed, and those above them, their new ids; empty ones go. @param[out] root  of the top one
 *  @return likewise */
CAIRN_MUST_USE enum cairn_status cairn_edit_root(struct cairn_edit *edit, struct cairn_git_oid *root);

#endif
