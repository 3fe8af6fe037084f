/* Asks an upstream hub for the files of a commit: GET /api/{type}/{id}/tree/{commit}?recursive=true, page by page. */
#ifndef CAIRN_MIRROR_HUB_ASK_TREE_H
#define CAIRN_MIRROR_HUB_ASK_TREE_H

#include "hash/git_object.h"
#include "hash/hash.h"
#include "mirror/net/net.h"

#include <stdbool.h>

enum {
	MIRROR_TREE_BYTES_MAX = 8 << 20,  /* of a page */
	MIRROR_TREE_VALUES_MAX = 400000,  /* in its JSON */
	MIRROR_TREE_MS = 10000,           /* for a page */
	MIRROR_TREE_FILES_MAX = 50000,    /* of all pages */
	MIRROR_TREE_ENTRIES_MAX = 100000, /* with folders */
	MIRROR_TREE_PAGES_MAX = 2000,     /* hubs send at least 50 entries in each but the last */
};

/** A file of a commit. */
struct mirror_file {
	char *path; /* owned; not checked */
	uint64_t size_bytes;
	struct cairn_git_oid oid; /* unless it has a pointer */
	bool has_pointer;         /* in git it is a pointer, */
	uint8_t sha256[32];       /* which names this */
};

/** The files of the pages that were read. Zeroed it is empty. */
struct mirror_tree {
	struct mirror_file *all; /* owned */
	uint32_t n, cap;
	uint32_t n_entries, n_pages;
	char next[MIRROR_ADDRESS_BYTES]; /* path of the next page; "": this was the last one */
};
void mirror_tree_fini(struct mirror_tree *tree);

/** Sets the limits of a call for a page; the caller sets path and done. */
void mirror_ask_tree(struct mirror_call *call);

/** Adds the files of a page, whose call must have an answer.
 * @return CAIRN_OK; CAIRN_E_LIMIT too many files (mirror.tree); CAIRN_E_NOMEM; as mirror_read_repo() */
CAIRN_MUST_USE enum cairn_status mirror_read_tree(struct mirror_tree *tree, const struct mirror_call *call,
						  struct cairn_diag *diag);

#endif
