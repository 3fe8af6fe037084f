/* What a hub asks of this engine: accounts, repositories, and what is in them. */
#ifndef CAIRN_INDEX_POSTGRES_HUB_H
#define CAIRN_INDEX_POSTGRES_HUB_H

#include "index/postgres/engine.h"

/* What backend.h says of these. */
enum cairn_status cairn_pg_account(struct cairn_index *ix, const char *name, struct cairn_index_account *out);
enum cairn_status cairn_pg_account_by_id(struct cairn_index *ix, int64_t id, struct cairn_index_account *out);
enum cairn_status cairn_pg_each_account(struct cairn_index *ix, int64_t from_id, uint32_t limit,
					void (*visit)(void *ctx, const struct cairn_index_account *account), void *ctx,
					int64_t *next_id);
enum cairn_status cairn_pg_role(struct cairn_index *ix, int64_t organisation, int64_t user,
				enum cairn_index_role *role);
enum cairn_status cairn_pg_each_member(struct cairn_index *ix, int64_t organisation, int64_t from_id,
				       cairn_index_visit_member *visit, void *ctx, int64_t *next_id);
enum cairn_status cairn_pg_each_organisation(struct cairn_index *ix, int64_t user, int64_t from_id,
					     cairn_index_visit_member *visit, void *ctx, int64_t *next_id);
enum cairn_status cairn_pg_quota(struct cairn_index *ix, int64_t account, int64_t repo, struct cairn_index_quota *out);
enum cairn_status cairn_pg_owner_quota(struct cairn_index *ix, const char *owner, bool adds_up,
				       struct cairn_index_room *out);
enum cairn_status cairn_pg_each_quota(struct cairn_index *ix, const char *after, uint32_t limit,
				      cairn_index_visit_quota *visit, void *ctx, bool *more);
enum cairn_status cairn_pg_each_owned_size(struct cairn_index *ix, int64_t repo,
					   void (*visit)(void *ctx, uint64_t size_bytes), void *ctx);
enum cairn_status cairn_pg_repo(struct cairn_index *ix, enum cairn_index_repo_kind kind, const char *account,
				const char *name, struct cairn_index_repo *out);
enum cairn_status cairn_pg_each_repo(struct cairn_index *ix, int64_t account, enum cairn_index_repo_kind kind,
				     int64_t from_id, cairn_index_visit_repo *visit, void *ctx, int64_t *next_id);
enum cairn_status cairn_pg_list_repos(struct cairn_index *ix, struct cairn_index_repo_list *list,
				      cairn_index_visit_repo *visit, void *ctx, bool *more);
enum cairn_status cairn_pg_object(struct cairn_index *ix, int64_t repo, const char *path,
				  struct cairn_index_object *out);
enum cairn_status cairn_pg_each_object(struct cairn_index *ix, int64_t repo, const char *prefix, const char *from,
				       bool (*visit)(void *ctx, const struct cairn_index_object *object), void *ctx);
enum cairn_status cairn_pg_ref(struct cairn_index *ix, int64_t repo, enum cairn_index_ref_kind kind, const char *name,
			       struct cairn_index_commit *out);
enum cairn_status cairn_pg_each_ref(struct cairn_index *ix, int64_t repo,
				    bool (*visit)(void *ctx, const struct cairn_index_ref_row *ref), void *ctx);
enum cairn_status cairn_pg_find_commit(struct cairn_index *ix, int64_t repo, const char *prefix,
				       struct cairn_index_commit *out);
enum cairn_status cairn_pg_commit_by_id(struct cairn_index *ix, int64_t id, struct cairn_index_commit *out);
enum cairn_status cairn_pg_each_commit(struct cairn_index *ix, const struct cairn_index_commit *from, uint64_t skip,
				       bool (*visit)(void *ctx, const struct cairn_index_commit *commit,
						     const char *message),
				       void *ctx);
enum cairn_status cairn_pg_entry(struct cairn_index *ix, const struct cairn_index_commit *commit, const char *path,
				 struct cairn_index_entry *out);
