/* Files whose bytes are in memory become a commit: text into the index, the rest into the store. */
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

/** What is to be done. Borrowed. */
struct cairn_hub_put {
	const struct cairn_index_repo *repo;   /* found with CAIRN_HUB_WRITE */
	const struct cairn_index_commit *head; /* whose .gitattributes say what is kept as a pointer */
	const char *branch, *title;
	const struct cairn_hash *sender; /* as in struct cairn_cas_who */
	bool alone;                      /* what is stored shares dedupe with nobody but the repository itself */
	const struct cairn_hub_put_file *files;
	unsigned n; /* 1 to CAIRN_HUB_PUT_FILES_MAX */
};

/**
 * Commit files to a branch. What is stored is durable before the commit; if that is refused it goes with a collection.
 * Waits for the disk and for the index's writer: on a worker.
 * @return as cairn_hub_commit(), and as cairn_hub_ingest_end()
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_put(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
					       const struct cairn_hub_put *put, struct cairn_git_oid *oid,
					       struct cairn_diag *diag);

#endif
