/* Commits files whose bytes are in memory: writes text into the index, and other files into the store. */
#ifndef CAIRN_HUB_PUT_H
#define CAIRN_HUB_PUT_H

#include "hub/tree.h"

enum { CAIRN_HUB_PUT_FILES_MAX = 32 };

/** A file. Borrowed. */
struct cairn_hub_put_file {
	const char *path; /* without a fault: cairn_hub_file_fault() */
	const uint8_t *bytes;
	size_t len;
};

/** A commit of files. Borrowed. */
struct cairn_hub_put {
	const struct cairn_index_repo *repo;   /* found with CAIRN_HUB_WRITE */
	const struct cairn_index_commit *head; /* its .gitattributes decide which files become pointers */
	const char *branch, *title;
	const struct cairn_hash *sender; /* as in struct cairn_cas_who */
	bool alone;                      /* the files share dedupe with their own repository only */
	const struct cairn_hub_put_file *files;
	unsigned n; /* 1 to CAIRN_HUB_PUT_FILES_MAX */
};

/**
 * Commits files to a branch. Stored files are durable before the commit. If the commit is refused, a collection removes
 * them. Waits for the disk and for the index's writer: on a worker.
 * @return as cairn_hub_commit(), and as cairn_hub_ingest_end() */
CAIRN_MUST_USE enum cairn_status cairn_hub_put(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					       const struct cairn_hub_put *put, struct cairn_git_oid *oid,
					       struct cairn_diag *diag);

#endif
