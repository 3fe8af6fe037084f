/* Owners and their files. Statements are queued and answered in one exchange, so that a write needs few exchanges. */
#ifndef CAIRN_INDEX_POSTGRES_OWN_H
#define CAIRN_INDEX_POSTGRES_OWN_H

#include "index/postgres/write.h"

/** Fails: there is no such repository. @return CAIRN_E_NOT_FOUND (repo.unknown) */
enum cairn_status cairn_pg_no_repo(struct cairn_diag *diag);
unsigned cairn_pg_queue_find_repo(struct cairn_pg_tx *tx, int64_t repo);
CAIRN_MUST_USE enum cairn_status cairn_pg_found_repo(struct cairn_pg_tx *tx, unsigned queued, int64_t *owner,
						     struct cairn_diag *diag);

/** Gives files to an owner, unless it has them. */
unsigned cairn_pg_queue_own(struct cairn_pg_tx *tx, int64_t owner, struct cairn_pg_array *files);
/** @return number of files that are new to the owner */
int64_t cairn_pg_owned(struct cairn_pg_tx *tx, unsigned queued, int64_t owner);

/** Removes the row without a claim of each file on which the owner has claims. */
void cairn_pg_queue_drop_no_claim(struct cairn_pg_tx *tx, int64_t owner, struct cairn_pg_array *files);

/** Records that files of owners are proved to have these SHA-256; the arrays correspond. Entries of an owner's
 * repository that have the SHA-256 by an unproved claim get the file. Does nothing without such a proof. */
void cairn_pg_queue_follow_proof(struct cairn_pg_tx *tx, struct cairn_pg_array *files, struct cairn_pg_array *owners,
				 struct cairn_pg_array *sha256s);

/** Removes files without an owner, and their references, which kept their xorbs. */
unsigned cairn_pg_queue_drop_files(struct cairn_pg_tx *tx, struct cairn_pg_array *files);
void cairn_pg_dropped_files(struct cairn_pg_tx *tx, unsigned queued);

/** Takes files from an owner: deletes its ownership, and then files that have no owner. @param unless_in  keep files
 * with a path in this bucket; 0: take all */
struct cairn_pg_disowning {
	unsigned owners, files;
};
struct cairn_pg_disowning cairn_pg_queue_disown(struct cairn_pg_tx *tx, int64_t owner, struct cairn_pg_array *files,
						int64_t unless_in);
/** @return number of files taken from the owner */
int64_t cairn_pg_disowned(struct cairn_pg_tx *tx, struct cairn_pg_disowning queued, int64_t owner);
/** Deletes an owner's hold on files, and counts the files. @param[out] n  as cairn_pg_disowned() returns */
CAIRN_MUST_USE enum cairn_status cairn_pg_disown(struct cairn_pg_tx *tx, int64_t owner, struct cairn_pg_array *files,
						 int64_t *n);

#endif