enum cairn_status cairn_pg_each_entry(struct cairn_index *ix, const struct cairn_index_commit *commit,
				      const struct cairn_index_listing *listing,
				      bool (*visit)(void *ctx, const struct cairn_index_entry *entry), void *ctx);
enum cairn_status cairn_pg_inline_bytes(struct cairn_index *ix, int64_t content, uint8_t *out, size_t *len);

CAIRN_MUST_USE enum cairn_status cairn_pg_add_account(struct cairn_pg_tx *tx, struct cairn_index_add_account *add);
CAIRN_MUST_USE enum cairn_status cairn_pg_disable_account(struct cairn_pg_tx *tx,
							  struct cairn_index_disable_account *disable);
CAIRN_MUST_USE enum cairn_status cairn_pg_set_member(struct cairn_pg_tx *tx, struct cairn_index_set_member *set);
CAIRN_MUST_USE enum cairn_status cairn_pg_set_quota(struct cairn_pg_tx *tx, struct cairn_index_set_quota *set);

CAIRN_MUST_USE enum cairn_status cairn_pg_add_repo(struct cairn_pg_tx *tx, struct cairn_index_add_repo *add);
CAIRN_MUST_USE enum cairn_status cairn_pg_set_repo(struct cairn_pg_tx *tx, struct cairn_index_set_repo *set);
CAIRN_MUST_USE enum cairn_status cairn_pg_move_repo(struct cairn_pg_tx *tx, struct cairn_index_move_repo *move);
CAIRN_MUST_USE enum cairn_status cairn_pg_drop_repo(struct cairn_pg_tx *tx, struct cairn_index_drop_repo *drop);
CAIRN_MUST_USE enum cairn_status cairn_pg_change_objects(struct cairn_pg_tx *tx,
							 struct cairn_index_change_objects *change);
CAIRN_MUST_USE enum cairn_status cairn_pg_add_commit(struct cairn_pg_tx *tx, struct cairn_index_add_commit *add);
CAIRN_MUST_USE enum cairn_status cairn_pg_adopt_files(struct cairn_pg_tx *tx, struct cairn_index_adopt_files *adopt);
CAIRN_MUST_USE enum cairn_status cairn_pg_squash(struct cairn_pg_tx *tx, struct cairn_index_squash *squash);
CAIRN_MUST_USE enum cairn_status cairn_pg_add_ref(struct cairn_pg_tx *tx, struct cairn_index_add_ref *add);
CAIRN_MUST_USE enum cairn_status cairn_pg_drop_ref(struct cairn_pg_tx *tx, struct cairn_index_drop_ref *drop);
CAIRN_MUST_USE enum cairn_status cairn_pg_sweep_repos(struct cairn_pg_tx *tx, struct cairn_index_sweep_repos *sweep);

/** The branch main of a repository that was just made, and its first commit. */
CAIRN_MUST_USE enum cairn_status cairn_pg_begin_repo(struct cairn_pg_tx *tx, struct cairn_index_add_repo *add,
						     int64_t scope);

/** A repository that is made as a copy has the files that its operations name from its source. @return CAIRN_OK;
 *  CAIRN_E_NOT_FOUND (repo.unknown); as cairn_pg_ask() */
CAIRN_MUST_USE enum cairn_status cairn_pg_adopt_named(struct cairn_pg_tx *tx, const struct cairn_index_add_repo *add,
						      int64_t scope, struct cairn_diag *diag);

/* --- quotas ------------------------------------------------------------------------------------------------------- */

/** The limit, and what is stored, from this column on. */
struct cairn_index_room cairn_pg_room(const PGresult *r, int row, int column);
/** After a write: what has grown must be within its quotas. @return CAIRN_OK; CAIRN_E_DENIED (quota.repo,
 * quota.account) */
CAIRN_MUST_USE enum cairn_status cairn_pg_check_quota(struct cairn_pg_tx *tx, struct cairn_diag *diag);

#endif
