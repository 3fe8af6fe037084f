/* The source of an import: a folder, or a repository in the cache of huggingface_hub. */
#ifndef CAIRN_CLI_IMPORT_SOURCE_H
#define CAIRN_CLI_IMPORT_SOURCE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	IMPORT_SNAPSHOTS_MAX = 1000, /* most snapshots of a cache, and most refs of one snapshot */
	IMPORT_ID_CHARS = 40,        /* length of a commit's id */
	IMPORT_NAME_BYTES = 256,     /* room for the name of a branch or tag */
};

/** A commit to import. */
struct import_snapshot {
	char *path;                   /* folder of the commit; owned */
	char id[IMPORT_ID_CHARS + 1]; /* id of the commit; "": a plain folder, which has none */
	char **tags;                  /* the cache's refs to the commit, except main; texts and array are owned */
	size_t n_tags;
	int64_t at_unix_s; /* when the folder last changed */
	bool is_main;
};

/** Zeroed: empty. Owns its parts. */
struct import_source {
	bool is_cache;
	char *folder;                      /* as the caller named it; owned */
	char *inner;                       /* the repository's folder in a cache of several; NULL: use folder; owned */
	struct import_snapshot *snapshots; /* the oldest first; main's comes last */
	size_t n;
};
void import_source_fini(struct import_source *source);

/** Determines the kind of a folder: the cache of one repository (it has a folder "snapshots"), a cache of several, from
 * which the named repository is taken, or plain files. @param prefix  "models": first part of the folder names of such
 * repositories @param repository  "team/model" @return CAIRN_OK; CAIRN_E_NOT_FOUND: there is no such folder, or the
 * cache lacks the repository (import.source); CAIRN_E_LIMIT: more than IMPORT_SNAPSHOTS_MAX snapshots, or refs of one
 * (import.snapshots); CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status import_source_read(struct import_source *out, const char *folder, const char *prefix,
						    const char *repository, struct cairn_diag *diag);

#endif
