/* Where sound copies of xorbs may be had: a data folder, a backup, a folder of backups, a pack. */
#ifndef CAIRN_CLI_REPAIR_SOURCE_H
#define CAIRN_CLI_REPAIR_SOURCE_H

#include "archive/fold/reader.h"
#include "archive/readshard/reader.h"
#include "backup/backup_set.h"
#include "store/store.h"

/** One of the four is open. */
struct repair_source {
	int fd;                     /* of a file, or a folder; -1: none */
	struct cairn_store *folder; /* owned, as the rest */
	struct cairn_fold *backup;
	struct cairn_backup_set set; /* without a folder: it is none */
	struct cairn_readshard *pack;
};

/**
 * Open a path: a data folder, read beside whoever has it; a file made by cairn backup; a folder of such, which is
 * locked so that nobody prunes it, or one of its archives of objects; or a pack. Nothing there is changed.
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND there is nothing; CAIRN_E_FORMAT, CAIRN_E_MISMATCH it is none of these, or
 *         damaged; CAIRN_E_LIMIT; CAIRN_E_USAGE; CAIRN_E_IO; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status repair_source_open(struct repair_source *s, const char *path, struct cairn_diag *diag);
void repair_source_fini(struct repair_source *s);

/** Who wants xorbs. */
struct repair_taker {
	/** Is it wanted still? */
	bool (*wants)(void *ctx, const struct cairn_hash *xorb);
	/** A copy of a wanted one, as it is there: nobody has looked whether it is sound. @return CAIRN_OK to go on */
	enum cairn_status (*take)(void *ctx, const struct cairn_hash *xorb, const uint8_t *bytes, size_t len,
				  struct cairn_diag *diag);
	void *ctx;
};

/**
 * Hand out all copies of n xorbs that are there. What cannot be read is passed over.
 * @param xorbs  a backup is read from front to end instead, or by its catalog, and asks what is wanted
 * @return CAIRN_OK; what take answered; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status repair_source_each(struct repair_source *s, const struct cairn_hash *xorbs, size_t n,
						    const struct repair_taker *taker, struct cairn_diag *diag);

#endif
