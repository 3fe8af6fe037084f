/* Quotas: what the operator sets, and what is asked before anything is sent, so that nobody sends much to be refused at
 * the end. The index's writer decides: index/quota.h. Without a hub a repository is what tokens say: a name. */
#ifndef CAIRN_HUB_QUOTA_H
#define CAIRN_HUB_QUOTA_H

#include "cas/cas.h"
#include "index/quota.h"

/** Is there room for so many bytes more? @return CAIRN_OK; CAIRN_E_DENIED (quota.repo, quota.account); as index and
 * store */
CAIRN_MUST_USE enum cairn_status cairn_hub_check_room(struct cairn_cas *cas, const struct cairn_index_repo *repo,
						      uint64_t more_bytes, struct cairn_diag *diag);

/** A file that somebody wants to upload, of whose content only this is known. Borrowed. */
struct cairn_hub_wanted {
	uint64_t size_bytes;
	const char *sample; /* its first bytes, in base64; NULL: not told */
};

/** Likewise for files that somebody wants to upload. One of a size that the repository has already may be the same, as
 * may two of the same size and sample: what may need no room is not counted, so that nobody is refused who need not
 * be. @param wanted  put in another order. @return likewise */
CAIRN_MUST_USE enum cairn_status cairn_hub_check_upload(struct cairn_cas *cas, const struct cairn_index_repo *repo,
							struct cairn_hub_wanted *wanted, size_t n,
							struct cairn_diag *diag);

/** The quota of a place: "account", or "models/account/name" with any kind: the hub's repository, or else whoever
 *  tokens call so. @return CAIRN_OK; CAIRN_E_USAGE it is none (quota.place); CAIRN_E_NOT_FOUND (account.unknown,
 *  repo.unknown); as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_quota(struct cairn_cas *cas, const char *place, struct cairn_index_room *out,
						 struct cairn_diag *diag);

/** Set it. Waits for the index's writer. @param limit_bytes  at most INT64_MAX, or CAIRN_INDEX_NO_QUOTA
 *  @param has_hub  a name that is neither the hub's nor anybody's is taken for a mistake; without one it may be that of
 *                  a repository which is still to come
 *  @return as cairn_hub_quota(); as a write */
CAIRN_MUST_USE enum cairn_status cairn_hub_set_quota(struct cairn_cas *cas, const char *place, bool has_hub,
						     uint64_t limit_bytes, struct cairn_diag *diag);

enum { CAIRN_HUB_QUOTAS_PAGE_MAX = 512 }; /* rows of one call of cairn_hub_each_quota() */

/** Visit all places that have one, as cairn_index_each_quota() does. @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_each_quota(struct cairn_cas *cas, const char *after, uint32_t limit,
						      cairn_index_visit_quota *visit, void *ctx, bool *more);

#endif
