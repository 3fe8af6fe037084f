/* Sources of sound copies of xorbs: a data folder, a backup, a folder of backups, a pack. */
#ifndef CAIRN_CLI_REPAIR_SOURCE_H
#define CAIRN_CLI_REPAIR_SOURCE_H

#include "archive/fold/reader.h"
#include "archive/readshard/reader.h"
#include "backup/backup_set.h"
#include "store/store.h"

/** Exactly one of the four is open. */
struct repair_source {
	int fd;                     /* of a file or a folder; -1: none */
	struct cairn_store *folder; /* owned, as the rest */
	struct cairn_fold *backup;
	struct cairn_backup_set set; /* its folder is NULL: not this kind */
	struct cairn_readshard *pack;
};

/**
 * Opens a path read-only: a data folder, also beside its daemon; a file of cairn backup; a folder of such files, which
 * is locked against pruning, or one of its archives of objects; or a pack.
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND the path does not exist; CAIRN_E_FORMAT, CAIRN_E_MISMATCH it is of another kind,
 *         or damaged; CAIRN_E_LIMIT; CAIRN_E_USAGE; CAIRN_E_IO; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status repair_source_open(struct repair_source *s, const char *path, struct cairn_diag *diag);
void repair_source_fini(struct repair_source *s);

/** The receiver of xorbs. */
struct repair_taker {
	/** Returns whether a xorb is still wanted. */
	bool (*wants)(void *ctx, const struct cairn_hash *xorb);
	/** Takes a copy of a wanted xorb, which is not verified. @return CAIRN_OK to continue */
	enum cairn_status (*take)(void *ctx, const struct cairn_hash *xorb, const uint8_t *bytes, size_t len,
				  struct cairn_diag *diag);
	void *ctx;
};

/**
 * Passes all existing copies of n xorbs to the receiver. Skips unreadable copies.
 * @param xorbs  ignored by a backup, which is read from front to end or by its catalog, and asks wants()
 * @return CAIRN_OK; what take returned; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status repair_source_each(struct repair_source *s, const struct cairn_hash *xorbs, size_t n,
						    const struct repair_taker *taker, struct cairn_diag *diag);

#endif
