/* The source of an import: a folder, or a repository in the cache of huggingface_hub. */
#ifndef CAIRN_CLI_IMPORT_SOURCE_H
#define CAIRN_CLI_IMPORT_SOURCE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	IMPORT_SNAPSHOTS_MAX = 1000, /* snapshots in a cache, and refs of one */
	IMPORT_ID_CHARS = 40,        /* id of a commit */
	IMPORT_NAME_BYTES = 256,     /* name of a branch or tag */
};

/** One commit. */
struct import_snapshot {
	char *path;                   /* its folder; owned */
	char id[IMPORT_ID_CHARS + 1]; /* id of the commit; "": a plain folder, which has none */
	char **tags;                  /* the cache's refs to it except main; owned, with the array */
	size_t n_tags;
	int64_t at_unix_s; /* time of the last change of its folder */
	bool is_main;
};

/** Zeroed it is empty. Owns its parts. */
struct import_source {
	bool is_cache;
	char *folder; /* as named by the caller; owned */
	char *inner;  /* the repository's folder in a cache of several; NULL: folder itself; owned */
	struct import_snapshot *snapshots; /* the oldest first, main's last */
	size_t n;
};
void import_source_fini(struct import_source *source);

/** Determines the kind of a folder: the cache of one repository (it has a folder "snapshots"), a cache of several, from
 * which the named repository is taken, or plain files.
 * @param prefix  "models": first part of the folder names of such repositories
 * @param repository  "team/model"
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND there is no such folder, or the cache lacks the repository (import.source);
 *         CAIRN_E_LIMIT more than IMPORT_SNAPSHOTS_MAX snapshots, or refs of one (import.snapshots); CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status import_source_read(struct import_source *out, const char *folder, const char *prefix,
						    const char *repository, struct cairn_diag *diag);

#endif
