/* Owners, and which files are theirs. Statements are queued, and what they did is taken when they were exchanged, so
 * that a write asks as seldom as it can. */
#ifndef CAIRN_INDEX_POSTGRES_OWN_H
#define CAIRN_INDEX_POSTGRES_OWN_H

#include "index/postgres/write.h"

/* A repository was not deleted. For look-ups by number or owner: of IS NULL the planner thinks that few rows have it,
 * and would read one of the indexes that lists have of those. */
#define CAIRN_PG_KEPT(repo) "coalesce(" repo ".dropped, 0) = 0"

/** @return CAIRN_E_NOT_FOUND (repo.unknown) */
enum cairn_status cairn_pg_no_repo(struct cairn_diag *diag);
unsigned cairn_pg_queue_find_repo(struct cairn_pg_tx *tx, int64_t repo);
CAIRN_MUST_USE enum cairn_status cairn_pg_found_repo(struct cairn_pg_tx *tx, unsigned queued, int64_t *scope,
						     struct cairn_diag *diag);

/** Files are an owner's, from now on or already. */
unsigned cairn_pg_queue_own(struct cairn_pg_tx *tx, int64_t scope, struct cairn_pg_array *files);
/** @return how many are since then */
int64_t cairn_pg_owned(struct cairn_pg_tx *tx, unsigned queued, int64_t scope);

/** Of files that an owner has claims on the row without one goes. */
void cairn_pg_queue_drop_no_claim(struct cairn_pg_tx *tx, int64_t scope, struct cairn_pg_array *files);

/** Owners' files are proved to have these SHA-256, each at the same place: the entries of an owner's repository that
 * have the SHA-256 by an unproved claim get the file. Where there is no such proof nothing changes. */
void cairn_pg_queue_follow_proof(struct cairn_pg_tx *tx, struct cairn_pg_array *files, struct cairn_pg_array *owners,
				 struct cairn_pg_array *sha256s);

/** Files go that nobody owns, and with their references what kept their xorbs. */
unsigned cairn_pg_queue_drop_files(struct cairn_pg_tx *tx, struct cairn_pg_array *files);
void cairn_pg_dropped_files(struct cairn_pg_tx *tx, unsigned queued);

/** Files are no owner's any more: without any other owner they go. @param unless_in  except for those of an object of
 * this repository; 0: all */
struct cairn_pg_disowning {
	unsigned owners, files;
};
struct cairn_pg_disowning cairn_pg_queue_disown(struct cairn_pg_tx *tx, int64_t scope, struct cairn_pg_array *files,
						int64_t unless_in);
/** @return how many files were taken */
int64_t cairn_pg_disowned(struct cairn_pg_tx *tx, struct cairn_pg_disowning queued, int64_t scope);
/** Both at once. @param[out] n  as cairn_pg_disowned() */
CAIRN_MUST_USE enum cairn_status cairn_pg_disown(struct cairn_pg_tx *tx, int64_t scope, struct cairn_pg_array *files,
						 int64_t *n);

#endif
