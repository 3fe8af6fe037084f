/* Sources of sound copies of xorbs: a data folder, a backup, a folder of backups, a pack. */
#ifndef CAIRN_CLI_REPAIR_SOURCE_H
#define CAIRN_CLI_REPAIR_SOURCE_H

#include "archive/fold/reader.h"
#include "archive/readshard/reader.h"
#include "backup/backup_set.h"
#include "store/store.h"

/** Exactly one of the four kinds is open. */
struct repair_source {
	int fd;                     /* descriptor of the file or folder; -1: none */
	struct cairn_store *folder; /* owned, as the members below */
	struct cairn_fold *backup;
	struct cairn_backup_set set; /* its folder is NULL for other kinds */
	struct cairn_readshard *pack;
};

/** Opens a path read-only. It may be a data folder, even while its daemon runs; a file of cairn backup; a folder of
 * such files, which is locked against pruning, or one of its archives of objects; or a pack. @return CAIRN_OK;
 * CAIRN_E_NOT_FOUND: the path does not exist; CAIRN_E_FORMAT, CAIRN_E_MISMATCH: another kind of file, or a damaged one;
 * CAIRN_E_LIMIT; CAIRN_E_USAGE; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status repair_source_open(struct repair_source *s, const char *path, struct cairn_diag *diag);
void repair_source_fini(struct repair_source *s);

/** The receiver of xorbs. */
struct repair_taker {
	/** Is a xorb still wanted? */
	bool (*wants)(void *ctx, const struct cairn_hash *xorb);
	/** Takes a copy of a wanted xorb, which is not verified. @return CAIRN_OK to continue */
	enum cairn_status (*take)(void *ctx, const struct cairn_hash *xorb, const uint8_t *bytes, size_t len,
				  struct cairn_diag *diag);
	void *ctx;
};

/** Passes all existing copies of n xorbs to the receiver. Skips unreadable copies. @param xorbs  ignored for a backup,
 * which is read whole or by its catalog, and calls wants() @return CAIRN_OK; the status of take(); CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status repair_source_each(struct repair_source *s, const struct cairn_hash *xorbs, size_t n,
						    const struct repair_taker *taker, struct cairn_diag *diag);

#endif
