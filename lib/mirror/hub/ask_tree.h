/* Requests from an upstream hub the files of a commit: GET /api/{type}/{id}/tree/{commit}?recursive=true, page by
 * page. */
#ifndef CAIRN_MIRROR_HUB_ASK_TREE_H
#define CAIRN_MIRROR_HUB_ASK_TREE_H

#include "hash/git_object.h"
#include "hash/hash.h"
#include "mirror/net/net.h"

#include <stdbool.h>

enum {
	MIRROR_TREE_BYTES_MAX = 8 << 20,
	/* body of a page */ MIRROR_TREE_VALUES_MAX = 400000, /* values in its JSON */
	MIRROR_TREE_MS = 10000,                               /* time for a page */
	MIRROR_TREE_FILES_MAX = 50000,                        /* files of all pages */
	MIRROR_TREE_ENTRIES_MAX = 100000,                     /* files and folders */
	MIRROR_TREE_PAGES_MAX = 2000,                         /* each page but the last has at least 50 entries */
};

/** A file of a commit. */
struct mirror_file {
	char *path; /* owned; not checked */
	uint64_t size_bytes;
	struct cairn_git_oid oid; /* id of the file, unless it has a pointer */
	bool has_pointer;         /* git has a pointer to the file */
	uint8_t sha256[32];       /* SHA-256 of the file, if it has a pointer */
};

/** The files of the pages that were read. Zeroed is empty. */
struct mirror_tree {
	struct mirror_file *all; /* owned */
	uint32_t n, cap;
	uint32_t n_entries, n_pages;
	char next[MIRROR_ADDRESS_BYTES]; /* path of the next page; "": this was the last */
};
void mirror_tree_fini(struct mirror_tree *tree);

/** Sets the limits of a call for a page; the caller sets path and done. */
void mirror_ask_tree(struct mirror_call *call);

/** Adds the files of a page. The call must have an answer.
 * @return CAIRN_OK; CAIRN_E_LIMIT too many files (mirror.tree); CAIRN_E_NOMEM; as mirror_read_repo() */
CAIRN_MUST_USE enum cairn_status mirror_read_tree(struct mirror_tree *tree, const struct mirror_call *call,
						  struct cairn_diag *diag);

#endif
