/* What is imported: a folder, or what huggingface_hub keeps of a repository in its cache. */
#ifndef CAIRN_CLI_IMPORT_SOURCE_H
#define CAIRN_CLI_IMPORT_SOURCE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	IMPORT_SNAPSHOTS_MAX = 1000, /* of a cache, and refs in it */
	IMPORT_ID_CHARS = 40,        /* of a commit */
	IMPORT_NAME_BYTES = 256,     /* of a branch or tag */
};

/** One commit. */
struct import_snapshot {
	char *path;                   /* its folder; owned */
	char id[IMPORT_ID_CHARS + 1]; /* of the commit; "": of a plain folder, which has none */
	char **tags;                  /* what the cache calls it besides main; owned, as are they */
	size_t n_tags;
	int64_t at_unix_s; /* when its folder was changed last */
	bool is_main;
};

/** Zeroed it is empty. Owns all. */
struct import_source {
	bool is_cache;
	char *folder; /* that was named; owned */
	char *inner;  /* in it, that of the repository in a cache of several; NULL: it is it; owned */
	struct import_snapshot *snapshots; /* the oldest first, and main's at the end */
	size_t n;
};
void import_source_fini(struct import_source *source);

/**
 * Find out what a folder is: the cache of one repository (it has a folder "snapshots"), a cache of several, in which
 * that of the repository is taken, or files.
 * @param prefix  "models": how the cache begins the names of such repositories
 * @param repository  "team/model"
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND there is no such folder, or the cache has nothing of the repository
 *         (import.source); CAIRN_E_LIMIT more than IMPORT_SNAPSHOTS_MAX, or refs of one (import.snapshots);
 *         CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status import_source_read(struct import_source *out, const char *folder, const char *prefix,
						    const char *repository, struct cairn_diag *diag);

#endif
